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
pub async fn listen(port: u16, option: &'static str) -> Result<TcpListener, StartError> {
    TcpListener::bind(("127.0.0.1", port)).await.map_err(|source| match source.kind() {
        ErrorKind::AddrInUse => StartError::PortTaken { port, option },
        _ => StartError::Listen { port, source },
    })
}

/// The URL at which a listener is reached.
pub fn url_of(listener: &TcpListener) -> Result<String, StartError> {
    let address = listener.local_addr().map_err(|source| StartError::Listen { port: 0, source })?;
    Ok(format!("http://{address}"))
}

/// The API, as both ports pass requests to it.
#[derive(Debug)]
pub struct Api {
    pub gateway: Gateway,
    pub clock: Arc<dyn Clock>,
    /// Whether no line is printed per request.
    pub quiet: bool,
}

/// Everything that the API's port serves besides the routes.
#[derive(Debug)]
pub struct Beside {
    /// The URL of the API, for the page at `/`.
    pub api: String,
    /// The URL of the shop, for the same page.
    pub demo: String,
    /// The store's pictures, at `/img/`.
    pub images: Images,
    pub reference: Reference,
}

/// Serves until `stop` resolves, then waits for open requests.
pub async fn serve(listener: TcpListener, api: Arc<Api>, beside: Beside, stop: impl Future<Output = ()>) {
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
        let (api, beside) = (Arc::clone(&api), Arc::clone(&beside));
        let service = service_fn(move |request| {
            let (api, beside) = (Arc::clone(&api), Arc::clone(&beside));
            async move { Ok::<_, Infallible>(respond(&api, request, peer, &beside).await) }
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
        let connection = connections.watch(builder.serve_connection(TokioIo::new(stream), service));
        // A broken connection concerns only its client.
        tokio::spawn(async move { _ = connection.await });
    }
    _ = tokio::time::timeout(GRACE, connections.shutdown()).await;
}

#[expect(clippy::disallowed_methods, reason = "the request line as the client sent it, before any gateway")]
async fn respond(api: &Api, request: Request<Incoming>, peer: SocketAddr, beside: &Beside) -> Response<Full<Bytes>> {
    let (head, path) = (request.method(), request.uri().path());
    if path == "/" && head == http::Method::GET {
        return site::landing(&beside.api, &beside.demo);
    }
    if let Some(image) = beside.images.respond(head, path).await {
        return image;
    }
    if let Some(page) = beside.reference.respond(head, path) {
        return page;
    }
    let path = path.to_owned();
    api.pass(request, &path, peer).await
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
