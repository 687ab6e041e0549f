//! The HTTP API of a template: its routes, which are the `HttpApi` events of the functions, and its CORS settings.

use crate::{Template, TemplateError, read};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

const API: &str = "AWS::Serverless::HttpApi";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Route {
    /// The HTTP method, in capitals.
    pub method: String,
    /// The path as in the template. Variables are in braces, a greedy one has a plus (`/categories/get/{url+}`).
    pub path: String,
    pub function: String,
}

impl Route {
    /// The `routeKey` that API Gateway sends: `POST /categories/get/{url+}`.
    pub fn key(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// Which browsers of other origins may call the API. A setting that is not listed is an error.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Cors {
    /// Origins that may call, or only `*` for every origin.
    pub allow_origins: Vec<String>,
    pub allow_methods: Vec<String>,
    #[serde(default)]
    pub allow_headers: Vec<String>,
    /// Response headers that a page may read.
    #[serde(default)]
    pub expose_headers: Vec<String>,
    /// Whether cookies and authorization may be sent along.
    #[serde(default)]
    pub allow_credentials: bool,
    /// Seconds for which a browser may remember a preflight.
    pub max_age: Option<u32>,
}

/// An `HttpApi` event. A property that is not listed is an error, because the local server would not act on it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct HttpApi {
    #[serde(rename = "ApiId")]
    _api_id: String,
    method: String,
    path: String,
}

impl Template {
    /// All routes. Events of other types are not routes. Fails when an event has no method or path, or a property that
    /// the local server would not act on.
    pub fn routes(&self) -> Result<Vec<Route>, TemplateError> {
        let mut routes = Vec::new();
        for (function, resource) in self.binaries()? {
            let events: Option<BTreeMap<String, Value>> = read(&function, &resource["Properties"]["Events"])?;
            for (name, event) in events.unwrap_or_default().iter().filter(|(_, event)| event["Type"] == "HttpApi") {
                let HttpApi { method, path, .. } = read(&format!("{function}.Events.{name}"), &event["Properties"])?;
                routes.push(Route { method: method.to_ascii_uppercase(), path, function: function.clone() });
            }
        }
        Ok(routes)
    }

    /// The CORS settings of the API. Without any, a preflight is a 404. Fails when there is no HTTP API, and when the
    /// settings are not what API Gateway takes.
    pub fn cors(&self) -> Result<Option<Cors>, TemplateError> {
        let (place, api) = self.only(API)?;
        read(&place, &api["CorsConfiguration"])
    }
}
