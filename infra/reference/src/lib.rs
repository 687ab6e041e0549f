//! Documentation from the declarations of the endpoints: their types, statuses and doc comments. Renders the generated
//! parts of `README.md`, `Cargo.toml` and the pages of `infra/docs`, and `infra/openapi.json`.

pub mod openapi;
pub mod page;
pub mod samples;

use local::functions::Functions;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use shared::endpoint::{Declaration, Description, Schemas};
use shared::table::limiter::RateLimit;

/// An endpoint with its description.
#[derive(Debug)]
pub struct Documented {
    /// The name of the function that has the endpoint.
    pub function: &'static str,
    pub declaration: &'static Declaration,
    /// The endpoint's request and responses.
    pub description: Description,
}

impl Documented {
    /// The methods and paths of the endpoint, as clients write them: `POST`, `/categories/get/{url}`.
    pub fn routes(&self) -> impl Iterator<Item = (&'static str, String)> {
        let routes = self.declaration.routes.iter().filter_map(|route| route.split_once(' '));
        routes.map(|(method, path)| (method, path.replace("+}", "}")))
    }

    /// Whether a route is beyond the documented interface: of an endpoint with a number there, all but its first.
    pub const fn is_added(&self, is_first: bool) -> bool {
        self.declaration.number.is_none() || !is_first
    }

    /// The declared summary, with the rate limit.
    pub fn summary(&self) -> String {
        let Declaration { summary, rate_limit, .. } = *self.declaration;
        let Some(RateLimit { requests, seconds, .. }) = rate_limit else { return summary.to_owned() };
        let window = if seconds == 60 { "a minute".to_owned() } else { format!("in {} minutes", seconds / 60) };
        format!("{summary}, at most {requests} {window} per address")
    }

    /// The heading of the endpoint in api.md: its first method and path.
    pub fn heading(&self) -> String {
        self.routes().next().map(|(method, path)| format!("{method} {path}")).unwrap_or_default()
    }
}

/// The documentation of all endpoints.
#[derive(Debug)]
pub struct Reference {
    /// The endpoints: those of the documented interface by their number, then the others by name.
    pub endpoints: Vec<Documented>,
    /// The schemas that the schemas of requests refer to, by name.
    pub requests: Map<String, Value>,
    /// The schemas that the schemas of replies refer to, by name.
    pub replies: Map<String, Value>,
}

impl Reference {
    /// Describes every endpoint of the functions, except for scheduled events.
    pub fn of_all_functions() -> Self {
        // The dialect of OpenAPI 3.1.
        let settings = SchemaSettings::draft2020_12;
        let mut schemas = Schemas {
            requests: settings().for_deserialize().into_generator(),
            replies: settings().for_serialize().into_generator(),
        };
        let declared = Functions::declarations().into_iter();
        let mut endpoints: Vec<_> = declared
            .filter(|(_, declaration)| declaration.routes.iter().any(|route| !route.starts_with("SCHEDULE ")))
            .map(|(function, declaration)| {
                let description = (declaration.describe)(&mut schemas);
                Documented { function, declaration, description }
            })
            .collect();
        endpoints.sort_by_key(|endpoint| {
            let Declaration { number, name, .. } = *endpoint.declaration;
            (number.is_none(), number, name)
        });
        let Schemas { mut requests, mut replies } = schemas;
        Self { endpoints, requests: requests.take_definitions(true), replies: replies.take_definitions(true) }
    }

    /// The schema that `schema` refers to among `definitions`, or `schema` itself if it is not a reference.
    pub fn resolve<'s>(definitions: &'s Map<String, Value>, schema: &'s Value) -> &'s Value {
        let name = reference(schema);
        name.and_then(|name| definitions.get(name)).unwrap_or(schema)
    }

    /// The alternatives of a reply; a reply without alternatives is its only one.
    pub(crate) fn alternatives<'s>(&'s self, schema: &'s Value) -> Vec<&'s Value> {
        let schema = Self::resolve(&self.replies, schema);
        match schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
            Some(alternatives) => alternatives.iter().collect(),
            None => vec![schema],
        }
    }

    /// The description of a reply in one line. An alternative's own comes before that of its type.
    pub(crate) fn description(&self, schema: &Value) -> String {
        let text = |schema: &Value| schema.get("description").and_then(Value::as_str).map(str::to_owned);
        let text = text(schema).or_else(|| text(Self::resolve(&self.replies, schema))).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
    }
}

/// The name of the definition that a schema refers to.
pub(crate) fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

pub(crate) fn json(schema: &Schema) -> &Value {
    schema.as_value()
}
