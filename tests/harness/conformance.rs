//! Responses against the OpenAPI document: every response of every test must be described by `infra/openapi.json`. A
//! status, a field or a header that the document does not have is a fault of the code or of the document.
//!
//! Also every route with its declaration and its sample event, so that tests of all endpoints need no list of their
//! own.

use crate::request::{Call, Reply, event, event_file, event_names};
use crate::store::{repository, template};
use http::Method;
use jsonschema::Validator;
use local::functions::Functions;
use serde_json::{Value, json};
use shared::endpoint::{Cache, Declaration, InputKind};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};
use template::{Route, match_route};

static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| template().routes().expect("usable routes"));

/// The document, with objects that allow no fields but their own.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let path = repository().join("infra/openapi.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut document = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    close(&mut document);
    document
});

/// The schemas that were used, compiled, by their place in the document.
static SCHEMAS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// Lets every object schema allow only the fields that it names.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            keywords.values_mut().for_each(close);
            let is_object = keywords.get("properties").is_some_and(Value::is_object);
            if is_object && !keywords.contains_key("additionalProperties") {
                keywords.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        Value::Array(values) => values.iter_mut().for_each(close),
        _ => {}
    }
}

/// Checks the response to a request. `path` is decoded; with `function`, the request was passed to that function without
/// the gateway. Requests of other routes, and what the gateway itself responds, are not described by the document.
pub fn check(method: &str, path: &str, function: Option<&str>, reply: &Reply) {
    let Some((route, _)) = match_route(&ROUTES, method, path) else { return };
    let is_gateways_own = function.is_none() && !reply.headers.contains_key("cache-control");
    if is_gateways_own || function.is_some_and(|function| function != route.function) {
        return;
    }
    // A call of a game server that no endpoint declares is refused as a route that does not exist.
    let Some(declared) = Functions::declared_route(&route.key(), path) else { return };
    let documented = declared.split_once(' ').map_or(path, |(_, path)| path).replace("+}", "}");
    let faults = faults(method, &documented, reply);
    assert!(
        faults.is_empty(),
        "{method} {path} is not as in infra/openapi.json: {}\n{}",
        faults.join("; "),
        reply.text
    );
}

/// The violations of the document by a response to an operation.
pub fn faults(method: &str, path: &str, reply: &Reply) -> Vec<String> {
    let status = reply.status.as_str();
    let place = format!("{}/responses/{status}", operation(method, path));
    let Some(response) = DOCUMENT.pointer(&place) else {
        return vec![format!("the status {status} is not documented")];
    };
    let mut faults = headers(response, reply);
    let media_type = reply.headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default();
    match response["content"].as_object() {
        None if reply.text.is_empty() => {}
        None => faults.push(format!("the status {status} has a body")),
        Some(content) if !content.contains_key(media_type) => {
            faults.push(format!("the status {status} has a body of type {media_type:?}"));
        }
        Some(_) if media_type == "application/json" => {
            faults.extend(body_faults(&place, &reply.json()));
        }
        Some(_) => {}
    }
    faults
}

/// The violations of the document by the JSON body of a request to an operation; `None` if it takes none.
pub fn request_faults(method: &str, path: &str, body: &Value) -> Option<Vec<String>> {
    let place = format!("{}/requestBody", operation(method, path));
    DOCUMENT.pointer(&place).map(|_| body_faults(&place, body))
}

/// The place of an operation in the document.
fn operation(method: &str, path: &str) -> String {
    format!("/paths/{}/{}", path.replace('~', "~0").replace('/', "~1"), method.to_lowercase())
}

/// The violations of the schema by the body of a request or a response.
fn body_faults(place: &str, body: &Value) -> Vec<String> {
    let validator = validator(&format!("{place}/content/application~1json/schema"));
    validator.iter_errors(body).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The headers of the interface that a response has and the document does not.
fn headers(response: &Value, reply: &Reply) -> Vec<String> {
    let known = DOCUMENT["components"]["headers"].as_object().into_iter().flatten();
    let sent = known.filter(|(name, _)| reply.headers.contains_key(name.as_str()));
    let missing = sent.filter(|(name, _)| response["headers"].get(name.as_str()).is_none());
    missing.map(|(name, _)| format!("the header {name} is not documented")).collect()
}

fn validator(place: &str) -> Arc<Validator> {
    let mut schemas = SCHEMAS.lock().expect("a schema that compiles");
    let compiled = schemas.entry(place.to_owned()).or_insert_with(|| {
        let schema = DOCUMENT.pointer(place).expect("a body has a schema");
        let root = json!({"allOf": [schema], "components": DOCUMENT["components"]});
        Arc::new(jsonschema::draft202012::new(&root).unwrap_or_else(|error| panic!("{place}: {error}")))
    });
    Arc::clone(compiled)
}

#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The function of the route.
    pub function: &'static str,
    pub declaration: &'static Declaration,
    /// The route key, one of the declared ones: `POST /cart/get`.
    pub route: &'static str,
    /// The name of its sample event: `cart/get`.
    pub event: String,
}

/// Every declared route, except scheduled events, and HEAD, which has the response of GET without its body.
pub fn endpoints() -> Vec<Endpoint> {
    ENDPOINTS.clone()
}

