//! Oversized requests: paths, queries, headers, ids, names, details and carts, and JSON that is small to send and large
//! to read, for every endpoint that reads a body.

use super::seen;
use serde_json::{Value, json};
use shared::endpoint::InputKind;
use std::time::{Duration, Instant};
use tests::{Call, Endpoint, TestStore, endpoints, event};

#[tokio::test]
async fn a_long_path_is_not_found_before_the_table_is_read() {
    let store = TestStore::open().await;
    let token = store.token("Pebble");
    // The first request reads the active version.
    store.send(Call::post("/categories/get/ranks").token(&token)).await;
    for length in [256, 2_048, 9_000] {
        for tail in ["a".repeat(length), "a/".repeat(length / 2), "/".repeat(length), "%61".repeat(length)] {
            for before in ["/categories/get/", "/", "/cart/", "/staff/"] {
                store.calls.clear();
                let reply = store.send(Call::post(&format!("{before}{tail}")).token(&token)).await;
                assert_eq!(reply.status, 404, "{before}{tail:.20}: {}", reply.text);
                assert!(!reply.text.contains("aaaa"), "{}", reply.text);
                assert_eq!(store.calls.operations(), Vec::<String>::new(), "{before}{tail:.20}");
            }
        }
    }
}

#[tokio::test]
async fn many_and_long_headers_and_queries_change_no_response() {
    let store = TestStore::open().await;
    for endpoint in endpoints().into_iter().filter(|endpoint| endpoint.route.starts_with("GET ")) {
        // Its page depends on its query.
        if ["auth/chat", "auth/chat/callback"].contains(&endpoint.declaration.name) {
            continue;
        }
        let plain = seen(&store.send(endpoint.call()).await);
        let headers = (0..200).fold(endpoint.call(), |call, number| call.header(&format!("x-filler-{number}"), "x"));
        let long = endpoint.call().header("x-filler", &"x".repeat(10_000)).header("user-agent", &"é".repeat(4_000));
        let repeated = (0..500).fold(endpoint.call(), |call, _| call.header("accept", "a"));
        for call in [headers, long, repeated] {
            assert_eq!(seen(&store.send(call).await), plain, "{}", endpoint.route);
        }
    }
}

#[tokio::test]
async fn a_long_query_of_the_chat_callback_is_refused_without_a_call_to_the_platform() {
    let store = TestStore::open().await;
    for query in [
        format!("state={}", "x".repeat(9_000)),
        format!("code={}&state=a.b.c", "x".repeat(9_000)),
        format!("error={}&state=a.b.c", "x".repeat(9_000)),
        "state=a&".repeat(1_000),
        "&".repeat(9_000),
    ] {
        store.calls.clear();
        let reply = store.send(Call::get(&format!("/auth/chat/callback?{query}"))).await;
        assert_eq!(reply.status, 400);
        assert!(reply.text.len() < 2_000 && !reply.text.contains("xxxx"), "{}", reply.text);
        assert_eq!(store.calls.writes(), 0);
    }
}

#[tokio::test]
async fn what_a_checkout_does_not_need_may_be_long_and_is_not_kept() {
    let store = TestStore::open().await;
    let token = store.token("Thornwick");
    let details = json!({ "email": "x".repeat(10_000), "names": "y".repeat(500) });
    let body = json!({ "paymentMethod": "Stripe", "termsAndConditions": true, "privacyPolicy": true, "details": details,
                       "currency": "EUR", "chatId": "z".repeat(1_000) });
    let reply = store.send(Call::post("/payments/create").token(&token).json(&body)).await;
    assert!(reply.status.as_u16() < 500, "{}", reply.text);
    assert!(!reply.text.contains("xxxx") && !reply.text.contains("zzzz"), "{}", reply.text);
    let mut rows = tests::items(&store.db, "").await.into_iter().map(|row| format!("{row:?}"));
    let kept = rows.any(|row| row.contains("xxxx") || row.contains("zzzz"));
    assert!(!kept, "details are stored nowhere");
}

/// The largest body in bytes.
const LARGEST: usize = 16 * 1024;
/// The most time that an unoptimised build may take for one of these bodies on a busy machine. A reader that is quadratic takes minutes.
const AT_MOST: Duration = Duration::from_secs(5);

