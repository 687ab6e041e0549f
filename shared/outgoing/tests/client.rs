//! The client against a server in the test.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use bytes::Bytes;
use http::{Request, Response};
use outgoing::{CONNECT, Client, MAX_BODY, OutgoingError, TOTAL, is_allowed};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, ServerConfig};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The requests that the server has received, one text per connection.
type Received = Arc<Mutex<Vec<String>>>;

/// A server that sends `response` on every connection once the request's head and body `ping` have arrived. An empty
/// response is none: it waits for ever.
async fn server(response: Vec<u8>, tls: Option<TlsAcceptor>) -> (u16, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let received = Received::default();
    let seen = Arc::clone(&received);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (seen, response, tls) = (Arc::clone(&seen), response.clone(), tls.clone());
            tokio::spawn(async move {
                match tls {
                    None => serve(stream, &response, &seen).await,
                    Some(tls) => match tls.accept(stream).await {
                        Ok(stream) => serve(stream, &response, &seen).await,
                        Err(_) => seen.lock().unwrap().push("no TLS".to_owned()),
                    },
                }
            });
        }
    });
    (port, received)
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, response: &[u8], seen: &Mutex<Vec<String>>) {
    let mut request = Vec::new();
    while !request.ends_with(b"ping") {
        if stream.read_buf(&mut request).await.unwrap() == 0 {
            return;
        }
    }
    seen.lock().unwrap().push(String::from_utf8(request).unwrap());
    if response.is_empty() {
        std::future::pending::<()>().await;
    }
    // The client may have had enough of it.
    drop(stream.write_all(response).await);
    drop(stream.shutdown().await);
}

fn reply(status: &str, length: usize, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nX-Seen: yes\r\n\r\n{body}").into_bytes()
}

fn request(url: &str) -> Request<Bytes> {
    Request::post(url).header("Authorization", "Bearer key").body(Bytes::from_static(b"ping")).unwrap()
}

async fn send(response: Vec<u8>) -> (Result<Response<Bytes>, OutgoingError>, Received) {
    let (port, received) = server(response, None).await;
    let client = Client::new(RootCertStore::empty()).within(Duration::from_millis(500));
    (client.send(request(&format!("http://127.0.0.1:{port}/a/b?c=d"))).await, received)
}

#[tokio::test]
async fn a_request_is_sent_as_it_is_and_its_response_is_read_whatever_its_status() {
    let (response, received) = send(reply("402 Payment Required", 4, "pong")).await;
    let response = response.unwrap();
    assert_eq!((response.status().as_u16(), response.body().as_ref()), (402, b"pong".as_slice()));
    assert_eq!(response.headers()["x-seen"], "yes");
    let received = received.lock().unwrap().concat();
    assert!(received.starts_with("POST /a/b?c=d HTTP/1.1\r\n"), "{received}");
    assert!(received.contains("\r\nhost: 127.0.0.1:") && received.contains("\r\nauthorization: Bearer key"));
}

#[tokio::test]
async fn each_request_has_a_connection_of_its_own() {
    let (port, received) = server(reply("200 OK", 4, "pong"), None).await;
    let client = Client::new(RootCertStore::empty());
    for count in 1..4 {
        client.send(request(&format!("http://localhost:{port}/"))).await.unwrap();
        assert_eq!(received.lock().unwrap().len(), count);
    }
}

/// A server that responds to every request on every connection, and closes a connection after `most` of them. Counts
/// the connections.
async fn keeping_server(most: usize) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                for _ in 0..most {
                    let mut request = Vec::new();
                    while !request.ends_with(b"ping") {
                        if stream.read_buf(&mut request).await.unwrap() == 0 {
                            return;
                        }
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    stream.write_all(&reply("200 OK", 4, "pong")).await.unwrap();
                }
            });
        }
    });
    (url, connections)
}

