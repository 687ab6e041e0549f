//! Requests to other services: the chat platform, the payment provider, and addresses that an owner names ([`public`]).
//!
//! [`Client`] sends HTTP/1.1 requests over TLS, each on a connection of its own: they are rare, and a connection that
//! is kept while the sandbox is frozen may be dead without notice. [`Client::keeping`] keeps connections, for many
//! requests in a row. Nothing is sent twice; whether a request may be repeated is known only to its caller.

pub mod connection;
pub mod public;

use bytes::Bytes;
use connection::{Body, Connector, Origin};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use rustls::RootCertStore;
use std::error::Error;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long a connection may take to open, with TLS.
pub const CONNECT: Duration = Duration::from_secs(2);
/// How long a request may take in all, with its connection and the whole response.
pub const TOTAL: Duration = Duration::from_secs(6);
/// The largest body of a response in bytes, if [`Client::at_most`] says nothing else.
pub const MAX_BODY: usize = 256 * 1024;

/// The reason why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum OutgoingError {
    /// The URL is neither https nor of this machine. Nothing was sent.
    #[error("the URL must begin with https://, or name a loopback address")]
    Address,
    /// No connection could be opened. Nothing was sent.
    #[error("no connection could be opened")]
    Connect(#[source] Box<dyn Error + Send + Sync>),
    /// The response took too long. The request may have been received.
    #[error("there was no response within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The response's body is larger than this many bytes. The request was received.
    #[error("the response is larger than {} KiB", .0 / 1024)]
    TooLarge(usize),
    /// The connection broke. The request may have been received.
    #[error("the connection broke")]
    Broken(#[source] Box<dyn Error + Send + Sync>),
}

#[derive(Debug, Clone)]
pub struct Client {
    connector: Connector,
    total: Duration,
    largest: usize,
    kept: Option<Arc<Kept>>,
}

impl Client {
    pub fn new(roots: RootCertStore) -> Self {
        Self { connector: Connector::new(roots, Some(CONNECT)), total: TOTAL, largest: MAX_BODY, kept: None }
    }

    /// The same client, which keeps its connections for the requests that follow. They are closed when the last clone
    /// of this client is dropped: it is for one piece of work, and must not outlive a request of a function.
    #[must_use]
    pub fn keeping(&self) -> Self {
        Self { kept: Some(Arc::default()), ..self.clone() }
    }

    /// The same client with another limit in place of [`TOTAL`].
    #[must_use]
    pub fn within(self, total: Duration) -> Self {
        Self { total, ..self }
    }

    /// The same client, which reads responses of up to `largest` bytes in place of [`MAX_BODY`].
    #[must_use]
    pub fn at_most(self, largest: usize) -> Self {
        Self { largest, ..self }
    }

    /// Sends a request and reads its whole response, with any status. The variants of the error say whether the request
    /// may have been received.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, OutgoingError> {
        #[expect(clippy::disallowed_methods, reason = "the URL is ours, not a caller's")]
        let url = request.uri();
        if !is_allowed(url) {
            return Err(OutgoingError::Address);
        }
        timeout(self.total, self.exchange(request)).await.unwrap_or(Err(OutgoingError::Timeout(self.total)))
    }

    async fn exchange(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, OutgoingError> {
        let origin = Origin::take_from(&mut request).map_err(OutgoingError::Connect)?;
        let mut request = request.map(|body| Full::new(body).map_err(|never| match never {}).boxed_unsync());
        loop {
            let free = match &self.kept {
                Some(kept) => kept.take(&origin).await,
                None => None,
            };
            let is_kept = free.is_some();
            let mut sender = match free {
                Some(sender) => sender,
                None => self.open(&origin).await?,
            };
            match sender.try_send_request(request).await {
                Ok(response) => {
                    let response = whole(response, self.largest).await?;
                    if let Some(kept) = &self.kept {
                        kept.keep(origin, sender);
                    }
                    return Ok(response);
                }
                // The other side closed a kept connection just now: nothing of the request was sent, so it takes
                // another one.
                Err(mut failure) => match failure.take_message() {
                    Some(unsent) if is_kept => request = unsent,
                    _ => return Err(OutgoingError::Broken(failure.into_error().into())),
                },
            }
        }
    }

    async fn open(&self, origin: &Origin) -> Result<SendRequest<Body>, OutgoingError> {
        let opened = timeout(CONNECT, self.connector.open(origin)).await.unwrap_or_else(|elapsed| Err(elapsed.into()));
        opened.map_err(OutgoingError::Connect)
    }
}

async fn whole(response: Response<Incoming>, largest: usize) -> Result<Response<Bytes>, OutgoingError> {
    let (head, body) = response.into_parts();
    let body = Limited::new(body, largest).collect().await.map_err(|error| {
        if error.is::<LengthLimitError>() { OutgoingError::TooLarge(largest) } else { OutgoingError::Broken(error) }
    })?;
    Ok(Response::from_parts(head, body.to_bytes()))
}

/// Whether requests are sent to a URL: https, or http on a loopback address, which other machines cannot reach.
pub fn is_allowed(url: &Uri) -> bool {
    let Some(host) = url.host() else { return false };
    match url.scheme_str() {
        Some("https") => true,
        Some("http") => is_here(host),
        _ => false,
    }
}

/// Whether the host of a URL is this machine.
pub fn is_here(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// After this time without a request a connection is not used again: the other side may be about to close it.
const IDLE: Duration = Duration::from_secs(10);

/// Connections without a request.
#[derive(Debug, Default)]
struct Kept(Mutex<Vec<Connection>>);

#[derive(Debug)]
struct Connection {
    origin: Origin,
    sender: SendRequest<Body>,
    used: Instant,
}

impl Kept {
    /// Takes a connection to `origin` that can be used.
    async fn take(&self, origin: &Origin) -> Option<SendRequest<Body>> {
        loop {
            let mut sender = self.pop(origin)?;
            // It is ready as soon as the end of its last response is noticed.
            if sender.ready().await.is_ok() {
                return Some(sender);
            }
        }
    }

    fn pop(&self, origin: &Origin) -> Option<SendRequest<Body>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|connection| !connection.sender.is_closed() && connection.used.elapsed() < IDLE);
        let place = kept.iter().rposition(|connection| connection.origin == *origin)?;
        Some(kept.swap_remove(place).sender)
    }

    fn keep(&self, origin: Origin, sender: SendRequest<Body>) {
        let connection = Connection { origin, sender, used: Instant::now() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}
