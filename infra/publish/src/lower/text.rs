//! Texts that buyers see, and addresses that their browsers open. Texts that are shown as HTML inside the shop's own pages:
//! whether one would take the rest of its page with it, and the same text closed at its end. What the API returns is always the
//! owner's own text.

use crate::fault::{Report, nearest};
use icu_normalizer::ComposingNormalizerBorrowed;
use scraper::Html;
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
    warn_of_colour_codes(name, line, field, report);
}

/// Warns of the marks by which chats of games colour a name. Pages and consoles show them as they are.
fn warn_of_colour_codes(name: &str, line: Option<u64>, field: &str, report: &mut Report) {
    let letters: Vec<char> = name.chars().collect();
    let is_code =
        |letter: char| matches!(letter.to_ascii_lowercase(), '0'..='9' | 'a'..='f' | 'k'..='o' | 'r' | 'x' | '#');
    let code = letters.windows(2).enumerate().find_map(|(place, pair)| {
        let begins =
            place.checked_sub(1).and_then(|before| letters.get(before)).is_none_or(|before| !before.is_alphanumeric());
        let is_code = pair[0] == '§' || pair[0] == '&' && begins && is_code(pair[1]);
        is_code.then(|| pair.iter().collect::<String>())
    });
    if let Some(code) = code {
        report.warn(line, field, format!("{code} is a colour code of chats, and is shown as it is: leave it out"));
    }
}

/// Warns of a text that no buyer reads to its end, and that every visit of its page loads.
pub(super) fn check_long_text(text: &str, line: Option<u64>, field: &str, report: &mut Report) {
    let characters = text.chars().count();
    if characters > LONG {
        report.warn(line, field, format!("has {characters} characters, which every visitor of its page loads"));
    }
}

/// Warns of a text in HTML that would take the rest of its page with it, and refuses one that nothing ends. Returns what the shop's own
/// pages show in its place; `None` if that is the text.
pub(super) fn check_html(text: &str, line: Option<u64>, field: &str, report: &mut Report) -> Option<String> {
    match unbalanced(text)? {
        Unbalanced::Closed(shown) => {
            let problem = "leaves an element or a comment open, or closes one that it did not open: what follows on the page would \
                           be lost; the shop's own pages close it at its end, others may not";
            report.warn(line, field, problem);
            Some(shown)
        }
        Unbalanced::Endless => {
            report.fault(line, field, "has an element that nothing ends, such as <plaintext>: remove it");
            None
        }
    }
}

/// Warns of HTML in a text that is shown as it is written.
pub(super) fn check_plain_text(text: &str, line: Option<u64>, field: &str, report: &mut Report) {
    if let Some(tag) = first_tag(text) {
        report.warn(
            line,
            field,
            format!("{tag} is shown as text: a description is plain text, whose line breaks are kept"),
        );
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
    if path.starts_with("/img/") && !own.is_empty() && !own.contains(path) {
        report.fault(line, field, missing_image(path, own));
    }
    if !url.is_empty() && scheme(url).is_none() && !url.starts_with('/') {
        let named = url.trim_start_matches("./");
        let found = own.iter().find(|known| known.ends_with(&format!("/{named}")));
        let meant = found.map_or_else(|| format!("/img/{}", named.trim_start_matches("img/")), String::clone);
        report.fault(line, field, format!("must begin with a slash; did you mean {meant}?"));
    }
    if scheme(url).as_deref() == Some("http") {
        report.warn(
            line,
            field,
            "begins with http://: a page that is served by https:// does not load it; write https://",
        );
    }
    let is_data = url.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("data:image/"));
    if !is_data && scheme(url).is_some_and(|scheme| !matches!(scheme.as_str(), "https" | "http")) {
        report.fault(line, field, "must be a path such as /img/crown.png, or begin with https:// or http://");
    }
}

/// The problem with a picture that the store does not have under this path.
fn missing_image(path: &str, own: &BTreeSet<String>) -> String {
    let plain = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
    if own.contains(plain.as_ref()) {
        return format!("write the file's name as it is: {plain}");
    }
    let composed = ComposingNormalizerBorrowed::new_nfc();
    let is_same = |known: &&String| composed.normalize(known) == composed.normalize(path);
    if own.iter().any(|known| is_same(&known)) {
        return format!(
            "the file's name has its accents as characters of their own, as a Mac writes them: rename the file without accents, \
             and name it here so; {path} looks the same and is another name"
        );
    }
    match nearest(path, own.iter().map(String::as_str)) {
        Some(near) => format!("there is no {path}; did you mean {near}?"),
        None => format!("there is no {} in the store's directory", path.trim_start_matches('/')),
    }
}

