//! The connector against a server in the test: which connections it opens, keeps and drops, and how it reports a server
//! that misbehaves.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use aws_sdk_dynamodb::config::Credentials;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::get_item::GetItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ConditionCheck, TransactWriteItem};
use aws_smithy_runtime_api::client::result::DispatchFailure;
use dynamodb::{Access, Item, Table, connector};
use futures_util::future::join_all;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Outcome = Result<Option<Item>, SdkError<GetItemError>>;

/// The behaviour of the server for a request, by the connection's number and the request's number on it, both from 0.
type Script = fn(usize, usize) -> Action;

enum Action {
    /// Responds with a status and an item, and waits for the next request.
    Reply(u16),
    /// Responds, and closes the connection a moment later without having announced it.
    ReplyAndClose,
    /// Closes without a response.
    Close,
    /// Responds after 400 ms.
    ReplyLate,
    /// Never responds.
    Hang,
}

/// An HTTP/1.1 server on loopback that never ends.
struct Server {
    address: SocketAddr,
    roots: RootCertStore,
    /// The head of every request, one list per connection.
    heads: Arc<Mutex<Vec<Vec<String>>>>,
    scheme: &'static str,
}

impl Server {
    fn plain(script: Script) -> Self {
        Self::start("http", None, script)
    }

    fn tls(script: Script) -> Self {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = CertificateDer::from(own.cert);
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let tls = tls.with_no_client_auth().with_single_cert(vec![certificate.clone()], key).unwrap();
        let mut server = Self::start("https", Some(Arc::new(tls)), script);
        server.roots.add(certificate).unwrap();
        server
    }

    fn start(scheme: &'static str, tls: Option<Arc<ServerConfig>>, script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::<Mutex<Vec<Vec<String>>>>::default();
        let seen = Arc::clone(&heads);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                seen.lock().unwrap().push(Vec::new());
                let (seen, tls) = (Arc::clone(&seen), tls.clone());
                std::thread::spawn(move || match tls {
                    None => serve(stream.unwrap(), number, &seen, script),
                    Some(tls) => {
                        let session = ServerConnection::new(tls).unwrap();
                        serve(StreamOwned::new(session, stream.unwrap()), number, &seen, script);
                    }
                });
            }
        });
        Self { address, roots: RootCertStore::empty(), heads, scheme }
    }

    fn table(&self, attempts: u32) -> Table {
        let url = format!("{}://localhost:{}", self.scheme, self.address.port());
        table(&url, self.roots.clone(), attempts)
    }

    fn requests(&self) -> Vec<usize> {
        self.heads.lock().unwrap().iter().map(Vec::len).collect()
    }
}

fn serve(mut stream: impl Read + Write, number: usize, heads: &Mutex<Vec<Vec<String>>>, script: Script) {
    for request in 0.. {
        let Some(head) = read_request(&mut stream) else { return };
        heads.lock().unwrap()[number].push(head);
        let action = script(number, request);
        let status = match action {
            Action::Reply(status) => status,
            Action::ReplyAndClose => 200,
            Action::ReplyLate => {
                std::thread::sleep(Duration::from_millis(400));
                200
            }
            Action::Close => return,
            Action::Hang => {
                std::thread::sleep(Duration::from_mins(1));
                return;
            }
        };
        // Larger than a TLS record and a read, so that it arrives in pieces.
        let body = format!(r#"{{"Item":{{"text":{{"S":"{}"}}}}}}"#, "x".repeat(100_000));
        let head = format!("HTTP/1.1 {status} -\r\ncontent-type: application/x-amz-json-1.0\r\n");
        let response = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        if stream.write_all(response.as_bytes()).and_then(|()| stream.flush()).is_err() {
            return;
        }
        if matches!(action, Action::ReplyAndClose) {
            return;
        }
    }
}

/// The head of the next request, whose body is read and dropped; `None` if the client is gone.
fn read_request(stream: &mut impl Read) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(head)
}

fn table(url: &str, roots: RootCertStore, attempts: u32) -> Table {
    let credentials = Credentials::new("id", "secret", None, None, "test");
    let mut access = Access::new("eu-central-1", Some(url.to_owned()), Some(credentials), connector::client(roots));
    access.retries = RetryConfig::standard().with_max_attempts(attempts);
    access.timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_millis(300))
        .read_timeout(Duration::from_millis(600))
        .build();
    Table::new(access, "t", ())
}

async fn get(table: &Table) -> Outcome {
    let key = Item::from([("pk".to_owned(), AttributeValue::S("a".to_owned()))]);
    Box::pin(table.get(key, false)).await
}

/// The reason why a request got no response.
fn failure(outcome: Outcome) -> DispatchFailure {
    let failure = match outcome.unwrap_err() {
        SdkError::DispatchFailure(failure) => Some(failure),
        _ => None,
    };
    failure.unwrap()
}

