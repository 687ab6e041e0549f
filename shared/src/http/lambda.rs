//! Runs a function on Lambda: makes a request of each event, and the payload for API Gateway of each response.

use super::reply;
use crate::fault;
use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpResponse;
use lambda_http::http::header::SET_COOKIE;
use lambda_http::lambda_runtime::{LambdaEvent, Runtime};
use lambda_http::request::LambdaRequest;
use lambda_http::tower::util::ThenLayer;
use lambda_http::{Body, Error, Request, RequestExt, Response, service_fn};
use std::cell::Cell;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;

/// A mark in a response's extensions: [`run`] ends the process after it has sent the response, and Lambda starts
/// another one.
#[derive(Debug, Clone, Copy)]
pub struct LastResponse;

/// Receives events from Lambda until the sandbox ends, and responds to each with `handle`. Fails if the Runtime API
/// cannot be reached, and after a [`LastResponse`].
pub async fn run<A>(handle: impl Fn(Request) -> A) -> Result<(), Error>
where
    A: Future<Output = Response<Body>>,
{
    let is_last = Cell::new(false);
    let responses = service_fn(|event| async {
        let response = respond(event, &handle).await;
        is_last.set(response.extensions().get::<LastResponse>().is_some());
        Ok::<_, Infallible>(for_gateway(response))
    });
    let after_sending = ThenLayer::new(|sent: Result<(), Error>| async {
        if is_last.get() { Err("this sandbox ends so that another one takes its place".into()) } else { sent }
    });
    // The future is as large as all endpoints together; it is moved here once.
    Box::pin(Runtime::new(responses).layer(after_sending).run()).await
}

/// Makes a request of an event and passes it to `handle`. Panics on headers that no gateway forwards.
async fn respond<A>(event: LambdaEvent<LambdaRequest>, handle: impl Fn(Request) -> A) -> Response<Body>
where
    A: Future<Output = Response<Body>>,
{
    let LambdaEvent { payload, context } = event;
    match std::panic::catch_unwind(AssertUnwindSafe(|| Request::from(payload))) {
        Ok(request) => handle(request.with_lambda_context(context)).await,
        Err(panic) => {
            let request_id = &context.request_id;
            tracing::error!(request_id, panic = fault::panic_text(&*panic), "the event is not a request");
            reply::internal(request_id)
        }
    }
}

/// A response as an HTTP API reads it (payload format 2.0). `lambda_http::run` makes the same, but first looks up
/// character sets, whose tables are 0.2 MB of code.
fn for_gateway(response: Response<Body>) -> ApiGatewayV2httpResponse {
    let (mut head, body) = response.into_parts();
    let cookies = head.headers.get_all(SET_COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
    let mut sent = ApiGatewayV2httpResponse::default();
    sent.cookies = cookies.map(str::to_owned).collect();
    head.headers.remove(SET_COOKIE);
    sent.status_code = head.status.as_u16().into();
    sent.headers = head.headers;
    sent.is_base64_encoded = matches!(body, Body::Binary(_));
    sent.body = (!matches!(body, Body::Empty)).then_some(body);
    sent
}

#[cfg(test)]
mod tests {
    use super::*;
    use lambda_http::Context;
    use lambda_http::http::StatusCode;
    use lambda_http::http::header::{ETAG, HeaderName, HeaderValue};
    use serde_json::{Value, json};

    fn response(body: Body, headers: &[(HeaderName, &'static str)]) -> Response<Body> {
        let mut response = Response::new(body);
        for (name, value) in headers {
            response.headers_mut().append(name, HeaderValue::from_static(value));
        }
        response
    }

    fn sent(response: Response<Body>) -> Value {
        serde_json::to_value(for_gateway(response)).unwrap()
    }

    #[test]
    fn text_is_sent_unchanged_and_bytes_in_base64() {
        let text = "{\"a\":\"b\\n\u{1F511}\"}";
        let whole = sent(response(Body::from(text), &[(ETAG, "\"abc\"")]));
        assert_eq!((&whole["statusCode"], &whole["headers"]), (&json!(200), &json!({ "etag": "\"abc\"" })));
        assert_eq!((&whole["isBase64Encoded"], &whole["body"]), (&json!(false), &json!(text)));
        let whole = sent(response(Body::from(vec![0xff, 0x00]), &[]));
        assert_eq!((&whole["isBase64Encoded"], &whole["body"]), (&json!(true), &json!("/wA=")));
    }

    #[test]
    fn every_member_that_cargo_lambda_requires_is_present() {
        let whole = sent(response(Body::Empty, &[]));
        assert_eq!(whole["cookies"], json!([]));
        serde_json::from_value::<ApiGatewayV2httpResponse>(whole).unwrap();
    }

    #[test]
    fn cookies_are_sent_separately_from_the_headers() {
        let cookies = [(SET_COOKIE, "a=1; Secure"), (SET_COOKIE, "b=2"), (ETAG, "x")];
        let whole = sent(response(Body::Empty, &cookies));
        assert_eq!((&whole["cookies"], &whole["headers"]), (&json!(["a=1; Secure", "b=2"]), &json!({ "etag": "x" })));
    }

    #[test]
    fn an_empty_response_has_no_body() {
        let mut response = response(Body::Empty, &[]);
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        let whole = sent(response);
        assert_eq!((&whole["statusCode"], whole.get("body")), (&json!(304), None));
    }

    #[tokio::test]
    async fn an_event_that_is_not_a_request_is_a_500_that_names_the_request() {
        let event = include_str!("../../../events/auth/chat.json");
        let event = event.replace("\"host\": \"", "\"host\": \"[");
        let mut context = Context::default();
        context.request_id = "r-1".to_owned();
        let event = LambdaEvent::new(serde_json::from_str(&event).unwrap(), context);
        let response = respond(event, |_| std::future::ready(response(Body::Empty, &[]))).await;
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let body = std::str::from_utf8(response.body()).unwrap();
        assert!(body.contains("r-1") && !body.contains('['), "{body}");
    }
}
