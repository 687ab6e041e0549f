//! Reads `template.yaml` for the local server and the tests: routes, CORS, the table and the functions' environment are
//! defined there and nowhere else.
//!
//! Only what the project's templates use is supported: parameters with their rules, conditions of `!Equals` and `!Not`,
//! and the functions `!Ref`, `!GetAtt`, `!Sub`, `!If`, `!Select` and `!Split`. Anything else is an error that names the
//! place. Nothing is deployed, so a reference to a resource is its logical id (`!GetAtt StoreTable.Arn` is
//! `StoreTable.Arn`), and a dynamic reference is kept as text.
//!
//! Faults that CloudFormation would refuse are found by `.ci/template/check.py`, and not here.

mod resolve;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
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

impl Template {
    /// The packages of all functions.
    pub fn functions(&self) -> Result<Vec<String>, TemplateError> {
        Ok(self.binaries()?.into_keys().collect())
    }

    /// The environment variables of a function: its own and those of all functions (`Globals`). Fails when there is no
    /// such function, or a variable is not text.
    pub fn environment(&self, function: &str) -> Result<BTreeMap<String, String>, TemplateError> {
        let own = self.function(function)?;
        let mut variables = BTreeMap::new();
        for of in [&self.globals["Function"], &own["Properties"]] {
            let found: Option<BTreeMap<String, String>> = read(function, &of["Environment"]["Variables"])?;
            variables.extend(found.unwrap_or_default());
        }
        Ok(variables)
    }

    /// The statements of a function's policies.
    pub fn statements(&self, function: &str) -> Result<impl Iterator<Item = &Value>, TemplateError> {
        let policies = self.function(function)?["Properties"]["Policies"].as_array().into_iter().flatten();
        Ok(policies.filter_map(|policy| policy["Statement"].as_array()).flatten())
    }

    /// The actions that a function's own statements allow, such as `dynamodb:GetItem`. Fails when there is no such
    /// function, or a statement has no list of actions.
    pub fn actions(&self, function: &str) -> Result<BTreeSet<String>, TemplateError> {
        let lists: Result<Vec<Vec<String>>, TemplateError> =
            self.statements(function)?.map(|statement| read(function, &statement["Action"])).collect();
        Ok(lists?.into_iter().flatten().collect())
    }

    fn function(&self, binary: &str) -> Result<&Value, TemplateError> {
        let found = self.binaries()?.remove(binary);
        found.ok_or_else(|| TemplateError::Absent(format!("function with the binary {binary}")))
    }

    /// Every function's resource, by its binary.
    pub(crate) fn binaries(&self) -> Result<BTreeMap<String, &Value>, TemplateError> {
        let functions = self.resources.iter().filter(|(_, resource)| resource["Type"] == "AWS::Serverless::Function");
        let named = functions.map(|(id, resource)| match resource["Metadata"]["BuildProperties"]["Binary"].as_str() {
            Some(binary) => Ok((binary.to_owned(), resource)),
            None => broken(&format!("Resources.{id}"), "names no binary"),
        });
        named.collect()
    }
}

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDefinition {
    /// The table's name in the template. A `!Ref` to it evaluates to this, too.
    pub logical_id: String,
    /// Name of every attribute of the key, and its type: `S`, `N` or `B`.
    pub attributes: Vec<(String, String)>,
    /// Name of every attribute of the key, and its role: first `HASH`, then `RANGE`.
    pub key_schema: Vec<(String, String)>,
    /// The attribute by which items expire.
    pub ttl_attribute: Option<String>,
}

/// The properties of the table. One that is not listed, such as an index, is an error: a local table would not have it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Properties {
    attribute_definitions: Vec<Attribute>,
    key_schema: Vec<Key>,
    time_to_live_specification: Option<TimeToLive>,
    #[serde(rename = "BillingMode")]
    _billing_mode: Option<IgnoredAny>,
    #[serde(rename = "PointInTimeRecoverySpecification")]
    _point_in_time_recovery: Option<IgnoredAny>,
    #[serde(rename = "DeletionProtectionEnabled")]
    _deletion_protection: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attribute {
    #[serde(rename = "AttributeName")]
    name: String,
    #[serde(rename = "AttributeType")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    #[serde(rename = "AttributeName")]
    name: String,
    #[serde(rename = "KeyType")]
    role: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct TimeToLive {
    attribute_name: String,
    enabled: bool,
}

impl Template {
    /// The one table of the template. Fails when there is none, and when it has a property that a local table would not
    /// have.
    pub fn table(&self) -> Result<TableDefinition, TemplateError> {
        let (place, properties) = self.only("AWS::DynamoDB::Table")?;
        let Properties { attribute_definitions, key_schema, time_to_live_specification, .. } =
            read(&place, properties)?;
        let ttl = time_to_live_specification.filter(|ttl| ttl.enabled);
        Ok(TableDefinition {
            logical_id: place.trim_start_matches("Resources.").to_owned(),
            attributes: attribute_definitions.into_iter().map(|one| (one.name, one.kind)).collect(),
            key_schema: key_schema.into_iter().map(|one| (one.name, one.role)).collect(),
            ttl_attribute: ttl.map(|ttl| ttl.attribute_name),
        })
    }
}

/// How closely a segment of a route was met. The order is that of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Exact,
    Variable,
    Greedy,
}

/// The route of a request and the values of the variables in its path.
///
/// The method has to be the same. Segment by segment, an exact one is preferred to a variable, and a variable to a
/// greedy one. Variables never take an empty text. `decoded_path` is the path as API Gateway hands it over:
/// percent-encoding undone, nothing else.
pub fn match_route<'r>(
    routes: &'r [Route],
    method: &str,
    decoded_path: &str,
) -> Option<(&'r Route, BTreeMap<String, String>)> {
    routes
        .iter()
        .filter(|route| route.method == method)
        .filter_map(|route| {
            let (fits, variables) = meet(&route.path, decoded_path)?;
            Some((fits, route, variables))
        })
        .min_by(|(left, ..), (right, ..)| left.cmp(right))
        .map(|(_, route, variables)| (route, variables))
}

fn meet(pattern: &str, path: &str) -> Option<(Vec<Fit>, BTreeMap<String, String>)> {
    let mut rest = Some(path.strip_prefix('/')?);
    let mut fits = Vec::new();
    let mut variables = BTreeMap::new();
    for wanted in pattern.strip_prefix('/')?.split('/') {
        let left = rest?;
        let name = wanted.strip_prefix('{').and_then(|inner| inner.strip_suffix('}'));
        if let Some(name) = name.and_then(|name| name.strip_suffix('+')) {
            fits.push(Fit::Greedy);
            variables.insert(name.to_owned(), left.to_owned());
            return (!left.is_empty()).then_some((fits, variables));
        }
        let (segment, further) = match left.split_once('/') {
            Some((segment, further)) => (segment, Some(further)),
            None => (left, None),
        };
        rest = further;
        match name {
            Some(name) if !segment.is_empty() => {
                fits.push(Fit::Variable);
                variables.insert(name.to_owned(), segment.to_owned());
            }
            None if segment == wanted => fits.push(Fit::Exact),
            _ => return None,
        }
    }
    rest.is_none().then_some((fits, variables))
}
