//! The listener: requests to the API, with the faults that tests and the page order, and to the pages.

use super::api::{self, ApiRequest, ApiResponse};
use super::kept::Shared;
use super::{API_VERSION, pages};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// The largest body of a request, in bytes.
const LARGEST_REQUEST: usize = 1024 * 1024;
/// How often sessions are looked at whose time has come.
const TICK: Duration = Duration::from_millis(500);

/// Serves until `stopped` resolves. Connections that are open then are closed.
pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    let mut ticks = tokio::time::interval(TICK);
    loop {
        let accepted = tokio::select! {
            _ = &mut stopped => return,
            _ = ticks.tick() => {
                let now = shared.now();
                let has_changed = shared.state().tick(now);
                if has_changed {
                    shared.keep().await;
                }
                continue;
            }
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(&shared);
        let service = service_fn(move |request| {
            let shared = Arc::clone(&shared);
            async move { Ok::<_, Infallible>(respond(&shared, request).await) }
        });
        let connection = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
        // A broken connection concerns only its client.
        connections.spawn(async move { _ = connection.await });
    }
}

async fn respond(shared: &Shared, request: Request<Incoming>) -> Response<Sent> {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, LARGEST_REQUEST).collect().await else {
        return plain(StatusCode::PAYLOAD_TOO_LARGE);
    };
    let body = body.to_bytes();
    let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
    if !path.starts_with("/v1/") {
        let page = pages::respond(shared, &head, &body).map(Sent::whole);
        if head.method == Method::POST {
            shared.keep().await;
        }
        return page;
    }
    let request = ApiRequest { method: &head.method, path, query, headers: &head.headers, body: &body };
    let (is_refused, delay, fault) = {
        let mut state = shared.state();
        (state.limit.refuses(Instant::now()), state.delay, state.faults.take(path))
    };
    tokio::time::sleep(delay).await;
    let before = fault.as_ref().filter(|fault| !fault.after_effect);
    match before.map(|fault| fault.kind) {
        Some(FaultKind::Silence) => std::future::pending().await,
        Some(FaultKind::Cut) => return cut(plain(StatusCode::OK)),
        Some(FaultKind::Slow(time)) => tokio::time::sleep(time).await,
        Some(FaultKind::Status(_)) | None => {}
    }
    let failure = before.and_then(Fault::status);
    let failure = if is_refused { Some(StatusCode::TOO_MANY_REQUESTS) } else { failure };
    let mut reply = {
        let now = shared.now();
        api::respond(&mut shared.state(), &request, failure, now)
    };
    if head.method != Method::GET {
        shared.keep().await;
    }
    let after = fault.filter(|fault| fault.after_effect);
    if let Some(status) = after.as_ref().and_then(Fault::status) {
        reply = ApiResponse { status, body: super::parameters::ApiError::of_status(status).json(), replayed: false };
    }
    let response = json(&request, &reply);
    match after.map(|fault| fault.kind) {
        Some(FaultKind::Silence) => std::future::pending().await,
        Some(FaultKind::Cut) => cut(response),
        Some(FaultKind::Slow(time)) => {
            tokio::time::sleep(time).await;
            response
        }
        Some(FaultKind::Status(_)) | None => response,
    }
}

fn json(request: &ApiRequest<'_>, reply: &ApiResponse) -> Response<Sent> {
    let mut response = Response::new(Sent::whole(Bytes::from(format!("{:#}", reply.body))));
    *response.status_mut() = reply.status;
    let headers = response.headers_mut();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("stripe-version", HeaderValue::from_static(API_VERSION));
    let id = format!("req_{}", shared::random::id().unwrap_or_default());
    if let Ok(id) = HeaderValue::try_from(id) {
        headers.insert("request-id", id);
    }
    if let Some(key) = request.headers.get("idempotency-key") {
        headers.insert("idempotency-key", key.clone());
    }
    if reply.replayed {
        headers.insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    response
}

fn plain(status: StatusCode) -> Response<Sent> {
    let mut response = Response::new(Sent::whole(Bytes::from_static(b"{\"error\": {}}")));
    *response.status_mut() = status;
    response
}

/// The same response, which breaks off in the middle.
fn cut(response: Response<Sent>) -> Response<Sent> {
    response.map(|sent| Sent { breaks: true, ..sent })
}

#[derive(Debug)]
pub(super) struct Sent {
    data: Option<Bytes>,
    size: u64,
    breaks: bool,
}

impl Sent {
    fn whole(data: Bytes) -> Self {
        Self { size: data.len() as u64, data: Some(data), breaks: false }
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let breaks = self.breaks;
        Poll::Ready(match self.data.take() {
            Some(data) if breaks => Some(Ok(Frame::data(data.slice(..data.len() / 2)))),
            Some(data) => Some(Ok(Frame::data(data))),
            None if breaks => Some(Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset))),
            None => None,
        })
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.size)
    }
}

