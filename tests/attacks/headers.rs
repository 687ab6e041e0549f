//! Header injection: line breaks in every text that an endpoint reads. Requests that another site makes in a buyer's
//! browser: a cookie does not prove who calls. And cache poisoning: a response that proxies keep depends on its path,
//! on what is published, and on nothing that a caller sends (rules.md, "Caching").

use super::{header_names, seen, set_query};
use crate::support::{STALE, assert_unauthorized};
use http::Method;
use serde_json::{Value, json};
use shared::endpoint::{Access, InputKind};
use shared::model::UserId;
use shared::table::keys;
use tests::{Call, Endpoint, TestStore, endpoints, event};

/// Texts that would become a header and a page of their own.
const BREAKS: [&str; 7] = [
    "\r\nSet-Cookie: injected=1\r\n\r\n<script>injected</script>",
    "\nSet-Cookie: injected=1",
    "\rSet-Cookie: injected=1",
    "%0d%0aSet-Cookie:%20injected=1",
    "\u{560d}\u{560a}Set-Cookie: injected=1",
    "a\0b\r\ninjected: 1",
    "\u{85}injected: 1\u{2028}injected: 1",
];

/// Puts a text behind every string of a JSON value, one after the other.
fn with_breaks(value: &Value, text: &str) -> Vec<Value> {
    fn places(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::String(_) => found.push(path.to_owned()),
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| places(value, &format!("{path}/{name}"), found));
            }
            Value::Array(values) => {
                values.iter().enumerate().for_each(|(at, value)| places(value, &format!("{path}/{at}"), found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    places(value, "", &mut found);
    let changed = |path: String| {
        let mut changed = value.clone();
        let place = changed.pointer_mut(&path).expect("a place that was found");
        *place = json!(format!("{}{text}", place.as_str().unwrap_or_default()));
        changed
    };
    found.into_iter().map(changed).collect()
}

#[tokio::test]
async fn no_text_of_a_body_reaches_a_header() {
    for endpoint in endpoints().into_iter().filter(|endpoint| endpoint.declaration.input.has_json_body()) {
        let store = TestStore::open().await;
        let mut sample = event(&endpoint.event);
        sample["body"] = json!("{}");
        let names_without_body = header_names(&store.invoke(endpoint.function, &sample).await);
        let body: Value = serde_json::from_str(event(&endpoint.event)["body"].as_str().unwrap_or("{}")).unwrap();
        for (place, text) in BREAKS.iter().enumerate() {
            for (inner, body) in with_breaks(&body, text).into_iter().enumerate() {
                let mut sent = event(&endpoint.event);
                sent["body"] = json!(body.to_string());
                sent["requestContext"]["http"]["sourceIp"] = json!(format!("203.0.{place}.{inner}"));
                let reply = store.invoke(endpoint.function, &sent).await;
                assert_not_injected(&format!("{}: {body}", endpoint.route), &reply);
                let new: Vec<String> =
                    header_names(&reply).into_iter().filter(|name| !names_without_body.contains(name)).collect();
                assert!(new.iter().all(|name| name.starts_with("ratelimit-") || name == "retry-after"), "{new:?}");
            }
        }
    }
}

#[tokio::test]
async fn no_part_of_a_query_a_path_or_a_header_reaches_a_header() {
    let store = TestStore::open().await;
    for endpoint in endpoints() {
        let sample = event(&endpoint.event);
        for (place, text) in BREAKS.iter().enumerate() {
            let address = format!("203.0.113.{place}");
            let mut changed = vec![sample.clone(); 6];
            let names = ["code", "state", "error", "redirect_uri", "next"];
            set_query(&mut changed[0], names.map(|name| (name, (*text).to_owned())));
            changed[1]["cookies"] = json!([format!("chat_login={text}"), format!("token={text}")]);
            changed[2]["requestContext"]["requestId"] = json!(text);
            if sample["pathParameters"].is_object() {
                let name = sample["pathParameters"].as_object().unwrap().keys().next().unwrap().clone();
                changed[3]["pathParameters"][name] = json!(text);
            }
            changed[4]["requestContext"]["http"]["userAgent"] = json!(text);
            changed[5]["requestContext"]["domainName"] = json!(text);
            for mut event in changed {
                event["requestContext"]["http"]["sourceIp"] = json!(address);
                let reply = store.invoke(endpoint.function, &event).await;
                assert!(reply.status.as_u16() < 500, "{}: {}", endpoint.route, reply.text);
                assert_not_injected(endpoint.route, &reply);
            }
        }
    }
}

#[track_caller]
fn assert_not_injected(what: &str, reply: &tests::Reply) {
    let (_, headers, _) = seen(reply);
    for (name, value) in headers {
        assert!(!name.contains("injected") && !value.contains("injected"), "{what}: {name}: {value}");
        assert!(!value.contains(['\r', '\n', '\0']), "{what}: {name}: {value:?}");
    }
}

#[tokio::test]
async fn a_login_sets_one_cookie_whatever_the_browser_sends() {
    let store = TestStore::open().await;
    for text in BREAKS {
        let mut sent = event("auth/chat");
        set_query(&mut sent, ["redirect_uri", "state"].map(|name| (name, text.to_owned())));
        sent["cookies"] = json!([format!("chat_login={text}")]);
        let reply = store.invoke("auth", &sent).await;
        assert_eq!(reply.headers.get_all("set-cookie").iter().count(), 1);
        let cookie = reply.header("set-cookie");
        assert!(cookie.starts_with("chat_login=") && !cookie.contains("injected"), "{cookie}");
    }
}

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

/// The paths that can be cached.
fn cached() -> Vec<String> {
    tests::cached().iter().map(Endpoint::path).collect()
}

/// Headers that proxies and frameworks act on, and no cache's key has.
const UNKEYED: [(&str, &str); 26] = [
    ("host", "evil.example"),
    ("x-forwarded-host", "evil.example"),
    ("x-forwarded-server", "evil.example"),
    ("x-forwarded-proto", "http"),
    ("x-forwarded-scheme", "nothttps"),
    ("x-forwarded-port", "1"),
    ("x-forwarded-prefix", "//evil.example"),
    ("x-forwarded-for", "evil.example"),
    ("forwarded", "for=evil;host=evil.example;proto=http"),
    ("x-host", "evil.example"),
    ("x-original-url", "/cart/get"),
    ("x-rewrite-url", "/cart/get"),
    ("x-original-host", "evil.example"),
    ("x-http-method-override", "POST"),
    ("x-method-override", "DELETE"),
    ("x-http-method", "PUT"),
    ("accept", "text/html"),
    ("accept-language", "xx"),
    ("accept-encoding", "evil"),
    ("user-agent", "<script>evil</script>"),
    ("referer", "https://evil.example/"),
    ("cookie", "language=evil; token=evil; currency=evil"),
    ("content-type", "text/html"),
    ("range", "bytes=0-0"),
    ("x-amzn-trace-id", "evil"),
    ("authorization", "Bearer evil"),
];

#[tokio::test]
async fn no_header_that_a_cache_ignores_changes_what_it_keeps() {
    let store = TestStore::open().await;
    for endpoint in tests::cached() {
        let path = endpoint.path();
        let plain = seen(&store.send(Call::get(&path)).await);
        for (name, value) in UNKEYED {
            if name == "host" {
                // The gateway adds none itself.
                let mut sent = event(&endpoint.event);
                sent["headers"]["host"] = json!(value);
                sent["requestContext"]["domainName"] = json!(value);
                assert_eq!(seen(&store.invoke(endpoint.function, &sent).await), plain, "{path}: {name}");
                continue;
            }
            assert_eq!(seen(&store.send(Call::get(&path).header(name, value)).await), plain, "{path}: {name}");
        }
    }
}

#[tokio::test]
async fn a_query_changes_nothing_and_is_not_repeated() {
    let store = TestStore::open().await;
    for path in cached() {
        let plain = seen(&store.send(Call::get(&path)).await);
        for query in
            ["?callback=evil", "?utm_source=evil&utm_source=2", "?_=1", "?%00", "?lang=evil;x", "?x=%0d%0aEvil:1"]
        {
            assert_eq!(seen(&store.send(Call::get(&format!("{path}{query}"))).await), plain, "{path}{query}");
        }
    }
}

#[tokio::test]
async fn another_path_is_never_the_cached_one() {
    let store = TestStore::open().await;
    for path in cached() {
        for other in ["/style.css", "/.js", ";.css", "%2f", "%3f.css", "/..%2fstaff", "%00.png", "/", "//"] {
            let reply = store.send(Call::get(&format!("{path}{other}"))).await;
            assert!([400, 404].contains(&reply.status.as_u16()), "{path}{other}: {}", reply.status);
            assert!(!reply.headers.contains_key("etag"), "{path}{other}");
        }
    }
}

#[tokio::test]
async fn no_page_of_a_player_is_cached_under_a_name_that_caches_keep() {
    let store = TestStore::open().await;
    let token = store.token("Thornwick");
    for path in ["/user", "/cart/get", "/payments/get", "/items/get/202", "/categories/get/ranks"] {
        for tail in ["", "/a.css", ".js", "%2fa.png", ";a.ico", "/%2e%2e/staff"] {
            for method in [Method::GET, Method::POST] {
                let call = Call::get(&format!("{path}{tail}")).method(method).token(&token);
                let reply = store.send(call).await;
                let kept = reply.header("cache-control").contains("public") || reply.headers.contains_key("etag");
                assert!(!kept, "{path}{tail}: {:?}", reply.headers);
            }
        }
    }
}

#[tokio::test]
async fn an_origin_is_reflected_only_if_it_is_named_and_every_cached_response_varies_by_it() {
    let store = TestStore::open_with(&[("AllowedOrigins", "https://a.example")]).await;
    let origins = [
        "https://a.example",
        "https://A.example",
        "https://a.example.",
        "https://a.example:443",
        "https://a.example/",
        "https://evil-a.example",
        "https://a.example@evil.example",
        "https://a.example%00.evil.example",
        "null",
        "*",
        "",
        "https://a.example, https://evil.example",
    ];
    for path in cached() {
        let tag = store.send(Call::get(&path)).await.header("etag").to_owned();
        for origin in origins {
            for known in ["", tag.as_str()] {
                let reply = store.send(Call::get(&path).header("origin", origin).header("if-none-match", known)).await;
                let allowed = reply.header("access-control-allow-origin");
                let expected = if origin == "https://a.example" { origin } else { "" };
                assert_eq!(allowed, expected, "{path}: {origin}");
                assert!(reply.header("vary").split(',').any(|name| name.trim() == "Origin"), "{path}: {origin}");
                assert_eq!(reply.status, if known.is_empty() { 200 } else { 304 });
            }
        }
    }
}

#[tokio::test]
async fn a_list_of_tags_is_compared_tag_by_tag() {
    let store = TestStore::open().await;
    for path in cached() {
        let whole = store.send(Call::get(&path)).await;
        let tag = whole.header("etag").to_owned();
        let bare = tag.trim_matches('"');
        let long = "\"x\",".repeat(2_000);
        let other = [
            format!("\"{bare}x\""),
            format!("\"x{bare}\""),
            bare.to_owned(),
            format!("'{bare}'"),
            format!("w/{tag}"),
            format!("W/ {tag}"),
            format!("\"{}\"", bare.to_uppercase()),
            "**".to_owned(),
            "\"*\"".to_owned(),
            format!("{}\"", &tag[..tag.len() - 2]),
            long.clone(),
        ];
        for known in other {
            let reply = store.send(Call::get(&path).header("if-none-match", &known)).await;
            assert_eq!((reply.status.as_u16(), &reply.text), (200, &whole.text), "{path}: {known:.60}");
        }
        for known in [format!("{long}{tag}"), format!(" , ,{tag}"), format!("\"x\",W/{tag}")] {
            let reply = store.send(Call::get(&path).header("if-none-match", &known)).await;
            assert_eq!((reply.status.as_u16(), reply.text.as_str()), (304, ""), "{path}: {known:.60}");
            assert_eq!(reply.header("content-type"), "", "a response without a body has no type");
        }
        store.clock.advance(STALE);
        assert_eq!(seen(&store.send(Call::get(&path)).await), seen(&whole));
    }
}
