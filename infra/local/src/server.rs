//! The listener: accepts HTTP/1.1 connections and prints a line per request.

use crate::engine::CALL;
use crate::error::StartError;
use crate::gateway::{Gateway, LARGEST_BODY};
use crate::reference::Reference;
use crate::site::{self, Images};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use lambda_http::Body;
use shared::clock::Clock;
use shared::deadline;
use std::convert::Infallible;
use std::io::{ErrorKind, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// How long a client may take to send the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// How long open requests may take to finish after Ctrl-C.
const GRACE: Duration = Duration::from_secs(5);

/// Listens on 127.0.0.1. `option` is the command line's option for the port.
///
/// # Errors
/// [`StartError`] if the port is in use or not allowed.
pub async fn listen(port: u16, option: &'static str) -> Result<TcpListener, StartError> {
    TcpListener::bind(("127.0.0.1", port)).await.map_err(|source| match source.kind() {
        ErrorKind::AddrInUse => StartError::PortTaken { port, option },
        _ => StartError::Listen { port, source },
    })
}

/// The URL at which a listener is reached.
///
/// # Errors
/// [`StartError::Listen`] if the listener has no address.
pub fn url_of(listener: &TcpListener) -> Result<String, StartError> {
    let address = listener.local_addr().map_err(|source| StartError::Listen { port: 0, source })?;
    Ok(format!("http://{address}"))
}

/// Everything that the API's port serves besides the routes.
#[derive(Debug)]
pub struct Beside {
    /// The URL of the API, for the page at `/`.
    pub api: String,
    /// The URL of the demo storefront, for the same page.
    pub demo: String,
    /// The store's pictures, at `/img/`.
    pub images: Images,
    /// The reference, at `/reference`.
    pub reference: Reference,
    /// Whether no line is printed per request.
    pub quiet: bool,
}

/// Serves until `stop` resolves, then waits for open requests. Prints a line per request unless `quiet`.
pub async fn serve(
    listener: TcpListener,
    gateway: Arc<Gateway>,
    clock: Arc<dyn Clock>,
    beside: Beside,
    stop: impl Future<Output = ()>,
) {
    let connections = hyper_util::server::graceful::GracefulShutdown::new();
    let beside = Arc::new(beside);
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        // Out of file descriptors, or the caller has gone: the next connection may succeed.
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let (gateway, clock, beside) = (Arc::clone(&gateway), Arc::clone(&clock), Arc::clone(&beside));
        let service = service_fn(move |request| {
            let (gateway, clock, beside) = (Arc::clone(&gateway), Arc::clone(&clock), Arc::clone(&beside));
            async move { Ok::<_, Infallible>(respond(&gateway, clock.as_ref(), request, peer, &beside).await) }
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
        let connection = connections.watch(builder.serve_connection(TokioIo::new(stream), service));
        // A broken connection concerns only its client.
        tokio::spawn(async move { _ = connection.await });
    }
    _ = tokio::time::timeout(GRACE, connections.shutdown()).await;
}

async fn respond(
    gateway: &Gateway,
    clock: &dyn Clock,
    request: Request<Incoming>,
    peer: SocketAddr,
    beside: &Beside,
) -> Response<Full<Bytes>> {
    let started = clock.now();
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    if path == "/" && head.method == http::Method::GET {
        return site::landing(&beside.api, &beside.demo);
    }
    if let Some(image) = beside.images.respond(&head.method, &path).await {
        return image;
    }
    if let Some(page) = beside.reference.respond(&head.method, &path) {
        return page;
    }
    let response = match read(body).await {
        Ok(body) => {
            let source_ip = peer.ip().to_string();
            let path_and_query = (path.as_str(), head.uri.query().unwrap_or_default());
            let response = gateway.respond(&head.method, path_and_query, &head.headers, &body, &source_ip);
            // The embedded engine runs one call after another: many buyers at once wait for each other.
            deadline::scope(CALL, response).await
        }
        Err(status) => gateway.refuse(status, &head.headers),
    };
    let elapsed = clock.now().saturating_sub(started);
    // The path of a game server's call has its key.
    let call = delivery::without_key(head.method.as_str(), &path);
    // Those of the demo ask every few seconds.
    let is_poll = call.is_some() && head.method == http::Method::GET && response.status() == StatusCode::OK;
    if !beside.quiet && !is_poll {
        log(&head.method, call.as_ref().unwrap_or(&path), response.status(), elapsed);
    }
    let (head, body) = response.into_parts();
    let bytes = match body {
        Body::Text(text) => Bytes::from(text),
        Body::Binary(bytes) => Bytes::from(bytes),
        _ => Bytes::new(),
    };
    Response::from_parts(head, Full::new(bytes))
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