fn readers() -> impl Iterator<Item = Endpoint> {
    endpoints().into_iter().filter(|endpoint| endpoint.declaration.input.has_json_body())
}

/// Bodies of at most 16 KiB.
fn bombs(field: &str) -> Vec<String> {
    let fill = |part: &str| part.repeat((LARGEST - 64) / part.len());
    let nested = |open: &str, close: &str| {
        let depth = (LARGEST - 64) / (open.len() + close.len());
        format!("{{\"{field}\":{}1{}}}", open.repeat(depth), close.repeat(depth))
    };
    vec![
        nested("[", "]"),
        nested("{\"a\":", "}"),
        "[".repeat(LARGEST),
        "{\"a\":".repeat(LARGEST / 5),
        format!("{{\"{field}\":{}}}", "9".repeat(LARGEST - 64)),
        format!("{{\"{field}\":0.{}}}", "0".repeat(LARGEST - 64)),
        format!("{{\"{field}\":1e{}}}", "9".repeat(LARGEST - 64)),
        format!("{{\"{field}\":-{}}}", "1".repeat(LARGEST - 64)),
        format!("{{\"{field}\":\"{}\"}}", "x".repeat(LARGEST - 64)),
        format!("{{\"{field}\":\"{}\"}}", fill("\\u0130")),
        format!("{{\"{field}\":\"{}\"}}", fill("\\ud800")),
        format!("{{\"{field}\":\"{}\"}}", fill("\\\\")),
        format!("{{\"{field}\":[{}1]}}", fill("1,")),
        format!("{{\"{field}\":{{{}\"a\":1}}}}", fill("\"a\":1,")),
        format!("{{{}\"{field}\":1}}", fill(&format!("\"{field}\":1,"))),
        format!(
            "{{{}\"a\":1}}",
            (0..1_500).map(|number| format!("\"k{number}\":0")).collect::<Vec<_>>().join(",") + ","
        ),
        format!("{{\"{field}\":\"a\"{}}}", " ".repeat(LARGEST - 64)),
    ]
}

/// A field that the endpoint reads: the first one of its sample event.
fn field(endpoint: &Endpoint) -> String {
    let body: Value = serde_json::from_str(event(&endpoint.event)["body"].as_str().unwrap_or_default()).unwrap();
    body.as_object().unwrap().keys().next().expect("a sample event with a field").clone()
}

#[tokio::test]
async fn a_json_bomb_is_a_client_error_in_little_time_and_writes_nothing() {
    for endpoint in readers() {
        let store = TestStore::open().await;
        for (place, body) in bombs(&field(&endpoint)).into_iter().enumerate() {
            assert!(body.len() <= LARGEST, "{place}: {}", body.len());
            let call = endpoint.call().from_ip(&format!("203.0.113.{place}")).bytes(body);
            store.calls.clear();
            let begun = Instant::now();
            let reply = store.send(call).await;
            let what = format!("{}, bomb {place}: {}", endpoint.route, reply.text);
            assert!(begun.elapsed() < AT_MOST, "{what}: {:?}", begun.elapsed());
            assert!(reply.status.as_u16() < 500, "{what}");
            assert!(reply.text.len() < 4_096, "the response is much smaller than the request: {}", reply.text.len());
            if reply.status.as_u16() >= 400 {
                assert!(store.calls.writes() <= endpoint.counting_writes(), "{what}: {:?}", store.calls.operations());
            }
        }
    }
}

#[tokio::test]
async fn a_bomb_in_a_signed_webhook_event_is_refused_by_its_signature() {
    let store = TestStore::open().await;
    for endpoint in endpoints().into_iter().filter(|endpoint| endpoint.declaration.input == InputKind::Signed) {
        for body in bombs("data") {
            store.calls.clear();
            let reply = store.send(endpoint.call().bytes(body)).await;
            assert_eq!(reply.status, 400, "{}", reply.text);
            assert_eq!(store.calls.operations(), Vec::<String>::new(), "{}", endpoint.route);
        }
    }
}
