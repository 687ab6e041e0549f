//! A bucket in the test's own process that speaks S3: what the tool calls, with pages of few keys, and ends of connections.

use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use local::server::serve_each;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Bound;
use std::sync::{Arc, Mutex};
use storectl::deployment::Bucket;
use tokio::net::TcpListener;

const NAME: &str = "shop-bucket";
/// Keys of one page of a list.
const PAGE: usize = 7;

#[derive(Debug, Default)]
struct Contents {
    objects: BTreeMap<String, (HeaderMap, Bytes)>,
    /// Writes that are still carried out; at the next one the connection ends.
    writes: usize,
}

#[derive(Debug, Clone)]
pub struct S3 {
    contents: Arc<Mutex<Contents>>,
    pub bucket: Bucket,
}

impl S3 {
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let contents = Arc::new(Mutex::new(Contents { writes: usize::MAX, ..Contents::default() }));
        let served = Arc::clone(&contents);
        tokio::spawn(serve_each(listener, move |request, _| respond(Arc::clone(&served), request)));
        let config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .endpoint_url(url)
            .credentials_provider(SharedCredentialsProvider::new(Credentials::new("a", "b", None, None, "test")))
            .retry_config(RetryConfig::disabled())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .build();
        Self { contents, bucket: Bucket::new(&config, NAME, "https://shop.example") }
    }

    /// Ends the connection after this many writes from now on.
    pub fn end_after(&self, writes: usize) {
        self.contents.lock().unwrap().writes = writes;
    }

    pub fn keys(&self, prefix: &str) -> BTreeSet<String> {
        let contents = self.contents.lock().unwrap();
        contents.objects.keys().filter(|key| key.starts_with(prefix)).cloned().collect()
    }

    /// A header of an object, and whether the object is empty.
    pub fn header(&self, key: &str, name: &str) -> String {
        let contents = self.contents.lock().unwrap();
        let (headers, bytes) = &contents.objects[key];
        assert!(!bytes.is_empty(), "{key}");
        headers[name].to_str().unwrap().to_owned()
    }

    pub fn remove(&self, key: &str) {
        self.contents.lock().unwrap().objects.remove(key).unwrap();
    }
}

async fn respond(
    contents: Arc<Mutex<Contents>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, &'static str> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| "the request broke off")?.to_bytes();
    let signature = head.headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    assert!(signature.contains("/eu-central-1/s3/aws4_request"), "{signature}");
    assert_eq!(head.headers.get("content-encoding"), None, "a plain body");
    let path = head.uri.path().strip_prefix(&format!("/{NAME}")).unwrap();
    let key = path.trim_start_matches('/').to_owned();
    let mut contents = contents.lock().unwrap();
    if head.method != Method::GET {
        contents.writes = contents.writes.checked_sub(1).ok_or("the connection ends")?;
    }
    let (status, body) = match head.method {
        Method::PUT => {
            contents.objects.insert(key, (head.headers, body));
            (StatusCode::OK, Bytes::new())
        }
        Method::DELETE => {
            contents.objects.remove(&key);
            (StatusCode::NO_CONTENT, Bytes::new())
        }
        Method::GET if key.is_empty() => (StatusCode::OK, list(&contents, head.uri.query().unwrap_or_default())),
        _ => match contents.objects.get(&key) {
            Some((_, bytes)) => (StatusCode::OK, bytes.clone()),
            None => (StatusCode::NOT_FOUND, Bytes::from("<Error><Code>NoSuchKey</Code></Error>")),
        },
    };
    Ok(Response::builder().status(status).body(Full::new(body)).unwrap())
}

/// ListObjectsV2. The token is the last key of the page before.
fn list(contents: &Contents, query: &str) -> Bytes {
    let query: BTreeMap<_, _> = url::form_urlencoded::parse(query.as_bytes()).collect();
    assert_eq!(query["list-type"], "2");
    let after = query.get("continuation-token").map_or(Bound::Unbounded, |token| Bound::Excluded(token.to_string()));
    let mut keys = contents.objects.range((after, Bound::Unbounded)).map(|(key, _)| key);
    let mut keys: Vec<&String> =
        keys.by_ref().filter(|key| key.starts_with(&*query["prefix"])).take(PAGE + 1).collect();
    let is_cut = keys.len() > PAGE;
    keys.truncate(PAGE);
    let mut xml = format!("<ListBucketResult><IsTruncated>{is_cut}</IsTruncated>");
    for key in &keys {
        write!(xml, "<Contents><Key>{key}</Key></Contents>").unwrap();
    }
    if let Some(last) = keys.last().filter(|_| is_cut) {
        write!(xml, "<NextContinuationToken>{last}</NextContinuationToken>").unwrap();
    }
    Bytes::from(xml + "</ListBucketResult>")
}
