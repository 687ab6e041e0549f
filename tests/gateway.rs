//! API Gateway's part: routes, its own responses, browsers (rules.md, "Browsers and CORS").

use crate::support::assert_message;
use http::Method;
use serde_json::{Value, json};
use tests::{Call, Reply, TestStore, event};

/// The gateway's own response: `{message}`, without the headers of the functions.
#[track_caller]
fn assert_own(reply: &Reply, status: u16, message: &str) {
    assert_eq!(reply.status.as_u16(), status, "{}", reply.text);
    assert_eq!(reply.json(), json!({ "message": message }));
    let names: Vec<&str> = reply.headers.keys().map(http::HeaderName::as_str).collect();
    assert_eq!(names, ["content-type"]);
}

#[track_caller]
fn assert_no_route(reply: &Reply) {
    assert_own(reply, 404, "Not Found");
}

#[tokio::test]
async fn unknown_routes_and_wrong_methods_are_not_found() {
    let store = TestStore::open().await;
    let token = store.token("Thornwick");
    let targets = "/ // /cart /cart/get/ //cart/get /cart//get /Cart/get /cart/GET /cart/getpromoted \
        /categories/get/ /categories /./user /user/ /user/. /user%2F /user%20 /user%00 /staff/../user \
        /%2e%2e/user /cart/get;x /dev/cart/get /index.html /favicon.ico";
    for target in targets.split(' ') {
        assert_no_route(&store.send(Call::post(target).token(&token)).await);
        assert_no_route(&store.send(Call::get(target).token(&token)).await);
    }
    for (method, path) in [
        (Method::GET, "/cart/get"),
        (Method::GET, "/user"),
        (Method::GET, "/categories/get/ranks"),
        (Method::POST, "/staff"),
        (Method::POST, "/settings/get"),
        (Method::POST, "/auth/chat"),
        (Method::PUT, "/cart/get"),
        (Method::DELETE, "/cart/get"),
        (Method::PATCH, "/user"),
        (Method::HEAD, "/staff"),
        (Method::TRACE, "/staff"),
    ] {
        assert_no_route(&store.send(Call::get(path).method(method).token(&token)).await);
    }
    assert!(store.calls.operations().is_empty(), "{:?}", store.calls.operations());
}

#[tokio::test]
async fn a_path_with_parent_segments_stays_in_its_route() {
    let store = TestStore::open().await;
    let token = store.token("Thornwick");
    for climb in ["../../pages/get", "%2e%2e/%2e%2e/pages/get", "%2E%2E%2F..%2Fpages/get", "..%5C..", "../get"] {
        store.calls.clear();
        let call = Call::post(&format!("/categories/get/{climb}")).json(&json!({"url": "rules"}));
        assert_message(&store.send(call.token(&token)).await, 404);
        assert!(store.calls.operations().is_empty(), "{climb}");
    }
}

#[tokio::test]
async fn a_query_is_not_part_of_the_path() {
    let store = TestStore::open().await;
    assert_eq!(store.send(Call::get("/staff?a=1&a=2&%00=%ff")).await.status, 200);
    let ranks = store.send(Call::post("/categories/get/ranks?url=crates").token(&store.token("Pebble"))).await;
    assert_eq!(ranks.json()["category"]["url"], "/ranks");
}

#[tokio::test]
async fn a_request_that_is_not_a_url_is_a_bad_request() {
    let store = TestStore::open().await;
    for target in ["/%ff", "/categories/get/%c3%28", "/user%80"] {
        assert_own(&store.send(Call::post(target)).await, 400, "Bad Request");
    }
    let host = Call::get("/staff").header("host", "[");
    assert_own(&store.send(host).await, 400, "Bad Request");
}

