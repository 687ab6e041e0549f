//! The fields of the documented interface, version 3.8.7, written by hand: their names, types and nullability in live
//! responses of the sample store. Neither the Rust types nor the OpenAPI document is used for them. And every field of
//! the OpenAPI document that the tables do not have is marked as an addition, and no other field is.

#![expect(clippy::panic, reason = "a helper that fails fails its test")]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tests::{Call, TestStore, repository};

/// A field: its path and its type.
type Field = (&'static str, &'static str);

/// Of a category whose items are delivered to one of several servers.
const SERVERS: &[Field] =
    &[("items.[].allowed_servers.[].id", "integer"), ("items.[].allowed_servers.[].name", "string")];

/// Every event of the file of fields with the fields of its response.
fn tables() -> Vec<(&'static str, Vec<Field>)> {
    let lines = include_str!("fields.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut tables: Vec<(&str, Vec<Field>)> = Vec::new();
    let mut events = 0;
    for line in lines {
        match line.strip_prefix("    ") {
            None => {
                events = line.split(' ').count();
                tables.extend(line.split(' ').map(|event| (event, Vec::new())));
            }
            Some(field) => {
                let (path, kinds) = field.split_once(' ').unwrap();
                let field = (if path == "(body)" { "" } else { path }, kinds);
                tables.iter_mut().rev().take(events).for_each(|(_, fields)| fields.push(field));
            }
        }
    }
    tables
}

/// The values at a path; `None` for a field that is not there.
fn values<'v>(body: &'v Value, path: &str) -> Vec<Option<&'v Value>> {
    let mut found = vec![Some(body)];
    for part in path.split('.').filter(|part| !part.is_empty()) {
        found = found
            .into_iter()
            .flatten()
            .flat_map(|value| -> Vec<Option<&Value>> {
                match part {
                    "[]" => value.as_array().into_iter().flatten().map(Some).collect(),
                    "*" => value.as_object().into_iter().flatten().map(|(_, value)| Some(value)).collect(),
                    name => vec![value.get(name)],
                }
            })
            .collect();
    }
    found
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("{other} is not a type"),
    }
}

/// The differences between a body and a table.
fn faults(body: &Value, fields: &[Field]) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, kinds) in fields {
        let values = values(body, path);
        if values.is_empty() {
            faults.push(format!("{path}: the sample store shows none"));
        }
        for value in values {
            match value {
                None => faults.push(format!("{path} is missing")),
                Some(value) if !kinds.split('|').any(|kind| is(value, kind)) => {
                    faults.push(format!("{path} is {value}, not {kinds}"));
                }
                Some(_) => {}
            }
        }
    }
    faults
}

#[tokio::test]
async fn every_response_has_the_fields_of_the_documented_interface() {
    for (event, fields) in tables() {
        let reply = TestStore::open().await.invoke_file(event).await;
        assert_eq!(reply.status, 200, "{event}: {}", reply.text);
        let faults = faults(&reply.json(), &fields);
        assert!(faults.is_empty(), "{event}:\n{}", faults.join("\n"));
    }
    let store = TestStore::open().await;
    let boosts = store.send(Call::post("/categories/get/boosts").token(&store.token("Thornwick"))).await;
    assert_eq!(faults(&boosts.json(), SERVERS), Vec::<String>::new());
}

#[tokio::test]
async fn refusals_have_the_bodies_of_the_documented_interface() {
    let unauthorized: &[Field] = &[("status", "boolean"), ("message", "string")];
    let label: &[Field] = &[("status", "string"), ("message", "string")];
    let store = TestStore::open().await;
    let post = |path: &str| Call::post(path);
    let token = store.token("Thornwick");
    let page = store.send(post("/pages/get").token(&token).json(&serde_json::json!({}))).await;
    assert_eq!((page.status.as_u16(), faults(&page.json(), &[("message", "string")])), (400, Vec::new()));
    let servers = store.send(post("/cart/getSelectServers")).await;
    assert_eq!((servers.status.as_u16(), faults(&servers.json(), unauthorized)), (401, Vec::new()));
    assert_eq!(servers.json()["status"], false);
    let order = tests::event("payments/check_status")["body"].as_str().unwrap_or_default().to_owned();
    let status = store.send(post("/payments/checkStatus").bytes(order)).await;
    assert_eq!((status.status.as_u16(), faults(&status.json(), label)), (401, Vec::new()));
    assert_eq!((&status.json()["status"], &status.json()["message"]), (&"error".into(), &"Unauthorized".into()));
}

