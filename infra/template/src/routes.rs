//! The routes of a template: the `HttpApi` events of its functions.

use crate::Template;
use crate::document::Node;
use crate::error::{Fault, TemplateError};

/// One route of the API.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Route {
    /// `GET` or another HTTP method, in capitals.
    pub method: String,
    /// The path as in the template; variables stand in braces, the greedy one with a plus (`/categories/get/{url+}`).
    pub path: String,
    /// The package of the function that answers, which is also the name of its binary.
    pub function: String,
}

impl Route {
    /// What API Gateway sends as `routeKey`: `POST /categories/get/{url+}`.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// `ANY` is left out on purpose: every endpoint names its method, and any other method is unknown to the gateway.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

impl Template {
    /// All routes, in the order of the file.
    ///
    /// # Errors
    /// When an event has no usable method or path, belongs to another API than the template's, or takes a route twice.
    pub fn routes(&self) -> Result<Vec<Route>, TemplateError> {
        let api = self.api()?.map(|(id, _)| id);
        let mut routes: Vec<Route> = Vec::new();
        for function in self.function_definitions()? {
            let place = format!("{}.Events", function.id);
            let Some(events) = function.definition.find(&["Properties", "Events"]) else {
                continue;
            };
            for (name, event) in events.entries().map_err(|fault| fault.at(&place))? {
                let place = format!("{place}.{name}");
                let route = self.route(event, api, function.binary).map_err(|fault| fault.at(&place))?;
                let Some(route) = route else {
                    continue;
                };
                if routes.iter().any(|other| other.key() == route.key()) {
                    let problem = format!("takes {} a second time", route.key());
                    return Err(Fault::new(event.line, problem).at(place));
                }
                routes.push(route);
            }
        }
        Ok(routes)
    }

    /// The route of an event, unless the event is of another kind.
    fn route(&self, event: &Node, api: Option<&str>, function: &str) -> Result<Option<Route>, Fault> {
        if event.required("Type")?.text()? != "HttpApi" {
            return Ok(None);
        }
        let properties = event.required("Properties")?;
        let owner = properties.required("ApiId")?;
        let owner_id = self.scope.text(owner)?;
        if api != Some(owner_id.as_str()) {
            let problem = format!("belongs to {owner_id}, which is not the template's HTTP API");
            return Err(Fault::new(owner.line, problem));
        }
        let method = properties.required("Method")?;
        let path = properties.required("Path")?;
        let route = Route {
            method: self.scope.text(method)?.to_ascii_uppercase(),
            path: self.scope.text(path)?,
            function: function.to_owned(),
        };
        if !METHODS.contains(&route.method.as_str()) {
            let problem = format!("has the method {}, which no route may have", route.method);
            return Err(Fault::new(method.line, problem));
        }
        match problem_of(&route.path) {
            Some(problem) => {
                let problem = format!("has the path {}, {problem}", route.path);
                Err(Fault::new(path.line, problem))
            }
            None => Ok(Some(route)),
        }
    }
}

/// What API Gateway would not take about a path.
fn problem_of(path: &str) -> Option<&'static str> {
    let Some(rest) = path.strip_prefix('/') else {
        return Some("which does not begin with a slash");
    };
    let mut segments = rest.split('/').peekable();
    while let Some(segment) = segments.next() {
        let name = segment.strip_prefix('{').and_then(|inner| inner.strip_suffix('}'));
        let plain = name.map_or(segment, |name| name.strip_suffix('+').unwrap_or(name));
        if plain.contains(['{', '}', '+']) || (name.is_some() && plain.is_empty()) {
            return Some("which has braces where no variable is");
        }
        if name.is_some_and(|name| name.ends_with('+')) && segments.peek().is_some() {
            return Some("which goes on after a greedy variable");
        }
    }
    None
}
