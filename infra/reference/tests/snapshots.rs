//! The schemas are true: every body that the black-box tests pin fits the schema of its endpoint, without a field that
//! the schema does not have.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails fails its test")]

use reference::{Documented, Reference};
use serde_json::{Map, Value};
use shared::endpoint::RequestSchemas;
use std::path::{Path, PathBuf};

/// Keywords that say nothing of what is valid.
const ANNOTATIONS: [&str; 5] = ["description", "title", "format", "default", "x-beyond-contract"];

/// Checks values against schemas. An object has no field but those of its schema.
struct Check<'s> {
    definitions: &'s Map<String, Value>,
}

impl Check<'_> {
    /// What is wrong with a value, with the path to it.
    fn faults(&self, path: &str, value: &Value, schema: &Value) -> Vec<String> {
        let Value::Object(keywords) = schema else {
            return if *schema == Value::Bool(true) { Vec::new() } else { vec![format!("{path}: no schema")] };
        };
        let fault = |text: String| vec![format!("{path}: {text}")];
        let mut faults = Vec::new();
        for (keyword, expected) in keywords {
            faults.extend(match keyword.as_str() {
                "$ref" => self.faults(path, value, Reference::resolve(self.definitions, schema)),
                "type" if !has_type(value, expected) => fault(format!("{value} is not {expected}")),
                "const" if value != expected => fault(format!("{value} is not {expected}")),
                "enum" if !expected.as_array().unwrap().contains(value) => {
                    fault(format!("{value} is not in {expected}"))
                }
                "minimum" if value.is_number() && value.as_f64() < expected.as_f64() => {
                    fault(format!("{value} is under {expected}"))
                }
                "maximum" if value.is_number() && value.as_f64() > expected.as_f64() => {
                    fault(format!("{value} is over {expected}"))
                }
                "properties" => self.object(path, value, expected),
                "required" => missing(path, value, expected),
                "items" => self.elements(path, value, expected),
                "additionalProperties" => self.values(path, value, expected),
                "anyOf" | "oneOf" => {
                    let mut faults: Vec<_> =
                        expected.as_array().unwrap().iter().map(|s| self.faults(path, value, s)).collect();
                    if faults.iter().any(Vec::is_empty) { Vec::new() } else { faults.swap_remove(0) }
                }
                "maxProperties" if value.as_object().map(|fields| fields.len() as u64) > expected.as_u64() => {
                    fault(format!("{value} has too many fields"))
                }
                "minLength" if length(value) < expected.as_u64() => fault(format!("{value} is too short")),
                "maxLength" if length(value) > expected.as_u64() => fault(format!("{value} is too long")),
                "type" | "const" | "enum" | "minimum" | "maximum" | "minLength" | "maxLength" | "maxProperties" => {
                    Vec::new()
                }
                keyword if ANNOTATIONS.contains(&keyword) => Vec::new(),
                keyword => fault(format!("this check does not know the keyword {keyword}")),
            });
        }
        faults
    }

    fn object(&self, path: &str, value: &Value, properties: &Value) -> Vec<String> {
        let fields = value.as_object().into_iter().flatten();
        let faults = fields.map(|(name, value)| match properties.get(name) {
            Some(schema) => self.faults(&format!("{path}.{name}"), value, schema),
            None => vec![format!("{path}: {name} is not in the schema")],
        });
        faults.flatten().collect()
    }

    fn elements(&self, path: &str, value: &Value, schema: &Value) -> Vec<String> {
        let elements = value.as_array().into_iter().flatten().enumerate();
        elements.flat_map(|(index, element)| self.faults(&format!("{path}[{index}]"), element, schema)).collect()
    }

    fn values(&self, path: &str, value: &Value, schema: &Value) -> Vec<String> {
        let values = value.as_object().into_iter().flatten();
        values.flat_map(|(name, value)| self.faults(&format!("{path}.{name}"), value, schema)).collect()
    }
}

/// The length of a string in characters.
fn length(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}

fn missing(path: &str, value: &Value, required: &Value) -> Vec<String> {
    let names = required.as_array().unwrap().iter().filter_map(Value::as_str);
    let missing = names.filter(|name| value.is_object() && value.get(name).is_none());
    missing.map(|name| format!("{path}: {name} is missing")).collect()
}

