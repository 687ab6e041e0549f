//! The API, as both ports pass requests to it.

use crate::engine::CALL;
use crate::gateway::{Gateway, LARGEST_BODY};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use lambda_http::Body;
use shared::clock::Clock;
use shared::deadline;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
pub struct Api {
    pub gateway: Gateway,
    pub clock: Arc<dyn Clock>,
    /// Whether no line is printed per request.
    pub quiet: bool,
}

impl Api {
    /// Passes a request to the gateway as one for `path`, and prints a line for it unless told otherwise.
    pub(crate) async fn pass(&self, request: Request<Incoming>, path: &str, peer: SocketAddr) -> Response<Full<Bytes>> {
        let started = self.clock.now();
        let (head, body) = request.into_parts();
        let response = match read(body).await {
            Ok(body) => {
                let source_ip = peer.ip().to_string();
                let path_and_query = (path, head.uri.query().unwrap_or_default());
                let response = self.gateway.respond(&head.method, path_and_query, &head.headers, &body, &source_ip);
                // The embedded engine runs one call after another: many buyers at once wait for each other.
                deadline::scope(CALL, response).await
            }
            Err(status) => self.gateway.refuse(status, &head.headers),
        };
        let elapsed = self.clock.now().saturating_sub(started);
        // The path of a game server's call has its key.
        let call = delivery::without_key(head.method.as_str(), path);
        // Those of the console ask every few seconds.
        let is_poll = call.is_some() && head.method == http::Method::GET && response.status() == StatusCode::OK;
        if !self.quiet && !is_poll {
            log(&head.method, call.as_deref().unwrap_or(path), response.status(), elapsed);
        }
        let (head, body) = response.into_parts();
        let bytes = match body {
            Body::Text(text) => Bytes::from(text),
            Body::Binary(bytes) => Bytes::from(bytes),
            _ => Bytes::new(),
        };
        Response::from_parts(head, Full::new(bytes))
    }
}

async fn read(body: Incoming) -> Result<Bytes, StatusCode> {
    match Limited::new(body, LARGEST_BODY).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => Err(StatusCode::BAD_REQUEST),
    }
}

/// Prints one line to standard error: method, path, status and milliseconds; no token, query or body. The path is as
/// sent, percent-encoded, so that it cannot break the line.
fn log(method: &http::Method, path: &str, status: StatusCode, elapsed: Duration) {
    let (whole, tenths) = (elapsed.as_millis(), elapsed.subsec_micros() / 100 % 10);
    let line = format!("{method} {path} {} {whole}.{tenths} ms\n", status.as_u16());
    // Standard error may be closed.
    _ = std::io::stderr().write_all(line.as_bytes());
}
