//! Cache poisoning: a response that proxies keep depends on its path, on what is published, and on nothing that a caller
//! sends (rules.md, "Caching").

use super::seen;
use crate::support::STALE;
use http::Method;
use serde_json::json;
use tests::{Call, Endpoint, TestStore, event};

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
