//! Texts that buyers see, and addresses that their browsers open.

use crate::fault::Report;

/// Reports a name that cannot be read.
pub(super) fn check_name(name: &str, line: Option<u64>, field: &str, report: &mut Report) {
    if name.chars().all(char::is_whitespace) {
        report.fault(line, field, "must not be blank");
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

/// Notes an image that is neither a path nor on the web.
pub(super) fn check_image(url: &str, line: Option<u64>, field: &str, report: &mut Report) {
    let is_data = url.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("data:image/"));
    if !is_data && scheme(url).is_some_and(|scheme| !matches!(scheme.as_str(), "https" | "http")) {
        report.fault(line, field, "must be a path such as /img/crown.png, or begin with https:// or http://");
    }
}

/// What is before the first colon, in lower case, if it is a scheme. Blanks before it are skipped as browsers do.
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
