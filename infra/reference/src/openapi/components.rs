//! The schemas that the document's operations refer to.

use crate::{Reference, json, reference};
use serde_json::{Map, Value, json};
use shared::fault::capital;
use shared::model::LARGEST_ID;
use std::collections::{BTreeMap, BTreeSet};

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
