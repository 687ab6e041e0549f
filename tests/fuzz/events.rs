//! The functions, with a real table and events that are made of the files in `events/`: every event has a documented
//! response.

use crate::mutate::{self, Changes, Edits};
use crate::requests::hmac;
use crate::{Outcome, tries};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::StatusCode;
use lambda_http::request::RequestContext;
use lambda_http::{Request, RequestExt as _};
use percent_encoding::percent_decode_str;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use shared::clock::Clock as _;
use shared::endpoint::Access;
use shared::http::bearer::Bearer;
use shared::http::route;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::time::Duration;
use tests::{Call, Endpoint, NOW, Reply, TestStore, conformance, endpoints, event, event_names};
use tokio::runtime::Builder;

/// Events that share a store: what one of them writes, the next ones read.
const ROUND: u32 = 500;
/// Sequential calls to the database beyond the declared ones: a test store has read nothing before its first request.
const FIRST_READ: usize = 1;

/// Lambda's runtime refuses many events by a panic, which is not printed.
static QUIET: Once = Once::new();

fn function(name: &str) {
    QUIET.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic| {
            let file = panic.location().map_or("", Location::file);
            if !file.contains("/lambda_http-") && !file.contains("/aws_lambda_events-") {
                print(panic);
            }
        }));
    });
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let store = RefCell::new(runtime.block_on(open(name)));
    let (tried, endpoints) = (Cell::new(0_u32), of_function(name));
    let inputs = events(name, &store.borrow());
    tries(name, 1, inputs, |(event, wait)| {
        let text = event.to_string();
        // What is not an event at all is refused before it reaches a function, see `shared::http::lambda`.
        let request = catch_unwind(AssertUnwindSafe(|| lambda_http::request::from_str(&text)));
        let Ok(Ok(request)) = request else { return Ok(false) };
        tried.set(tried.get() + 1);
        if tried.get().is_multiple_of(ROUND) {
            store.replace(runtime.block_on(open(name)));
        }
        let store = store.borrow();
        store.clock.advance(Duration::from_millis(wait));
        let send = || {
            store.calls.clear();
            runtime.block_on(store.invoke_unchecked(name, &event))
        };
        // A busy machine may be too slow for a call to the database once.
        let reply = (0..2).map(|_| send()).find(|reply| reply.status != 503).unwrap_or_else(send);
        check(&endpoints, &store, &request, &reply)
    });
}

/// A store with what the events of a function are about.
async fn open(function: &str) -> TestStore {
    let store = TestStore::open().await;
    if function == "delivery" {
        for id in 1..=8 {
            assert_eq!(store.queue_command("Thornwick", "give Thornwick diamond", id % 2 == 0).await, id);
        }
    }
    store
}

fn of_function(name: &str) -> Vec<Endpoint> {
    endpoints().into_iter().filter(|endpoint| endpoint.function == name).collect()
}

macro_rules! functions {
    ($($test:ident: $name:literal),+) => {
        $(#[test]
        fn $test() {
            function($name);
        })+
    };
}

functions!(
    events_of_auth: "auth", events_of_cart: "cart", events_of_catalog: "catalog", events_of_content: "content",
    events_of_delivery: "delivery", events_of_payments: "payments"
);

/// The rules for every response.
fn check(endpoints: &[Endpoint], store: &TestStore, request: &Request, reply: &Reply) -> Outcome {
    headers(reply)?;
    let status = reply.status.as_u16();
    prop_assert!(status < 500, "{status}: {}", reply.text);
    let Some(endpoint) = endpoint(endpoints, request) else {
        prop_assert_eq!(status, 404, "no route: {}", reply.text);
        prop_assert!(store.calls.operations().is_empty(), "no route, and {:?}", store.calls.operations());
        return Ok(false);
    };
    let (method, path) = endpoint.route.split_once(' ').unwrap();
    let faults = conformance::faults(method, &path.replace("+}", "}"), reply);
    prop_assert!(faults.is_empty(), "{}: {}: {}", endpoint.route, faults.join("; "), reply.text);
    calls(store, endpoint, status)?;
    if endpoint.declaration.access == Access::Required && status < 400 {
        caller(store, request, reply)?;
    }
    // A game server is told about each id as it sent it.
    let is_word = endpoint.route.starts_with("POST /plugin/");
    if reply.header("content-type") == "application/json" && !is_word {
        let negative = negative(&reply.json(), "");
        prop_assert!(negative.is_none(), "{negative:?} is negative: {}", reply.text);
    }
    Ok(reply.status.is_success() || status == 304)
}

