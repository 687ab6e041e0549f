//! A proxy in front of the database: TLS 1.3 like DynamoDB's, and calls can be counted, kept and delayed there.

use crate::error::BenchError;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The files in which Linux distributions keep the roots that they trust. The bundle contains them together with ours, because
/// reading them is part of a start.
const SYSTEM_ROOTS: [&str; 3] =
    ["/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem"];
const HOST: &str = "localhost";

/// A call to the database.
#[derive(Debug, Clone)]
pub struct Call {
    /// When it came.
    pub begun: Instant,
    /// When the response was sent.
    pub ended: Instant,
    pub read_units: f64,
    pub write_units: f64,
    /// As they were sent.
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The front. It ends with the runtime that it was started on.
#[derive(Clone)]
pub struct Front {
    port: u16,
    root: PathBuf,
    bundle: PathBuf,
    client: Arc<ClientConfig>,
    switches: Arc<Switches>,
}

#[derive(Default)]
struct Switches {
    delay_micros: AtomicU64,
    /// The number of the count that is running, or 0.
    count: AtomicU64,
    counts: AtomicU64,
    calls: Mutex<Vec<Call>>,
}

impl Front {
    /// Starts a front before the database at `endpoint` (`http://…`); its certificates are written into `dir`.
    pub async fn start(endpoint: &str, dir: &Path) -> Result<Self, BenchError> {
        let failed = BenchError::setup("the TLS front");
        let authority = authority().map_err(|error| failed(&error))?;
        let root = dir.join("ca.pem");
        fs::write(&root, &authority.root_pem).map_err(BenchError::file(&root))?;
        let bundle = dir.join("ca-bundle.pem");
        let system = SYSTEM_ROOTS.iter().find_map(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        fs::write(&bundle, system + &authority.root_pem).map_err(BenchError::file(&bundle))?;
        let (server, client) = configs(authority).map_err(|error| failed(&error))?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| failed(&error))?;
        let port = listener.local_addr().map_err(|error| failed(&error))?.port();
        let switches = Arc::new(Switches::default());
        let behind =
            Behind { client: Client::builder(TokioExecutor::new()).build_http(), endpoint: endpoint.to_owned() };
        tokio::spawn(listen(listener, TlsAcceptor::from(Arc::new(server)), behind, Arc::clone(&switches)));
        Ok(Self { port, root, bundle, client: Arc::new(client), switches })
    }

    /// The URL, as `AWS_ENDPOINT_URL_DYNAMODB` takes it.
    pub fn endpoint(&self) -> String {
        format!("https://{HOST}:{}", self.port)
    }

    /// The file with the root that signed the front's certificate.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file with the machine's own roots and that one.
    pub fn bundle(&self) -> &Path {
        &self.bundle
    }

    /// The configuration of a client of the front, the host name, and the port on 127.0.0.1.
    pub fn client(&self) -> (Arc<ClientConfig>, &'static str, u16) {
        (Arc::clone(&self.client), HOST, self.port)
    }

    /// From now on every call takes this much longer.
    pub fn delay(&self, by: Duration) {
        self.switches.delay_micros.store(u64::try_from(by.as_micros()).unwrap_or(0), Ordering::Relaxed);
    }

    /// From now on calls are counted, and asked what they consume; [`Front::counted`] ends that.
    pub fn count(&self) {
        self.switches.calls.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let number = self.switches.counts.fetch_add(1, Ordering::SeqCst) + 1;
        self.switches.count.store(number, Ordering::SeqCst);
    }

