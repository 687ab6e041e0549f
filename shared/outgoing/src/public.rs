//! Requests to addresses that an owner names: only public ones, so that nothing within a network can be reached with them
//! (rules.md, "Notices").
//!
//! A host is looked up once, every address of it is checked, and the connection is made to the addresses that were checked.
//! Redirects are not followed, and no more of a response is read than is kept.

use crate::connection::{BoxError, Connector, Origin};
use crate::{CONNECT, is_here};
use bytes::{Bytes, BytesMut};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use rustls::RootCertStore;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// The addresses of a host.
pub type Found = Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>>;

/// The reason why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum PublicError {
    /// Nothing is sent to such a URL.
    #[error("the address {0}")]
    Url(&'static str),
    /// The host has no address. Nothing was sent.
    #[error("the host {0} was not found")]
    Unknown(String),
    /// The host has an address that is not public. Nothing was sent.
    #[error("the host {0} has an address that is not public")]
    NotPublic(String),
    /// No connection could be opened. Nothing was sent.
    #[error("no connection could be opened")]
    Connect(#[source] BoxError),
    /// The response took too long. The request may have been received.
    #[error("there was no response within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The connection broke. The request may have been received.
    #[error("the connection broke")]
    Broken(#[source] BoxError),
}

/// Sends requests to public addresses, each on a connection of its own.
#[derive(Clone)]
pub struct PublicClient {
    connector: Connector,
    total: Duration,
    kept: usize,
    find: Arc<dyn Fn(String) -> Found + Send + Sync>,
    allows: fn(IpAddr) -> bool,
    allows_here: bool,
}

impl fmt::Debug for PublicClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicClient").field("total", &self.total).finish_non_exhaustive()
    }
}

impl PublicClient {
    /// A client whose requests take at most `total`, and that keeps the first `kept` bytes of a response.
    pub fn new(roots: RootCertStore, total: Duration, kept: usize) -> Self {
        let (connector, find) = (Connector::new(roots, Some(CONNECT)), Arc::new(look_up));
        Self { connector, total, kept, find, allows: is_public, allows_here: false }
    }

    /// The same client, which also sends to this machine, without TLS if the URL says so: for tests and the local server.
    #[must_use]
    pub fn with_this_machine(self, allows_here: bool) -> Self {
        Self { allows_here, ..self }
    }

    /// The same client with another way to look up hosts, and other addresses that are allowed, for tests.
    #[must_use]
    pub fn with_resolver(
        self,
        find: impl Fn(String) -> Found + Send + Sync + 'static,
        allows: fn(IpAddr) -> bool,
    ) -> Self {
        Self { find: Arc::new(find), allows, ..self }
    }

    /// Sends a request. The response has any status, also that of a redirect, and the first bytes of its body: what comes after
    /// them, or too late, is not waited for.
    pub async fn send(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, PublicError> {
        #[expect(clippy::disallowed_methods, reason = "this is where it is checked")]
        let host = check_url(request.uri(), self.allows_here).map_err(PublicError::Url)?;
        let end = Instant::now() + self.total;
        let late = |_| PublicError::Timeout(self.total);
        let origin = Origin::take_from(&mut request).map_err(PublicError::Connect)?;
        let addresses = timeout_at(end, self.addresses(host)).await.map_err(late)??;
        let opening = timeout(CONNECT, self.connector.open_at(&origin, addresses));
        let opened = timeout_at(end, opening).await.map_err(late)?;
        let mut sender = opened.unwrap_or_else(|late| Err(late.into())).map_err(PublicError::Connect)?;
        let request = request.map(|body| Full::new(body).map_err(|never| match never {}).boxed_unsync());
        let response = timeout_at(end, sender.send_request(request)).await.map_err(late)?;
        let (head, body) = response.map_err(|error| PublicError::Broken(error.into()))?.into_parts();
        Ok(Response::from_parts(head, beginning(body, self.kept, end).await))
    }

    /// The addresses of a host, if all of them are allowed.
    async fn addresses(&self, host: String) -> Result<Vec<IpAddr>, PublicError> {
        let allows: fn(IpAddr) -> bool =
            if self.allows_here && is_here(&host) { |ip: IpAddr| ip.is_loopback() } else { self.allows };
        let found = match literal(&host) {
            Some(address) => vec![address],
            None => (self.find)(host.clone()).await.unwrap_or_default(),
        };
        if found.is_empty() {
            return Err(PublicError::Unknown(host));
        }
        if found.iter().all(|address| allows(*address)) { Ok(found) } else { Err(PublicError::NotPublic(host)) }
    }
}

/// The first bytes of a body, as far as they arrive before `end`.
async fn beginning(mut body: Incoming, kept: usize, end: Instant) -> Bytes {
    let mut read = BytesMut::new();
    while read.len() < kept {
        let Ok(Some(Ok(frame))) = timeout_at(end, body.frame()).await else { break };
        if let Ok(data) = frame.into_data() {
            read.extend_from_slice(&data);
        }
    }
    read.truncate(kept);
    read.freeze()
}

/// Looks a host up as the system does.
fn look_up(host: String) -> Found {
    Box::pin(async move {
        let found =
            move || (host.as_str(), 0).to_socket_addrs().map(|all| all.map(|one| one.ip()).collect::<Vec<IpAddr>>());
        tokio::task::spawn_blocking(found).await.map_err(std::io::Error::other)?
    })
}

fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Checks a URL before its host is looked up, and returns the host. Otherwise returns why nothing is sent to it.
pub fn check_url(url: &Uri, allows_here: bool) -> Result<String, &'static str> {
    let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority()) else {
        return Err("is not a URL: it begins with https://");
    };
    let host = authority.host().to_ascii_lowercase();
    if authority.as_str().contains('@') {
        return Err("must not have a user or a password in it");
    }
    let names_port = authority.as_str().len() > host.len();
    if names_port && authority.port_u16().is_none_or(|port| port == 0) {
        return Err("must have a port from 1 to 65535, or none");
    }
    if allows_here && scheme == "http" && is_here(&host) {
        return Ok(host);
    }
    if scheme != "https" {
        return Err("must begin with https://");
    }
    if let Some(address) = literal(&host) {
        let is_allowed = is_public(address) || allows_here && address.is_loopback();
        return if is_allowed { Ok(host) } else { Err("is not public") };
    }
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_name = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    if last.is_empty() {
        Err("must not end its host with a dot")
    } else if !is_name {
        Err("must have a host of letters, digits, dashes and dots (other letters as xn--…)")
    } else if last == "localhost" && !allows_here {
        Err("is this machine")
    } else if last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") {
        // Old notations of addresses: 2130706433, 0177.0.0.1, 0x7f.1.
        Err("must have a name, or an address of four numbers, as its host")
    } else {
        Ok(host)
    }
}

/// Whether an address is reached over the internet and means what it says: no private, reserved or local one, and no form of
/// IPv6 with an address of IPv4 in it.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// By the IANA registry of special-purpose addresses of IPv4.
const fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        [0 | 10 | 127 | 224..=255, ..]
            | [100, 64..=127, ..]
            | [169, 254, ..]
            | [172, 16..=31, ..]
            | [192, 168, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [198, 18 | 19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
    )
}

/// Global unicast is `2000::/3`; of it, what the IANA registry has for protocols (Teredo is there), documentation and 6to4 is not
/// public. Loopback, mapped, compatible, NAT64, unique-local, link-local and multicast addresses are outside of it.
const fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        [0x2001, 0..=0x01ff | 0x0db8, ..] | [0x2002, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        [first, ..] => first >> 13 == 1,
    }
}
