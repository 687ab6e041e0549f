//! The HTTP client: HTTP/1.1 over TLS, on connections that are kept for later requests.
//!
//! The SDK's own HTTP client also has HTTP/2 and proxies. They are a seventh of a function's size, and DynamoDB uses
//! neither (see "A connector of our own" in `infra/docs/performance-notes.md`). Connections are opened by
//! [`outgoing::connection`], as those to other services are. Ours is only the choice of a connection for a request, and
//! the classification of a failure for the SDK's retries.

use aws_sdk_dynamodb::config::{
    HttpClient, RuntimeComponents, SharedHttpClient,
    http::{HttpRequest, HttpResponse},
};
use aws_smithy_async::time::{SystemTimeSource, TimeSource as _};
use aws_smithy_runtime_api::client::connection::{CaptureSmithyConnection, ConnectionMetadata};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::ErrorKind;
use http_body_util::BodyExt as _;
use hyper::client::conn::http1::SendRequest;
use outgoing::connection::{Body, BoxError, Connector, Origin};
use rustls::RootCertStore;
use std::error::Error as _;
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// After this time without a request a connection is closed: a device on the way may have dropped it silently.
const IDLE: Duration = Duration::from_secs(90);
/// How long a kept connection may take for the first bytes of a response. A sandbox may be frozen for minutes, and its
/// connections may be dead by then without notice. A new connection has the attempt's whole time.
const FIRST_BYTES: Duration = Duration::from_millis(250);
/// The same for a transaction, which takes longer: DynamoDB's documentation asks for at least a second.
const FIRST_BYTES_OF_TRANSACTION: Duration = Duration::from_secs(1);
/// A kept connection has at least this many times as long as its last response took: a slow database is not a dead
/// connection.
const SLOWER: u32 = 4;

/// The trusted certificates: the public roots that are built in, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name
/// instead. They are read once; the operating system's file is not read: that would be a third of a start.
pub fn roots() -> RootCertStore {
    static ROOTS: LazyLock<RootCertStore> = LazyLock::new(read_roots);
    ROOTS.clone()
}

fn read_roots() -> RootCertStore {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !is_set("SSL_CERT_FILE") && !is_set("SSL_CERT_DIR") {
        return webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
    }
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(error = %error, "a root certificate could not be read");
    }
    roots.add_parsable_certificates(found.certs);
    roots
}

/// A client that trusts `roots`. It opens a connection if none is free, and closes none that still works.
pub fn client(roots: RootCertStore) -> SharedHttpClient {
    pooled(roots, Some(FIRST_BYTES))
}

/// A client for a database without TLS on the same machine: it trusts no certificate, and a kept connection has as much
/// time as a new one.
pub fn plain_client() -> SharedHttpClient {
    pooled(RootCertStore::empty(), None)
}

fn pooled(roots: RootCertStore, first_bytes: Option<Duration>) -> SharedHttpClient {
    let pool = Pool { connector: Connector::new(roots, None), first_bytes, kept: Mutex::default() };
    SharedHttpClient::new(PooledClient(Arc::new(pool)))
}

#[derive(Debug)]
struct PooledClient(Arc<Pool>);

impl HttpClient for PooledClient {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(PooledConnector { pool: Arc::clone(&self.0), settings: settings.clone() })
    }
}

/// The pool with the timeouts of one operation.
#[derive(Debug)]
struct PooledConnector {
    pool: Arc<Pool>,
    settings: HttpConnectorSettings,
}

impl HttpConnector for PooledConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::new(send(Arc::clone(&self.pool), self.settings.clone(), request))
    }
}

async fn send(
    pool: Arc<Pool>,
    settings: HttpConnectorSettings,
    request: HttpRequest,
) -> Result<HttpResponse, ConnectorError> {
    let mut request = request.try_into_http1x().map_err(|error| ConnectorError::user(error.into()))?;
    let origin = Origin::take_from(&mut request).map_err(ConnectorError::user)?;
    let mut request = request.map(SdkBody::boxed_unsync);
    let target = request.headers().get("x-amz-target");
    let is_transaction = target.is_some_and(|target| target.as_bytes().ends_with(b".TransactWriteItems"));
    let capture = request.extensions().get::<CaptureSmithyConnection>().cloned();
    let began = Instant::now();
    loop {
        let kept = pool.take(&origin);
        let is_kept = kept.is_some();
        let first_bytes = kept.as_ref().and_then(|connection| pool.first_bytes(connection, is_transaction));
        let mut connection = match kept {
            Some(connection) => connection,
            None => within(settings.connect_timeout(), pool.open(&origin)).await?.map_err(failed_connect)?,
        };
        if let Some(capture) = &capture {
            capture.set_connection_retriever(connection.handle());
        }
        let (sent, limit) = (Instant::now(), first_bytes.or(settings.read_timeout()));
        let response = within(limit, connection.sender.try_send_request(request)).await;
        if response.is_err() && first_bytes.is_some() {
            pool.forget_idle_since(began);
        }
        match response? {
            Ok(response) => {
                connection.took = sent.elapsed();
                pool.keep(connection);
                let response = HttpResponse::try_from(response.map(SdkBody::from_body_1_x));
                return response.map_err(|error| ConnectorError::other(error.into(), None));
            }
            // The database closed a kept connection just now: nothing of the request was sent, so it takes another one.
            Err(mut failure) => match failure.take_message() {
                Some(unsent) if is_kept => request = unsent,
                _ => return Err(failed_request(failure.into_error())),
            },
        }
    }
}