#[tokio::test]
async fn a_body_over_ten_megabytes_never_reaches_a_function() {
    let store = TestStore::open().await;
    let ten = 10 * 1024 * 1024;
    let call = |size: usize| Call::post("/user").token(&store.token("Pebble")).bytes(vec![b'x'; size]);
    assert_own(&store.send(call(ten + 1)).await, 413, "Request Entity Too Large");
    assert!(store.calls.operations().is_empty());
    assert_message(&store.send(call(ten)).await, 413);
}

#[tokio::test]
async fn duplicate_headers_are_joined() {
    let store = TestStore::open().await;
    let tag = store.send(Call::get("/staff")).await.header("etag").to_owned();
    let twice = Call::get("/staff").header("if-none-match", "\"x\"").header("if-none-match", &tag);
    assert_eq!(store.send(twice).await.status, 304);
    let token = store.token("Pebble");
    assert_eq!(store.send(Call::post("/user").token(&token)).await.status, 200);
    assert_eq!(store.send(Call::post("/user").token(&token).token(&token)).await.status, 401);
    let types = Call::post("/user").header("content-type", "text/plain").header("content-type", "application/json");
    assert_eq!(store.send(types.token(&token).bytes("{}")).await.status, 200);
}

#[tokio::test]
async fn odd_headers_do_no_harm() {
    let store = TestStore::open().await;
    for (name, value) in [
        ("cookie", "chat_id=1; ; =; chat_linked"),
        ("content-type", "application/json; charset=\u{fffd}"),
        ("content-type", ""),
        ("x-forwarded-for", "garbage, , 1.2.3.4.5"),
        ("user-agent", "\"'{}\\"),
        ("content-length", "-1"),
        ("accept-language", "é"),
    ] {
        let reply = store.send(Call::post("/user").token(&store.token("Pebble")).header(name, value).bytes("{}")).await;
        assert_eq!(reply.status, 200, "{name}: {value}: {}", reply.text);
    }
}

fn preflight(path: &str, origin: &str) -> Call {
    let call = Call::get(path).method(Method::OPTIONS).header("origin", origin);
    call.header("access-control-request-method", "POST").header("access-control-request-headers", "authorization")
}

const HEADERS: &str = "authorization,content-type,cache-control,pragma,expires,if-none-match";
const EXPOSED: &str = "etag,retry-after,ratelimit-limit,ratelimit-remaining,ratelimit-reset";

/// The CORS headers of a response: origin, credentials, methods, headers, max-age, exposed.
fn cors(reply: &Reply) -> [&str; 6] {
    ["allow-origin", "allow-credentials", "allow-methods", "allow-headers", "max-age", "expose-headers"]
        .map(|name| reply.headers.get(format!("access-control-{name}")).map_or("", |v| v.to_str().unwrap_or("?")))
}

#[tokio::test]
async fn by_default_pages_of_any_origin_may_call_without_credentials() {
    let store = TestStore::open().await;
    let reply = store.send(preflight("/cart/get", "https://shop.example")).await;
    assert_eq!((reply.status.as_u16(), reply.text.as_str()), (204, ""));
    assert_eq!(cors(&reply), ["*", "", "GET,POST", HEADERS, "86400", ""]);
    let reply = store.send(Call::get("/staff").header("origin", "https://shop.example")).await;
    assert_eq!(cors(&reply), ["*", "", "", "", "", EXPOSED]);
    assert_eq!(reply.header("vary"), "Origin");
    assert_eq!(cors(&store.send(Call::get("/staff")).await), [""; 6], "no browser, no headers");
    let refused = store.send(Call::post("/user").header("origin", "https://shop.example")).await;
    assert_eq!((refused.status.as_u16(), cors(&refused)[0]), (401, "*"), "a page can read why");
}

