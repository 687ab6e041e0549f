//! The way from Lambda to a function and back: an event becomes a request, a response becomes what the gateway takes.
//!
//! lambda_http's own way back looks up character sets, and escapes a body anew every time; this one sends text as it
//! stands, and what was rendered once as it was escaped then (see "Answers are sent as they stand" in
//! `infra/docs/decisions.md`).

use crate::telemetry;
use lambda_http::http::HeaderMap;
use lambda_http::lambda_runtime::{LambdaEvent, Runtime};
use lambda_http::request::LambdaRequest;
use lambda_http::{Body, Request, RequestExt, Response, service_fn};
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};
use serde_json::value::RawValue;
use std::convert::Infallible;
use std::sync::Arc;

/// A response's body as a JSON string, quotes and escapes included, in the response's extensions.
#[derive(Debug, Clone)]
pub struct Escaped(pub Arc<RawValue>);

/// An event as the gateway sends it, with `ROUTE` in the place of its route key and a token that nobody signed.
const REHEARSAL: &str = include_str!("rehearsal.json");

/// A route key that no function knows.
pub const NO_ROUTE: &str = "none";

/// Answers a request that nobody sent, as every later one will be answered, and drops the answer: what the first real one
/// would find cold (code that was never run, memory that was never touched, connections, caches) is warm then. Its token
/// is nobody's, so that where one is needed it is refused before anything is read; no line of it is logged. `route_key` is
/// the gateway's, such as `GET /settings/get`.
pub async fn rehearse<A>(route_key: &str, handle: impl FnOnce(Request) -> A)
where
    A: Future<Output = Response<Body>>,
{
    let Ok(event) = serde_json::from_str::<LambdaRequest>(&REHEARSAL.replace("ROUTE", route_key)) else { return };
    let answer = Answer(telemetry::silently(Box::pin(handle(Request::from(event)))).await);
    // Nobody reads it.
    drop(serde_json::to_vec(&answer));
}

/// Takes events from Lambda until the sandbox ends, and answers each by `handle`.
///
/// # Errors
/// Where the Runtime API cannot be reached.
pub async fn run<A>(handle: impl Fn(Request) -> A) -> Result<(), lambda_http::Error>
where
    A: Future<Output = Response<Body>>,
{
    let answer = |event: LambdaEvent<LambdaRequest>| {
        let request = Request::from(event.payload).with_lambda_context(event.context);
        let answer = handle(request);
        async { Ok::<_, Infallible>(Answer(answer.await)) }
    };
    // As large as every endpoint together, and moved here once.
    Box::pin(Runtime::new(service_fn(answer)).run()).await
}

/// A response as an HTTP API takes it (payload format 2.0).
#[derive(Debug)]
struct Answer(Response<Body>);

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let response = &self.0;
        let mut answer = serializer.serialize_struct("Answer", 4)?;
        answer.serialize_field("statusCode", &response.status().as_u16())?;
        answer.serialize_field("headers", &Headers(response.headers()))?;
        let is_binary = matches!(response.body(), Body::Binary(_));
        answer.serialize_field("isBase64Encoded", &is_binary)?;
        match (response.extensions().get::<Escaped>(), response.body()) {
            (_, Body::Empty) => {}
            (Some(Escaped(body)), _) => answer.serialize_field("body", body.as_ref())?,
            // Text stands as it is, bytes in base64.
            (None, body) => answer.serialize_field("body", body)?,
        }
        answer.end()
    }
}

/// Headers by name; several of one name are joined by commas, as the gateway has them.
struct Headers<'a>(&'a HeaderMap);

impl Serialize for Headers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut headers = serializer.serialize_map(None)?;
        for name in self.0.keys() {
            let mut values = self.0.get_all(name).iter().filter_map(|value| value.to_str().ok());
            let first = values.next().unwrap_or_default();
            match values.next() {
                None => headers.serialize_entry(name.as_str(), first)?,
                Some(second) => {
                    let rest = values.fold(format!("{first}, {second}"), |all, value| all + ", " + value);
                    headers.serialize_entry(name.as_str(), &rest)?;
                }
            }
        }
        headers.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::bearer::Caller;
    use crate::http::route;
    use crate::token::TokenKeys;
    use lambda_http::http::StatusCode;
    use lambda_http::http::header::{ETAG, HeaderValue, VARY};
    use serde_json::{Value, json};
    use std::cell::RefCell;

    fn answer(body: Body) -> Response<Body> {
        let mut response = Response::new(body);
        response.headers_mut().insert(ETAG, HeaderValue::from_static("\"abc\""));
        response
    }

    fn sent(response: Response<Body>) -> Value {
        serde_json::from_slice(&serde_json::to_vec(&Answer(response)).unwrap()).unwrap()
    }

    #[test]
    fn text_stands_as_it_is_and_bytes_in_base64() {
        let headers = json!({ "etag": "\"abc\"" });
        let text = "{\"a\":\"b\\n\u{1F511}\"}";
        assert_eq!(
            sent(answer(Body::from(text))),
            json!({ "statusCode": 200, "headers": headers, "isBase64Encoded": false, "body": text })
        );
        assert_eq!(
            sent(answer(Body::from(vec![0xff, 0x00]))),
            json!({ "statusCode": 200, "headers": headers, "isBase64Encoded": true, "body": "/wA=" })
        );
    }

    #[test]
    fn an_empty_answer_has_no_body() {
        let mut response = answer(Body::Empty);
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        let sent = sent(response);
        assert_eq!((&sent["statusCode"], sent.get("body")), (&json!(304), None));
    }

    #[test]
    fn what_was_escaped_before_is_sent_as_it_is() {
        let text = "{\"a\":1}";
        let mut response = answer(Body::from("not looked at"));
        let escaped = serde_json::value::to_raw_value(text).unwrap();
        response.extensions_mut().insert(Escaped(Arc::from(escaped)));
        assert_eq!(sent(response)["body"], text);
    }

    #[tokio::test]
    async fn a_rehearsal_is_a_request_by_nobody() {
        let seen = RefCell::default();
        rehearse("POST /cart/get", |request| {
            let keys = TokenKeys::parse(r#"{"k1":"0123456789abcdef0123456789abcdef"}"#).unwrap();
            let endpoint = route::find(&request, &[("POST /cart/get", "cart/get")]);
            *seen.borrow_mut() = Some((endpoint, Caller::of(request.headers(), &keys, 1_800_000_000)));
            std::future::ready(answer(Body::Empty))
        })
        .await;
        assert_eq!(seen.into_inner(), Some((Some("cart/get"), Caller::Invalid)));
    }

    #[test]
    fn headers_of_one_name_are_joined() {
        let mut response = answer(Body::Empty);
        for value in ["Origin", "Accept", "Cookie"] {
            response.headers_mut().append(VARY, HeaderValue::from_static(value));
        }
        assert_eq!(sent(response)["headers"]["vary"], "Origin, Accept, Cookie");
    }
}