static ENDPOINTS: LazyLock<Vec<Endpoint>> = LazyLock::new(|| {
    let routes = Functions::declarations().into_iter().flat_map(|(function, declaration)| {
        let is_left_out = |route: &str| route.starts_with("SCHEDULE ") || route.starts_with("HEAD ");
        let routes = declaration.routes.iter().filter(move |route| !is_left_out(route));
        routes.map(move |route| Endpoint { function, declaration, route, event: event_of(route) })
    });
    routes.collect()
});

/// The declared routes of HEAD, with their functions.
pub fn heads() -> Vec<(String, String)> {
    let declared = Functions::declarations().into_iter();
    let routes =
        declared.flat_map(|(function, declaration)| declaration.routes.iter().map(move |route| (route, function)));
    let heads = routes.filter(|(route, _)| route.starts_with("HEAD "));
    heads.map(|(route, function)| ((*route).to_owned(), function.to_owned())).collect()
}

/// The sample events of the GET endpoints whose responses can be cached.
pub fn cached() -> Vec<Endpoint> {
    let is_cached =
        |endpoint: &Endpoint| endpoint.declaration.cache == Cache::Public && endpoint.route.starts_with("GET ");
    endpoints().into_iter().filter(is_cached).collect()
}

/// The sample event of a route: the one with the shortest name, because outcomes are appended to it.
fn event_of(route: &str) -> String {
    let mut names: Vec<String> = event_names().into_iter().filter(|name| is_of(name, route)).collect();
    names.sort_by_key(String::len);
    names.into_iter().next().unwrap_or_else(|| panic!("{route} has no file in events/"))
}

/// Whether an event is of a declared route.
fn is_of(name: &str, route: &str) -> bool {
    declared_route(&event(name)).as_deref() == Some(route)
}

/// The declared route of an event; `None` if it is a call of a game server that no endpoint declares.
pub fn declared_route(event: &Value) -> Option<String> {
    let text = |field: &str| event[field].as_str().unwrap_or_default();
    Functions::declared_route(text("routeKey"), text("rawPath"))
}

impl Endpoint {
    /// The gateway's route, by which its requests come.
    pub fn gateway_route(&self) -> &'static str {
        Functions::gateway_route(self.route)
    }

    /// The names of all events of the route.
    pub fn events(&self) -> Vec<String> {
        event_names().into_iter().filter(|name| is_of(name, self.route)).collect()
    }

    /// The path of the sample event.
    pub fn path(&self) -> String {
        event(&self.event)["rawPath"].as_str().unwrap_or_default().to_owned()
    }

    /// The request of the sample event through the gateway, with its token.
    pub fn call(&self) -> Call {
        let event = event(&self.event);
        let token = event["headers"]["authorization"].as_str();
        token.into_iter().fold(self.anonymous_call(), |call, token| call.header("authorization", token))
    }

    /// The request of the sample event through the gateway, without a token.
    pub fn anonymous_call(&self) -> Call {
        let event = event(&self.event);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let method: Method = text(&event["requestContext"]["http"]["method"]).parse().expect("a method");
        let (path, query) = (text(&event["rawPath"]), text(&event["rawQueryString"]));
        let target = if query.is_empty() { path } else { format!("{path}?{query}") };
        let call = Call::get(&target).method(method).from_ip("198.51.100.7");
        let call = call.bytes(text(&event["body"]));
        let cookies = event["cookies"].as_array().into_iter().flatten();
        let call = cookies.fold(call, |call, cookie| call.header("cookie", &text(cookie)));
        let headers = ["content-type", "stripe-signature"].into_iter();
        let headers = headers.filter_map(|name| Some((name, event["headers"][name].as_str()?)));
        headers.fold(call, |call, (name, value)| call.header(name, value))
    }

    /// Whether its sample event reads or writes the table. The sample webhook event concerns no order.
    pub fn needs_database(&self) -> bool {
        self.declaration.input != InputKind::Signed && self.declaration.round_trips.cold > 0
    }

    /// The status of the response to its sample event: 200 unless the event says otherwise.
    pub fn status(&self) -> u16 {
        let status = event_file(&self.event)["expected"]["status"].as_u64();
        status.and_then(|status| status.try_into().ok()).unwrap_or(200)
    }

    /// The number of writes that count a request: one for a rate limit, two if it opens a window. payments/create,
    /// payments/portal and payments/receipt count their requests themselves.
    pub fn counting_writes(&self) -> usize {
        let counts = self.declaration.rate_limit.is_some()
            || ["payments/create", "payments/portal", "payments/receipt"].contains(&self.declaration.name);
        if counts { 2 } else { 0 }
    }
}

impl Call {
    /// The route of the request.
    pub fn endpoint(&self) -> Endpoint {
        let path = self.target.split('?').next().unwrap_or_default();
        let called = delivery::declared(self.method.as_str(), path);
        let fits = |route: &str| match route.split_once(' ').map(|(method, path)| (method, path.split_once('{'))) {
            Some((method, Some((fixed, _)))) => {
                method == self.method && path.strip_prefix(fixed).is_some_and(|rest| !rest.is_empty())
            }
            Some((method, None)) => route == format!("{method} {path}") && method == self.method,
            None => false,
        };
        let is_route = |route: &str| called.map_or_else(|| fits(route), |called| called == route);
        let endpoint = endpoints().into_iter().find(|endpoint| is_route(endpoint.route));
        endpoint.unwrap_or_else(|| panic!("{} {path} is not a route", self.method))
    }
}
