//! Publishing for a deployed shop: its files and pictures are in the bucket before anything names them, and pictures stay as
//! long as a version may need them. The bucket speaks S3 in the test's own process: what the tool calls, with pages of few keys, and
//! ends of connections.

use crate::bench::{Bench, copy};
use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use local::gateway::serve_each;
use pictures::keys_of;
use serde_json::Value;
use shared::clock::Clock as _;
use shared::shop::publishing::list_versions;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use storectl::deployment::Bucket;
use storectl::error::{Exit, Failure};
use tests::Faults;
use tokio::net::TcpListener;

/// A store that shows these pictures, of different content each.
fn showing(bench: &Bench, name: &str, pictures: &[u32]) -> String {
    let mut items = String::new();
    for number in pictures {
        writeln!(items, "  - {{id: {number}, name: n{number}, price: 1, image: /img/{number}.png}}").unwrap();
        // A PNG of one pixel, and text behind its end.
        let png = "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0\
                   000003010100c9fe92ef0000000049454e44ae426082";
        let mut png = hex::decode(png).unwrap();
        png.extend(number.to_be_bytes());
        let path = bench.path(&format!("{name}/img/{number}.png"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, png).unwrap();
    }
    bench.write(
        &format!("{name}/store.yaml"),
        &format!("format: 1\nname: {name}\ncurrency: {{code: EUR}}\nguest_mode: true\n"),
    );
    bench.write(&format!("{name}/categories/a.yaml"), &format!("id: 1\nslug: a\nname: A\nitems:\n{items}"));
    bench.path(name).display().to_string()
}

async fn publish(bench: &Bench, s3: &S3, dir: &str) -> Result<Value, Failure> {
    let arguments = ["publish", dir, "--yes", "--allow-removals", "--grace", "1s"];
    Ok(bench.run_in_shop(&s3.bucket, &arguments).await?.json().clone())
}

/// The pictures that the shop shows; every file of them is in the bucket.
async fn shown(bench: &Bench, s3: &S3) -> Vec<String> {
    let (status, category) = bench.api(Method::POST, "/categories/get/a", None, "").await;
    assert_eq!(status, StatusCode::OK);
    let items = category["items"].as_array().unwrap();
    let urls: Vec<String> = items.iter().map(|item| item["image"].as_str().unwrap().to_owned()).collect();
    let there = s3.keys("img/");
    for url in &urls {
        let keys = keys_of(url).unwrap_or_else(|| panic!("{url} is no picture under its hash"));
        assert!(keys.len() == 4 && keys.iter().all(|key| there.contains(key)), "{url} is whole in {there:?}");
    }
    urls
}

#[tokio::test]
async fn killed_at_every_upload_the_old_shop_stays_whole_and_the_next_run_completes() {
    for let_through in Faults::cuts() {
        let (bench, s3) = (Bench::empty().await, S3::start().await);
        let (old, new) = (showing(&bench, "old", &[1, 2]), showing(&bench, "new", &[2, 3, 4]));
        let told = bench.run_in_shop(&s3.bucket, &["publish", &old, "--yes"]).await.unwrap();
        assert!(told.text().contains("The shop has no pages"), "{}", told.text());
        let before = shown(&bench, &s3).await;
        s3.end_after(let_through);
        let outcome = publish(&bench, &s3, &new).await;
        if outcome.is_ok() {
            assert_eq!(let_through, 1 + 2 * 4, "the list, and two new pictures");
            return;
        }
        assert_eq!(outcome.unwrap_err().exit, Exit::Unavailable);
        assert_eq!(shown(&bench, &s3).await, before, "after {let_through} uploads");
        s3.end_after(usize::MAX);
        publish(&bench, &s3, &new).await.unwrap();
        let after = shown(&bench, &s3).await;
        assert!(after.len() == 3 && after[0] == before[1], "{after:?}");
        assert_eq!(publish(&bench, &s3, &new).await.unwrap()["uploaded"], 0, "nothing is made again");
    }
}

#[tokio::test]
async fn the_files_of_a_build_are_uploaded_under_its_hash_and_those_of_others_stay() {
    let (bench, s3) = (Bench::empty().await, S3::start().await);
    let upload = || bench.run_in_shop(&s3.bucket, &["shop", "upload"]);
    s3.bucket.put("assets/0123456789abcdef/old.js", b"old".to_vec(), "text/javascript", "immutable").await.unwrap();
    s3.end_after(4);
    assert_eq!(upload().await.unwrap_err().exit, Exit::Unavailable);
    s3.end_after(usize::MAX);
    upload().await.unwrap();
    let expected: BTreeSet<String> =
        shop::ASSETS.iter().map(|(path, _)| format!("assets/{}/{path}", shop::hash())).collect();
    let mut there = s3.keys("assets/");
    assert!(there.remove("assets/0123456789abcdef/old.js"));
    assert_eq!(there, expected);
    assert_eq!(upload().await.unwrap().json()["uploaded"], 0);
    for key in expected {
        assert_eq!(s3.header(&key, "cache-control"), "public, max-age=31536000, immutable");
        assert_eq!(Some(s3.header(&key, "content-type").as_str()), shop::media_type(&key));
    }
    assert_eq!(bench.fails(&["shop", "upload"]).await.exit, Exit::Denied, "a table without a shop");
}

#[tokio::test]
async fn a_logo_is_served_by_its_name_and_replaced_and_deleted_with_its_file() {
    let (bench, s3) = (Bench::empty().await, S3::start().await);
    let dir = showing(&bench, "s", &[1]);
    let (of_item, logo) = (bench.path("s/img/1.png"), bench.path("s/img/logo.png"));
    std::fs::copy(&of_item, &logo).unwrap();
    publish(&bench, &s3, &dir).await.unwrap();
    let kept = async || s3.bucket.get("img/logo.png").await.unwrap();
    assert_eq!(kept().await, std::fs::read(&logo).unwrap());
    assert_eq!(s3.header("img/logo.png", "cache-control"), "public, max-age=300");
    assert_eq!(publish(&bench, &s3, &dir).await.unwrap()["uploaded"], 0, "nothing changed");
    let other = [std::fs::read(&logo).unwrap(), b"changed".to_vec()].concat();
    std::fs::write(&logo, &other).unwrap();
    assert_eq!(publish(&bench, &s3, &dir).await.unwrap()["uploaded"], 1, "the store is the same, its logo is not");
    assert_eq!(kept().await, other);
    std::fs::remove_file(&logo).unwrap();
    publish(&bench, &s3, &dir).await.unwrap();
    assert!(!s3.keys("img/").contains("img/logo.png"));
    // What is published knows the shop's address: a category's picture and a player's are whole URLs.
    let active = shared::table::published::read_active_version(&bench.db).await.unwrap().unwrap();
    assert_eq!(active.config.shop_url, "https://shop.example");
}

#[tokio::test]
async fn a_picture_is_there_until_30_days_after_the_last_version_that_names_it() {
    const DAY: i64 = 86_400;
    let (bench, s3) = (Bench::empty().await, S3::start().await);
    let mut state = 7_u64;
    let mut random = |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        u32::try_from(state >> 33).unwrap() % below
    };
    // By picture, when a version in the table last named it; by version, the pictures that it names.
    let (mut last_named, mut stores) = (BTreeMap::<String, i64>::new(), BTreeMap::<String, Vec<String>>::new());
    let mut deleted = 0;
    for step in 0..80 {
        // At the end there are no changes for a long time.
        let is_end = step >= 75;
        bench.clock.advance(Duration::from_hours(if is_end { 40 * 24 } else { 1 + 24 * u64::from(random(20)) }));
        let first = if is_end { 100 + step % 2 } else { 1 + random(9) };
        let dir = showing(&bench, &format!("s{first}"), &[first, first + 1]);
        let outcome = publish(&bench, &s3, &dir).await.unwrap();
        let version = publish::store_of(outcome["version"].as_str().unwrap()).to_owned();
        stores.insert(version, shown(&bench, &s3).await);
        if step % 5 == 4 && bench.run_in_shop(&s3.bucket, &["rollback", "--yes"]).await.is_ok() {
            shown(&bench, &s3).await;
        }
        let (now, versions) = (bench.clock.seconds(), list_versions(&bench.db).await.unwrap());
        let named = versions.iter().flat_map(|record| &stores[publish::store_of(&record.version)]);
        last_named.extend(named.map(|url| (url.clone(), now)));
        let there = s3.keys("img/");
        for (url, last) in &last_named {
            let keys = keys_of(url).unwrap();
            let (days, found) = ((now - last) / DAY, keys.iter().filter(|key| there.contains(*key)).count());
            assert!(found == keys.len() || found == 0 && days >= 30, "{url}, not named for {days} days: {there:?}");
            assert!(found == 0 || days < 30 + 2 * 40, "{url} is still there after {days} days");
            deleted += usize::from(found == 0);
        }
        assert!(s3.keys("versions/").len() < 20, "lists are deleted as well");
    }
    assert!(deleted > 100, "{deleted}");
}

