//! Texts that are shown as HTML inside the shop's own pages: whether one would take the rest of its page with it, and the same text
//! closed at its end. What the API returns is always the owner's own text.

use scraper::Html;

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
