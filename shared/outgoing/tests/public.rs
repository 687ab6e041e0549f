//! The client for addresses that an owner names, against servers in the test and against known tricks.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use bytes::Bytes;
use http::{Request, Uri};
use ipnet::IpNet;
use outgoing::public::{PublicClient, PublicError, check_url, is_public};
use proptest::prelude::*;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, ServerConfig};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What is not public, as the registries list it.
const NOT_PUBLIC: &str = "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 \
    192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 \
    ::/128 ::1/128 ::ffff:0:0/96 ::/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/32 2001:2::/48 2001:db8::/32 2002::/16 \
    3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8";

fn is_listed(address: IpAddr) -> bool {
    NOT_PUBLIC.split_whitespace().any(|net| net.parse::<IpNet>().unwrap().contains(&address))
}

proptest! {
    #[test]
    fn of_ipv4_exactly_what_no_registry_reserves_is_public(bits: u32) {
        let address = Ipv4Addr::from(bits);
        prop_assert_eq!(is_public(address.into()), !is_listed(address.into()), "{}", address);
    }

    /// Also those with an address of IPv4 in them: compatible, mapped, NAT64, 6to4 and Teredo.
    #[test]
    fn within_every_listed_network_nothing_is_public(bits: u128) {
        for net in NOT_PUBLIC.split_whitespace() {
            let address: IpAddr = match net.parse::<IpNet>().unwrap() {
                IpNet::V4(net) => {
                    let host = u32::try_from(bits & 0xffff_ffff).unwrap() & u32::from(net.hostmask());
                    Ipv4Addr::from(u32::from(net.network()) | host).into()
                }
                IpNet::V6(net) => Ipv6Addr::from(u128::from(net.network()) | bits & u128::from(net.hostmask())).into(),
            };
            prop_assert!(!is_public(address), "{address} of {net}");
        }
    }
}

#[test]
fn known_tricks_are_refused_before_anything_is_looked_up() {
    for (url, reason) in [
        ("http://hooks.example/a", "https"),
        ("ftp://hooks.example/a", "https"),
        ("/a", "not a URL"),
        ("https://user@hooks.example/", "password"),
        ("https://hooks.example:443@10.0.0.1/", "password"),
        ("https://2130706433/", "four numbers"),
        ("https://0x7f000001/", "four numbers"),
        ("https://0x7f.1/", "four numbers"),
        ("https://0177.0.0.1/", "four numbers"),
        ("https://127.1/", "four numbers"),
        ("https://127.0.0.1/", "not public"),
        ("https://127.0.0.1./", "dot"),
        ("https://hooks.example./", "dot"),
        ("https://localhost/", "this machine"),
        ("https://LOCALHOST:8443/", "this machine"),
        ("https://a.localhost/", "this machine"),
        ("http://localhost/", "https"),
        ("https://169.254.169.254/latest/meta-data/", "not public"),
        ("https://[fd00:ec2::254]/", "not public"),
        ("https://[::1]/", "not public"),
        ("https://[::ffff:10.0.0.1]/", "not public"),
        ("https://[::ffff:7f00:1]/", "not public"),
        ("https://[64:ff9b::7f00:1]/", "not public"),
        ("https://100.64.0.1/", "not public"),
        ("https://hooks_1.example/", "letters"),
        ("https://hooks.example:99999/", "port"),
        ("https://hooks.example:0/", "port"),
        ("https://hooks.example:/", "port"),
    ] {
        let refused = check_url(&url.parse().unwrap(), false);
        assert!(refused.clone().unwrap_err().contains(reason), "{url}: {refused:?}");
    }
    for url in ["https://①②⑦.⓪.⓪.①/", "https://bücher.example/"] {
        assert!(url.parse::<Uri>().map_or(true, |url| check_url(&url, false).is_err()), "{url}");
    }
    for url in ["https://hooks.example/a?b", "https://xn--bcher-kva.example:8443", "https://93.184.215.14/"] {
        assert!(check_url(&url.parse().unwrap(), false).is_ok(), "{url}");
    }
    for url in ["http://127.0.0.1:9/", "http://localhost:9/", "http://[::1]:9/"] {
        assert!(check_url(&url.parse().unwrap(), true).is_ok(), "{url}");
    }
    assert!(check_url(&"http://10.0.0.1/".parse().unwrap(), true).is_err());
}