    /// The calls since [`Front::count`], in the order in which they came.
    pub fn counted(&self) -> Vec<Call> {
        self.switches.count.store(0, Ordering::SeqCst);
        sent_once(std::mem::take(&mut *self.switches.calls.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Calls in their order. One that was sent again, because the response was late on a busy machine, counts once: a call
/// that is sent again has the same body.
fn sent_once(mut calls: Vec<Call>) -> Vec<Call> {
    calls.sort_by_key(|call| call.begun);
    let mut sent = HashSet::new();
    calls.retain(|call| sent.insert(call.body.clone()));
    calls
}

impl Switches {
    /// Keeps a call, if the count that it belongs to is still running. A late one must not be in the next count.
    fn keep(&self, count: u64, call: Call) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if self.count.load(Ordering::SeqCst) == count {
            calls.push(call);
        }
    }
}

struct Authority {
    root: CertificateDer<'static>,
    root_pem: String,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

fn authority() -> Result<Authority, rcgen::Error> {
    let root_key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // If issuer and subject have the same name, OpenSSL takes the certificate for self-signed.
    params.distinguished_name.push(DnType::CommonName, "benchmark root");
    let root = params.self_signed(&root_key)?;
    let issuer = Issuer::new(params, root_key);
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new([HOST.to_owned()])?;
    params.distinguished_name.push(DnType::CommonName, HOST);
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, &issuer)?;
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    Ok(Authority { root_pem: root.pem(), root: root.der().clone(), certificate: certificate.der().clone(), key })
}

fn configs(authority: Authority) -> Result<(ServerConfig, ClientConfig), rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = [&rustls::version::TLS13];
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(&versions)?;
    let mut server = server.with_no_client_auth().with_single_cert(vec![authority.certificate], authority.key)?;
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    let mut roots = RootCertStore::empty();
    roots.add(authority.root)?;
    let client = ClientConfig::builder_with_provider(provider).with_protocol_versions(&versions)?;
    Ok((server, client.with_root_certificates(roots).with_no_client_auth()))
}

/// The database behind the front.
#[derive(Clone)]
struct Behind {
    client: Client<HttpConnector, Full<Bytes>>,
    endpoint: String,
}

async fn listen(listener: TcpListener, tls: TlsAcceptor, behind: Behind, switches: Arc<Switches>) {
    while let Ok((stream, _)) = listener.accept().await {
        _ = stream.set_nodelay(true);
        let (tls, behind, switches) = (tls.clone(), behind.clone(), Arc::clone(&switches));
        tokio::spawn(async move {
            // A client that does not trust the front, or closes the connection, reports it itself.
            let Ok(stream) = tls.accept(stream).await else { return };
            let service = service_fn(|request| {
                let (behind, switches) = (behind.clone(), Arc::clone(&switches));
                async move { Ok::<_, Infallible>(pass(request, &behind, &switches).await) }
            });
            _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn pass(request: Request<Incoming>, behind: &Behind, switches: &Switches) -> Response<Full<Bytes>> {
    let begun = Instant::now();
    let (head, body) = request.into_parts();
    let count = switches.count.load(Ordering::SeqCst);
    let sent = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let delay = Duration::from_micros(switches.delay_micros.load(Ordering::Relaxed));
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    let body = if count > 0 { asking_for_units(&sent) } else { sent.clone() };
    let (status, headers, answer) = ask(&head.headers, body, behind).await;
    if count > 0 {
        let operation = operation(&head.headers);
        let (read_units, write_units) = units(&operation, &answer);
        let call = Call { begun, ended: Instant::now(), read_units, write_units, headers: head.headers, body: sent };
        switches.keep(count, call);
    }
    let mut response = Response::new(Full::new(answer));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

async fn ask(headers: &HeaderMap, body: Bytes, behind: &Behind) -> (StatusCode, HeaderMap, Bytes) {
    let mut request = Request::builder().method(Method::POST).uri(&behind.endpoint);
    for name in ["x-amz-target", "content-type", "authorization", "x-amz-date"] {
        if let Some(value) = headers.get(name) {
            request = request.header(name, value);
        }
    }
    let away = || (StatusCode::BAD_GATEWAY, HeaderMap::new(), Bytes::new());
    let Ok(request) = request.body(Full::new(body)) else { return away() };
    let Ok(response) = behind.client.request(request).await else { return away() };
    let (head, body) = response.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    (head.status, head.headers, body)
}

fn operation(headers: &HeaderMap) -> String {
    let target = headers.get("x-amz-target").and_then(|value| value.to_str().ok()).unwrap_or_default();
    target.rsplit('.').next().unwrap_or_default().to_owned()
}

/// The request with ReturnConsumedCapacity.
fn asking_for_units(body: &Bytes) -> Bytes {
    let Ok(Value::Object(mut request)) = serde_json::from_slice(body) else { return body.clone() };
    request.insert("ReturnConsumedCapacity".to_owned(), json!("TOTAL"));
    Bytes::from(Value::Object(request).to_string())
}

/// The capacity that an operation consumed, in read and write request units.
fn units(operation: &str, answer: &Bytes) -> (f64, f64) {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let consumed = &answer["ConsumedCapacity"];
    let one = |consumed: &Value| consumed["CapacityUnits"].as_f64().unwrap_or(0.0);
    let all = consumed.as_array().map_or_else(|| one(consumed), |tables| tables.iter().map(one).sum());
    if ["GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"].contains(&operation) {
        (all, 0.0)
    } else {
        (0.0, all)
    }
}

/// Sequential round trips: concurrent calls count once. A new round begins with the first call that comes after one of
/// the round before has ended.
pub fn round_trips(calls: &[Call]) -> u32 {
    let mut rounds = 0;
    let mut first_end: Option<Instant> = None;
    for call in calls {
        if first_end.is_none_or(|end| call.begun >= end) {
            (rounds, first_end) = (rounds + 1, Some(call.ended));
        } else {
            first_end = first_end.map(|end| end.min(call.ended));
        }
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

    fn call(body: &'static str, begun: u64, ended: u64) -> Call {
        let at = |millis| *ORIGIN + Duration::from_millis(millis);
        let (headers, body) = (HeaderMap::new(), Bytes::from_static(body.as_bytes()));
        Call { begun: at(begun), ended: at(ended), read_units: 0.5, write_units: 0.0, headers, body }
    }

    #[test]
    fn concurrent_calls_are_one_round_trip() {
        let trips = |times: &[(u64, u64)]| {
            round_trips(&times.iter().map(|(begun, ended)| call("", *begun, *ended)).collect::<Vec<_>>())
        };
        assert_eq!([trips(&[]), trips(&[(0, 3), (1, 5), (2, 4)]), trips(&[(0, 3), (1, 5), (4, 7)])], [0, 1, 2]);
        assert_eq!(trips(&[(0, 3), (3, 5), (5, 7)]), 3);
    }

    #[test]
    fn a_call_that_was_sent_again_counts_once() {
        let calls = sent_once(vec![call("write", 251, 254), call("read", 0, 3), call("write", 1, 400)]);
        let sent: Vec<(&[u8], Instant)> = calls.iter().map(|call| (call.body.as_ref(), call.begun)).collect();
        assert_eq!(sent, [(b"read".as_slice(), *ORIGIN), (b"write", *ORIGIN + Duration::from_millis(1))]);
    }

    #[test]
    fn a_late_call_is_not_in_the_next_count() {
        let switches = Switches::default();
        switches.count.store(2, Ordering::SeqCst);
        switches.keep(1, call("late", 0, 400));
        assert!(switches.calls.lock().unwrap().is_empty());
    }

    #[test]
    fn units_are_read_from_one_table_or_many() {
        let one = Bytes::from_static(br#"{"ConsumedCapacity":{"TableName":"t","CapacityUnits":1.5}}"#);
        let many = Bytes::from_static(br#"{"ConsumedCapacity":[{"CapacityUnits":4.0},{"CapacityUnits":2.0}]}"#);
        assert_eq!([units("GetItem", &one), units("UpdateItem", &one)], [(1.5, 0.0), (0.0, 1.5)]);
        assert_eq!(units("BatchGetItem", &many), (6.0, 0.0));
    }
}