/// The kept connections, and what opens new ones.
#[derive(Debug)]
struct Pool {
    connector: Connector,
    first_bytes: Option<Duration>,
    kept: Mutex<Vec<PooledConnection>>,
}

impl Pool {
    /// Takes a kept connection that is free. Drops those that can no longer be used.
    fn take(&self, origin: &Origin) -> Option<PooledConnection> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(PooledConnection::is_alive);
        let free = kept.iter().rposition(|connection| connection.origin == *origin && connection.sender.is_ready())?;
        Some(kept.swap_remove(free))
    }

    /// Keeps a connection that has responded. It is free again as soon as the response's body is read.
    fn keep(&self, mut connection: PooledConnection) {
        connection.used = Moment::now();
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }

    /// How long a kept connection may take for the first bytes of a response; `None` for as long as a new one.
    fn first_bytes(&self, kept: &PooledConnection, is_transaction: bool) -> Option<Duration> {
        let least = if is_transaction { FIRST_BYTES_OF_TRANSACTION } else { Duration::ZERO };
        self.first_bytes.map(|limit| limit.max(least).max(kept.took * SLOWER))
    }

    /// Drops the connections that have been idle since before `began`: one of them is dead, and the others have most
    /// likely died with it. The SDK's next attempt then opens one.
    fn forget_idle_since(&self, began: Instant) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|connection| connection.used.monotonic > began);
    }

    async fn open(&self, origin: &Origin) -> Result<PooledConnection, BoxError> {
        Ok(PooledConnection {
            origin: origin.clone(),
            sender: self.connector.open(origin).await?,
            used: Moment::now(),
            took: Duration::ZERO,
            poisoned: Arc::default(),
        })
    }
}

#[derive(Debug)]
struct PooledConnection {
    origin: Origin,
    sender: SendRequest<Body>,
    used: Moment,
    /// How long the first bytes of the last response took.
    took: Duration,
    /// Set by the SDK after a response such as 500, so that the next attempt reaches another host.
    poisoned: Arc<AtomicBool>,
}

impl PooledConnection {
    fn is_alive(&self) -> bool {
        !self.sender.is_closed() && !self.poisoned.load(Ordering::Relaxed) && self.used.age(Moment::now()) < IDLE
    }

    fn handle(&self) -> impl Fn() -> Option<ConnectionMetadata> + Send + Sync + 'static {
        let poisoned = Arc::clone(&self.poisoned);
        move || {
            let poisoned = Arc::clone(&poisoned);
            let poison = move || poisoned.store(true, Ordering::Relaxed);
            Some(ConnectionMetadata::builder().proxied(false).poison_fn(poison).build())
        }
    }
}

/// A time by both clocks: the monotonic one may stop while a sandbox is frozen, the other one may be set back.
#[derive(Debug, Clone, Copy)]
struct Moment {
    monotonic: Instant,
    /// Since 1970 UTC.
    wall: Duration,
}

impl Moment {
    fn now() -> Self {
        Self {
            monotonic: Instant::now(),
            wall: SystemTimeSource::new().now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        }
    }

    /// How long before `now` this was, by the clock that shows the longer time.
    fn age(self, now: Self) -> Duration {
        now.monotonic.saturating_duration_since(self.monotonic).max(now.wall.saturating_sub(self.wall))
    }
}

/// Waits no longer than the timeout, if there is one.
async fn within<T>(timeout: Option<Duration>, future: impl Future<Output = T>) -> Result<T, ConnectorError> {
    match timeout {
        Some(timeout) => {
            tokio::time::timeout(timeout, future).await.map_err(|error| ConnectorError::timeout(error.into()))
        }
        None => Ok(future.await),
    }
}

/// An attempt that never connected may always be retried.
fn failed_connect(error: BoxError) -> ConnectorError {
    ConnectorError::io(error).never_connected()
}

/// Classifies a request that got no response: the SDK retries it unless the request itself was at fault.
fn failed_request(error: hyper::Error) -> ConnectorError {
    let is_broken = matches!(error.source(), Some(source) if source.is::<io::Error>());
    if error.is_user() {
        ConnectorError::user(error.into())
    } else if is_broken || error.is_closed() || error.is_canceled() {
        ConnectorError::io(error.into())
    } else {
        let kind = error.is_incomplete_message().then_some(ErrorKind::TransientError);
        ConnectorError::other(error.into(), kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_ages_by_the_clock_that_shows_more() {
        let used = Moment::now();
        let (second, hour) = (Duration::from_secs(1), Duration::from_hours(1));
        let later = |monotonic, wall| Moment { monotonic: used.monotonic + monotonic, wall: used.wall + wall };
        assert_eq!(used.age(later(second, hour)), hour, "the monotonic clock stopped");
        assert_eq!(used.age(later(hour, second)), hour, "the other one was set back");
        assert_eq!(later(hour, hour).age(used), Duration::ZERO);
    }
}