#[tokio::test]
async fn a_store_with_a_picture_that_is_refused_changes_neither_the_bucket_nor_the_table() {
    let (bench, s3) = (Bench::empty().await, S3::start().await);
    let dir = showing(&bench, "bad", &[1, 2]);
    bench.write("bad/img/2.png", "<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>");
    let failure = publish(&bench, &s3, &dir).await.unwrap_err();
    assert_eq!(failure.exit, Exit::Faults);
    let named = "items[2].image: img/2.png is an SVG with the event attribute onload";
    assert!(failure.what.contains("categories/a.yaml:6:") && failure.what.contains(named), "{failure}");
    assert!(s3.keys("").is_empty() && bench.rows().await.is_empty());
    let warnings = bench.ok(&["check", &dir]).await["warnings"].clone();
    assert_eq!((warnings.as_array().unwrap().len(), &warnings[0]["field"]), (1, &"items[2].image".into()));
    let broken = std::fs::read(bench.path("bad/img/1.png")).unwrap();
    std::fs::write(bench.path("bad/img/2.png"), &broken[..50]).unwrap();
    let failure = publish(&bench, &s3, &dir).await.unwrap_err();
    assert!(failure.exit == Exit::Faults && failure.what.contains("img/2.png is broken"), "{failure}");
    assert_eq!(bench.rows().await, Vec::<String>::new(), "found while it is made, before anything is switched");
}

#[tokio::test]
async fn an_exported_shop_has_the_owners_names_of_pictures_and_is_the_same_version_with_their_files() {
    let (bench, s3) = (Bench::empty().await, S3::start().await);
    let own = showing(&bench, "own", &[1, 2]);
    let version = publish(&bench, &s3, &own).await.unwrap()["version"].clone();
    let dir = bench.path("exported").display().to_string();
    bench.ok(&["export", &dir]).await;
    let text = |dir: &str| std::fs::read(Path::new(dir).join("categories/a.yaml")).unwrap();
    assert_eq!(text(&dir), text(&own));
    copy(&Path::new(&own).join("img"), &Path::new(&dir).join("img"));
    let again = publish(&bench, &s3, &dir).await.unwrap();
    assert_eq!((&again["version"], &again["unchanged"]), (&version, &true.into()));
    let lost = s3.keys("img/").into_iter().next().unwrap();
    s3.remove(&lost);
    publish(&bench, &s3, &dir).await.unwrap();
    assert!(s3.keys("img/").contains(&lost), "the files bring it back");
}

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
