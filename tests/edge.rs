//! The one way in of a stack with a shop (rules.md, "The edge").

use serde_json::json;
use tests::{Call, Endpoint, FORMER_ORIGIN_KEY, ORIGIN_KEY, TestStore, endpoints};

const SHOP: [(&str, &str); 1] = [("Shop", "true")];

/// The endpoints that game servers and the payment provider call at the API's own address.
fn is_open(endpoint: &Endpoint) -> bool {
    endpoint.function == "delivery" || endpoint.declaration.name == "payments/webhook/stripe"
}

/// Requests that look as if they came through the edge.
fn look_alikes(call: &Call) -> Vec<Call> {
    let keys = [
        String::new(),
        ORIGIN_KEY[1..].to_owned(),
        ORIGIN_KEY[..ORIGIN_KEY.len() - 1].to_owned(),
        format!("{ORIGIN_KEY}x"),
        format!("x{ORIGIN_KEY}"),
        format!("{ORIGIN_KEY},{ORIGIN_KEY}"),
        format!("{ORIGIN_KEY}{FORMER_ORIGIN_KEY}"),
        ORIGIN_KEY.to_uppercase(),
        format!("\"{ORIGIN_KEY}\""),
        json!({"current": ORIGIN_KEY}).to_string(),
        "null".to_owned(),
    ];
    let mut calls: Vec<Call> = keys.iter().map(|key| call.clone().header("x-origin-key", key)).collect();
    for name in ["x-origin-keys", "x_origin_key", "origin-key", "x-viewer-address", "cookie", "via", "authorization"] {
        calls.push(call.clone().header(name, ORIGIN_KEY));
    }
    calls.push(call.clone().header("cookie", &format!("x-origin-key={ORIGIN_KEY}")));
    calls.push(call.clone().header("x-origin-key", ORIGIN_KEY).header("x-origin-key", ORIGIN_KEY));
    calls.push(call.clone());
    calls
}

#[tokio::test]
async fn no_endpoint_but_those_of_servers_and_providers_responds_past_the_edge_or_reads_anything() {
    let store = TestStore::open_with(&SHOP).await;
    let (open, guarded): (Vec<Endpoint>, Vec<Endpoint>) = endpoints().into_iter().partition(is_open);
    assert!(open.iter().all(|endpoint| endpoint.route.contains("plugin/") || endpoint.route.contains("webhook/")));
    for endpoint in guarded {
        store.calls.clear();
        for call in look_alikes(&endpoint.call()) {
            let reply = store.send(call).await;
            assert_eq!(reply.status, 403, "{}: {}", endpoint.route, reply.text);
            assert!(reply.json()["message"].as_str().unwrap().contains("shop"), "{}", reply.text);
            assert_eq!(reply.header("cache-control"), "no-store");
        }
        assert_eq!(store.calls.operations(), Vec::<String>::new(), "{}", endpoint.route);
    }
    for endpoint in open {
        let store = TestStore::open_with(&SHOP).await;
        let reply = store.send(endpoint.call()).await;
        assert_eq!(reply.status, endpoint.status(), "{}: {}", endpoint.route, reply.text);
    }
    let sweep = serde_json::from_str(include_str!("../infra/local/src/sweep.json")).unwrap();
    assert_eq!(store.invoke("payments", &sweep).await.status, 200);
}

#[tokio::test]
async fn every_endpoint_responds_to_both_secrets_of_the_edge() {
    for endpoint in endpoints() {
        for key in [ORIGIN_KEY, FORMER_ORIGIN_KEY] {
            let store = TestStore::open_with(&SHOP).await;
            let reply = store.send(endpoint.call().header("x-origin-key", key)).await;
            assert_eq!(reply.status, endpoint.status(), "{}: {}", endpoint.route, reply.text);
        }
    }
}

/// How many logins of one address are counted as such, if it names another viewer each time.
async fn counted(store: &TestStore, key: &str) -> usize {
    let mut left = Vec::new();
    for viewer in ["203.0.113.1", "203.0.113.2", "2001:db8::1", "2001:db8::2", "203.0.113.1"] {
        let call = Call::post("/auth/username").json(&json!({"username": "Edge_Buyer"}));
        let call = call.header("x-viewer-address", viewer).header("x-origin-key", key);
        let reply = store.send(call).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        left.push(reply.header("ratelimit-remaining").to_owned());
    }
    left.iter().filter(|left| *left == "19").count()
}

#[tokio::test]
async fn the_viewers_address_is_counted_if_the_edge_says_it_and_is_ignored_without_a_shop() {
    // Two IPv4 addresses and one /64.
    assert_eq!(counted(&TestStore::open_with(&SHOP).await, FORMER_ORIGIN_KEY).await, 3);
    assert_eq!(counted(&TestStore::open().await, ORIGIN_KEY).await, 1);
}

/// A login of a client through a proxy at 192.0.2.7 in front of the edge, as edge and gateway pass it on. `sent` is what the client
/// itself writes into the list.
fn through_proxy(client: &str, sent: &str) -> Call {
    let call = Call::post("/auth/username").json(&json!({"username": "Edge_Buyer"})).from_ip("198.51.100.1");
    let call = call.header("x-origin-key", ORIGIN_KEY).header("x-viewer-address", "192.0.2.7");
    call.header("x-forwarded-for", &format!("{sent}{client}, 192.0.2.7, 198.51.100.1"))
}

#[tokio::test]
async fn buyers_behind_a_trusted_proxy_in_front_of_the_edge_are_counted_apart() {
    let store = TestStore::open_with(&[SHOP[0], ("TrustedProxies", "192.0.2.0/24")]).await;
    for number in 0..40 {
        let reply = store.send(through_proxy(&format!("203.0.113.{number}"), "")).await;
        assert_eq!((reply.status.as_u16(), reply.header("ratelimit-remaining")), (200, "19"), "{}", reply.text);
    }
    // Without the parameter they are one.
    let store = TestStore::open_with(&SHOP).await;
    for number in 0..21 {
        let reply = store.send(through_proxy(&format!("203.0.113.{number}"), "")).await;
        assert_eq!(reply.status.as_u16(), if number < 20 { 200 } else { 429 }, "{number}");
    }
}

#[tokio::test]
async fn behind_a_proxy_in_front_of_the_edge_no_caller_can_choose_their_address() {
    let store = TestStore::open_with(&[SHOP[0], ("TrustedProxies", "192.0.2.0/24")]).await;
    let mut left = 20;
    let mut counts_as_one = async |call: Call| {
        let reply = store.send(call).await;
        left -= 1;
        assert_eq!(reply.header("ratelimit-remaining"), left.to_string(), "{}", reply.text);
    };
    for sent in
        ["", "1.1.1.1, ", "1.1.1.2, 192.0.2.9, ", "192.0.2.7, 198.51.100.1, ", "1.1.1.3, 192.0.2.7, 198.51.100.1, "]
    {
        counts_as_one(through_proxy("203.0.113.66", sent)).await;
    }
    // Directly at the edge, with the list of a proxy.
    for sent in ["1.1.1.4, 192.0.2.7", "192.0.2.7", "192.0.2.7, 198.51.100.1"] {
        let call = Call::post("/auth/username").json(&json!({"username": "Edge_Buyer"})).from_ip("198.51.100.1");
        let call = call.header("x-origin-key", ORIGIN_KEY).header("x-viewer-address", "203.0.113.66");
        counts_as_one(call.header("x-forwarded-for", &format!("{sent}, 203.0.113.66, 198.51.100.1"))).await;
    }
}
