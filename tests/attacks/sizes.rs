//! Oversized requests: paths, queries, headers, ids, names, details and carts.

use super::seen;
use serde_json::json;
use tests::{Call, TestStore, endpoints};

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
