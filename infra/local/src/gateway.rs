//! API Gateway's part: routes, limits, CORS, the access log, and its own responses; and the listeners, which accept HTTP/1.1
//! connections.

use crate::engine::CALL;
use crate::functions::{self, Functions};
use crate::options::StartError;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ORIGIN,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use jiff::Timestamp;
use lambda_http::Body;
use shared::clock::Clock;
use shared::deadline;
use shared::http::reply;
use std::error::Error;
use std::io::{ErrorKind, Write as _};
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use template::{Cors, Route, Template, match_route};
use tokio::net::TcpListener;

/// The largest payload of an HTTP API, in bytes.
const LARGEST_BODY: usize = 10 * 1024 * 1024;

const BAD_REQUEST: &str = "Bad Request";
const TOO_LARGE: &str = "Request Entity Too Large";

/// The routes of a template with the functions behind them.
#[derive(Debug)]
pub struct Gateway {
    routes: Vec<Route>,
    cors: Option<Cors>,
    functions: Arc<Functions>,
    clock: Arc<dyn Clock>,
    requests: AtomicU64,
    /// Empty, or a path that begins with a slash.
    base_path: String,
    /// Whether a line is printed for each request.
    has_access_log: bool,
}

impl Gateway {
    /// A gateway for the template's routes. Fails if the template has no usable routes, or a route to a function that
    /// does not exist.
    pub fn new(
        template: &Template,
        functions: impl Into<Arc<Functions>>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StartError> {
        let routes = template.routes()?;
        if let Some(route) = routes.iter().find(|route| !Functions::NAMES.contains(&route.function.as_str())) {
            return Err(StartError::UnknownFunction(route.function.clone()));
        }
        Ok(Self {
            routes,
            cors: template.cors()?,
            functions: functions.into(),
            clock,
            requests: AtomicU64::new(1),
            base_path: String::new(),
            has_access_log: false,
        })
    }

    /// The same gateway with all routes below a path such as `/api`, as with a mapping of a custom domain.
    #[must_use]
    pub fn below(self, base_path: &str) -> Self {
        Self { base_path: base_path.to_owned(), ..self }
    }

    /// The same gateway, which prints a line for each request that is not a poll of a game server, or none.
    #[must_use]
    pub fn with_access_log(self, has_access_log: bool) -> Self {
        Self { has_access_log, ..self }
    }

    /// Responds to a request to the server as to one for `path`.
    pub(crate) async fn pass(&self, request: Request<Incoming>, path: &str, peer: SocketAddr) -> Response<Full<Bytes>> {
        let started = self.clock.now();
        let (head, body) = request.into_parts();
        let response = match read(body).await {
            Ok(body) => {
                let source_ip = peer.ip().to_string();
                let path_and_query = (path, head.uri.query().unwrap_or_default());
                let response = self.respond(&head.method, path_and_query, &head.headers, &body, &source_ip);
                // The embedded engine runs one call after another: many buyers at once wait for each other.
                deadline::scope(CALL, response).await
            }
            Err(status) => self.refuse(status, &head.headers),
        };
        let elapsed = self.clock.now().saturating_sub(started);
        // The path of a game server's call has its key.
        let call = delivery::without_key(head.method.as_str(), path);
        let is_poll = call.is_some() && head.method == Method::GET && response.status() == StatusCode::OK;
        if self.has_access_log && !is_poll {
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

    /// Responds to a request as the deployed API does. `path` is as sent; `source_ip` is the caller's address.
    pub async fn respond(
        &self,
        method: &Method,
        path_and_query: (&str, &str),
        headers: &HeaderMap,
        body: &[u8],
        source_ip: &str,
    ) -> Response<Body> {
        if let (&Method::OPTIONS, Some(cors)) = (method, &self.cors) {
            let mut response = Response::new(Body::Empty);
            *response.status_mut() = StatusCode::NO_CONTENT;
            *response.headers_mut() = preflight(cors, headers);
            return response;
        }
        let mut response = self.route(method, path_and_query, headers, body, source_ip).await;
        if let Some(cors) = &self.cors {
            decorate(cors, headers, response.headers_mut());
        }
        response
    }

    /// Refuses a request whose body could not be received.
    fn refuse(&self, status: StatusCode, headers: &HeaderMap) -> Response<Body> {
        let message = if status == StatusCode::PAYLOAD_TOO_LARGE { TOO_LARGE } else { BAD_REQUEST };
        let mut response = own_response(status, message);
        if let Some(cors) = &self.cors {
            decorate(cors, headers, response.headers_mut());
        }
        response
    }

    async fn route(
        &self,
        method: &Method,
        (path, query): (&str, &str),
        headers: &HeaderMap,
        body: &[u8],
        source_ip: &str,
    ) -> Response<Body> {
        if !has_usable_host(headers) {
            return own_response(StatusCode::BAD_REQUEST, BAD_REQUEST);
        }
        if body.len() > LARGEST_BODY {
            return own_response(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE);
        }
        let Some(path) = functions::decode_path(path) else {
            return own_response(StatusCode::BAD_REQUEST, BAD_REQUEST);
        };
        // Functions receive the whole path, as with a mapping of a custom domain.
        let routed = path.strip_prefix(&self.base_path).unwrap_or_default();
        let Some((route, parameters)) = match_route(&self.routes, method.as_str(), routed) else {
            return own_response(StatusCode::NOT_FOUND, "Not Found");
        };
        let request_id = format!("local-{}", self.requests.fetch_add(1, Ordering::Relaxed));
        let millis = i64::try_from(self.clock.millis()).unwrap_or(i64::MAX);
        let incoming = functions::Incoming {
            method: method.as_str(),
            path: &path,
            query,
            headers,
            body,
            source_ip,
            request_id: &request_id,
            at: Timestamp::from_millisecond(millis).unwrap_or_default(),
        };
        let event = functions::event_for(&incoming, &route.key(), &parameters).to_string();
        // The event is serialised as AWS would send it. The runtime makes a request of it, and panics on headers that
        // no gateway forwards.
        let request = std::panic::catch_unwind(AssertUnwindSafe(|| lambda_http::request::from_str(&event)));
        let Ok(Ok(request)) = request else { return own_response(StatusCode::BAD_REQUEST, BAD_REQUEST) };
        let response = self.functions.call(&route.function, request).await;
        response.unwrap_or_else(|| own_response(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"))
    }
}

/// Whether the Host header can be part of a URL; the runtime panics if it cannot.
fn has_usable_host(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(http::header::HOST) else { return true };
    host.to_str().is_ok_and(|host| url::Url::parse(&format!("https://{host}/")).is_ok())
}

/// The gateway's own response: `{message}`, without the headers of the functions
/// (rules.md, "Statuses and error bodies").
fn own_response(status: StatusCode, message: &str) -> Response<Body> {
    let mut response = reply::message(status, message);
    response.headers_mut().remove(http::header::CACHE_CONTROL);
    response
}

/// The header for an allowed origin (rules.md, "Browsers and CORS"); `None` for every other caller.
fn allowed(cors: &Cors, request: &HeaderMap) -> Option<HeaderValue> {
    let origin = request.get(ORIGIN)?;
    if cors.allow_origins.iter().any(|allowed| allowed == "*") {
        return Some(HeaderValue::from_static("*"));
    }
    let text = origin.to_str().ok()?;
    cors.allow_origins.iter().any(|allowed| allowed == text).then(|| origin.clone())
}

/// Adds the headers that let a browser's page read a response.
fn decorate(cors: &Cors, request: &HeaderMap, response: &mut HeaderMap) {
    let Some(origin) = allowed(cors, request) else { return };
    response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    set_list(response, ACCESS_CONTROL_EXPOSE_HEADERS, &cors.expose_headers);
    if cors.allow_credentials {
        response.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }
}

/// The headers of the response to a preflight; empty for an origin that is not allowed.
fn preflight(cors: &Cors, request: &HeaderMap) -> HeaderMap {
    let mut response = HeaderMap::new();
    let Some(origin) = allowed(cors, request) else { return response };
    response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    set_list(&mut response, ACCESS_CONTROL_ALLOW_METHODS, &cors.allow_methods);
    set_list(&mut response, ACCESS_CONTROL_ALLOW_HEADERS, &cors.allow_headers);
    if let Some(seconds) = cors.max_age {
        response.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(seconds));
    }
    if cors.allow_credentials {
        response.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }
    response
}

fn set_list(headers: &mut HeaderMap, name: HeaderName, values: &[String]) {
    if let Ok(value) = HeaderValue::from_str(&values.join(",")) {
        headers.insert(name, value);
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
fn log(method: &Method, path: &str, status: StatusCode, elapsed: Duration) {
    let (whole, tenths) = (elapsed.as_millis(), elapsed.subsec_micros() / 100 % 10);
    let line = format!("{method} {path} {} {whole}.{tenths} ms\n", status.as_u16());
    // Standard error may be closed.
    _ = std::io::stderr().write_all(line.as_bytes());
}

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

/// Responds to each request with `respond` until the runtime ends. An error ends the request's connection.
pub async fn serve_each<F, E>(
    listener: TcpListener,
    respond: impl Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + 'static,
) where
    F: Future<Output = Result<Response<Full<Bytes>>, E>> + Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>> + 'static,
{
    serve(listener, respond, std::future::pending()).await;
}

/// As [`serve_each`] until `stop` resolves, then waits for open requests.
pub async fn serve<F, E>(
    listener: TcpListener,
    respond: impl Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + 'static,
    stop: impl Future<Output = ()>,
) where
    F: Future<Output = Result<Response<Full<Bytes>>, E>> + Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>> + 'static,
{
    let connections = hyper_util::server::graceful::GracefulShutdown::new();
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
        let respond = respond.clone();
        let service = service_fn(move |request| respond(request, peer));
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
        let connection = connections.watch(builder.serve_connection(TokioIo::new(stream), service));
        // A broken connection concerns only its client.
        tokio::spawn(async move { _ = connection.await });
    }
    _ = tokio::time::timeout(GRACE, connections.shutdown()).await;
}
