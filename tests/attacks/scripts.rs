//! Scripts in texts that a storefront shows. Names and choices of players cannot contain markup; everything else that
//! they send is not shown. The content of a page is HTML of the store's owner (store-format.md). And redirects and
//! requests to places that a caller names.

use super::set_query;
use crate::payments::support::{agreed, buyer};
use serde_json::{Value, json};
use shared::endpoint::InputKind;
use tests::{Call, Reply, TestStore, endpoints, event, repository};
use url::Url;

const SCRIPTS: [&str; 8] = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "'-alert(1)-'",
    "javascript:alert(1)",
    "</script><script>alert(1)</script>",
    "{{constructor.constructor('alert(1)')()}}",
    "\u{2028}alert(1)//",
];

/// A response is data, or a page whose only script is our own.
#[track_caller]
fn assert_harmless(what: &str, reply: &Reply) {
    assert!(reply.status.as_u16() < 500, "{what}: {}", reply.text);
    let media_type = reply.header("content-type");
    if matches!(media_type, "application/json" | "text/plain") || reply.text.is_empty() {
        return;
    }
    assert_eq!(media_type, "text/html; charset=utf-8", "{what}");
    let policy = reply.header("content-security-policy");
    for part in ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{what}: {policy}");
    }
    assert!(!policy.contains("unsafe"), "{what}: {policy}");
    assert_eq!(reply.header("x-content-type-options"), "nosniff");
    assert!(!reply.text.contains("alert(1)"), "{what}: {}", reply.text);
    // Data, files of the shop, and the one script of the chat callback, which its policy allows by a hash.
    let is_own = |rest: &&str| {
        [" type=\"application/", " src=\"/assets/", " type=\"module\" src=\"/assets/"]
            .iter()
            .any(|start| rest.starts_with(start))
    };
    let allowed = usize::from(what.contains("/auth/chat/callback"));
    assert!(
        reply.text.split("<script").skip(1).filter(|rest| !is_own(rest)).count() <= allowed,
        "{what}: {}",
        reply.text
    );
}

#[tokio::test]
async fn what_a_caller_sends_comes_back_as_data_or_not_at_all() {
    for endpoint in endpoints() {
        let store = TestStore::open().await;
        for (place, script) in SCRIPTS.into_iter().enumerate() {
            let mut sent = vec![event(&endpoint.event); 4];
            let names = ["code", "state", "error", "error_description", "callback"];
            set_query(&mut sent[0], names.map(|name| (name, script.to_owned())));
            sent[1]["cookies"] = json!([format!("chat_login={script}"), format!("token={script}")]);
            if let Some(parameters) = sent[2]["pathParameters"].as_object_mut() {
                parameters.values_mut().for_each(|value| *value = json!(script));
            }
            if endpoint.declaration.input.has_json_body() {
                let body: Value = serde_json::from_str(sent[3]["body"].as_str().unwrap_or("{}")).unwrap();
                let fields = body.as_object().cloned().unwrap_or_default();
                let hostile: Value = fields.into_iter().map(|(name, _)| (name, json!(script))).collect();
                sent[3]["body"] = json!(hostile.to_string());
            }
            for mut event in sent {
                event["requestContext"]["http"]["sourceIp"] = json!(format!("203.0.113.{place}"));
                let reply = store.invoke(endpoint.function, &event).await;
                assert_harmless(endpoint.route, &reply);
                assert!(
                    !reply.text.contains("alert(1)"),
                    "{}: the response repeats it: {}",
                    endpoint.route,
                    reply.text
                );
            }
        }
    }
}

#[tokio::test]
async fn no_variable_takes_markup() {
    let store = TestStore::open().await;
    let items = &TestStore::sample().compiled.items;
    let mut tried = 0;
    for published in items {
        for variable in &published.item.variables {
            for script in SCRIPTS {
                let body = json!({ "variables": { variable.id.to_string(): script } });
                let call = Call::post(&format!("/cart/add/{}", published.item.id)).token(&store.token("Pebble"));
                let reply = store.send(call.json(&body)).await;
                assert_eq!(reply.status, 422, "{script}: {}", reply.text);
                assert!(!reply.text.contains("alert"), "{}", reply.text);
                tried += 1;
            }
        }
    }
    assert!(tried > 0);
    let cart = store.send(Call::post("/cart/get").token(&store.token("Pebble"))).await;
    assert!(!cart.text.contains("alert"), "{}", cart.text);
}

#[tokio::test]
async fn only_the_chat_callback_and_the_shop_respond_with_a_page() {
    let store = TestStore::open().await;
    for endpoint in endpoints() {
        let is_page = endpoint.declaration.input == InputKind::Query || endpoint.route.starts_with("GET /shop/");
        let reply = store.send(endpoint.call().header("accept", "text/html")).await;
        assert_eq!(reply.header("content-type").starts_with("text/html"), is_page, "{}", endpoint.route);
        let is_data = ["application/json", "text/plain", ""].contains(&reply.header("content-type"));
        assert_eq!(is_data, !is_page, "{}", endpoint.route);
    }
}

/// The shop inserts what the API sends as text.
#[test]
fn the_shop_never_parses_what_the_api_sends_as_html() {
    let mut read = 0;
    for folder in ["infra/shop/assets/js", "infra/shop/assets/js/pages", "infra/local/demo", "infra/local/reference"] {
        for file in std::fs::read_dir(repository().join(folder)).unwrap().flatten() {
            if file.path().extension().is_none_or(|extension| extension != "js") {
                continue;
            }
            let text = std::fs::read_to_string(file.path()).unwrap();
            for sink in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc"]
            {
                assert!(!text.contains(sink), "{}: {sink}", file.path().display());
            }
            read += 1;
        }
    }
    assert!(read > 5);
}

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
        let token = buyer(&store, &format!("Buyer_{place}"), 202, 1).await;
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
    let token = buyer(&store, "Buyer", 202, 1).await;
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
