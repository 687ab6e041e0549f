//! Events that are made of the files in `events/`.

use crate::mutate::{self, TOKENS};
use crate::random::Random;
use crate::targets::token::hmac;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use harness::{NOW, TestStore, event, event_names};
use serde_json::{Value, json};

/// The events of a function.
pub struct Events {
    seeds: Vec<Value>,
    /// Values of `Authorization`, valid and not.
    authorizations: Vec<String>,
    /// The secret of Stripe's notices.
    webhook_secret: String,
}

/// The names of players who have an account, and one who has none.
const PLAYERS: [&str; 3] = ["Thornwick", "Pebble", "Grimble"];

impl Events {
    /// The events of the function, and tokens of a store's users.
    pub fn of(function: &str, store: &TestStore) -> Self {
        let names = event_names().into_iter().filter(|name| name.split('/').next() == Some(function));
        let mut authorizations: Vec<String> =
            PLAYERS.iter().map(|name| format!("Bearer {}", store.token(name))).collect();
        authorizations.extend(["Bearer undefined", "Bearer ", "Bearer a.b.c", "Basic YTpi"].map(str::to_owned));
        let keys: Value = serde_json::from_str(&local::stripe::payment_keys()).unwrap_or_default();
        let webhook_secret = keys["stripe"]["webhook"][0].as_str().unwrap_or_default().to_owned();
        Self { seeds: names.map(|name| event(&name)).collect(), authorizations, webhook_secret }
    }

    /// The next event.
    pub fn next(&self, random: &mut Random) -> Value {
        let mut event = random.pick(&self.seeds).clone();
        // An address of its own, so that no rate limit is in the way.
        if !random.one_in(8) {
            event["requestContext"]["http"]["sourceIp"] = json!(address(random));
        }
        for _ in 0..=random.below(3) {
            match random.below(12) {
                0..=3 => change_body(random, &mut event),
                4 => change_header(random, &mut event),
                5 => event["headers"]["authorization"] = json!(self.authorization(random)),
                6 => change_path(random, &mut event),
                7 => change_query(random, &mut event),
                8 => event["cookies"] = cookies(random, &self.authorizations),
                10 if random.one_in(3) => default_route(&mut event),
                11 if random.one_in(3) => in_base64(random, &mut event),
                _ => {}
            }
        }
        self.sign(random, &mut event);
        // Last: an event may not have these fields afterwards.
        if random.one_in(12) {
            mutate::json(random, &mut event);
        }
        event
    }

    fn authorization(&self, random: &mut Random) -> String {
        let value = random.pick(&self.authorizations);
        if random.one_in(3) { mutate::text(random, value) } else { value.clone() }
    }

    /// Signs the body as Stripe does, most of the time.
    fn sign(&self, random: &mut Random, event: &mut Value) {
        if event["headers"]["stripe-signature"].is_string() && !random.one_in(3) {
            let body = event["body"].as_str().unwrap_or_default();
            let text = format!("{NOW}.{body}");
            let v1 = hex::encode(hmac(self.webhook_secret.as_bytes(), text.as_bytes()));
            event["headers"]["stripe-signature"] = json!(format!("t={NOW},v1={v1}"));
        }
    }
}

fn address(random: &mut Random) -> String {
    let [a, b, c, d, ..] = random.next().to_le_bytes();
    if random.one_in(4) { format!("2001:db8:{a:x}{b:02x}:{c:x}{d:02x}::1") } else { format!("10.{a}.{b}.{c}") }
}

fn change_body(random: &mut Random, event: &mut Value) {
    let text = event["body"].as_str().unwrap_or("{}").to_owned();
    let changed = match serde_json::from_str::<Value>(&text) {
        Ok(body) => mutate::json_text(random, &body),
        Err(_) => mutate::text(random, &text),
    };
    event["body"] = json!(changed);
}

fn change_header(random: &mut Random, event: &mut Value) {
    let Some(headers) = event["headers"].as_object_mut() else { return };
    let names =
        ["x-forwarded-for", "if-none-match", "cookie", "content-type", "origin", "host", "accept", "x-request-id"];
    let name = *random.pick(&names);
    let old = headers.get(name).and_then(Value::as_str).unwrap_or("\"a\", 1.2.3.4").to_owned();
    headers.insert(name.to_owned(), json!(mutate::text(random, &old)));
}

fn change_path(random: &mut Random, event: &mut Value) {
    let parameters = event["pathParameters"].as_object().cloned().unwrap_or_default();
    let Some((name, old)) = parameters.into_iter().next() else {
        let path = event["rawPath"].as_str().unwrap_or_default().to_owned();
        event["rawPath"] = json!(mutate::text(random, &path));
        return;
    };
    let old = old.as_str().unwrap_or_default().to_owned();
    let new = match random.below(4) {
        0 => random.below(700).to_string(),
        1 => (*random.pick(TOKENS)).to_owned(),
        _ => mutate::text(random, &old),
    };
    let path = event["rawPath"].as_str().unwrap_or_default().replace(&old, &new);
    event["rawPath"] = json!(path);
    event["requestContext"]["http"]["path"] = json!(path);
    event["pathParameters"][name] = json!(new);
}

/// The functions read the query as it was sent.
fn change_query(random: &mut Random, event: &mut Value) {
    let query = event["rawQueryString"].as_str().unwrap_or_default().to_owned();
    let more = format!("{}={}", random.pick(&["code", "state", "error", "page", ""]), random.pick(TOKENS));
    let changed = match random.below(3) {
        0 => format!("{query}&{more}"),
        1 => more,
        _ => mutate::text(random, &query),
    };
    event["rawQueryString"] = json!(changed);
}

fn cookies(random: &mut Random, authorizations: &[String]) -> Value {
    let token = random.pick(authorizations).trim_start_matches("Bearer ").to_owned();
    let name = *random.pick(&["token", "chat_login", "chat_id", "a"]);
    let cookie = format!("{name}={token}");
    json!([if random.one_in(2) { mutate::text(random, &cookie) } else { cookie }])
}

/// As under `cargo lambda watch`.
fn default_route(event: &mut Value) {
    event["routeKey"] = json!("$default");
    event["requestContext"]["routeKey"] = json!("$default");
    if let Some(fields) = event.as_object_mut() {
        fields.remove("pathParameters");
    }
}

fn in_base64(random: &mut Random, event: &mut Value) {
    let body = event["body"].as_str().unwrap_or_default().as_bytes().to_vec();
    event["body"] = json!(BASE64_STANDARD.encode(mutate::bytes(random, &body)));
    event["isBase64Encoded"] = json!(true);
}
