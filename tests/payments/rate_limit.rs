//! POST /payments/checkStatus: 18 requests per minute and address (rules.md, "Rate limits").

use serde_json::json;
use shared::store::codec::Item;
use shared::store::keys;
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
async fn a_refused_request_does_not_change_the_counter() {
    let store = TestStore::open().await;
    times(&store, 18, call).await;
    let before = counter(&store, HOME).await;
    assert!(before.is_some());
    store.clock.advance(Duration::from_secs(20));
    for _ in 0..5 {
        assert_eq!(store.send(call()).await.status, 429);
    }
    assert_eq!(counter(&store, HOME).await, before);
}

#[tokio::test]
async fn a_counter_that_time_to_live_has_not_cleaned_up_is_not_trusted() {
    let store = TestStore::open().await;
    times(&store, 18, call).await;
    store.clock.advance(Duration::from_hours(24));
    assert!(counter(&store, HOME).await.is_some(), "still in the table");
    times(&store, 18, call).await;
    assert_eq!(store.send(call()).await.status, 429);
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
async fn a_request_for_another_route_does_not_count() {
    let store = TestStore::open().await;
    assert_eq!(store.send(Call::get("/payments/checkStatus")).await.status, 404);
    assert_eq!(store.send(Call::post("/payments/checkStatus/")).await.status, 404);
    assert!(counter(&store, HOME).await.is_none());
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
async fn an_ipv6_caller_is_counted_by_the_64() {
    let store = TestStore::open().await;
    for (number, address) in ["2001:db8:1:2::1", "2001:db8:1:2:ffff::", "2001:DB8:1:2:0:0:0:9"].into_iter().enumerate()
    {
        assert_eq!(remaining(&store, call().from_ip(address)).await, (17 - number).to_string(), "{address}");
    }
    assert_eq!(remaining(&store, call().from_ip("2001:db8:1:3::1")).await, "17");
    assert!(counter(&store, "2001:db8:1:2::/64").await.is_some());
    assert_eq!(remaining(&store, call()).await, "17");
    assert_eq!(remaining(&store, call().from_ip("::ffff:198.51.100.7")).await, "16", "mapped IPv4 is IPv4");
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
async fn behind_a_trusted_proxy_the_right_most_untrusted_address_is_the_client() {
    let store = TestStore::open_with(&[("TrustedProxies", "10.0.0.0/8")]).await;
    let through = |value: &str| forwarded(value).from_ip("10.0.0.1");
    let same = [
        "203.0.113.9",
        "203.0.113.9:51324",
        "1.2.3.4, 203.0.113.9",
        "garbage, 203.0.113.9,10.1.2.3",
        " 203.0.113.9 , 10.0.0.2 ",
        "::ffff:203.0.113.9",
        "[::ffff:203.0.113.9]:443",
    ];
    for (number, value) in same.into_iter().enumerate() {
        assert_eq!(remaining(&store, through(value)).await, (17 - number).to_string(), "{value:?}");
    }
    let two_headers = forwarded("1.2.3.4").header("x-forwarded-for", "203.0.113.9").from_ip("10.0.0.1");
    assert_eq!(remaining(&store, two_headers).await, "10");
    assert_eq!(remaining(&store, call().from_ip("203.0.113.9")).await, "9", "also where they come directly");
    assert_eq!(remaining(&store, through("[2001:db8:1:2::1]:443")).await, "17");
    assert_eq!(remaining(&store, through("2001:db8:1:2::2")).await, "16");
}

#[tokio::test]
async fn an_entry_that_is_not_an_address_ends_the_search_at_the_last_known_address() {
    let store = TestStore::open_with(&[("TrustedProxies", "10.0.0.0/8")]).await;
    let through = |value: &str| forwarded(value).from_ip("10.0.0.1");
    for (number, value) in ["", "unknown", "203.0.113.9, ", "203.0.113.9,,", "203.0.113.999"].into_iter().enumerate() {
        assert_eq!(remaining(&store, through(value)).await, (17 - number).to_string(), "{value:?}");
    }
    assert_eq!(remaining(&store, call().from_ip("10.0.0.1")).await, "12", "no header at all");
    assert_eq!(remaining(&store, through("203.0.113.9, who, 10.0.0.2")).await, "17");
    assert!(counter(&store, "10.0.0.2").await.is_some());
    assert!(counter(&store, "203.0.113.9").await.is_none());
}

#[tokio::test]
async fn an_untrusted_address_that_names_a_proxy_is_not_believed() {
    let store = TestStore::open_with(&[("TrustedProxies", "10.0.0.0/8")]).await;
    assert_eq!(remaining(&store, forwarded("10.0.0.2, 203.0.113.9")).await, "17");
    assert!(counter(&store, HOME).await.is_some());
}
