//! Around every endpoint: a panic becomes a 500, and every request leaves one line in the log.

use super::{reply, route};
use crate::clock::Clock;
use crate::fault;
use crate::telemetry;
use futures_util::FutureExt;
use lambda_http::{Body, Request, Response};
use std::panic::AssertUnwindSafe;

/// Runs `endpoint` on a request and emits its line. `name` is the endpoint's name; nothing that the caller sent stands
/// in the line.
pub async fn endpoint<F>(clock: &dyn Clock, request: &Request, name: &'static str, endpoint: F) -> Response<Body>
where
    F: Future<Output = Response<Body>>,
{
    let request_id = route::request_id(request);
    // The state behind an endpoint is read-only or behind locks that recover from poisoning.
    let guarded = AssertUnwindSafe(endpoint).catch_unwind().map(|answer| {
        answer.unwrap_or_else(|panic| {
            tracing::error!(request_id, endpoint = name, panic = panic_text(&*panic), "the endpoint panicked");
            reply::internal(&request_id)
        })
    });
    let observed = telemetry::Request { id: &request_id, endpoint: name };
    telemetry::observed(observed, clock.millis(), guarded, |response| response.status().as_u16()).await
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}

/// Logs an error with everything it was caused by. A refusal is no error and is not logged here.
pub fn log_fault(request_id: &str, error: &dyn std::error::Error) {
    tracing::error!(request_id, error = %error, causes = fault::causes(error), "the request failed");
}
