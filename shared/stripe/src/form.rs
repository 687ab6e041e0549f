//! Parameters in the form encoding, with brackets for what is nested: `line_items[0][quantity]=1`.

use form_urlencoded::Serializer;

/// Parameters in the order in which they were added. Equal parameters give equal bytes, which idempotency needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// The form with another parameter.
    #[must_use]
    pub(crate) fn with(mut self, name: impl Into<String>, value: &(impl ToString + ?Sized)) -> Self {
        self.0.push((name.into(), value.to_string()));
        self
    }

    /// The form with another parameter, if it has a value.
    #[must_use]
    pub(crate) fn with_some(self, name: &str, value: Option<&(impl ToString + ?Sized)>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn fields(&self) -> &[(String, String)] {
        &self.0
    }

    /// The form as the body of a request or the query of a URL.
    pub(crate) fn encode(&self) -> String {
        Serializer::new(String::new()).extend_pairs(&self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_and_values_are_escaped() {
        let form = Form::default().with("a[b][0]", "Squire × 2 & more=?").with_some("c", None::<&i64>).with("d", &1);
        assert_eq!(form.encode(), "a%5Bb%5D%5B0%5D=Squire+%C3%97+2+%26+more%3D%3F&d=1");
        assert_eq!(Form::default().encode(), "");
    }

    proptest! {
        #[test]
        fn a_form_is_read_as_it_was_written(fields in prop::collection::vec((any::<String>(), any::<String>()), 0..8)) {
            let form = fields.iter().fold(Form::default(), |form, (name, value)| form.with(name.as_str(), value));
            let read: Vec<(String, String)> = form_urlencoded::parse(form.encode().as_bytes()).into_owned().collect();
            prop_assert_eq!(read, fields);
        }
    }
}