#[tokio::test]
async fn only_named_origins_may_call_and_with_credentials() {
    let store = TestStore::open_with(&[("AllowedOrigins", "https://a.example,https://b.example")]).await;
    for origin in ["https://a.example", "https://b.example"] {
        let reply = store.send(preflight("/user", origin)).await;
        assert_eq!(reply.status, 204);
        assert_eq!(cors(&reply), [origin, "true", "GET,POST", HEADERS, "86400", ""]);
        let reply = store.send(Call::get("/settings/get").header("origin", origin)).await;
        assert_eq!(cors(&reply), [origin, "true", "", "", "", EXPOSED]);
    }
    let others =
        ["https://c.example", "http://a.example", "https://a.example:8443", "https://a.example.evil.example", "null"];
    for origin in others {
        assert_eq!(cors(&store.send(preflight("/user", origin)).await), [""; 6], "{origin}");
        let reply = store.send(Call::get("/settings/get").header("origin", origin)).await;
        assert_eq!((reply.status.as_u16(), cors(&reply)), (200, [""; 6]), "{origin}");
    }
}

#[tokio::test]
async fn options_never_reaches_a_function() {
    let store = TestStore::open().await;
    for path in ["/cart/get", "/payments/checkStatus", "/settings/get", "/nowhere"] {
        let call = preflight(path, "https://shop.example").token(&store.token("Thornwick")).bytes("{}");
        let reply = store.send(call).await;
        assert_eq!((reply.status.as_u16(), reply.header("cache-control")), (204, ""), "{path}");
    }
    assert!(store.calls.operations().is_empty());
}

/// A sample event with another route.
fn rerouted(name: &str, method: &str, path: &str, key: &str) -> Value {
    let mut event = event(name);
    event["routeKey"] = json!(key);
    event["rawPath"] = json!(path);
    event["requestContext"]["routeKey"] = json!(key);
    event["requestContext"]["http"]["method"] = json!(method);
    event["requestContext"]["http"]["path"] = json!(path);
    event
}

#[tokio::test]
async fn a_function_responds_not_found_to_a_route_that_is_not_its_own() {
    let store = TestStore::open().await;
    for (function, sample) in [
        ("catalog", "catalog/list_categories"),
        ("cart", "cart/get"),
        ("payments", "payments/check_status"),
        ("content", "content/get_page"),
        ("auth", "auth/user"),
        ("delivery", "delivery/queue"),
    ] {
        for (method, path) in [("POST", "/nowhere"), ("GET", "/"), ("PUT", "/user"), ("POST", "/cart/get/")] {
            for key in [format!("{method} {path}"), "$default".to_owned()] {
                let reply = store.invoke(function, &rerouted(sample, method, path, &key)).await;
                assert_eq!(reply.status, 404, "{function}: {key} {path}");
                assert_eq!(reply.text, r#"{"message":"Not Found"}"#);
            }
        }
    }
    let foreign = rerouted("cart/get", "POST", "/user", "POST /user");
    assert_eq!(store.invoke("cart", &foreign).await.status, 404);
    assert!(store.calls.operations().is_empty(), "{:?}", store.calls.operations());
}

#[tokio::test]
async fn behind_a_catch_all_route_the_raw_path_decides() {
    let store = TestStore::open().await;
    for (function, sample, method, path, status) in [
        ("content", "content/get_page", "GET", "/staff", 200),
        ("catalog", "catalog/list_categories", "GET", "/categories/get", 200),
        ("catalog", "catalog/get_category", "POST", "/categories/get/ranks", 200),
        ("catalog", "catalog/get_category", "POST", "/categories/get/%2Franks%2F", 200),
        ("catalog", "catalog/get_category", "POST", "/categories/get/../../pages/get", 404),
        ("catalog", "catalog/get_category", "POST", "/categories/get/a?b", 404),
        ("catalog", "catalog/get_category", "POST", "/categories/get/a\tb", 404),
        ("auth", "auth/user", "GET", "/auth/chat", 200),
    ] {
        let mut event = rerouted(sample, method, path, "$default");
        if let Some(fields) = event.as_object_mut() {
            fields.remove("pathParameters");
        }
        assert_eq!(store.invoke(function, &event).await.status.as_u16(), status, "{path}");
    }
}