#[test]
fn a_field_that_is_missing_or_of_another_type_is_found() {
    let body = serde_json::json!({"items": [{"id": 1, "name": "a"}, {"id": "2", "name": null}], "empty": []});
    let found = faults(
        &body,
        &[
            ("items.[].id", "integer"),
            ("items.[].name", "string"),
            ("items.[].price", "number"),
            ("empty.[].id", "integer"),
        ],
    );
    assert_eq!(
        found,
        [
            "items.[].id is \"2\", not integer",
            "items.[].name is null, not string",
            "items.[].price is missing",
            "items.[].price is missing",
            "empty.[].id: the sample store shows none",
        ]
    );
}

/// Documented fields that no table has: those of refusals, and the entries whose shape the documented interface leaves open.
const OTHERS: [(&str, &str); 4] = [
    ("GET /auth/chat", "error"),
    ("GET /patrons/get", "error"),
    ("POST /cart/getSelectServers", "*.[].server_id"),
    ("POST /cart/getSelectServers", "*.[].server_name"),
];

/// A field of the document, wherever its object occurs.
#[derive(Debug, Default)]
struct Occurrences {
    paths: BTreeSet<String>,
    is_marked: bool,
}

type Found = BTreeMap<*const Value, Occurrences>;

/// Collects the fields below `schema`. What is below a marked field is an addition with it.
fn collect(document: &Value, schema: &Value, path: &str, found: &mut Found) {
    let schema = match schema["$ref"].as_str() {
        Some(name) => document.pointer(name.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    for alternative in ["anyOf", "oneOf"].iter().flat_map(|word| schema[*word].as_array().into_iter().flatten()) {
        collect(document, alternative, path, found);
    }
    let below = |part: &str| if path.is_empty() { part.to_owned() } else { format!("{path}.{part}") };
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let known = found.entry(std::ptr::from_ref(field)).or_default();
        known.paths.insert(below(name));
        known.is_marked = field["x-beyond-contract"] == true;
        if !known.is_marked {
            collect(document, field, &below(name), found);
        }
    }
    for (word, part) in [("items", "[]"), ("additionalProperties", "*")] {
        if schema[word].is_object() {
            collect(document, &schema[word], &below(part), found);
        }
    }
}

#[test]
fn exactly_the_fields_beyond_the_tables_are_marked_as_additions() {
    let document = std::fs::read_to_string(repository().join("infra/openapi.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    let mut operations: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (event, fields) in tables() {
        let route = tests::event(event)["routeKey"].as_str().unwrap().replace("+}", "}");
        operations.entry(route).or_default().extend(fields.iter().map(|(path, _)| (*path).to_owned()));
    }
    for (route, field) in OTHERS {
        operations.entry(route.to_owned()).or_default().insert(field.to_owned());
    }
    // The documented items are those of subcategories.
    let servers = SERVERS.iter().map(|(path, _)| format!("subcategories.[].{path}"));
    operations.entry("POST /categories/get/{url}".to_owned()).or_default().extend(servers);
    assert_eq!(operations.len(), 16);
    let mut wrong = Vec::new();
    for (route, documented) in operations {
        let (method, path) = route.split_once(' ').unwrap();
        let response = &document["paths"][path][method.to_lowercase()]["responses"]["200"];
        let mut found = Found::new();
        collect(&document, &response["content"]["application/json"]["schema"], "", &mut found);
        assert!(!found.is_empty(), "{route}");
        for field in found.values() {
            let has =
                |path: &String| documented.iter().any(|other| other == path || other.starts_with(&format!("{path}.")));
            let is_documented = field.paths.iter().any(has);
            if is_documented == field.is_marked {
                wrong.push(format!("{route}: {field:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
