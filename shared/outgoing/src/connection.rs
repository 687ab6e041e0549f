//! Connections of HTTP/1.1 over TLS, for the client of this crate and for that of the database.

use bytes::Bytes;
use http::header::{HOST, HeaderValue};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::rt::{Read, Write};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use rustls::crypto::{CryptoProvider, KeyProvider, ring};
use rustls::pki_types::PrivateKeyDer;
use rustls::sign::SigningKey;
use rustls::{ClientConfig, RootCertStore};
use std::convert::Infallible;
use std::error::Error;
use std::future::{Ready, ready};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tower_service::Service;

pub type BoxError = Box<dyn Error + Send + Sync>;

/// The body of a request. It is one type for all callers, so that a program contains the code of a connection once.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// An open connection, or why there is none.
pub type Opening<'a> = Pin<Box<dyn Future<Output = Result<SendRequest<Body>, BoxError>> + Send + 'a>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    scheme: Scheme,
    authority: Authority,
}

impl Origin {
    /// Takes the origin out of a request's URL and writes it into the Host header, as HTTP/1.1 requires.
    pub fn take_from<B>(request: &mut Request<B>) -> Result<Self, BoxError> {
        let mut parts = std::mem::take(request.uri_mut()).into_parts();
        let origin = parts.scheme.take().zip(parts.authority.take());
        let (scheme, authority) = origin.ok_or("the URL names no host")?;
        // A URL may end with its host.
        parts.path_and_query = parts.path_and_query.filter(|path| path.as_str() != "/");
        parts.path_and_query.get_or_insert(PathAndQuery::from_static("/"));
        *request.uri_mut() = Uri::from_parts(parts)?;
        let is_default = authority.port_u16() == Some(if scheme == Scheme::HTTPS { 443 } else { 80 });
        let host = if is_default { authority.host() } else { authority.as_str() };
        request.headers_mut().insert(HOST, HeaderValue::from_str(host)?);
        Ok(Self { scheme, authority })
    }

    fn url(&self) -> Result<Uri, http::Error> {
        Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone()).path_and_query("/").build()
    }
}

/// Opens connections. Without a usable configuration of TLS it opens none.
#[derive(Debug, Clone)]
pub struct Connector {
    tls: Result<Arc<ClientConfig>, rustls::Error>,
    limit: Option<Duration>,
}

impl Connector {
    /// A connector that trusts `roots`. All addresses of a host together have `limit` to accept a connection.
    pub fn new(roots: RootCertStore, limit: Option<Duration>) -> Self {
        Self { tls: tls(roots).map(Arc::new), limit }
    }

    fn https<R>(&self, mut tcp: HttpConnector<R>) -> Result<HttpsConnector<HttpConnector<R>>, rustls::Error> {
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(self.limit);
        Ok(HttpsConnector::from((tcp, self.tls.clone()?)))
    }

    /// Opens a connection. It is closed when its sender is dropped. The future is boxed, so that its code is compiled
    /// here and not again in every crate that waits for it.
    pub fn open<'a>(&'a self, origin: &'a Origin) -> Opening<'a> {
        Box::pin(async move { begin(self.https(HttpConnector::new())?.call(origin.url()?).await?).await })
    }

    /// The same, with one of these addresses of the host and no other: its name is not looked up, and TLS checks that the
    /// other side has it.
    pub fn open_at<'a>(&'a self, origin: &'a Origin, addresses: Vec<IpAddr>) -> Opening<'a> {
        Box::pin(async move {
            let tcp = HttpConnector::new_with_resolver(Known(addresses));
            begin(self.https(tcp)?.call(origin.url()?).await?).await
        })
    }
}

async fn begin(stream: impl Read + Write + Send + Unpin + 'static) -> Result<SendRequest<Body>, BoxError> {
    let (sender, driver) = handshake(stream).await?;
    // Its request gets its error.
    tokio::spawn(async move { drop(driver.await) });
    Ok(sender)
}

/// The addresses of a host that were looked up before. The connector adds the port.
#[derive(Debug, Clone)]
struct Known(Vec<IpAddr>);

impl Service<Name> for Known {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Name) -> Self::Future {
        ready(Ok(self.0.iter().map(|address| SocketAddr::new(*address, 0)).collect::<Vec<_>>().into_iter()))
    }
}

fn tls(roots: RootCertStore) -> Result<ClientConfig, rustls::Error> {
    let provider = CryptoProvider { key_provider: &NoKeys, ..ring::default_provider() };
    let tls = ClientConfig::builder_with_provider(Arc::new(provider)).with_safe_default_protocol_versions()?;
    Ok(tls.with_root_certificates(roots).with_no_client_auth())
}

/// Loads no private key: clients here have no certificate, and so a function needs no code that signs with one.
#[derive(Debug)]
struct NoKeys;

impl KeyProvider for NoKeys {
    fn load_private_key(&self, _: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, rustls::Error> {
        Err(rustls::Error::General("a client has no certificate".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The host header, the request's target and the URL that is connected to.
    fn taken(url: &str) -> Option<(String, String, String)> {
        let mut request = Request::get(url).body(()).unwrap();
        let origin = Origin::take_from(&mut request).ok()?;
        let host = request.headers()[HOST].to_str().unwrap().to_owned();
        Some((host, request.uri_mut().to_string(), origin.url().unwrap().to_string()))
    }

    #[test]
    fn a_request_names_its_host_and_then_only_its_path() {
        for (url, host, target, origin) in [
            ("https://a.example", "a.example", "/", "https://a.example/"),
            ("https://a.example/", "a.example", "/", "https://a.example/"),
            ("https://a.example?c=d", "a.example", "/?c=d", "https://a.example/"),
            ("https://a.example:443/b?c=d", "a.example", "/b?c=d", "https://a.example:443/"),
            ("http://127.0.0.1:8000/b", "127.0.0.1:8000", "/b", "http://127.0.0.1:8000/"),
            ("http://[::1]:80/b", "[::1]", "/b", "http://[::1]:80/"),
        ] {
            assert_eq!(taken(url), Some((host.to_owned(), target.to_owned(), origin.to_owned())), "{url}");
        }
        assert_eq!(taken("/b"), None);
    }
}