/// The way in which a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    Status(u16),
    /// The response breaks off in the middle.
    Cut,
    Silence,
    Slow(Duration),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// Whether the request has its effect nevertheless.
    pub after_effect: bool,
    /// The beginning of the path that it is for, such as `/v1/refunds`; empty for any.
    pub path: String,
    /// Whether it happens to every such request from now on.
    pub lasts: bool,
}

impl Fault {
    /// A fault of the next request, which has no effect.
    pub const fn before(kind: FaultKind) -> Self {
        Self { kind, after_effect: false, path: String::new(), lasts: false }
    }

    /// A fault of the next request, which has its effect: only the response is lost.
    pub const fn after(kind: FaultKind) -> Self {
        Self { kind, after_effect: true, path: String::new(), lasts: false }
    }

    /// The same fault for the next request whose path begins so.
    #[must_use]
    pub fn on(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// The same fault for every such request from now on.
    #[must_use]
    pub fn for_ever(self) -> Self {
        Self { lasts: true, ..self }
    }

    /// Reads `429`, `cut`, `silence`, or a number of milliseconds such as `slow-500`; with `after-` before it for a fault
    /// after the effect.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (text, after_effect) = text.strip_prefix("after-").map_or((text, false), |rest| (rest, true));
        let kind = match text {
            "cut" => FaultKind::Cut,
            "silence" => FaultKind::Silence,
            _ => match text.strip_prefix("slow-") {
                Some(millis) => FaultKind::Slow(Duration::from_millis(millis.parse().ok()?)),
                None => FaultKind::Status(text.parse().ok().filter(|status| (400..600).contains(status))?),
            },
        };
        Some(Self { kind, after_effect, path: String::new(), lasts: false })
    }

    /// The status, if it is an error with one.
    pub(super) fn status(&self) -> Option<StatusCode> {
        match self.kind {
            FaultKind::Status(status) => StatusCode::from_u16(status).ok(),
            _ => None,
        }
    }
}

/// The faults that are still to happen.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub(super) fn push(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    /// The first fault for a path; it happens once, unless it lasts.
    pub(super) fn take(&mut self, path: &str) -> Option<Fault> {
        let place = self.0.iter().position(|fault| path.starts_with(&fault.path))?;
        if self.0.get(place)?.lasts { self.0.get(place).cloned() } else { Some(self.0.remove(place)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_read_from_a_word() {
        assert_eq!(Fault::parse("429"), Some(Fault::before(FaultKind::Status(429))));
        assert_eq!(Fault::parse("after-cut"), Some(Fault::after(FaultKind::Cut)));
        assert_eq!(Fault::parse("slow-20"), Some(Fault::before(FaultKind::Slow(Duration::from_millis(20)))));
        for text in ["", "200", "slow-", "slow-x", "after-", "99999"] {
            assert_eq!(Fault::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_fault_happens_once_at_its_path() {
        let mut faults = Faults::default();
        faults.push(Fault::before(FaultKind::Cut).on("/v1/refunds"));
        assert_eq!(faults.take("/v1/events"), None);
        assert!(faults.take("/v1/refunds").is_some());
        assert_eq!(faults.take("/v1/refunds"), None);
        faults.push(Fault::before(FaultKind::Cut).on("/v1/refunds").for_ever());
        assert!(faults.take("/v1/refunds").is_some() && faults.take("/v1/refunds").is_some());
    }
}
