//! The causes of a failure, for logs and error messages.

use std::any::Any;
use std::error::Error;

pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}

/// All causes of an error in one line, the nearest first; empty if it has none.
pub fn causes(error: &dyn Error) -> String {
    let mut causes = Vec::new();
    let mut cause = error.source();
    while let Some(source) = cause {
        causes.push(source.to_string());
        cause = source.source();
    }
    causes.join(": ")
}

/// An error with all of its causes, in one line.
pub fn chain(error: &dyn Error) -> String {
    let causes = causes(error);
    if causes.is_empty() { error.to_string() } else { format!("{error}: {causes}") }
}

/// A text with its first letter in upper case.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Layer(&'static str, #[source] Option<Box<Self>>);

    #[test]
    fn a_chain_names_every_cause_once() {
        let layer = |text, cause: Option<Layer>| Layer(text, cause.map(Box::new));
        let error = layer("not started", Some(layer("no table", Some(layer("refused", None)))));
        assert_eq!(causes(&error), "no table: refused");
        assert_eq!(chain(&error), "not started: no table: refused");
        assert_eq!((causes(&layer("alone", None)), chain(&layer("alone", None))), (String::new(), "alone".to_owned()));
    }
}
