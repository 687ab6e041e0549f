//! Examples of requests and responses: the events of `events/`, sent to a fresh sample store at a fixed time.

use serde_json::{Value, json};
use tests::{Reply, TestStore, declared_route, event, event_names};

/// Parameters of a URL that differ at every login. Examples do not have their values, so that the document stays the same.
const RANDOM: [&str; 2] = ["state=", "code_challenge="];
/// Fields that differ at every checkout, with their values in examples.
const OF_CHECKOUTS: [(&str, &str); 2] =
    [("/order_id", "k7f2m9q4x8c3v6b1"), ("/data/url", "https://checkout.stripe.com/c/pay/cs_test_a1b2c3")];
/// A token, whose login has another id every time: header, claims and signature.
const TOKEN: &str = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiIsImtpZCI6ImV2ZW50cyJ9.eyJzdWIiOiI5In0.c2lnbmF0dXJl";

/// A request with its response.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The route key.
    pub route: String,
    /// The outcome in the event's name: `expired`; `sample` for the event without one.
    pub outcome: String,
    /// The path parameter as it was sent.
    pub path_parameter: Option<Value>,
    /// The request body, if it is JSON.
    pub request: Option<Value>,
    /// The status of the response.
    pub status: u16,
    /// The body of the response, if it is JSON.
    pub response: Option<Value>,
}

/// Sends every event to a store of its own.
pub fn run() -> Vec<Sample> {
    // The functions run on one thread each, and so do these stores.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_or_else(|_| Vec::new(), |runtime| runtime.block_on(all()))
}

async fn all() -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut store = TestStore::open().await;
    for name in event_names() {
        let event = event(&name);
        // Events without a route key, and bodies in base64, are the same requests in another form.
        let route = event["routeKey"].as_str().unwrap_or_default();
        if route == "$default" || route.starts_with("SCHEDULE ") || event["isBase64Encoded"] == json!(true) {
            continue;
        }
        store.calls.clear();
        let function = name.split('/').next().unwrap_or_default();
        let Some(declared) = declared_route(&event) else { continue };
        let reply = store.invoke_unchecked(function, &event).await;
        samples.push(sample(&declared, &name, &event, &reply));
        // No other event may use a store that an event has changed.
        if store.calls.writes() > 0 {
            store = TestStore::open().await;
        }
    }
    samples
}

fn sample(route: &str, name: &str, event: &Value, reply: &Reply) -> Sample {
    let parse = |text: &str| serde_json::from_str(text).ok();
    let mut response: Option<Value> = parse(&reply.text);
    if let Some(url) = response.as_mut().and_then(|body| body.get_mut("url")) {
        *url = json!(fixed(url.as_str().unwrap_or_default()));
    }
    if route == "POST /payments/create" {
        for (pointer, value) in OF_CHECKOUTS {
            if let Some(field) = response.as_mut().and_then(|body| body.pointer_mut(pointer)) {
                *field = json!(value);
            }
        }
    }
    if route == "POST /auth/username" && reply.status == 200 {
        response = Some(json!(TOKEN));
    }
    // The call of a game server is one parameter for the gateway, and several for its reader.
    let parameters = event["pathParameters"].as_object().filter(|all| !all.contains_key("call"));
    Sample {
        route: route.to_owned(),
        outcome: name.split_once('.').map_or("sample", |(_, outcome)| outcome).to_owned(),
        path_parameter: parameters.and_then(|all| all.values().next().cloned()),
        request: event["body"].as_str().and_then(parse),
        status: reply.status.as_u16(),
        response,
    }
}

/// A URL without what is random in it.
fn fixed(url: &str) -> String {
    RANDOM.iter().fold(url.to_owned(), |url, parameter| match url.split_once(parameter) {
        Some((before, after)) => {
            let rest = after.split_once('&').map(|(_, rest)| format!("&{rest}")).unwrap_or_default();
            format!("{before}{parameter}...{rest}")
        }
        None => url,
    })
}
