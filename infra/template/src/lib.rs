//! Reads `template.yaml`, so that the local server and the tests work from the very file that is deployed: routes,
//! CORS, the table and the functions' environment are written down there and nowhere else.
//!
//! It evaluates what CloudFormation would: parameters with their rules, conditions and the usual intrinsic functions.
//! It does not deploy, and it asks nobody: a reference to a resource becomes its logical id (`!Ref StoreTable` is
//! `StoreTable`, `!GetAtt StoreTable.Arn` is `StoreTable.Arn`), and a dynamic reference stays the text it is.
//!
//! It must not know what the functions do, nor anything about HTTP beyond matching a path to a route.

mod cors;
mod decimal;
mod document;
mod error;
mod evaluate;
mod functions;
mod matching;
mod metrics;
mod parameters;
mod routes;
mod table;

use std::collections::BTreeMap;
use std::path::Path;

pub use cors::Cors;
pub use error::TemplateError;
pub use matching::match_route;
pub use metrics::MetricUse;
pub use routes::Route;
pub use table::{AttributeType, KeyType, TableDefinition};

use document::Node;
use error::Fault;
use evaluate::Scope;

/// A template together with the values of its parameters.
#[derive(Debug, Clone)]
pub struct Template {
    document: Node,
    scope: Scope,
}

impl Template {
    /// Reads a template from a file. `parameters` overrides the defaults, as `--parameter-overrides` does at a deploy.
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
    /// When the text is no YAML, when a parameter's value is missing, unknown or against the parameter's rules, and
    /// when a condition cannot be evaluated. What only one question needs is reported when that question is asked.
    pub fn parse(text: &str, parameters: &BTreeMap<String, String>) -> Result<Self, TemplateError> {
        let document = Node::load(text)?;
        let scope = Scope::new(&document, parameters)?;
        Ok(Self { document, scope })
    }

    /// Logical id and definition of every resource of one type that the conditions let exist, in the file's order.
    fn resources(&self, kind: &str) -> Result<Vec<(&str, &Node)>, TemplateError> {
        let resources =
            self.document.required("Resources").and_then(Node::entries).map_err(|fault| fault.at("Resources"))?;
        let mut found = Vec::new();
        for (id, resource) in resources {
            if self.exists_as(resource, kind).map_err(|fault| fault.at(id))? {
                found.push((id.as_str(), resource));
            }
        }
        Ok(found)
    }

    fn exists_as(&self, resource: &Node, kind: &str) -> Result<bool, Fault> {
        Ok(resource.required("Type")?.text()? == kind && self.scope.lets_exist(resource)?)
    }
}
