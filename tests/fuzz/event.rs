//! Events that are made of the files in `events/`.

use crate::mutate::{self, Changes, Edits};
use crate::signed::hmac;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use tests::{NOW, TestStore, event, event_names};

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