/// The endpoint that the request is for, by the functions' own routing.
fn endpoint<'a>(endpoints: &'a [Endpoint], request: &Request) -> Option<&'a Endpoint> {
    if endpoints.iter().any(|endpoint| endpoint.function == "delivery") {
        return call_of_plugin(endpoints, request);
    }
    let declared: Vec<_> = endpoints.iter().map(|endpoint| endpoint.declaration).collect();
    let found = route::find(request, &declared, |declared| declared.routes)?;
    let context = request.request_context_ref();
    let key = match context {
        Some(RequestContext::ApiGatewayV2(context)) => context.route_key.as_deref().filter(|key| *key != "$default"),
        _ => None,
    };
    let method = key.and_then(|key| key.split(' ').next()).unwrap_or(request.method().as_str());
    // HEAD of a page has a route of its own, and is declared with the page.
    let method = if method == "HEAD" { "GET" } else { method };
    let is_it = |endpoint: &&Endpoint| {
        endpoint.declaration.name == found.name && endpoint.route.split(' ').next() == Some(method)
    };
    endpoints.iter().find(is_it)
}

/// The call of a game server, by the part of the path after `/plugin/`, decoded.
fn call_of_plugin<'a>(endpoints: &'a [Endpoint], request: &Request) -> Option<&'a Endpoint> {
    if route::route_key(request).is_some_and(|key| !delivery::ROUTES.contains(&key)) {
        return None;
    }
    let (_, call) = request.raw_http_path().split_once("/plugin/")?;
    let path = format!("/plugin/{}", percent_decode_str(call).decode_utf8().ok()?);
    let declared = delivery::declared(request.method().as_str(), &path)?;
    endpoints.iter().find(|endpoint| endpoint.route == declared)
}

/// Every header can be sent, and a page is one that runs no foreign script.
fn headers(reply: &Reply) -> Outcome {
    for (name, value) in &reply.headers {
        prop_assert!(value.to_str().is_ok_and(|text| text.len() <= 4_096), "the header {name}: {value:?}");
    }
    let is_cached = reply.header("cache-control") != "no-store" && reply.status.as_u16() >= 400;
    prop_assert!(!is_cached, "{} is cached", reply.status);
    let is_safe = reply.header("content-security-policy").starts_with("default-src 'none'")
        && reply.header("x-content-type-options") == "nosniff";
    prop_assert!(is_safe || !reply.header("content-type").starts_with("text/html"), "a page without a policy");
    let internal = ["panicked", ".rs:", "dynamodb", "Exception"].iter().find(|text| reply.text.contains(**text));
    prop_assert!(internal.is_none(), "{internal:?} in the body: {}", reply.text);
    Ok(true)
}

/// The database is called as often as declared, and a refused request writes nothing but its count.
fn calls(store: &TestStore, endpoint: &Endpoint, status: u16) -> Outcome {
    let declared = endpoint.declaration.round_trips;
    let (trips, most) = (store.calls.round_trips(), declared.warm.max(declared.cold) + FIRST_READ);
    let operations = format!("{}: {status}, {:?}", endpoint.route, store.calls.operations());
    prop_assert!(trips <= most, "{trips} round trips, {most} allowed; {operations}");
    let is_counted = status < 400 || store.calls.writes() <= endpoint.counting_writes();
    prop_assert!(is_counted, "a refused request writes; {operations}");
    Ok(true)
}

/// A caller who is served has a token that verifies, and is shown their own data.
fn caller(store: &TestStore, request: &Request, reply: &Reply) -> Outcome {
    let claim = Bearer::of(request.headers(), &store.keys, store.clock.seconds()).claim();
    let Some(claim) = claim else { return Err(TestCaseError::fail("served without a valid token")) };
    let body = reply.json();
    let owners = [body["uuid"].as_str().and(body.get("id")), body["cart"].get("user_id")];
    for owner in owners.into_iter().flatten() {
        prop_assert!(*owner == claim.user.get(), "{owner} is shown to {}", claim.user);
    }
    Ok(true)
}

/// The name of a field with a negative number. Staff are sorted by any number.
fn negative(value: &Value, name: &str) -> Option<String> {
    match value {
        Value::Number(number) => (number.to_string().starts_with('-') && name != "sorting").then(|| name.to_owned()),
        Value::Array(elements) => elements.iter().find_map(|element| negative(element, name)),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| negative(value, name)),
        _ => None,
    }
}