#[tokio::test]
async fn one_connection_serves_one_request_after_another() {
    for server in [Server::tls(|_, _| Action::Reply(200)), Server::plain(|_, _| Action::Reply(200))] {
        let table = server.table(1);
        for _ in 0..20 {
            let item = get(&table).await.unwrap().unwrap();
            assert_eq!(item["text"].as_s().unwrap().len(), 100_000);
        }
        assert_eq!(server.requests(), [20], "{}", server.scheme);
    }
}

#[tokio::test]
async fn a_request_has_its_path_and_its_host_where_http_1_has_them() {
    let server = Server::tls(|_, _| Action::Reply(200));
    get(&server.table(1)).await.unwrap();
    let head = server.heads.lock().unwrap()[0][0].clone();
    assert!(head.starts_with("post / http/1.1\r\n"), "{head}");
    let host = format!("host: localhost:{}", server.address.port());
    assert_eq!(head.lines().filter(|line| line.starts_with("host:")).collect::<Vec<_>>(), [host]);
}

#[tokio::test]
async fn concurrent_requests_have_a_connection_each_and_leave_it_to_later_ones() {
    let server = Server::tls(|_, _| Action::Reply(200));
    let table = server.table(1);
    for _ in 0..3 {
        assert!(join_all((0..4).map(|_| get(&table))).await.iter().all(Result::is_ok));
    }
    assert_eq!(server.requests(), [3; 4]);
}

#[tokio::test]
async fn a_connection_that_was_closed_while_it_was_idle_is_not_noticed() {
    let server = Server::tls(|_, _| Action::ReplyAndClose);
    let table = server.table(1);
    for _ in 0..3 {
        get(&table).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(server.requests(), [1; 3]);
}

#[tokio::test]
async fn a_request_that_the_server_dropped_is_tried_again_on_another_connection() {
    let script: Script = |connection, request| match (connection, request) {
        (0, 1) => Action::Close,
        _ => Action::Reply(200),
    };
    let server = Server::plain(script);
    let table = server.table(2);
    get(&table).await.unwrap();
    get(&table).await.unwrap();
    assert_eq!(server.requests(), [2, 1]);
    // The SDK retries, not the connector: a request that the server may have seen is never sent twice without the SDK.
    let server = Server::plain(script);
    let table = server.table(1);
    get(&table).await.unwrap();
    assert!(failure(get(&table).await).as_other().is_some());
}

#[tokio::test]
async fn after_a_server_error_the_next_attempt_has_another_connection() {
    let server = Server::plain(|connection, _| Action::Reply(if connection == 0 { 500 } else { 200 }));
    get(&server.table(2)).await.unwrap();
    assert_eq!(server.requests(), [1, 1]);
}

#[tokio::test]
async fn a_refused_connection_is_an_io_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    assert!(failure(get(&table(&url, RootCertStore::empty(), 1)).await).is_io());
}

#[tokio::test]
async fn a_handshake_that_hangs_ends_with_the_connect_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let started = Instant::now();
    assert!(failure(get(&table(&url, RootCertStore::empty(), 1)).await).is_timeout());
    assert!(started.elapsed() < Duration::from_millis(550), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_response_that_hangs_ends_with_the_read_timeout() {
    let server = Server::plain(|connection, _| if connection == 0 { Action::Hang } else { Action::Reply(200) });
    let table = server.table(1);
    assert!(failure(get(&table).await).is_timeout());
    get(&table).await.unwrap();
    assert_eq!(server.requests(), [1, 1], "the connection without a response is not used again");
}

#[tokio::test]
async fn a_transaction_has_a_second_on_a_kept_connection_and_another_call_a_quarter() {
    let script: Script = |_, request| if request == 0 { Action::Reply(200) } else { Action::ReplyLate };
    let check = ConditionCheck::builder()
        .table_name("t")
        .key("pk", AttributeValue::S("a".to_owned()))
        .condition_expression("attribute_exists(pk)")
        .build();
    let write = TransactWriteItem::builder().condition_check(check.unwrap()).build();
    let server = Server::plain(script);
    let table = server.table(1);
    get(&table).await.unwrap();
    Box::pin(table.transact_write(vec![write], None)).await.unwrap();
    assert_eq!(server.requests(), [2]);
    let server = Server::plain(script);
    let table = server.table(1);
    get(&table).await.unwrap();
    assert!(failure(get(&table).await).is_timeout());
}

#[tokio::test]
async fn a_server_without_a_trusted_certificate_gets_no_request() {
    let server = Server::tls(|_, _| Action::Reply(200));
    let url = format!("https://localhost:{}", server.address.port());
    assert!(failure(get(&table(&url, RootCertStore::empty(), 1)).await).is_io());
    assert_eq!(server.requests(), [0]);
}
