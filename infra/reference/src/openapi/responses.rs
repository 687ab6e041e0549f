//! The responses of an operation: every status with its schema, headers and examples. The schemas of the bodies of
//! refusals and errors follow from the bodies that the service's code makes.

use super::components::Components;
use super::operation::Operation;
use crate::json;
use crate::samples::Sample;
use serde_json::{Map, Value, json};
use shared::endpoint::OtherResponse;
use std::collections::BTreeMap;

/// A status that is being put together.
#[derive(Debug, Default)]
struct Status {
    /// The conditions for it.
    when: Vec<String>,
    /// The schemas of its bodies, by media type.
    schemas: BTreeMap<String, Vec<Value>>,
    /// Examples of its JSON body, by name.
    examples: Map<String, Value>,
    retry_after: bool,
}

/// `responses` of an operation.
pub fn of(operation: Operation<'_>, components: &Components, samples: &[Sample]) -> Value {
    let mut statuses: BTreeMap<u16, Status> = BTreeMap::from([(200, success(operation, components))]);
    for response in operation.endpoint.description.others.iter().filter(|response| occurs(operation, response)) {
        let status = statuses.entry(response.status).or_default();
        status.when.push(response.when.to_owned());
        status.retry_after |= response.retry_after;
        add_body(status, components, response);
    }
    for sample in samples.iter().filter(|sample| sample.route == operation.route) {
        let (Some(status), Some(body)) = (statuses.get_mut(&sample.status), &sample.response) else { continue };
        if status.examples.contains_key(&sample.outcome) {
            continue;
        }
        status.examples.insert(sample.outcome.clone(), json!({"value": body}));
    }
    for status in statuses.values_mut() {
        status.examples = successes_first(std::mem::take(&mut status.examples));
    }
    let documents = statuses.into_iter().map(|(code, status)| (code.to_string(), document(operation, code, status)));
    Value::Object(documents.collect())
}

/// The same examples with refusals last: viewers show the first.
fn successes_first(examples: Map<String, Value>) -> Map<String, Value> {
    let is_refusal = |example: &Value| example.pointer("/value/success") == Some(&json!(false));
    let (refusals, successes): (Vec<_>, Vec<_>) = examples.into_iter().partition(|(_, example)| is_refusal(example));
    successes.into_iter().chain(refusals).collect()
}

/// Whether a response can have this method.
fn occurs(operation: Operation<'_>, response: &OtherResponse) -> bool {
    match response.status {
        304 => operation.only_reads(),
        413 => !operation.only_reads(),
        _ => true,
    }
}

fn success(operation: Operation<'_>, components: &Components) -> Status {
    let reply = &operation.endpoint.description.reply;
    let mut schema = components.reply(json(&reply.schema));
    let when = if reply.media_type == "application/json" {
        match components.alternatives(&schema).as_slice() {
            [_] => "Success.".to_owned(),
            _ => "Success, or a refusal that the body names.".to_owned(),
        }
    } else if reply.media_type.is_empty() {
        return Status { when: vec!["Success, without a body.".to_owned()], ..Status::default() };
    } else if reply.media_type == "text/plain" || schema["type"] == "string" {
        "Success.".to_owned()
    } else {
        schema = json!({
            "type": "string",
            "description": "A page. Its script posts the object of `x-message` to the storefront's window.",
            "x-message": components.resolve(&schema),
        });
        "A page for the browser.".to_owned()
    };
    let mut schemas = BTreeMap::from([(reply.media_type.to_owned(), vec![schema.clone()])]);
    if reply.media_type == "text/html" && schema.get("x-message").is_none() {
        // The style sheet of a page.
        schemas.insert("text/css".to_owned(), vec![schema]);
    }
    Status { when: vec![when], schemas, ..Status::default() }
}

fn add_body(status: &mut Status, components: &Components, response: &OtherResponse) {
    if response.body.is_empty() {
        return;
    }
    if response.is_page {
        let page = json!({"type": "string", "description": "A page that says the reason."});
        status.schemas.insert("text/html".to_owned(), vec![page]);
        return;
    }
    let schemas = status.schemas.entry("application/json".to_owned()).or_default();
    let Ok(body) = serde_json::from_str::<Value>(&response.body) else { return };
    let known: Vec<&Value> = schemas.iter().flat_map(|schema| components.alternatives(schema)).collect();
    if !is_among(&known, &body) {
        schemas.push(schema(&body));
    }
    let kind = if response.status < 500 { "refusal" } else { "error" };
    let name = format!("{kind}{}", status.examples.len() + 1);
    status.examples.insert(name, json!({"summary": response.when, "value": body}));
}

fn document(operation: Operation<'_>, code: u16, status: Status) -> Value {
    let sentences = status.when.iter().map(|when| format!("{}.", when.trim_end_matches('.')));
    let description: Vec<String> = if status.when.len() > 1 {
        sentences.map(|sentence| format!("- {sentence}")).collect()
    } else {
        sentences.collect()
    };
    let mut document = json!({"description": description.join("\n")});
    document["headers"] = headers(operation, code, &status);
    let content: Map<String, Value> = status
        .schemas
        .into_iter()
        .map(|(media_type, mut schemas)| {
            let schema = if schemas.len() == 1 { schemas.remove(0) } else { json!({"anyOf": schemas}) };
            let mut content = json!({"schema": schema});
            if media_type == "application/json" && !status.examples.is_empty() {
                content["examples"] = Value::Object(status.examples.clone());
            }
            (media_type, content)
        })
        .collect();
    if !content.is_empty() {
        document["content"] = Value::Object(content);
    }
    document
}

fn headers(operation: Operation<'_>, code: u16, status: &Status) -> Value {
    let mut names = vec!["Cache-Control"];
    if operation.is_cached() && matches!(code, 200 | 304) {
        names.extend(["ETag", "Vary"]);
    }
    if status.retry_after {
        names.push("Retry-After");
    }
    if code == 401 {
        names.push("WWW-Authenticate");
    }
    if operation.endpoint.declaration.rate_limit.is_some() {
        names.extend(["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]);
    }
    let cookie = operation.sets_cookie().filter(|_| code == 200);
    let headers = names.into_iter().map(|name| (name, name)).chain(cookie.map(|component| ("Set-Cookie", component)));
    let reference = |component: &str| json!({"$ref": format!("#/components/headers/{component}")});
    Value::Object(headers.map(|(name, component)| (name.to_owned(), reference(component))).collect())
}

/// The schema of a body that consists of flags and texts.
pub fn schema(body: &Value) -> Value {
    let fields = body.as_object().into_iter().flatten();
    let properties: Map<String, Value> = fields.map(|(name, value)| (name.clone(), property(name, value))).collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "required": required, "properties": properties})
}

fn property(name: &str, value: &Value) -> Value {
    match (name, value) {
        ("message" | "error", Value::String(_)) => {
            json!({"type": "string", "description": "The reason, as a text for people. Texts can change."})
        }
        (_, Value::String(text)) => json!({"const": text, "description": format!("Always `{text}`.")}),
        (_, value) => json!({"const": value, "description": format!("Always {value}.")}),
    }
}

/// Whether a body of one of these schemas can be `body`: it has the same fields.
pub fn is_among(alternatives: &[&Value], body: &Value) -> bool {
    let names = |value: Option<&Value>| -> Vec<String> {
        let mut names: Vec<String> =
            value.and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned().collect();
        names.sort();
        names
    };
    alternatives.iter().any(|schema| names(schema.get("properties")) == names(Some(body)))
}
