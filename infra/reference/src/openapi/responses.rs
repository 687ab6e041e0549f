//! The responses of an operation: every status with its schema, headers and examples. The schemas of the bodies of
//! refusals and errors follow from the bodies that the service's code makes. And the schemas that the document's operations refer to.

use super::operation::Operation;
use crate::samples::Sample;
use crate::{Reference, json, reference};
use serde_json::{Map, Value, json};
use shared::endpoint::OtherResponse;
use shared::fault::capital;
use shared::model::LARGEST_ID;
use std::collections::{BTreeMap, BTreeSet};

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

/// Schemas by name, and the names that the document uses for those of requests and replies.
#[derive(Debug)]
pub struct Components {
    pub schemas: Map<String, Value>,
    requests: BTreeMap<String, String>,
    replies: BTreeMap<String, String>,
}

impl Components {
    /// The components of all endpoints. A definition that is the whole body of one operation is named after it.
    pub fn of(reference: &Reference, operation_id: impl Fn(&crate::Documented) -> String) -> Self {
        let mut roots: BTreeMap<(bool, String), Vec<String>> = BTreeMap::new();
        for endpoint in &reference.endpoints {
            let id = capital(&operation_id(endpoint));
            let request = endpoint.description.request.body.as_ref().map(json).and_then(self::reference);
            let reply = self::reference(json(&endpoint.description.reply.schema));
            for (is_request, name, suffix) in [(true, request, "Request"), (false, reply, "Response")] {
                let Some(name) = name else { continue };
                roots.entry((is_request, name.to_owned())).or_default().push(format!("{id}{suffix}"));
            }
        }
        let names = |is_request: bool, definitions: &Map<String, Value>| -> BTreeMap<String, String> {
            let short = |old: &String| old.strip_suffix("Body").map(str::to_owned);
            let name = |old: &String| match roots.get(&(is_request, old.clone())).map(Vec::as_slice) {
                Some([only]) => only.clone(),
                // A short name that another definition has would be ambiguous.
                _ => short(old).filter(|name| !definitions.contains_key(name)).unwrap_or_else(|| old.clone()),
            };
            definitions.keys().map(|old| (old.clone(), name(old))).collect()
        };
        let requests = names(true, &reference.requests);
        let replies = names(false, &reference.replies);
        let mut components = Self { schemas: Map::new(), requests, replies };
        for (old, schema) in &reference.replies {
            let (name, schema) = (components.replies[old].clone(), components.reply(schema));
            components.schemas.insert(name, schema);
        }
        for (old, schema) in &reference.requests {
            let schema = components.request(schema);
            let name = components.requests[old].clone();
            // What is read and what is written can differ under one name.
            if components.schemas.get(&name).is_some_and(|other| *other != schema) {
                components.requests.insert(old.clone(), format!("{name}Input"));
            }
            components.schemas.insert(components.requests[old].clone(), schema);
        }
        components.schemas.sort_keys();
        components
    }

    /// A schema of a request, as the document writes it.
    pub fn request(&self, schema: &Value) -> Value {
        let mut schema = rewritten(schema, &self.requests);
        tighten(&mut schema);
        schema
    }

    /// A schema of a reply, as the document writes it.
    pub fn reply(&self, schema: &Value) -> Value {
        rewritten(schema, &self.replies)
    }

    /// The alternatives of a schema; itself if it has none.
    pub fn alternatives<'s>(&'s self, schema: &'s Value) -> Vec<&'s Value> {
        let schema = self.resolve(schema);
        match schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
            Some(alternatives) => alternatives.iter().map(|schema| self.resolve(schema)).collect(),
            None => vec![schema],
        }
    }

    /// The components that `document` refers to, directly or through each other.
    pub fn used_by(&self, document: &Value) -> Map<String, Value> {
        let mut used = BTreeSet::new();
        let mut waiting = vec![document];
        while let Some(value) = waiting.pop() {
            match value {
                Value::Object(keywords) => waiting.extend(keywords.values()),
                Value::Array(values) => waiting.extend(values),
                Value::String(text) => {
                    let name = text.strip_prefix(PREFIX).filter(|name| self.schemas.contains_key(*name));
                    if let Some(name) = name.filter(|name| used.insert(*name)) {
                        waiting.extend(self.schemas.get(name));
                    }
                }
                _ => {}
            }
        }
        let is_used = |(name, _): &(&String, &Value)| used.contains(name.as_str());
        self.schemas.iter().filter(is_used).map(|(name, schema)| (name.clone(), schema.clone())).collect()
    }

    /// The schema that a reference to a component names, or the schema itself.
    pub fn resolve<'s>(&'s self, schema: &'s Value) -> &'s Value {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix(PREFIX));
        name.and_then(|name| self.schemas.get(name)).unwrap_or(schema)
    }
}

const PREFIX: &str = "#/components/schemas/";

/// A schema with its references to definitions as references to components.
fn rewritten(schema: &Value, names: &BTreeMap<String, String>) -> Value {
    match schema {
        Value::Object(keywords) => {
            let mut result: Map<String, Value> = Map::new();
            for (keyword, value) in keywords {
                let value = match reference(schema).filter(|_| keyword == "$ref").and_then(|name| names.get(name)) {
                    Some(name) => json!(format!("{PREFIX}{name}")),
                    None if keyword == "description" => value.as_str().map_or(value.clone(), |text| json!(lines(text))),
                    None => rewritten(value, names),
                };
                result.insert(keyword.clone(), value);
            }
            Value::Object(result)
        }
        Value::Array(values) => values.iter().map(|value| rewritten(value, names)).collect(),
        other => other.clone(),
    }
}

/// Removes default values: they are those of the code's types, and a field's text says what its absence means. Limits the
/// integers of requests that are ids to what they can be: an integer that every client can represent.
fn tighten(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            keywords.remove("default");
            if keywords.get("format").is_some_and(|format| format == "uint64") {
                keywords.insert("maximum".to_owned(), json!(LARGEST_ID));
            }
            keywords.values_mut().for_each(tighten);
        }
        Value::Array(values) => values.iter_mut().for_each(tighten),
        _ => {}
    }
}

/// A doc comment without its line breaks.
fn lines(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