fn has_type(value: &Value, expected: &Value) -> bool {
    match expected {
        Value::Array(kinds) => kinds.iter().any(|kind| has_type(value, kind)),
        kind => match kind.as_str().unwrap() {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("{other} is not a type"),
        },
    }
}

/// The name of a black-box test file and the body in each of its snapshots: `cart`, `get`, a file, a body.
fn snapshots() -> Vec<(String, String, PathBuf, Value)> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut found = Vec::new();
    for function in ["auth", "cart", "catalog", "content", "payments"] {
        for file in std::fs::read_dir(tests.join(function).join("snapshots")).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let mut parts = name.split("__").skip(1);
            let (function, test) = (parts.next().unwrap().to_owned(), parts.next().unwrap().to_owned());
            let content = std::fs::read_to_string(&path).unwrap();
            let body = content.splitn(3, "---\n").nth(2).unwrap();
            found.push((function, test, path, serde_json::from_str(body).unwrap()));
        }
    }
    found
}

/// The sample event of an endpoint, which has the name of its test file.
fn sample(function: &str, test: &str) -> Value {
    let events = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events");
    let content = std::fs::read_to_string(events.join(function).join(format!("{test}.json"))).unwrap();
    serde_json::from_str(&content).unwrap()
}

/// Whether a test file is that of an endpoint.
fn is_of(endpoint: &Documented, function: &str, test: &str) -> bool {
    let key = sample(function, test)["routeKey"].as_str().unwrap().to_owned();
    endpoint.function == function && endpoint.declaration.routes.contains(&key.as_str())
}

#[test]
fn every_pinned_body_fits_its_schema() {
    let reference = Reference::of_all_functions();
    let check = Check { definitions: &reference.replies };
    let snapshots = snapshots();
    assert!(snapshots.len() >= 30, "only {} snapshots were found", snapshots.len());
    for (function, test, path, body) in snapshots {
        let endpoint = reference.endpoints.iter().find(|endpoint| is_of(endpoint, &function, &test));
        let endpoint = endpoint.unwrap_or_else(|| panic!("{} is not of an endpoint", path.display()));
        let faults = check.faults("", &body, endpoint.description.reply.schema.as_value());
        assert!(faults.is_empty(), "{}:\n{}", path.display(), faults.join("\n"));
    }
}

#[test]
fn the_body_of_every_sample_event_fits_its_schema() {
    let reference = Reference::of_all_functions();
    let check = Check { definitions: &reference.requests };
    let mut count = 0;
    for (function, test, path, _) in snapshots() {
        let endpoint = reference.endpoints.iter().find(|endpoint| is_of(endpoint, &function, &test)).unwrap();
        let RequestSchemas { query, body, .. } = &endpoint.description.request;
        let event = sample(&function, &test);
        let (schema, sent) = match (query, body) {
            (Some(query), _) => (query, event["queryStringParameters"].clone()),
            (None, Some(body)) => (body, serde_json::from_str(event["body"].as_str().unwrap()).unwrap()),
            (None, None) => continue,
        };
        let faults = check.faults("", &sent, schema.as_value());
        assert!(faults.is_empty(), "{}:\n{}", path.display(), faults.join("\n"));
        count += 1;
    }
    assert!(count > 4, "only {count} bodies were found");
}

#[test]
fn a_body_that_does_not_fit_is_refused() {
    let reference = Reference::of_all_functions();
    let check = Check { definitions: &reference.replies };
    let account = reference.endpoints.iter().find(|endpoint| endpoint.heading() == "POST /user").unwrap();
    let (_, _, _, good) = snapshots().into_iter().find(|(_, test, _, _)| test == "user").unwrap();
    let faults = |body: &Value| check.faults("", body, account.description.reply.schema.as_value());
    assert_eq!(faults(&good), Vec::<String>::new());
    let changed = |name: &str, value: Option<Value>| {
        let mut body = good.clone();
        match value {
            Some(value) => body[name] = value,
            None => _ = body.as_object_mut().unwrap().remove(name),
        }
        faults(&body)
    };
    assert_eq!(changed("id", Some("7".into())), [".id: \"7\" is not \"integer\""]);
    assert_eq!(changed("avatar", Some(Value::Null)), [".avatar: null is not \"string\""]);
    assert_eq!(changed("uuid", None), [": uuid is missing"]);
    assert_eq!(changed("email", Some("a".into())), [": email is not in the schema"]);
    assert_eq!(changed("id", Some((-1).into())), [".id: -1 is under 0"]);
}
