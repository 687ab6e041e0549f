//! Requests that another site makes in a buyer's browser: a cookie does not prove who calls.

use crate::support::assert_unauthorized;
use serde_json::json;
use shared::endpoint::{Access, InputKind};
use shared::model::UserId;
use shared::table::keys;
use tests::{Call, TestStore, endpoints};

#[tokio::test]
async fn a_token_in_a_cookie_authorizes_no_call_that_writes_or_shows_anything() {
    let store = TestStore::open().await;
    let cart = store.db.get(&keys::cart(UserId::new(1)), true).await.unwrap();
    let token = store.token("Thornwick");
    for endpoint in endpoints().into_iter().filter(|endpoint| endpoint.declaration.access == Access::Required) {
        for name in ["token", "access_token", "authorization", "Authorization", "session", "jwt", "chat_linked"] {
            let cookie = format!("{name}={token}; {name}=Bearer {token}");
            let call = endpoint.anonymous_call().header("cookie", &cookie).header("origin", "https://evil.example");
            assert_unauthorized(&store.send(call).await);
        }
        for query in [format!("?access_token={token}"), format!("?token={token}")] {
            let path = endpoint.route.split(' ').next_back().unwrap_or_default();
            if !path.contains('{') && endpoint.route.starts_with("POST ") {
                assert_unauthorized(&store.send(Call::post(&format!("{path}{query}"))).await);
            }
        }
    }
    assert_eq!(store.calls.writes(), 0, "{:?}", store.calls.operations());
    assert_eq!(store.db.get(&keys::cart(UserId::new(1)), true).await.unwrap(), cart);
}

#[tokio::test]
async fn the_one_call_that_reads_a_token_from_a_cookie_writes_nothing_and_shows_nothing_of_its_owner() {
    let store = TestStore::open().await;
    for endpoint in endpoints().into_iter().filter(|one| one.declaration.input == InputKind::TokenCookie) {
        assert_eq!(endpoint.route, "GET /checkAccessibility");
        let cookie = format!("token={}", store.token("Thornwick"));
        let mut bodies = Vec::new();
        for call in [endpoint.anonymous_call(), endpoint.anonymous_call().header("cookie", &cookie)] {
            bodies.push(store.send(call.header("origin", "https://evil.example")).await.text);
        }
        assert_eq!(bodies[0], bodies[1]);
    }
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn cookies_are_not_sent_across_sites_unless_origins_are_named() {
    let store = TestStore::open().await;
    for endpoint in endpoints() {
        let reply = store.send(endpoint.call().header("origin", "https://evil.example")).await;
        assert_eq!(reply.header("access-control-allow-credentials"), "", "{}", endpoint.route);
    }
    let named = TestStore::open_with(&[("AllowedOrigins", "https://a.example")]).await;
    for endpoint in endpoints() {
        for origin in ["https://evil.example", "null", "https://a.example.evil.example"] {
            let reply = named.send(endpoint.call().header("origin", origin)).await;
            let allowed =
                ["access-control-allow-credentials", "access-control-allow-origin"].map(|name| reply.header(name));
            assert_eq!(allowed, ["", ""], "{}: {origin}", endpoint.route);
        }
    }
}

#[tokio::test]
async fn a_form_of_another_site_cannot_call_for_a_buyer() {
    let store = TestStore::open().await;
    let cookie = format!("token={}", store.token("Thornwick"));
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let body = json!({ "coupon": "hearth10" }).to_string();
        let call = Call::post("/cart/acceptCoupon").header("content-type", media_type).header("cookie", &cookie);
        assert_unauthorized(&store.send(call.bytes(body)).await);
    }
}
