//! Every field of the OpenAPI document that the tables do not have is marked as an addition, and no other field is.

use super::{SERVERS, tables};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tests::repository;

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