/// The text before the first colon, in lower case, if it is a scheme. Blanks before it are skipped as browsers do.
fn scheme(url: &str) -> Option<String> {
    let (scheme, _) = url.trim_start().split_once(':')?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.');
    (scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.chars().all(plain))
        .then(|| scheme.to_ascii_lowercase())
}

/// An element behind a text, by which is seen what the text does to it.
const BEHIND: &str = "<div id=\"behind-the-text\"></div>";
/// Its id.
const BEHIND_ID: &str = "behind-the-text";

/// A text that does not end where it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unbalanced {
    /// What follows would be inside of an element, or hidden. The text that is shown in its place.
    Closed(String),
    /// No parser ends it.
    Endless,
}

/// Compares a text with what it does to a page around it; `None` if it ends where it should.
pub fn unbalanced(text: &str) -> Option<Unbalanced> {
    if ends_well(text) {
        return None;
    }
    let closed = Html::parse_fragment(text).root_element().inner_html();
    let is_stable = Html::parse_fragment(&closed).root_element().inner_html() == closed;
    Some(if is_stable && ends_well(&closed) { Unbalanced::Closed(closed) } else { Unbalanced::Endless })
}

/// Whether what follows the text is beside it: not inside one of its elements or comments, and not outside of the page's own.
fn ends_well(text: &str) -> bool {
    let page = Html::parse_fragment(&format!("<main><div>{text}{BEHIND}</div></main>"));
    let is_behind = |node: &scraper::ElementRef<'_>| node.value().id() == Some(BEHIND_ID);
    let elements = page.root_element().descendants().filter_map(scraper::ElementRef::wrap);
    elements.filter(is_behind).any(|behind| {
        let mut above =
            behind.ancestors().filter_map(scraper::ElementRef::wrap).map(|node| node.value().name().to_owned());
        above.next().as_deref() == Some("div") && above.next().as_deref() == Some("main")
    })
}

/// The first tag in a text that is shown as it is written.
pub fn first_tag(text: &str) -> Option<&str> {
    text.match_indices('<').find_map(|(at, _)| {
        let rest = &text[at..];
        let name = rest[1..].trim_start_matches('/');
        let is_tag = name.starts_with(|first: char| first.is_ascii_alphabetic());
        rest.find('>').filter(|_| is_tag).map(|end| &rest[..=end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn a_text_that_ends_where_it_should_is_left_alone() {
        for text in [
            "",
            "plain",
            "a & b < c",
            "<p>one<p>two",
            "<ul><li>a<li>b</ul>",
            "<img src=x>",
            "<!-- note --><b>x</b>",
            "<p>x</p></p>",
        ] {
            assert_eq!(unbalanced(text), None, "{text}");
        }
    }

    #[test]
    fn what_would_take_the_page_with_it_is_closed_at_its_end() {
        for text in [
            "<!-- no end <p>x</p>",
            "<b>x",
            "<select><option>a",
            "<textarea>x",
            "<title>x",
            "x</div>",
            "x</main>",
            "<div><p>x",
            "<style>p {",
            "<script>x",
            "<table><tr><td>x",
            "<a href=\"/x",
        ] {
            let Some(Unbalanced::Closed(closed)) = unbalanced(text) else { panic!("{text}: {:?}", unbalanced(text)) };
            assert_eq!(unbalanced(&closed), None, "{text}: {closed}");
        }
        assert_eq!(unbalanced("<plaintext>x"), Some(Unbalanced::Endless));
    }

    #[test]
    fn a_tag_is_found_where_a_reader_would_see_one() {
        assert_eq!(first_tag("5 < 6 and <b>bold</b>"), Some("<b>"));
        assert_eq!(first_tag("</p>"), Some("</p>"));
        assert_eq!(first_tag("a <3 b, x<y"), None);
    }

    proptest! {
        #[test]
        fn whatever_is_written_what_is_shown_ends_where_it_should(
            parts in proptest::collection::vec(
                prop_oneof!["[a-z <>&\"'=/!-]{0,6}", Just("<!--".to_owned()), Just("</main>".to_owned()), Just("<table>".to_owned()),
                    Just("<select>".to_owned()), Just("<a href='".to_owned()), Just("<form>".to_owned()), Just("<svg>".to_owned()),
                    Just("<template>".to_owned()), Just("<b>".to_owned()), Just("</p>".to_owned()), Just("<textarea>".to_owned())],
                0..8,
            ),
        ) {
            if let Some(Unbalanced::Closed(closed)) = unbalanced(&parts.concat()) {
                prop_assert_eq!(unbalanced(&closed), None);
            }
        }
    }
}
