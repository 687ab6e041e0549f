//! The values of a template, addressed by paths such as `Globals.Function`, and the lines where they are.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::TemplateError;

#[derive(Debug, Clone, Default)]
pub(crate) struct Document {
    pub(crate) sections: BTreeMap<String, Value>,
    /// The line of every property, by its path.
    pub(crate) lines: BTreeMap<String, usize>,
}

impl Document {
    /// An error at a property. A property that is missing has the line of the nearest one above it.
    pub(crate) fn broken(&self, place: &str, problem: impl Into<String>) -> TemplateError {
        let above = |path: &&str| path.rfind(['.', '[']).map(|end| &place[..end]);
        let line = std::iter::successors(Some(place), above).find_map(|path| self.lines.get(path));
        TemplateError::Broken { place: place.to_owned(), line: line.copied().unwrap_or(1), problem: problem.into() }
    }

    /// The property with this path as a Rust type. A missing one is `null`, which an `Option` takes.
    pub(crate) fn read<T: DeserializeOwned>(&self, place: &str) -> Result<T, TemplateError> {
        let mut path = place.split('.');
        let section = path.next().and_then(|section| self.sections.get(section)).unwrap_or(&Value::Null);
        let value = path.fold(section, |value, key| &value[key]);
        serde_path_to_error::deserialize(value).map_err(|error| {
            let place = match error.path().to_string().as_str() {
                "." => place.to_owned(),
                path if path.starts_with('[') => format!("{place}{path}"),
                path => format!("{place}.{path}"),
            };
            self.broken(&place, if value.is_null() { "is missing".to_owned() } else { error.inner().to_string() })
        })
    }
}