#[tokio::test]
async fn each_rule_finds_a_response_that_breaks_it() {
    let store = TestStore::open().await;
    let endpoints = of_function("auth");
    let request = |name: &str| lambda_http::request::from_str(&tests::event(name).to_string()).unwrap();
    let sent = store.send(Call::post("/user").token(&store.token("Thornwick"))).await;
    store.calls.clear();
    assert!(check(&endpoints, &store, &request("auth/user"), &sent).unwrap());
    let breaks = |event: &str, reply: &Reply, rule: &str| {
        let broken = check(&endpoints, &store, &request(event), reply).unwrap_err().to_string();
        assert!(broken.contains(rule), "{rule}: {broken}");
    };
    breaks("auth/user.unauthorized", &sent, "valid token");
    let of_another = sent.text.replace("\"id\":1,", "\"id\":2,");
    breaks("auth/user", &Reply { text: of_another, ..sent.clone() }, "2 is shown to 1");
    breaks("auth/user", &Reply { text: "panicked at src/lib.rs:1".to_owned(), ..sent.clone() }, "panicked");
    for status in [202, 403, 500] {
        breaks("auth/user", &Reply { status: StatusCode::from_u16(status).unwrap(), ..sent.clone() }, "");
    }
    let mut page = sent.clone();
    page.headers.insert("content-type", "text/html; charset=utf-8".parse().unwrap());
    breaks("auth/user", &page, "policy");
    page.headers.remove("cache-control");
    breaks("auth/user", &Reply { status: StatusCode::NOT_FOUND, ..page }, "cached");
    assert_eq!(negative(&json!({ "a": [{ "price": 0 }], "sorting": -1 }), ""), None);
    assert_eq!(negative(&json!({ "a": [{ "price": -1 }] }), "").as_deref(), Some("price"));
    assert_eq!(negative(&json!({ "sum": -0.0 }), "").as_deref(), Some("sum"));
}

/// The names of players who have an account, and one who has none.
const PLAYERS: [&str; 3] = ["Thornwick", "Pebble", "Grimble"];
const HEADERS: [&str; 8] =
    ["x-forwarded-for", "if-none-match", "cookie", "content-type", "origin", "host", "accept", "x-request-id"];

/// A change of an event.
#[derive(Debug, Clone)]
enum Part {
    Body(String),
    BodyText(Edits),
    Base64(Edits),
    Header(&'static str, Edits),
    Authorization(String, Edits),
    /// A parameter's new value, or changes of the old one or of the path.
    Path(Option<String>, Edits),
    /// More of the query, after the old one or in its place; or changes of it.
    Query(Option<(bool, String)>, Edits),
    Cookie(String, Edits),
    /// As under `cargo lambda watch`.
    DefaultRoute,
}

fn part(body: Value, authorizations: &[String]) -> impl Strategy<Value = Part> + use<> {
    let authorization = || select(authorizations.to_vec());
    let segment = prop_oneof![(0..700_u32).prop_map(|id| id.to_string()), mutate::token()];
    let query = (select(vec!["code", "state", "error", "page", ""]), mutate::token());
    let query = (any::<bool>(), query.prop_map(|(name, value)| format!("{name}={value}")));
    let cookie = (select(vec!["token", "chat_login", "chat_id", "a"]), authorization());
    let cookie = cookie.prop_map(|(name, value)| format!("{name}={}", value.trim_start_matches("Bearer ")));
    prop_oneof![
        9 => mutate::json_text(Just(body)).prop_map(Part::Body),
        3 => mutate::edits().prop_map(Part::BodyText),
        1 => mutate::edits().prop_map(Part::Base64),
        3 => (select(&HEADERS[..]), mutate::edits()).prop_map(|(name, edits)| Part::Header(name, edits)),
        3 => (authorization(), mutate::rarely()).prop_map(|(value, edits)| Part::Authorization(value, edits)),
        3 => (proptest::option::of(segment), mutate::edits()).prop_map(|(new, edits)| Part::Path(new, edits)),
        3 => (proptest::option::of(query), mutate::edits()).prop_map(|(more, edits)| Part::Query(more, edits)),
        3 => (cookie, mutate::rarely()).prop_map(|(cookie, edits)| Part::Cookie(cookie, edits)),
        1 => Just(Part::DefaultRoute),
    ]
}

fn apply(event: &mut Value, part: &Part) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match part {
        Part::Body(body) => event["body"] = json!(body),
        Part::BodyText(edits) => event["body"] = json!(mutate::text(&text(&event["body"]), edits)),
        Part::Base64(edits) => {
            let body = mutate::bytes(text(&event["body"]).as_bytes(), edits);
            event["body"] = json!(BASE64_STANDARD.encode(body));
            event["isBase64Encoded"] = json!(true);
        }
        Part::Header(name, edits) => {
            let old = event["headers"][*name].as_str().unwrap_or("\"a\", 1.2.3.4").to_owned();
            event["headers"][*name] = json!(mutate::text(&old, edits));
        }
        Part::Authorization(value, edits) => event["headers"]["authorization"] = json!(mutate::text(value, edits)),
        Part::Path(new, edits) => {
            let path = text(&event["rawPath"]);
            let parameter = event["pathParameters"].as_object().and_then(|fields| fields.iter().next());
            let Some((name, old)) = parameter.map(|(name, old)| (name.clone(), text(old))) else {
                event["rawPath"] = json!(mutate::text(&path, edits));
                return;
            };
            let new = new.clone().unwrap_or_else(|| mutate::text(&old, edits));
            event["rawPath"] = json!(path.replace(&old, &new));
            event["requestContext"]["http"]["path"] = event["rawPath"].clone();
            event["pathParameters"][name] = json!(new);
        }
        // The functions read the query as it was sent.
        Part::Query(more, edits) => {
            let query = text(&event["rawQueryString"]);
            event["rawQueryString"] = json!(match more {
                Some((true, more)) => format!("{query}&{more}"),
                Some((false, more)) => more.clone(),
                None => mutate::text(&query, edits),
            });
        }
        Part::Cookie(cookie, edits) => event["cookies"] = json!([mutate::text(cookie, edits)]),
        Part::DefaultRoute => {
            event["routeKey"] = json!("$default");
            event["requestContext"]["routeKey"] = json!("$default");
            event.as_object_mut().unwrap().remove("pathParameters");
        }
    }
}

