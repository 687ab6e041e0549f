//! The fields of the documented interface, version 3.8.7, written by hand: their names, types and nullability in live
//! responses of the sample store. Neither the Rust types nor the OpenAPI document is used here.

#![expect(clippy::panic, reason = "a helper that fails fails its test")]

mod added;
mod tables;

use serde_json::Value;
use tables::{AUTH, CART, CATALOG, CONTENT, PAYMENTS, SERVERS};
use tests::{Call, TestStore};

/// A field: its path and its type. `[]` is every element of an array, `*` every value of an object; the path of the body
/// itself is empty. Types are those of JSON; `|` separates alternatives.
type Field = (&'static str, &'static str);

/// An event, the status of its response, and the fields of the body.
type Table = (&'static str, u16, &'static [Field]);

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

async fn check(tables: &[Table]) {
    for (event, status, fields) in tables {
        let reply = TestStore::open().await.invoke_file(event).await;
        assert_eq!(reply.status, *status, "{event}: {}", reply.text);
        let faults = faults(&reply.json(), fields);
        assert!(faults.is_empty(), "{event}:\n{}", faults.join("\n"));
    }
}

#[tokio::test]
async fn content_has_the_fields_of_the_documented_interface() {
    check(CONTENT).await;
}

#[tokio::test]
async fn auth_has_the_fields_of_the_documented_interface() {
    check(AUTH).await;
}

#[tokio::test]
async fn catalog_has_the_fields_of_the_documented_interface() {
    check(CATALOG).await;
    let store = TestStore::open().await;
    let boosts = store.send(Call::post("/categories/get/boosts").token(&store.token("Thornwick"))).await;
    assert_eq!(faults(&boosts.json(), SERVERS), Vec::<String>::new());
}

#[tokio::test]
async fn the_cart_has_the_fields_of_the_documented_interface() {
    check(CART).await;
}

#[tokio::test]
async fn payments_has_the_fields_of_the_documented_interface() {
    check(PAYMENTS).await;
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
