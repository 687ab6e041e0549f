//! Responses against the OpenAPI document: every response of every test must be described by `infra/openapi.json`. A
//! status, a field or a header that the document does not have is a fault of the code or of the document.

use crate::request::Reply;
use crate::store::{repository, template};
use jsonschema::Validator;
use local::functions::Functions;
use serde_json::{Value, json};
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
