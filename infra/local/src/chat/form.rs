//! Parameters in the form of URL queries, and the texts of pages.

use std::collections::BTreeMap;

/// Parameters by name; of two with the same name the first counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    pub(crate) fn parse(text: &[u8]) -> Self {
        let mut found = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(text) {
            found.entry(name.into_owned()).or_insert_with(|| value.into_owned());
        }
        Self(found)
    }

    /// A parameter; empty if it is missing.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

/// A text that is safe within an element and within a quoted attribute.
pub(crate) fn in_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

pub(super) const ACCOUNTS: [(&str, &str); 3] = [
    ("418203377561042101", "thornwick"),
    ("418203377561042102", "quillfeather"),
    ("418203377561042103", "Pebble <& Sons>"),
];
pub(super) const CARRIED: [&str; 7] =
    ["response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_the_first_counts() {
        let parameters = Parameters::parse(b"a=1+%3D&a=2&b=");
        assert_eq!((parameters.get("a"), parameters.get("b"), parameters.get("c")), ("1 =", "", ""));
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(in_html(r#"<a href="'&">"#), "&lt;a href=&quot;&#39;&amp;&quot;&gt;");
    }
}
