//! Pages of stand-ins: parameters in the form of URL queries, and texts in HTML.

use std::collections::BTreeMap;

/// Parameters by name; of two with the same name the first counts.
#[derive(Debug, Clone, Default)]
pub struct Parameters(BTreeMap<String, String>);

impl Parameters {
    pub fn parse(text: &[u8]) -> Self {
        let mut found = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(text) {
            found.entry(name.into_owned()).or_insert_with(|| value.into_owned());
        }
        Self(found)
    }

    /// A parameter; empty if it is missing.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

/// A text that is safe within an element and within a quoted attribute.
pub fn in_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

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
