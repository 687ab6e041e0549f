//! Redirects and requests to places that a caller names.

use super::set_query;
use crate::payments::support::{add, agreed, login};
use serde_json::json;
use tests::{Call, TestStore, endpoints, event};
use url::Url;

const STOREFRONT: &str = "https://store.emberfall.example";
const EVIL: [&str; 6] = [
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "https://store.emberfall.example@evil.example",
    "https://store.emberfall.example.evil.example",
    "javascript:alert(1)",
];
/// Names of parameters and fields that say where to go in other services.
const NAMES: &str = "redirect_uri redirect redirect_url return_url returnUrl success_url cancel_url next url origin \
    storefront callback";

#[tokio::test]
async fn no_endpoint_redirects() {
    let store = TestStore::open().await;
    for endpoint in endpoints() {
        for target in EVIL {
            let mut sent = event(&endpoint.event);
            set_query(&mut sent, NAMES.split(' ').map(|name| (name, target.to_owned())));
            for name in ["origin", "referer", "x-forwarded-host"] {
                sent["headers"][name] = json!(target);
            }
            let reply = store.invoke(endpoint.function, &sent).await;
            assert!(!reply.status.is_redirection() || reply.status == 304, "{}: {}", endpoint.route, reply.status);
            for name in ["location", "refresh", "content-location", "link"] {
                assert_eq!(reply.header(name), "", "{}: {name}", endpoint.route);
            }
            assert!(!reply.text.contains("evil.example"), "{}: {}", endpoint.route, reply.text);
        }
    }
}

#[tokio::test]
async fn a_chat_login_always_leads_to_the_stores_own_callback() {
    let store = TestStore::open().await;
    let target = |text: &str| {
        let url = Url::parse(text).expect("a url");
        let redirect = url.query_pairs().find(|(name, _)| name == "redirect_uri").expect("a redirect").1.into_owned();
        (url.origin().ascii_serialization(), redirect)
    };
    let own = target(store.send(Call::get("/auth/chat")).await.json()["url"].as_str().unwrap());
    assert!(own.1.starts_with(STOREFRONT), "{own:?}");
    for evil in EVIL {
        let mut sent = event("auth/chat");
        set_query(&mut sent, NAMES.split(' ').map(|name| (name, evil.to_owned())));
        for name in ["origin", "referer", "x-forwarded-host"] {
            sent["headers"][name] = json!(evil);
        }
        let reply = store.invoke("auth", &sent).await;
        assert_eq!(target(reply.json()["url"].as_str().unwrap()), own, "{evil}");
    }
}

#[tokio::test]
async fn the_callback_posts_to_the_stores_origin_and_to_no_other() {
    let store = TestStore::open().await;
    for evil in EVIL {
        let mut sent = event("auth/chat_callback.refused");
        set_query(&mut sent, NAMES.split(' ').map(|name| (name, evil.to_owned())));
        for name in ["origin", "referer", "x-forwarded-host"] {
            sent["headers"][name] = json!(evil);
        }
        let reply = store.invoke("auth", &sent).await;
        assert_eq!(reply.data()["storefront"], STOREFRONT, "{evil}");
    }
}

#[tokio::test]
async fn a_payment_returns_to_the_storefront_whatever_the_buyer_sends() {
    let store = TestStore::open().await;
    for (place, evil) in EVIL.into_iter().enumerate() {
        let token = login(&store, &format!("Buyer_{place}")).await;
        add(&store, &token, 202, 1).await;
        let mut body = agreed();
        for name in NAMES.split(' ') {
            body[name] = json!(evil);
        }
        let call = Call::post("/payments/create").token(&token).json(&body).header("origin", evil);
        let call = call.header("referer", evil).header("x-forwarded-host", evil);
        let before = store.payments.received().len();
        let reply = store.send(call.from_ip(&format!("203.0.113.{place}"))).await;
        assert_eq!(reply.json()["success"], true, "{}", reply.text);
        assert!(!reply.text.contains("evil"), "{}", reply.text);
        let received = store.payments.received();
        let sent: Vec<String> = received[before..].iter().map(|request| format!("{request:?}")).collect();
        assert!(!sent.is_empty());
        assert!(sent.iter().all(|request| !request.contains("evil")), "{sent:?}");
        assert!(sent.iter().any(|request| request.contains("store.emberfall.example")), "{sent:?}");
    }
}

#[tokio::test]
async fn a_checkout_id_is_never_part_of_a_request_to_the_provider_unless_it_is_the_orders_own() {
    let store = TestStore::open().await;
    let token = login(&store, "Buyer").await;
    add(&store, &token, 202, 1).await;
    let begun = crate::payments::support::create(&store, &token).await;
    let before = store.payments.received().len();
    let ids =
        ["../refunds", "cs_1?expand[]=x", "cs_1/expire", "cs_1#", "http://evil.example", "cs_1\r\nx: y", "%2e%2e"];
    for (place, id) in ids.into_iter().enumerate() {
        let body = json!({ "order_id": begun.order, "checkout_id": id });
        let call = Call::post("/payments/checkStatus").token(&token).json(&body);
        let reply = store.send(call.from_ip(&format!("203.0.113.{place}"))).await;
        assert_eq!(reply.json()["status"], "pending", "{id}: {}", reply.text);
    }
    assert_eq!(store.payments.received().len(), before, "the provider was not asked");
}
