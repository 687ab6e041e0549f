//! A fault of an item, in words that quote no value: a value may be a buyer's, and errors are logged.

use std::error::Error;

/// Used if an error's own words are only a value.
pub(crate) const UNREADABLE: &str = "it does not have the expected form";

/// The reason why an item or an attribute cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(String);

impl Unreadable {
    /// The words of serde's error without the values that it quotes. Names of fields and what was expected are the
    /// program's own.
    pub(crate) fn of(error: &dyn Error) -> Self {
        Self(without_values(error))
    }

    /// The same for an attribute, which it names.
    pub(crate) fn at(name: &str, error: &dyn Error) -> Self {
        Self(format!("attribute `{name}`: {}", without_values(error)))
    }

    /// An attribute that cannot be part of a key.
    pub(crate) fn key(name: &str) -> Self {
        Self(format!("attribute `{name}`: expected text or a number in a key"))
    }
}

fn without_values(error: &dyn Error) -> String {
    let said = error.to_string();
    let names_a_field = ["missing field `", "duplicate field `", "attribute `"].iter().any(|how| said.starts_with(how));
    match said.rsplit_once(", expected ") {
        _ if names_a_field => said,
        Some((_, expected)) => format!("expected {expected}"),
        None => UNREADABLE.to_owned(),
    }
}
