//! The HTTP API of a template: its routes, which are the `HttpApi` events of the functions, and its CORS settings.

use std::collections::BTreeMap;

use regex_lite::Regex;
use serde::Deserialize;

use crate::{Template, TemplateError};

const API: &str = "AWS::Serverless::HttpApi";
/// `ANY` is left out on purpose: every endpoint names its method.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
/// Segments of text or one variable; a greedy variable only at the end.
const PATH: &str = r"^(/([^/{}+]*|\{[^/{}+]+\}))*(/\{[^/{}+]+\+\})?$";

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

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    #[serde(rename = "Type")]
    kind: String,
}

/// An `HttpApi` event. A property that is not listed is an error, because the local server would not act on it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct HttpApi {
    api_id: String,
    method: String,
    path: String,
}

impl Template {
    /// All routes. Events of other types are not routes.
    ///
    /// # Errors
    /// When an event has no usable method or path, belongs to another API, or takes a route a second time.
    pub fn routes(&self) -> Result<Vec<Route>, TemplateError> {
        let api = self.only(API)?;
        let paths = Regex::new(PATH);
        let mut routes: Vec<Route> = Vec::new();
        for (function, place) in self.binaries()? {
            let place = format!("{place}.Properties.Events");
            let events: Option<BTreeMap<String, Event>> = self.document.read(&place)?;
            for (name, _) in events.unwrap_or_default().iter().filter(|(_, event)| event.kind == "HttpApi") {
                let place = format!("{place}.{name}.Properties");
                let HttpApi { api_id, method, path } = self.document.read(&place)?;
                let route = Route { method: method.to_ascii_uppercase(), path, function: function.clone() };
                let problem = if api != format!("Resources.{api_id}") {
                    format!("{api_id} is not the template's HTTP API")
                } else if !METHODS.contains(&route.method.as_str()) {
                    format!("the method {} is not supported", route.method)
                } else if !route.path.starts_with('/') || !paths.as_ref().is_ok_and(|paths| paths.is_match(&route.path))
                {
                    format!("{} is not a path of an HTTP API", route.path)
                } else if routes.iter().any(|other| other.key() == route.key()) {
                    format!("{} is a route already", route.key())
                } else {
                    routes.push(route);
                    continue;
                };
                return Err(self.document.broken(&place, problem));
            }
        }
        Ok(routes)
    }

    /// The CORS settings of the API. Without any, a preflight is a 404.
    ///
    /// # Errors
    /// When there is not exactly one HTTP API, and when the settings are not what API Gateway takes or what browsers
    /// accept.
    pub fn cors(&self) -> Result<Option<Cors>, TemplateError> {
        let place = format!("{}.Properties.CorsConfiguration", self.only(API)?);
        let cors: Option<Cors> = self.document.read(&place)?;
        match &cors {
            Some(cors) if cors.allow_credentials && cors.allow_origins.iter().any(|origin| origin == "*") => {
                Err(self.document.broken(&place, "allows credentials for the origin *, which browsers refuse"))
            }
            _ => Ok(cors),
        }
    }
}