/// Signs the body as Stripe does.
fn sign(event: &mut Value, secret: &str) {
    let text = format!("{NOW}.{}", event["body"].as_str().unwrap_or_default());
    event["headers"]["stripe-signature"] =
        json!(format!("t={NOW},v1={}", hex::encode(hmac(secret.as_bytes(), text.as_bytes()))));
}

/// Mostly an address of its own, so that no rate limit is in the way.
fn address() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        5 => any::<[u8; 3]>().prop_map(|[a, b, c]| Some(format!("10.{a}.{b}.{c}"))),
        2 => any::<[u16; 2]>().prop_map(|[a, b]| Some(format!("2001:db8:{a:x}:{b:x}::1"))),
        1 => Just(None),
    ]
}

/// Events of a function, and the milliseconds that pass before each.
pub fn events(function: &str, store: &TestStore) -> impl Strategy<Value = (Value, u64)> + use<> {
    let names = event_names().into_iter().filter(|name| name.split('/').next() == Some(function));
    let seeds: Vec<Value> = names.map(|name| event(&name)).collect();
    let mut authorizations: Vec<String> = PLAYERS.iter().map(|name| format!("Bearer {}", store.token(name))).collect();
    authorizations.extend(["Bearer undefined", "Bearer ", "Bearer a.b.c", "Basic YTpi"].map(str::to_owned));
    let keys: Value = serde_json::from_str(&stripe_stand_in::payment_keys()).unwrap();
    let secret = keys["stripe"]["webhook"][0].as_str().unwrap().to_owned();
    let parts = move |seed: Value| {
        let body = seed["body"].as_str().and_then(|body| body.parse().ok()).unwrap_or_else(|| json!({}));
        (Just(seed), vec(part(body, &authorizations), 0..4))
    };
    // Last: an event may not have these fields afterwards.
    let whole = prop_oneof![11 => Just(Changes::new()), 1 => mutate::changes()];
    let changed = (select(seeds).prop_flat_map(parts), address(), 0..3_u8, whole);
    let changed = changed.prop_map(move |((mut event, parts), address, way, whole)| {
        for part in &parts {
            apply(&mut event, part);
        }
        if let Some(address) = address {
            event["requestContext"]["http"]["sourceIp"] = json!(address);
        }
        if way < 2 && event["headers"]["stripe-signature"].is_string() {
            sign(&mut event, &secret);
        }
        mutate::json(&mut event, &whole);
        event
    });
    (changed, 0..3_000_u64)
}
