//! Examples of requests and responses: the events of `events/`, sent to a fresh sample store at a fixed time, and how a
//! page shows bodies.

use serde_json::{Map, Value, json};
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

/// The most characters of a body that is shown within a table.
pub const LONGEST_IN_A_TABLE: usize = 160;
/// The most characters of a text in an example.
const LONGEST_TEXT: usize = 40;
/// The width of the lines of an example.
const WIDTH: usize = 116;

/// Whether a body can be one of this schema: its fields and its constants say so.
pub fn fits(schema: &Value, body: &Value) -> bool {
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else { return true };
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let has = |name: &str| body.get(name).is_some();
    let is_right =
        |(name, field): (&String, &Value)| field.get("const").is_none_or(|value| body.get(name) == Some(value));
    let known = body.as_object().is_some_and(|body| body.keys().all(|name| fields.contains_key(name)));
    known && required.into_iter().all(has) && fields.iter().all(is_right)
}

/// The names of an object's fields, with the values of those that are constant; of another schema, its type.
pub fn fields(schema: &Value) -> String {
    let field = |(name, field): (&String, &Value)| match field.get("const") {
        Some(value) => format!("`{}: {value}`", json!(name)),
        None => format!("`{name}`"),
    };
    match schema.get("properties").and_then(Value::as_object) {
        Some(fields) => fields.iter().map(field).collect::<Vec<_>>().join(", "),
        None => schema["type"].as_str().unwrap_or("any").to_owned(),
    }
}

/// A body whose lists have only their first entry.
pub fn shortened(body: &Value) -> Value {
    match body {
        Value::Array(entries) => entries.iter().take(1).map(shortened).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), shortened(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        value => value.clone(),
    }
}

/// A body whose long texts are cut.
pub fn cut(body: &Value) -> Value {
    match body {
        Value::String(text) if text.chars().count() > LONGEST_TEXT => {
            json!(format!("{}…", text.chars().take(LONGEST_TEXT).collect::<String>().trim_end()))
        }
        Value::Array(entries) => entries.iter().map(cut).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), cut(value))).collect::<Map<_, _>>())
        }
        value => value.clone(),
    }
}

/// A body as JSON in lines that are indented by the level, with as many fields in each as fit.
pub fn lines(body: &Value, indent: usize) -> String {
    let flat = body.to_string();
    let (open, close, parts): (char, char, Vec<String>) = match body {
        _ if indent + flat.len() <= WIDTH => return flat,
        Value::Array(entries) => ('[', ']', entries.iter().map(|entry| lines(entry, indent + 1)).collect()),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{}:{}", json!(name), lines(value, indent + 2));
            ('{', '}', fields.iter().map(field).collect())
        }
        _ => return flat,
    };
    let mut packed: Vec<String> = Vec::new();
    for part in parts {
        match packed.last_mut() {
            Some(line) if !format!("{line}{part}").contains('\n') && indent + line.len() + part.len() + 3 <= WIDTH => {
                line.push_str(", ");
                line.push_str(&part);
            }
            _ => packed.push(part),
        }
    }
    let margin = " ".repeat(indent + 1);
    format!("{open}{}{close}", packed.join(&format!(",\n{margin}")))
}
