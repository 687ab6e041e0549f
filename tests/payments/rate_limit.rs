//! POST /payments/checkStatus: 18 requests per minute and address (rules.md, "Rate limits").

use serde_json::json;
use shared::table::codec::Item;
use shared::table::keys;
use std::time::Duration;
use tests::{Call, Reply, TestStore};

const HOME: &str = "198.51.100.7";

fn call() -> Call {
    Call::post("/payments/checkStatus").json(&json!({ "order_id": "u2qlyq2uxxth4o4j" }))
}

fn forwarded(value: &str) -> Call {
    call().header("x-forwarded-for", value)
}

async fn times(store: &TestStore, count: usize, call: impl Fn() -> Call) {
    for _ in 0..count {
        assert_ne!(store.send(call()).await.status, 429);
    }
}

fn limits(reply: &Reply) -> [&str; 4] {
    ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "retry-after"].map(|name| reply.header(name))
}

async fn counter(store: &TestStore, address: &str) -> Option<Item> {
    store.db.get(&keys::rate("", address), true).await.unwrap()
}

async fn remaining(store: &TestStore, call: Call) -> String {
    store.send(call).await.header("ratelimit-remaining").to_owned()
}

#[tokio::test]
async fn eighteen_requests_pass_and_the_next_has_to_wait() {
    let store = TestStore::open().await;
    for left in (0..18).rev() {
        let reply = store.send(call()).await;
        assert_eq!(reply.status, 200);
        assert_eq!(limits(&reply), ["18", &left.to_string(), "60", ""]);
    }
    let reply = store.send(call()).await;
    assert_eq!(reply.status, 429);
    assert_eq!(reply.header("cache-control"), "no-store");
    assert_eq!(limits(&reply), ["18", "0", "60", "60"]);
    let body = reply.json();
    assert_eq!(body["status"], "error");
    assert!(body["message"].as_str().unwrap().to_lowercase().contains("too many attempts"), "{body}");
    assert_eq!(body.as_object().unwrap().len(), 2);
}

#[tokio::test]
async fn the_window_begins_with_the_first_request_and_no_other_extends_it() {
    let store = TestStore::open().await;
    times(&store, 1, call).await;
    store.clock.advance(Duration::from_millis(30_500));
    times(&store, 16, call).await;
    assert_eq!(limits(&store.send(call()).await), ["18", "0", "30", ""]);
    store.clock.advance(Duration::from_millis(29_499));
    assert_eq!(limits(&store.send(call()).await), ["18", "0", "1", "1"], "a millisecond before the end");
    store.clock.advance(Duration::from_millis(1));
    let reply = store.send(call()).await;
    assert_eq!(reply.status, 200);
    assert_eq!(limits(&reply), ["18", "17", "60", ""]);
}

#[tokio::test]
async fn every_request_counts_with_any_outcome() {
    let store = TestStore::open().await;
    let owned = || Call::post("/payments/checkStatus").json(&json!({ "order_id": "4mjyi2i34hbzt6b6" }));
    let calls = [
        (call(), 200),
        (call().bytes("{"), 400),
        (call().bytes(""), 400),
        (call().bytes("x".repeat(16 * 1024 + 1)), 413),
        (owned(), 401),
        (owned().token("forged"), 401),
        (owned().token(&store.token("Pebble")), 200),
        (owned().token(&store.token("Thornwick")), 200),
    ];
    let mut left = 18;
    for (call, status) in calls {
        left -= 1;
        let reply = store.send(call).await;
        assert_eq!(reply.status, status);
        assert_eq!(limits(&reply), ["18", &left.to_string(), "60", ""], "{status}");
    }
    times(&store, left, call).await;
    // Over the limit, neither body nor token is checked.
    for call in [call().bytes("{"), call().bytes("x".repeat(16 * 1024 + 1)), owned(), owned().token("forged")] {
        let reply = store.send(call).await;
        assert_eq!(reply.status, 429);
        assert_eq!(limits(&reply), ["18", "0", "60", "60"]);
    }
}

#[tokio::test]
async fn instances_count_together() {
    let mut store = TestStore::open().await;
    times(&store, 10, call).await;
    store.restart();
    times(&store, 8, call).await;
    store.restart();
    assert_eq!(store.send(call()).await.status, 429);
}

#[tokio::test]
async fn addresses_are_counted_separately_and_tokens_are_not() {
    let store = TestStore::open().await;
    times(&store, 18, call).await;
    assert_eq!(store.send(call().token(&store.token("Thornwick"))).await.status, 429);
    assert_eq!(remaining(&store, call().from_ip("198.51.100.8")).await, "17");
}

#[tokio::test]
async fn a_caller_cannot_choose_their_address() {
    let store = TestStore::open().await;
    times(&store, 17, call).await;
    assert_eq!(remaining(&store, forwarded("203.0.113.1")).await, "0");
    for value in ["203.0.113.2", "203.0.113.3, 10.0.0.1", "", "2001:db8::1"] {
        assert_eq!(store.send(forwarded(value)).await.status, 429, "{value:?}");
    }
    assert_eq!(store.send(call().header("forwarded", "for=203.0.113.4")).await.status, 429);
    assert_eq!(store.send(call().header("x-real-ip", "203.0.113.5")).await.status, 429);
}

#[tokio::test]
async fn an_untrusted_address_that_names_a_proxy_is_not_believed() {
    let store = TestStore::open_with(&[("TrustedProxies", "10.0.0.0/8")]).await;
    assert_eq!(remaining(&store, forwarded("203.0.113.9").from_ip("10.0.0.1")).await, "17", "behind the proxy");
    assert_eq!(remaining(&store, call().from_ip("203.0.113.9")).await, "16", "also where they come directly");
    assert_eq!(remaining(&store, forwarded("10.0.0.2, 203.0.113.9")).await, "17");
    assert!(counter(&store, HOME).await.is_some());
}
