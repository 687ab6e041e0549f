//! Texts that buyers see, and addresses that their browsers open.

use crate::fault::{Report, nearest};
use std::collections::BTreeSet;

/// The most characters of a text that a page shows without a warning.
const LONG: usize = 100_000;

/// Reports a name that cannot be read, or that changes how the texts around it are read.
pub(super) fn check_name(name: &str, line: Option<u64>, field: &str, report: &mut Report) {
    // Characters without a width, and marks that turn the direction of the text around them.
    let is_zero_width = |letter: char| matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
    let turns = |letter: &char| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if name.chars().all(|letter| letter.is_whitespace() || is_zero_width(letter)) {
        report.fault(line, field, "must not be blank");
    } else if name.contains(['\n', '\r']) {
        report.fault(line, field, "must be one line");
    } else if let Some(letter) = name.chars().find(turns) {
        let problem = format!("must not contain U+{:04X}, which changes the direction of the text", u32::from(letter));
        report.fault(line, field, problem);
    }
}

/// Warns of a text that no buyer reads to its end, and that every visit of its page loads.
pub(super) fn check_long_text(text: &str, line: Option<u64>, field: &str, report: &mut Report) {
    let characters = text.chars().count();
    if characters > LONG {
        report.warn(line, field, format!("has {characters} characters, which every visitor of its page loads"));
    }
}

/// Notes a link that a browser should not follow: what a `javascript:` link holds would run as the site's own.
pub(super) fn check_link(url: &str, line: Option<u64>, field: &str, report: &mut Report) {
    let fits = match scheme(url) {
        Some(scheme) => matches!(scheme.as_str(), "https" | "http" | "mailto"),
        None => url.starts_with(['/', '#']),
    };
    if !fits {
        let problem =
            "must begin with https://, http:// or mailto:, or with / for the site's own, such as /pages/rules";
        report.fault(line, field, problem);
    }
}

/// Notes an image that is neither a path nor on the web, and one that is missing among the store's own pictures.
pub(super) fn check_image(url: &str, own: &BTreeSet<String>, line: Option<u64>, field: &str, report: &mut Report) {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let is_missing = path.starts_with("/img/") && !path.contains('%') && !own.is_empty() && !own.contains(path);
    if is_missing {
        let problem = match nearest(path, own.iter().map(String::as_str)) {
            Some(near) => format!("there is no {path}; did you mean {near}?"),
            None => format!("there is no {} in the store's directory", path.trim_start_matches('/')),
        };
        report.fault(line, field, problem);
    }
    let is_data = url.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("data:image/"));
    if !is_data && scheme(url).is_some_and(|scheme| !matches!(scheme.as_str(), "https" | "http")) {
        report.fault(line, field, "must be a path such as /img/crown.png, or begin with https:// or http://");
    }
}

/// The text before the first colon, in lower case, if it is a scheme. Blanks before it are skipped as browsers do.
fn scheme(url: &str) -> Option<String> {
    let (scheme, _) = url.trim_start().split_once(':')?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.');
    (scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.chars().all(plain))
        .then(|| scheme.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_web_or_to_the_site_itself() {
        let is_refused = |url: &str| {
            let mut report = Report::default();
            check_link(url, None, "url", &mut report);
            !report.is_empty()
        };
        for url in ["/", "/pages/rules", "#top", "https://a.example", "HTTP://a.example", "mailto:a@b.example"] {
            assert!(!is_refused(url), "{url}");
        }
        for url in [
            "",
            "javascript:alert(1)",
            " JavaScript:alert(1)",
            "java\nscript:x",
            "data:text/html,x",
            "a.example",
            "vbscript:x",
        ] {
            assert!(is_refused(url), "{url}");
        }
    }
}
