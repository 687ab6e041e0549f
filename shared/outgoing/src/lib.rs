//! Requests to other services: the chat platform and the payment provider.
//!
//! [`Client`] sends HTTP/1.1 requests over TLS, each on a connection of its own: they are rare, and a connection that is
//! kept while the sandbox is frozen may be dead without notice. Nothing is sent twice; whether a request may be
//! repeated is known only to its caller.

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::{self, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

/// How long a connection may take to open.
pub const CONNECT: Duration = Duration::from_secs(2);
/// How long a request may take in all, with its connection and the whole response.
pub const TOTAL: Duration = Duration::from_secs(6);
/// The largest body of a response, in bytes.
pub const MAX_BODY: usize = 256 * 1024;

/// Why there is no response.
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
    /// The response's body is larger than [`MAX_BODY`]. The request was received.
    #[error("the response is larger than {} KiB", MAX_BODY / 1024)]
    TooLarge,
    /// The connection broke. The request may have been received.
    #[error("the connection broke")]
    Broken(#[source] Box<dyn Error + Send + Sync>),
}

impl OutgoingError {
    /// Whether it is certain that the other side received nothing.
    #[must_use]
    pub const fn is_unsent(&self) -> bool {
        matches!(self, Self::Address | Self::Connect(_))
    }
}

/// What requests are sent by.
#[derive(Debug, Clone)]
pub struct Client {
    http: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    total: Duration,
}

impl Client {
    /// A client that trusts `roots`.
    #[must_use]
    pub fn new(roots: RootCertStore) -> Self {
        // Fails if a provider is installed already, which is this one: no other is linked.
        drop(rustls::crypto::ring::default_provider().install_default());
        let tls = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(CONNECT));
        let connector = HttpsConnector::from((tcp, tls));
        let http = legacy::Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        Self { http, total: TOTAL }
    }

    /// The same client with another limit in place of [`TOTAL`].
    #[must_use]
    pub fn within(self, total: Duration) -> Self {
        Self { total, ..self }
    }

    /// Sends a request and reads its whole response, whatever its status.
    ///
    /// # Errors
    /// [`OutgoingError`]; its variants say whether the request may have been received.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, OutgoingError> {
        #[expect(clippy::disallowed_methods, reason = "the URL is ours, not a caller's")]
        let url = request.uri();
        if !is_allowed(url) {
            return Err(OutgoingError::Address);
        }
        let exchange = exchange(&self.http, request.map(Full::new));
        tokio::time::timeout(self.total, exchange).await.unwrap_or(Err(OutgoingError::Timeout(self.total)))
    }
}

async fn exchange(
    http: &legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> Result<Response<Bytes>, OutgoingError> {
    let response = http.request(request).await.map_err(|error| {
        if error.is_connect() { OutgoingError::Connect(error.into()) } else { OutgoingError::Broken(error.into()) }
    })?;
    let (head, body) = response.into_parts();
    let body = Limited::new(body, MAX_BODY).collect().await.map_err(|error| {
        if error.is::<LengthLimitError>() { OutgoingError::TooLarge } else { OutgoingError::Broken(error) }
    })?;
    Ok(Response::from_parts(head, body.to_bytes()))
}

/// Whether requests are sent to a URL: https, or http on a loopback address, where nobody else can listen.
#[must_use]
pub fn is_allowed(url: &Uri) -> bool {
    let Some(host) = url.host() else { return false };
    match url.scheme_str() {
        Some("https") => true,
        Some("http") => {
            let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
            host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
        }
        _ => false,
    }
}