#[tokio::test]
async fn a_client_that_keeps_connections_has_as_many_as_requests_at_once() {
    let (url, connections) = keeping_server(usize::MAX).await;
    let client = Client::new(RootCertStore::empty()).keeping();
    for _ in 0..5 {
        let sent = (0..3).map(|_| {
            tokio::spawn({
                let (client, url) = (client.clone(), url.clone());
                async move { client.send(request(&url)).await.unwrap() }
            })
        });
        for sent in sent.collect::<Vec<_>>() {
            assert_eq!(sent.await.unwrap().body().as_ref(), b"pong");
        }
    }
    assert_eq!(connections.load(Ordering::SeqCst), 3);
    Client::new(RootCertStore::empty()).keeping().send(request(&url)).await.unwrap();
    assert_eq!(connections.load(Ordering::SeqCst), 4, "another client has its own");
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_is_replaced() {
    let (url, connections) = keeping_server(2).await;
    let client = Client::new(RootCertStore::empty()).keeping();
    for _ in 0..6 {
        assert_eq!(client.send(request(&url)).await.unwrap().body().as_ref(), b"pong");
        // The end of the connection arrives.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(connections.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_service_that_does_not_respond_is_given_up() {
    let (response, received) = send(Vec::new()).await;
    let error = response.unwrap_err();
    assert!(matches!(error, OutgoingError::Timeout(_)), "{error:?}");
    assert_eq!(received.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_response_that_is_cut_is_an_error_and_is_not_asked_for_again() {
    for response in [reply("200 OK", 5, "pong"), b"HTTP/1.1 200 OK\r\nContent-".to_vec(), b"nonsense\r\n\r\n".to_vec()]
    {
        let (response, received) = send(response).await;
        let error = response.unwrap_err();
        assert!(matches!(error, OutgoingError::Broken(_)), "{error:?}");
        assert_eq!(received.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_response_may_have_as_many_bytes_as_are_allowed_and_no_more() {
    let (response, _) = send(reply("200 OK", MAX_BODY, &"a".repeat(MAX_BODY))).await;
    assert_eq!(response.unwrap().body().len(), MAX_BODY);
    let (response, _) = send(reply("200 OK", MAX_BODY + 1, &"a".repeat(MAX_BODY + 1))).await;
    assert!(matches!(response.unwrap_err(), OutgoingError::TooLarge(_)));
}

#[tokio::test]
async fn where_nobody_listens_nothing_was_sent() {
    // A port that no other test is given.
    let error = Client::new(RootCertStore::empty()).send(request("http://127.0.0.1:1")).await;
    let error = error.unwrap_err();
    assert!(matches!(error, OutgoingError::Connect(_)), "{error:?}");
}

#[tokio::test]
async fn a_service_that_never_completes_tls_received_nothing() {
    // The system accepts the connection; nothing reads from it.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let began = Instant::now();
    let error = Client::new(RootCertStore::empty()).send(request(&url)).await.unwrap_err();
    assert!(matches!(error, OutgoingError::Connect(_)), "{error:?}");
    assert!(began.elapsed() >= CONNECT && began.elapsed() < TOTAL, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_certificate_must_be_trusted() {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = CertificateDer::from(own.cert);
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let tls = tls.with_no_client_auth().with_single_cert(vec![certificate.clone()], key).unwrap();
    let (port, received) = server(reply("200 OK", 4, "pong"), Some(TlsAcceptor::from(Arc::new(tls)))).await;
    let url = format!("https://localhost:{port}/");

    let mut roots = RootCertStore::empty();
    let error = Client::new(roots.clone()).send(request(&url)).await.unwrap_err();
    assert!(matches!(error, OutgoingError::Connect(_)), "{error:?}");
    roots.add(certificate).unwrap();
    assert_eq!(Client::new(roots.clone()).send(request(&url)).await.unwrap().body().as_ref(), b"pong");
    assert_eq!(received.lock().unwrap().len(), 2);

    let other = url.replace("localhost", "127.0.0.1");
    let error = Client::new(roots).send(request(&other)).await.unwrap_err();
    assert!(matches!(error, OutgoingError::Connect(_)), "the certificate is for another name: {error:?}");
}

#[tokio::test]
async fn what_is_not_encrypted_stays_on_this_machine() {
    let may = |url: &str| is_allowed(&url.parse().unwrap());
    for url in
        ["https://a.example/b", "http://127.0.0.1:80/", "http://127.9.9.9/", "http://[::1]:8080/", "http://LocalHost/"]
    {
        assert!(may(url), "{url}");
    }
    for url in [
        "http://a.example/",
        "http://10.0.0.1/",
        "http://localhost.example/",
        "http://[::2]/",
        "ftp://localhost/",
        "/a",
    ] {
        assert!(!may(url), "{url}");
    }
    let error = Client::new(RootCertStore::empty()).send(request("http://a.example/")).await.unwrap_err();
    assert!(matches!(error, OutgoingError::Address));
}
