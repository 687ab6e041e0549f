//! Every file in events/: its response on a fresh sample store is what the file expects. The events work without a gateway.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a helper that fails fails its test")]

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tests::conformance::request_faults;
use tests::{Reply, TestStore, endpoints, event, event_file, event_names};

/// The event as cargo lambda sends it, without a route key.
fn without_route(mut event: Value) -> Value {
    event["routeKey"] = json!("$default");
    event["requestContext"]["routeKey"] = json!("$default");
    event.as_object_mut().unwrap().remove("pathParameters");
    event
}

/// The body without what differs between requests: the state of a chat login and what follows from it, a new order's id where it
/// is paid, and the id of a login by name in its token.
fn body(reply: &Reply) -> Value {
    if reply.text.is_empty() {
        return Value::Null;
    }
    let mut body = reply.data();
    for place in ["/order_id", "/data/url"] {
        body.pointer_mut(place).map(Value::take);
    }
    let is_json = reply.header("content-type") == "application/json";
    if let Some(issued) = body.as_str().filter(|_| is_json).and_then(|token| token.split('.').nth(1)) {
        let mut claims: Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(issued).unwrap()).unwrap();
        claims["sid"].take();
        return claims;
    }
    for parameter in ["state=", "code_challenge="] {
        let url = body.get("url").and_then(Value::as_str).map(str::to_owned);
        if let Some((before, after)) = url.as_deref().and_then(|url| url.split_once(parameter)) {
            body["url"] = json!(format!("{before}{}", after.split_once('&').map_or("", |(_, rest)| rest)));
        }
    }
    body
}

/// Compares a response with what an event's file expects: the status, and values in the body by their JSON pointers. A text
/// that begins with `~` is part of the value; an empty pointer is the whole body. Without a value the body is empty.
fn assert_expected(name: &str, expected: &Value, reply: &Reply) {
    assert_eq!(expected["status"], reply.status.as_u16(), "{name}: {}", reply.text);
    let values: Vec<_> = expected.as_object().unwrap().iter().filter(|(key, _)| *key != "status").collect();
    assert!(!values.is_empty() || reply.text.is_empty(), "{name}: {}", reply.text);
    for (pointer, value) in values {
        let body = reply.data();
        let found = body.pointer(pointer).unwrap_or_else(|| panic!("{name}: no {pointer} in {body}"));
        match value.as_str().and_then(|text| text.strip_prefix('~')) {
            Some(part) => assert!(found.as_str().is_some_and(|text| text.contains(part)), "{name}: {found}"),
            None => assert_eq!(found, value, "{name}"),
        }
    }
}

async fn check(function: &str) {
    for name in event_names().iter().filter(|name| name.starts_with(function)) {
        let store = TestStore::open().await;
        let event = event(name);
        let reply = store.invoke(function, &event).await;
        assert_expected(name, &event_file(name)["expected"], &reply);
        // An event that has changed the store is sent to another one.
        let again = if store.calls.writes() == 0 { store } else { TestStore::open().await };
        let routeless = again.invoke(function, &without_route(event)).await;
        assert_eq!((routeless.status, body(&routeless)), (reply.status, body(&reply)), "{name} without a route");
    }
}

#[test]
fn every_event_is_one_of_the_gateways() {
    let routes: BTreeSet<String> = tests::template().routes().unwrap().iter().map(template::Route::key).collect();
    for name in event_names() {
        let event = event(&name);
        let (route, http) = (event["routeKey"].as_str().unwrap(), &event["requestContext"]["http"]);
        assert!(route == "$default" || routes.contains(route), "{name}: {route}");
        assert_eq!(event["version"], "2.0", "{name}");
        assert_eq!(event["requestContext"]["routeKey"], route, "{name}");
        assert_eq!(http["path"], event["rawPath"], "{name}");
        assert!(route == "$default" || route.split(' ').next() == http["method"].as_str(), "{name}");
        for field in ["sourceIp", "userAgent"] {
            assert!(http[field].is_string(), "{name}: {field}");
        }
        for header in ["host", "user-agent", "x-forwarded-for"] {
            assert!(event["headers"][header].is_string(), "{name}: {header}");
        }
        assert!(event["isBase64Encoded"].is_boolean(), "{name}");
    }
}

#[tokio::test]
async fn events_for_auth_have_the_expected_outcome() {
    Box::pin(check("auth")).await;
}

#[tokio::test]
async fn events_for_cart_have_the_expected_outcome() {
    Box::pin(check("cart")).await;
}

#[tokio::test]
async fn events_for_catalog_have_the_expected_outcome() {
    Box::pin(check("catalog")).await;
}

#[tokio::test]
async fn events_for_content_have_the_expected_outcome() {
    Box::pin(check("content")).await;
}

#[tokio::test]
async fn events_for_delivery_have_the_expected_outcome() {
    Box::pin(check("delivery")).await;
}

#[tokio::test]
async fn events_for_payments_have_the_expected_outcome() {
    Box::pin(check("payments")).await;
}

#[test]
fn the_body_of_every_sample_event_is_as_the_document_says() {
    let mut bodies = 0;
    for endpoint in endpoints() {
        let (method, path) = endpoint.route.split_once(' ').unwrap();
        let sent = event(&endpoint.event);
        let Some(body) = sent["body"].as_str().and_then(|text| serde_json::from_str(text).ok()) else { continue };
        let Some(faults) = request_faults(method, &path.replace("+}", "}"), &body) else { continue };
        assert_eq!(faults, Vec::<String>::new(), "{}", endpoint.event);
        bodies += 1;
    }
    assert!(bodies > 10, "only {bodies} bodies were found");
}