fn request(url: &str) -> Request<Bytes> {
    Request::post(url).body(Bytes::from_static(b"ping")).unwrap()
}

fn client(roots: RootCertStore) -> PublicClient {
    PublicClient::new(roots, Duration::from_millis(1_500), 4_096)
}

/// A receiver with TLS for `hooks.example`, and who trusts it; counts its connections.
async fn receiver() -> (u16, RootCertStore, Arc<AtomicUsize>) {
    let own = rcgen::generate_simple_self_signed(["hooks.example".to_owned()]).unwrap();
    let certificate = CertificateDer::from(own.cert);
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let tls = tls.with_no_client_auth().with_single_cert(vec![certificate.clone()], key).unwrap();
    let (tls, listener) = (TlsAcceptor::from(Arc::new(tls)), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let (port, connections) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let Ok(mut stream) = tls.accept(stream).await else { continue };
            let mut request = [0; 1_024];
            drop(stream.read(&mut request).await);
            drop(stream.write_all(b"HTTP/1.1 302 X\r\nlocation: https://10.0.0.1/\r\ncontent-length: 0\r\n\r\n").await);
        }
    });
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    (port, roots, connections)
}

#[tokio::test]
async fn the_connection_is_made_to_the_address_that_was_checked_whatever_a_resolver_says_later() {
    let (port, roots, connections) = receiver().await;
    let asked = Arc::new(AtomicU8::new(0));
    let count = Arc::clone(&asked);
    // The second answer would be another machine, where nothing listens.
    let find = move |host: String| -> outgoing::public::Found {
        assert_eq!(host, "hooks.example");
        let second = count.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { Ok(vec![IpAddr::from([127, 0, 0, 1 + second])]) })
    };
    let client = client(roots).with_resolver(find, |address| address == IpAddr::from([127, 0, 0, 1]));
    let url = format!("https://hooks.example:{port}/hook");
    // A redirect is a response like any other.
    assert_eq!(client.send(request(&url)).await.unwrap().status().as_u16(), 302);
    assert_eq!((asked.load(Ordering::SeqCst), connections.load(Ordering::SeqCst)), (1, 1));
    // The next request looks the host up again, and the other address is not allowed.
    assert!(matches!(client.send(request(&url)).await, Err(PublicError::NotPublic(_))));
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn one_address_that_is_not_public_is_enough_to_send_nothing() {
    let (port, roots, connections) = receiver().await;
    for found in [vec!["93.184.215.14", "127.0.0.1"], vec!["::ffff:127.0.0.1"], vec![]] {
        let addresses: Vec<IpAddr> = found.iter().map(|address| address.parse().unwrap()).collect();
        let find = move |_| -> outgoing::public::Found {
            let addresses = addresses.clone();
            Box::pin(async move { Ok(addresses) })
        };
        let error = client(roots.clone()).with_resolver(find, is_public);
        let error = error.send(request(&format!("https://hooks.example:{port}/"))).await.unwrap_err();
        assert!(matches!(error, PublicError::NotPublic(_) | PublicError::Unknown(_)), "{error}");
    }
    let error = client(roots).send(request(&format!("http://127.0.0.1:{port}/"))).await.unwrap_err();
    assert!(matches!(error, PublicError::Url(_)), "{error}");
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn no_more_of_a_response_is_read_than_is_kept_or_arrives_in_time() {
    for (body, read) in [("a".repeat(200_000), 4_096), ("slow".to_owned(), 4)] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            drop(stream.read(&mut [0; 1_024]).await);
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 10000000\r\n\r\n";
            drop(stream.write_all(format!("{head}{body}").as_bytes()).await);
            // The rest never comes.
            std::future::pending::<()>().await;
        });
        let began = Instant::now();
        let client = client(RootCertStore::empty()).with_this_machine(true);
        let response = client.send(request(&url)).await.unwrap();
        assert_eq!((response.status().as_u16(), response.body().len()), (200, read));
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
}
