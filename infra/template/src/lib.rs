//! Reads `template.yaml` for the local server and the tests: routes, CORS, the table and the functions' environment
//! are defined there and nowhere else.
//!
//! Only what the project's templates use is supported: parameters with their rules, conditions of `!Equals` and `!Not`,
//! and the functions `!Ref`, `!GetAtt`, `!Sub`, `!If`, `!Select` and `!Split`. Anything else is an error that names the
//! place. Nothing is deployed, so a reference to a resource is its logical id (`!GetAtt StoreTable.Arn` is
//! `StoreTable.Arn`), and a dynamic reference is kept as text.
//!
//! Faults that CloudFormation would refuse are found by `.ci/template/check.py`, and not here.

mod api;
mod functions;
mod matching;
mod parameters;
mod resolve;
mod table;

pub use api::{Cors, Route};
pub use matching::match_route;
pub use table::TableDefinition;

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A fault of a template, or of a value given for one of its parameters.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The cause says why.
    #[error("{} cannot be read", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("the template is not valid YAML: {0}")]
    Syntax(String),
    /// The property with the path `place`, such as `Resources.StoreTable.Properties.KeySchema`, cannot be used.
    #[error("{place}: {problem}")]
    Broken { place: String, problem: String },
    #[error("parameter {name} {problem}")]
    Parameter { name: String, problem: String },
    #[error("the template has no {0}")]
    Absent(String),
}

fn broken<T>(place: &str, problem: impl Into<String>) -> Result<T, TemplateError> {
    Err(TemplateError::Broken { place: place.to_owned(), problem: problem.into() })
}

/// A property as a Rust type. A missing one is `null`, which an `Option` takes.
fn read<'v, T: Deserialize<'v>>(place: &str, value: &'v Value) -> Result<T, TemplateError> {
    T::deserialize(value).or_else(|error| broken(place, error.to_string()))
}

/// A template with the values of its parameters filled in.
#[derive(Debug, Clone)]
pub struct Template {
    globals: Value,
    resources: Map<String, Value>,
}

impl Template {
    /// Reads a template from a file. `parameters` overrides the defaults, as `--parameter-overrides` does in a deploy.
    /// Fails when the file cannot be read, and as [`Template::parse`].
    pub fn read(path: &Path, parameters: &BTreeMap<String, String>) -> Result<Self, TemplateError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| TemplateError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(&text, parameters)
    }

    /// Reads a template from its text. Fails when the text is not YAML, when the value of a parameter is missing,
    /// unknown or not allowed, and when a condition, `Globals` or a resource uses something that is not supported.
    pub fn parse(text: &str, parameters: &BTreeMap<String, String>) -> Result<Self, TemplateError> {
        resolve::template(text, parameters)
    }

    /// Path and properties of every resource of one type, in alphabetical order.
    pub fn resources(&self, kind: &str) -> impl Iterator<Item = (String, &Value)> {
        let resources = self.resources.iter().filter(move |(_, resource)| resource["Type"] == kind);
        resources.map(|(id, resource)| (format!("Resources.{id}"), &resource["Properties"]))
    }

    /// The path and the properties of the only resource of a type.
    fn only(&self, kind: &str) -> Result<(String, &Value), TemplateError> {
        self.resources(kind).next().ok_or_else(|| TemplateError::Absent(kind.to_owned()))
    }
}
