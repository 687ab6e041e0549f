//! Every file in events/: its response on a fresh sample store. The events work without a gateway.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a helper that fails fails its test")]

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tests::conformance::request_faults;
use tests::{Reply, TestStore, endpoints, event, event_names};

/// A file, the status of its response, and a value in it: a JSON pointer and the value. A text that begins with `~` is
/// part of the value; an empty pointer is the whole body.
type Row = (&'static str, u16, &'static str, &'static str);

const AUTH: &[Row] = &[
    ("auth/chat", 200, "/success", "true"),
    (
        "auth/chat_callback",
        200,
        "/message",
        r#"{"success":true,"chat_username":"thornwick","chat_id":"418203377561042101"}"#,
    ),
    ("auth/chat_callback.expired", 400, "/message/message", "~has expired"),
    ("auth/chat_callback.no_cookie", 400, "/message/message", "~cookie of this login is missing"),
    ("auth/chat_callback.other_browser", 400, "/message/message", "~another browser"),
    ("auth/chat_callback.refused", 400, "/message/message", "~cancelled"),
    ("auth/chat_callback.used_code", 400, "/message/message", "~refused the login"),
    ("auth/check_accessibility", 200, "/success", "true"),
    ("auth/user", 200, "/username", "\"Thornwick\""),
    ("auth/user.default_route", 200, "/username", "\"Pebble\""),
    ("auth/user.revoked", 401, "/status", "false"),
    ("auth/user.unauthorized", 401, "/status", "false"),
    ("auth/user.unknown_user", 401, "/status", "false"),
    ("auth/username", 200, "", "~ey"),
    ("auth/username.incorrect", 400, "/message", "~Incorrect username"),
];

const ACCEPT_COUPON: &[Row] = &[
    ("cart/accept_coupon", 200, "/percent", "12.5"),
    ("cart/accept_coupon.already_applied", 200, "/message", "~already"),
    ("cart/accept_coupon.amount", 200, "/amount", "3"),
    ("cart/accept_coupon.base64", 200, "/percent", "12.5"),
    ("cart/accept_coupon.below_minimum", 200, "/message", "~500.00 or more"),
    ("cart/accept_coupon.empty_cart", 200, "/message", "~cart is empty"),
    ("cart/accept_coupon.expired", 200, "/message", "~not valid"),
    ("cart/accept_coupon.gift", 200, "/type", "\"gift\""),
    ("cart/accept_coupon.missing_field", 400, "/message", "~coupon field is required"),
    ("cart/accept_coupon.no_balance", 200, "/message", "~nothing left"),
    ("cart/accept_coupon.not_json", 400, "/message", "~JSON"),
    ("cart/accept_coupon.nothing_eligible", 200, "/message", "~applies to nothing"),
    ("cart/accept_coupon.unknown", 200, "/message", "~does not exist"),
    ("cart/accept_coupon.used_up", 200, "/message", "~used up"),
    ("cart/accept_coupon.used_up_by_user", 200, "/message", "~used up"),
    ("cart/accept_coupon.with_gift_card", 200, "/message", "\"The coupon was applied.\""),
];

const CART: &[Row] = &[
    ("cart/add", 200, "/cid", "9"),
    ("cart/add.complete", 200, "/cid", "9"),
    ("cart/add.gift", 200, "/cid", "9"),
    ("cart/add.refused", 422, "/message", "~not on sale"),
    ("cart/add.wrong_count", 400, "/message", "~The count field"),
    ("cart/capture_referral", 200, "/attribution_applied", "true"),
    ("cart/capture_referral.unknown", 200, "/success", "false"),
    ("cart/capture_referral.without_token", 200, "/attribution_applied", "false"),
    ("cart/change_price", 200, "/success", "true"),
    ("cart/change_price.below_minimum", 422, "/message", "~minimum"),
    ("cart/change_price.too_fine", 400, "/message", "~The price field"),
    ("cart/get", 200, "/cart/coupon_code", "\"hearth10\""),
    ("cart/get.empty", 200, "/items", "[]"),
    ("cart/get.unauthorized", 401, "/status", "false"),
    ("cart/get.unavailable_lines", 200, "/items/0/is_unavailable", "true"),
    ("cart/get_gift", 200, "/end_balance", "50"),
    ("cart/get_gift.ended", 200, "/message", "~not valid"),
    ("cart/get_gift.no_balance", 200, "/message", "~nothing left"),
    ("cart/get_gift.unknown", 200, "/message", "~does not exist"),
    ("cart/get_promoted", 200, "/0/id", "404"),
    ("cart/get_select_servers", 200, "/401/0/server_name", "\"Hearth\""),
    ("cart/get_select_servers.empty", 200, "", "{}"),
    ("cart/reload", 200, "", r#"{"success":true}"#),
    ("cart/reload.no_such_line", 200, "/message", "~does not exist"),
    ("cart/reload.unchanged", 200, "", r#"{"success":true}"#),
    ("cart/remove", 200, "/success", "true"),
    ("cart/remove_coupon", 200, "/success", "true"),
    ("cart/remove_giftcard", 200, "/success", "false"),
    ("cart/remove_referral", 200, "/success", "true"),
    ("cart/remove_referral.none_set", 200, "/success", "false"),
    ("cart/set_referral", 200, "/success", "true"),
    ("cart/set_referral.already_set", 200, "/message", "~already"),
    ("cart/set_referral.another_set", 200, "/message", "~remove it first"),
    ("cart/set_referral.disabled", 200, "/success", "false"),
    ("cart/set_referral.own_code", 200, "/message", "~your own"),
    ("cart/set_referral.unknown", 200, "/message", "~does not exist"),
    ("cart/set_selected_server", 200, "/success", "true"),
    ("cart/set_selected_server.wrong_server", 422, "/message", "~selected server"),
    ("cart/set_variable", 200, "/success", "true"),
    ("cart/set_variable.wrong_option", 422, "/message", "~must be one of"),
];

const CATALOG: &[Row] = &[
    ("catalog/get_category", 200, "/category/name", "\"Ranks\""),
    ("catalog/get_category.by_id", 200, "/category/id", "2"),
    ("catalog/get_category.default_route", 200, "/category/url", "\"/crates/seasonal\""),
    ("catalog/get_category.forged", 401, "/status", "false"),
    ("catalog/get_category.guest_refused", 401, "/status", "false"),
    ("catalog/get_category.hidden", 404, "/message", "~does not exist"),
    ("catalog/get_category.subcategory", 200, "/category/url", "\"/ranks/guild\""),
    ("catalog/get_category.unknown", 404, "/message", "~does not exist"),
    ("catalog/get_item", 200, "/id", "103"),
    ("catalog/get_profile", 200, "/username", "\"Thornwick\""),
    ("catalog/get_profile.banned", 404, "/message", "~does not exist"),
    ("catalog/get_featured_deals", 200, "/0/in_cart", "false"),
    ("catalog/get_featured_deals.logged_in", 200, "/0/in_cart", "false"),
    ("catalog/list_categories", 200, "/0/url", "\"/ranks\""),
    ("catalog/list_categories.if_none_match", 304, "", ""),
    ("catalog/list_categories.post", 200, "/0/url", "\"/ranks\""),
];

const CONTENT: &[Row] = &[
    ("content/get_announcement", 200, "/is_index", "1"),
    ("content/get_page", 200, "/page/title", "\"About Emberfall\""),
    ("content/get_page.guest_refused", 401, "/status", "false"),
    ("content/get_page.not_found", 200, "", r#"{"success":false,"page":null}"#),
    ("content/get_settings", 200, "/website_name", "\"Emberfall\""),
    ("content/get_settings.if_none_match", 304, "", ""),
    ("content/list_patrons", 200, "/success", "true"),
    ("content/list_patrons.if_none_match", 304, "", ""),
    ("content/list_staff", 200, "/keepers/0/username", "\"Oldemar\""),
    ("content/list_staff.if_none_match", 304, "", ""),
];

const PAYMENTS: &[Row] = &[
    ("payments/check_status", 200, "/order_data/status", "\"PAID\""),
    ("payments/check_status.forbidden", 200, "/status", "\"forbidden\""),
    ("payments/check_status.guest", 200, "/order_data/id", "17"),
    ("payments/check_status.limited", 429, "/status", "\"error\""),
    ("payments/check_status.not_found", 200, "/status", "\"not_found\""),
    ("payments/check_status.pending", 200, "/order_data/status", "\"PENDING\""),
    ("payments/check_status.refunded", 200, "/order_data/status", "\"REFUNDED\""),
    ("payments/create", 200, "/message", "~needs a linked chat account"),
    ("payments/create.checkout", 200, "/message", "~Continue to the payment"),
    ("payments/create.terms", 200, "/message", "~accept the terms"),
    ("payments/list_methods", 200, "", r#"[{"name":"Stripe"}]"#),
    ("payments/stripe_webhook", 200, "", r#"{"received":true}"#),
    ("payments/stripe_webhook.signature", 400, "/message", "~signature"),
];

/// Sends an event to a store; the one for the rate limit after as many requests as pass.
async fn invoke(store: &TestStore, name: &str, event: &Value) -> Reply {
    let function = name.split('/').next().unwrap();
    if name.ends_with(".limited") {
        for _ in 0..18 {
            assert_eq!(store.invoke(function, event).await.status, 200);
        }
    }
    store.invoke(function, event).await
}

/// The event as cargo lambda sends it, without a route key.
fn without_route(mut event: Value) -> Value {
    event["routeKey"] = json!("$default");
    event["requestContext"]["routeKey"] = json!("$default");
    event.as_object_mut().unwrap().remove("pathParameters");
    event
}

/// The body without what differs between requests: the state of a chat login and what follows from it, a new order's id where it
/// is paid, and the id of a login by name in its token.
fn body(reply: &Reply) -> Value {
    if reply.text.is_empty() {
        return Value::Null;
    }
    let mut body = reply.data();
    for place in ["/order_id", "/data/url"] {
        body.pointer_mut(place).map(Value::take);
    }
    if let Some(issued) = body.as_str().and_then(|token| token.split('.').nth(1)) {
        let mut claims: Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(issued).unwrap()).unwrap();
        claims["sid"].take();
        return claims;
    }
    for parameter in ["state=", "code_challenge="] {
        let url = body.get("url").and_then(Value::as_str).map(str::to_owned);
        if let Some((before, after)) = url.as_deref().and_then(|url| url.split_once(parameter)) {
            body["url"] = json!(format!("{before}{}", after.split_once('&').map_or("", |(_, rest)| rest)));
        }
    }
    body
}

fn assert_expected(row: &Row, reply: &Reply) {
    let (name, status, pointer, expected) = row;
    assert_eq!(reply.status, *status, "{name}: {}", reply.text);
    if expected.is_empty() {
        assert_eq!(reply.text, "", "{name}");
        return;
    }
    let body = reply.data();
    let found = body.pointer(pointer).unwrap_or_else(|| panic!("{name}: no {pointer} in {body}"));
    match expected.strip_prefix('~') {
        Some(part) => assert!(found.as_str().is_some_and(|text| text.contains(part)), "{name}: {found}"),
        None => assert_eq!(*found, serde_json::from_str::<Value>(expected).unwrap(), "{name}"),
    }
}

async fn check(rows: &[Row]) {
    for row in rows {
        let store = TestStore::open().await;
        let event = event(row.0);
        let reply = invoke(&store, row.0, &event).await;
        assert_expected(row, &reply);
        // An event that has changed the store is sent to another one.
        let again = if store.calls.writes() == 0 { store } else { TestStore::open().await };
        let routeless = invoke(&again, row.0, &without_route(event)).await;
        assert_eq!((routeless.status, body(&routeless)), (reply.status, body(&reply)), "{} without a route", row.0);
    }
}

#[test]
fn every_file_has_a_row_and_every_row_a_file() {
    let rows = [AUTH, ACCEPT_COUPON, CART, CATALOG, CONTENT, PAYMENTS].concat();
    let rows: BTreeSet<String> = rows.iter().map(|row| row.0.to_owned()).collect();
    assert_eq!(rows, event_names().into_iter().collect());
}

#[test]
fn every_event_is_one_of_the_gateways() {
    let routes: BTreeSet<String> = tests::template().routes().unwrap().iter().map(template::Route::key).collect();
    for name in event_names() {
        let event = event(&name);
        let (route, http) = (event["routeKey"].as_str().unwrap(), &event["requestContext"]["http"]);
        assert!(route == "$default" || routes.contains(route), "{name}: {route}");
        assert_eq!(event["version"], "2.0", "{name}");
        assert_eq!(event["requestContext"]["routeKey"], route, "{name}");
        assert_eq!(http["path"], event["rawPath"], "{name}");
        assert!(route == "$default" || route.split(' ').next() == http["method"].as_str(), "{name}");
        for field in ["sourceIp", "userAgent"] {
            assert!(http[field].is_string(), "{name}: {field}");
        }
        for header in ["host", "user-agent", "x-forwarded-for"] {
            assert!(event["headers"][header].is_string(), "{name}: {header}");
        }
        assert!(event["isBase64Encoded"].is_boolean(), "{name}");
    }
}

#[tokio::test]
async fn events_for_auth_have_the_outcome_in_their_name() {
    Box::pin(check(AUTH)).await;
}

#[tokio::test]
async fn events_for_accept_coupon_have_the_outcome_in_their_name() {
    Box::pin(check(ACCEPT_COUPON)).await;
}

#[tokio::test]
async fn events_for_the_rest_of_cart_have_the_outcome_in_their_name() {
    Box::pin(check(CART)).await;
}

#[tokio::test]
async fn events_for_catalog_have_the_outcome_in_their_name() {
    Box::pin(check(CATALOG)).await;
}

#[tokio::test]
async fn events_for_content_have_the_outcome_in_their_name() {
    Box::pin(check(CONTENT)).await;
}

#[tokio::test]
async fn events_for_payments_have_the_outcome_in_their_name() {
    Box::pin(check(PAYMENTS)).await;
}

#[test]
fn the_body_of_every_sample_event_is_as_the_document_says() {
    let mut bodies = 0;
    for endpoint in endpoints() {
        let (method, path) = endpoint.route.split_once(' ').unwrap();
        let sent = event(&endpoint.event);
        let Some(body) = sent["body"].as_str().and_then(|text| serde_json::from_str(text).ok()) else { continue };
        let Some(faults) = request_faults(method, &path.replace("+}", "}"), &body) else { continue };
        assert_eq!(faults, Vec::<String>::new(), "{}", endpoint.event);
        bodies += 1;
    }
    assert!(bodies > 10, "only {bodies} bodies were found");
}
