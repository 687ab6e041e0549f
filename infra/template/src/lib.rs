//! Reads `template.yaml` for the local server and the tests: routes, CORS, the table and the functions' environment
//! are defined there and nowhere else.
//!
//! Only what the project's templates use is supported: parameters with their rules, conditions of `!Equals` and `!Not`,
//! and the functions `!Ref`, `!GetAtt`, `!Sub`, `!If`, `!Select` and `!Split`. Anything else is an error that names the
//! place. Nothing is deployed, so a reference to a resource is its logical id (`!GetAtt StoreTable.Arn` is
//! `StoreTable.Arn`), and a dynamic reference is kept as text.
//!
//! The values themselves are in `.ci/template/expanded.yaml`, the template as SAM expands it.

mod api;
mod document;
mod error;
mod functions;
mod matching;
mod parameters;
mod resolve;
mod table;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

pub use api::{Cors, Route};
pub use error::TemplateError;
pub use matching::match_route;
pub use table::TableDefinition;

use document::Document;

/// A template with the values of its parameters filled in.
#[derive(Debug, Clone)]
pub struct Template {
    document: Document,
}

impl Template {
    /// Reads a template from a file. `parameters` overrides the defaults, as `--parameter-overrides` does in a deploy.
    ///
    /// # Errors
    /// When the file cannot be read, and as [`Template::parse`].
    pub fn read(path: &Path, parameters: &BTreeMap<String, String>) -> Result<Self, TemplateError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| TemplateError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(&text, parameters)
    }

    /// Reads a template from its text.
    ///
    /// # Errors
    /// When the text is not YAML, when the value of a parameter is missing, unknown or not allowed, and when a
    /// condition, `Globals` or a resource uses something that is not supported.
    pub fn parse(text: &str, parameters: &BTreeMap<String, String>) -> Result<Self, TemplateError> {
        Ok(Self { document: resolve::document(text, parameters)? })
    }

    /// Path and properties of every resource of one type, in alphabetical order.
    pub fn resources(&self, kind: &str) -> impl Iterator<Item = (String, &Value)> {
        let resources =
            self.document.sections.get("Resources").and_then(Value::as_object).into_iter().flat_map(Map::iter);
        resources
            .filter(move |(_, resource)| resource["Type"] == kind)
            .map(|(id, resource)| (format!("Resources.{id}"), &resource["Properties"]))
    }

    /// The path of the only resource of a type.
    fn only(&self, kind: &str) -> Result<String, TemplateError> {
        let mut found = self.resources(kind).map(|(place, _)| place);
        let first = found.next().ok_or_else(|| TemplateError::Absent(kind.to_owned()))?;
        match found.next() {
            None => Ok(first),
            Some(place) => Err(self.document.broken(&place, format!("is a second {kind}; one is expected"))),
        }
    }
}
