//! Attacks by name. What every endpoint has in common is in [`crate::access`], [`crate::bodies`] and [`crate::gateway`];
//! here is what an attacker tries beyond that.

#![expect(clippy::expect_used, reason = "a helper that fails fails its test")]

mod enumeration;
mod headers;
mod scripts;
mod sizes;
pub mod tokens;

use serde_json::{Value, json};
use tests::{Reply, TestStore};
use url::form_urlencoded::Serializer;

/// Status, headers and body of a response, without its place in the window of a rate limit.
type Seen = (u16, Vec<(String, String)>, String);

/// Everything that a caller sees of a response.
fn seen(reply: &Reply) -> Seen {
    let value = |value: &http::HeaderValue| value.to_str().expect("a header of text").to_owned();
    let headers = reply.headers.iter().map(|(name, of)| (name.to_string(), value(of)));
    let mut headers: Vec<_> = headers.filter(|(name, _)| !name.starts_with("ratelimit-")).collect();
    headers.sort();
    (reply.status.as_u16(), headers, reply.text.clone())
}

/// Gives an event a query. The functions read it as it was sent.
fn set_query(event: &mut Value, pairs: impl IntoIterator<Item = (&'static str, String)>) {
    event["rawQueryString"] = json!(Serializer::new(String::new()).extend_pairs(pairs).finish());
}

/// The names of a response's headers, sorted.
fn header_names(reply: &Reply) -> Vec<String> {
    let mut names: Vec<String> = reply.headers.keys().map(ToString::to_string).collect();
    names.sort();
    names
}

/// A request as its caller and the database see it: the response, the calls and the round trips.
async fn observed(store: &TestStore, call: tests::Call) -> (Seen, Vec<String>, usize) {
    store.calls.clear();
    let reply = store.send(call).await;
    (seen(&reply), store.calls.operations(), store.calls.round_trips())
}
