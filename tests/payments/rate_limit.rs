//! Limits of an address. POST /payments/checkStatus: 18 requests per minute (rules.md, "Rate limits"). Open checkouts
//! with limited items: at most ten, of those begun within the time of a hold (rules.md, "Checkout").

use super::support::{Begun, act, add, agreed, buyer, call, create};
use serde_json::{Value, json};
use shared::table::codec::Item;
use shared::table::keys;
use std::time::Duration;
use stripe_stand_in::Action;
use tests::{Call, Reply, TestStore};

const HOME: &str = "198.51.100.7";

fn check_status() -> Call {
    Call::post("/payments/checkStatus").json(&json!({ "order_id": "u2qlyq2uxxth4o4j" }))
}

fn forwarded(value: &str) -> Call {
    check_status().header("x-forwarded-for", value)
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
        let reply = store.send(check_status()).await;
        assert_eq!(reply.status, 200);
        assert_eq!(limits(&reply), ["18", &left.to_string(), "60", ""]);
    }
    let reply = store.send(check_status()).await;
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
    times(&store, 1, check_status).await;
    store.clock.advance(Duration::from_millis(30_500));
    times(&store, 16, check_status).await;
    assert_eq!(limits(&store.send(check_status()).await), ["18", "0", "30", ""]);
    store.clock.advance(Duration::from_millis(29_499));
    assert_eq!(limits(&store.send(check_status()).await), ["18", "0", "1", "1"], "a millisecond before the end");
    store.clock.advance(Duration::from_millis(1));
    let reply = store.send(check_status()).await;
    assert_eq!(reply.status, 200);
    assert_eq!(limits(&reply), ["18", "17", "60", ""]);
}

#[tokio::test]
async fn every_request_counts_with_any_outcome() {
    let store = TestStore::open().await;
    let owned = || Call::post("/payments/checkStatus").json(&json!({ "order_id": "4mjyi2i34hbzt6b6" }));
    let calls = [
        (check_status(), 200),
        (check_status().bytes("{"), 400),
        (check_status().bytes(""), 400),
        (check_status().bytes("x".repeat(16 * 1024 + 1)), 413),
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
    times(&store, left, check_status).await;
    // Over the limit, neither body nor token is checked.
    for call in
        [check_status().bytes("{"), check_status().bytes("x".repeat(16 * 1024 + 1)), owned(), owned().token("forged")]
    {
        let reply = store.send(call).await;
        assert_eq!(reply.status, 429);
        assert_eq!(limits(&reply), ["18", "0", "60", "60"]);
    }
}

#[tokio::test]
async fn instances_count_together() {
    let mut store = TestStore::open().await;
    times(&store, 10, check_status).await;
    store.restart();
    times(&store, 8, check_status).await;
    store.restart();
    assert_eq!(store.send(check_status()).await.status, 429);
}

#[tokio::test]
async fn addresses_are_counted_separately_and_tokens_are_not() {
    let store = TestStore::open().await;
    times(&store, 18, check_status).await;
    assert_eq!(store.send(check_status().token(&store.token("Thornwick"))).await.status, 429);
    assert_eq!(remaining(&store, check_status().from_ip("198.51.100.8")).await, "17");
}

#[tokio::test]
async fn a_caller_cannot_choose_their_address() {
    let store = TestStore::open().await;
    times(&store, 17, check_status).await;
    assert_eq!(remaining(&store, forwarded("203.0.113.1")).await, "0");
    for value in ["203.0.113.2", "203.0.113.3, 10.0.0.1", "", "2001:db8::1"] {
        assert_eq!(store.send(forwarded(value)).await.status, 429, "{value:?}");
    }
    assert_eq!(store.send(check_status().header("forwarded", "for=203.0.113.4")).await.status, 429);
    assert_eq!(store.send(check_status().header("x-real-ip", "203.0.113.5")).await.status, 429);
}

#[tokio::test]
async fn an_untrusted_address_that_names_a_proxy_is_not_believed() {
    let store = TestStore::open_with(&[("TrustedProxies", "10.0.0.0/8")]).await;
    assert_eq!(remaining(&store, forwarded("203.0.113.9").from_ip("10.0.0.1")).await, "17", "behind the proxy");
    assert_eq!(remaining(&store, check_status().from_ip("203.0.113.9")).await, "16", "also where they come directly");
    assert_eq!(remaining(&store, forwarded("10.0.0.2, 203.0.113.9")).await, "17");
    assert!(counter(&store, HOME).await.is_some());
}

/// An item with a global limit, and one without.
const LIMITED: u64 = 211;
const PLAIN: u64 = 302;
/// An address may begin ten checkouts in this time.
const ATTEMPTS: Duration = Duration::from_mins(10);
const TOO_MANY: &str =
    "Too many payments of limited items or coupons are open at your address. Finish one, or try again later.";

/// Ten open checkouts with a limited item, begun by buyers of one address at about the same time.
async fn ten(store: &TestStore) -> Vec<Begun> {
    let mut open = Vec::new();
    for n in 0..10 {
        let token = buyer(store, &format!("Buyer{n}"), LIMITED, 1).await;
        open.push(create(store, &token).await);
    }
    open
}

fn refused(reply: &Reply) -> Value {
    let data = reply.data();
    assert_eq!((reply.status.as_u16(), &data["success"]), (200, &json!(false)), "{data}");
    data["message"].clone()
}

#[tokio::test]
async fn the_eleventh_of_an_address_is_refused_until_one_is_paid() {
    let store = TestStore::open().await;
    let open = ten(&store).await;
    store.clock.advance(ATTEMPTS);
    let token = buyer(&store, "Eleventh", LIMITED, 1).await;
    let reply = call(&store, &token, "/payments/create", &agreed()).await;
    assert_eq!(refused(&reply), TOO_MANY);
    assert_eq!(reply.header("retry-after"), (25 * 60).to_string());
    // Another item, and another address.
    let plain = buyer(&store, "Plain", PLAIN, 1).await;
    create(&store, &plain).await;
    let far = buyer(&store, "Far", LIMITED, 1).await;
    let elsewhere = Call::post("/payments/create").token(&far).json(&agreed()).from_ip("198.51.100.9");
    assert_eq!(store.send(elsewhere).await.data()["success"], true);
    act(&store, &open[3], &Action::Pay).await;
    create(&store, &token).await;
    let twelfth = buyer(&store, "Twelfth", LIMITED, 1).await;
    assert_eq!(refused(&call(&store, &twelfth, "/payments/create", &agreed()).await), TOO_MANY);
    // One that has ended otherwise is not open either.
    act(&store, &open[4], &Action::Expire).await;
    create(&store, &twelfth).await;
}

#[tokio::test]
async fn a_buyer_who_changes_the_cart_has_one_place() {
    let store = TestStore::open().await;
    let token = buyer(&store, "Buyer", LIMITED, 1).await;
    for n in 0..14 {
        if n % 7 == 6 {
            store.clock.advance(ATTEMPTS);
        }
        create(&store, &token).await;
        add(&store, &token, PLAIN, 1).await;
    }
}

#[tokio::test]
async fn a_cart_with_a_limited_item_is_offered_no_delayed_methods() {
    let mut store = TestStore::open().await;
    store.delay_payments().await;
    for (name, item, is_offered) in [("One", LIMITED, false), ("Two", PLAIN, true)] {
        let token = buyer(&store, name, item, 1).await;
        let begun = create(&store, &token).await;
        assert_eq!(store.payments.act(&begun.session, &Action::PayDelayed).is_ok(), is_offered, "{item}");
    }
}
