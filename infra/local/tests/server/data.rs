//! The data directory: what survives a stop, a kill and another process. And many buyers at once: the embedded database
//! runs one call after another, and none of them may time out.

use super::keys;
use super::process::{HttpReply, Process, Server};
use super::start::sentence;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

pub(super) fn database(server: &Server, operation: &str, body: &Value) -> Value {
    let target = format!("DynamoDB_20120810.{operation}");
    let credential =
        "AWS4-HMAC-SHA256 Credential=local/20260101/local/dynamodb/aws4_request, SignedHeaders=host, Signature=0";
    let headers = [
        ("x-amz-target", target.as_str()),
        ("content-type", "application/x-amz-json-1.0"),
        ("authorization", credential),
        ("x-amz-date", "20260101T000000Z"),
    ];
    let reply = server.send(server.said("/dynamodb_endpoint"), &headers, body.to_string().as_bytes());
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

/// POST with a token that a login returned.
fn call(server: &Server, token: &str, path: &str, body: &Value) -> HttpReply {
    let url = format!("{}{path}", server.said("/base_url"));
    server.send(&url, &[("authorization", &format!("Bearer {token}"))], body.to_string().as_bytes())
}

/// A player with one item in the cart begins to pay: the token, the order and the page to pay on.
pub(super) fn begin(server: &Server, player: &str, item: u64) -> (String, String, String) {
    let token = server.post("/auth/username", None, &json!({"username": player})).json();
    let token = token.as_str().unwrap().to_owned();
    assert_eq!(call(server, &token, &format!("/cart/add/{item}"), &json!({})).status, 200);
    let agreed = json!({"paymentMethod": "Stripe", "termsAndConditions": true, "privacyPolicy": true});
    let created = call(server, &token, "/payments/create", &agreed).json();
    assert_eq!(created["success"], true, "{created}");
    let text = |pointer: &str| created.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
    (token, text("/order_id"), text("/data/url"))
}

fn kill(server: Server) {
    server.process.signal("KILL");
    server.process.end();
}

#[test]
fn a_payment_that_a_kill_interrupts_is_made_after_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let data = ["--data", dir.path().to_str().unwrap()];
    let server = Server::start(&data);
    let (token, order, page) = begin(&server, "Bramble", 201);
    let stand_in = server.said("/payments").to_owned();
    kill(server);
    let server = Server::start(&data);
    assert_eq!(server.said("/payments"), stand_in, "the page is where it was");
    let back = server.send_without_redirects(&page, "action=pay");
    assert_eq!(back.status, 303, "{}", back.text);
    let began = Instant::now();
    loop {
        let found = call(&server, &token, "/payments/checkStatus", &json!({"order_id": order})).json();
        if found["order_data"]["status"] == "PAID" {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{found}");
        std::thread::sleep(Duration::from_millis(200));
    }
    let overview = server.get_with(&stand_in, "accept", "*/*").text;
    kill(server);
    let server = Server::start(&data);
    let session = page.rsplit('/').next().unwrap();
    assert!(overview.contains(session));
    assert!(server.get_with(&stand_in, "accept", "*/*").text.contains(session), "payments are kept as well");
}

/// When a token expires, in seconds since 1970 UTC.
fn expiry(token: &str) -> u64 {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
    serde_json::from_slice::<Value>(&claims).unwrap()["exp"].as_u64().unwrap()
}

#[test]
fn the_clock_is_moved_ahead_for_the_store_and_its_provider_and_stays_ahead() {
    let dir = tempfile::tempdir().unwrap();
    let data = ["--data", dir.path().to_str().unwrap()];
    let server = Server::start(&data);
    let (token, _, page) = begin(&server, "Bramble", 201);
    let clock = format!("{}/clock", server.said("/payments"));
    assert_eq!(server.send_without_redirects(&clock, "days=40").status, 303);
    for refused in ["days=x", "days=-1", "days=3611", ""] {
        assert_eq!(server.send_without_redirects(&clock, refused).status, 400, "{refused}");
    }
    assert!(server.get_with(server.said("/payments"), "accept", "*/*").text.contains("40 days ahead"));
    assert!(server.get_with(&page, "accept", "*/*").text.contains("<b>expired</b>"));
    let later = server.post("/auth/username", None, &json!({"username": "Bramble"})).json();
    let days = (expiry(later.as_str().unwrap()) - expiry(&token)) / (24 * 60 * 60);
    assert_eq!(days, 40);
    kill(server);
    let server = Server::start(&data);
    assert!(server.get_with(server.said("/payments"), "accept", "*/*").text.contains("40 days ahead"));
    assert_eq!(server.post("/cart/get", Some("Thornwick"), &json!({})).status, 200, "the printed tokens are valid");
}

#[test]
fn the_published_store_keeps_its_own_addresses() {
    let server = Server::start(&[]);
    let key = json!({"pk": {"S": "STORE"}, "sk": {"S": "ACTIVE"}});
    let row = database(&server, "GetItem", &json!({"TableName": server.said("/table"), "Key": key}));
    let row = row["Item"].to_string();
    assert!(row.contains("https://store.emberfall.example") && !row.contains("127.0.0.1"), "{row}");
    let settings = server.get("/settings/get").json();
    let avatar = settings["top"]["avatar"].as_str().unwrap();
    assert!(avatar.starts_with(&format!("{}/img/", server.said("/shop"))), "{avatar}");
    let (_, _, page) = begin(&server, "Bramble", 201);
    let back = server.send_without_redirects(&page, "action=leave");
    let target = back.headers["location"].to_str().unwrap();
    assert!(target.starts_with(server.said("/shop")), "buyers come back to the demo: {target}");
}

#[test]
fn a_directory_that_is_open_is_refused_to_another_process() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    let server = Server::start(&["--data", path]);
    let text = sentence(&["--data", path]);
    let addresses = std::fs::read(Path::new(path).join("running.json")).unwrap();
    let addresses: Value = serde_json::from_slice(&addresses).unwrap();
    let expected = json!({
        "endpoint": server.said("/dynamodb_endpoint"),
        "table": server.said("/table"),
        "payments": {"url": server.said("/payments"), "keys": stripe_stand_in::payment_keys()},
    });
    assert_eq!(addresses, expected, "the operations tool finds the server there");
    assert!(text.contains("in use by another process") && text.contains(path), "{text}");
    assert_eq!(server.get("/staff").status, 200, "the first server continues");
    kill(server);
    assert_eq!(Server::start(&["--data", path]).get("/staff").status, 200, "a kill leaves no lock");
}

/// The first start is killed ever later; the next one always has a whole store.
#[test]
fn a_first_start_that_is_killed_is_taken_up_again() {
    let parent = tempfile::tempdir().unwrap();
    let began = Instant::now();
    drop(Server::start(&["--data", parent.path().join("whole").to_str().unwrap()]));
    let whole = began.elapsed();
    for part in 0..5 {
        let dir = parent.path().join(part.to_string());
        killed_after(&dir, whole * part / 6);
    }
}

fn killed_after(dir: &Path, time: Duration) {
    let data = ["--data", dir.to_str().unwrap()];
    let process = Process::start(&[&["--port", "0"][..], &data].concat());
    std::thread::sleep(time);
    process.signal("KILL");
    process.end();
    let server = Server::start(&data);
    let described = database(&server, "DescribeTimeToLive", &json!({"TableName": server.said("/table")}));
    let description = &described["TimeToLiveDescription"];
    assert_eq!(description["TimeToLiveStatus"], "ENABLED", "{time:?}: {described}");
    assert_eq!(keys(&server.ready["tokens"]).len(), 8, "{time:?}");
    assert!(server.post("/cart/get", Some("Thornwick"), &json!({})).json()["items"].is_array(), "{time:?}");
    assert!(!server.get("/categories/get").json().as_array().unwrap().is_empty(), "{time:?}");
}

/// In an optimised build (`cargo test --profile prove`) as many as a flash sale; else as many as fit the time of a test.
const BUYERS: usize = if cfg!(debug_assertions) { 100 } else { 200 };
/// The longest that a request may take.
const LONGEST: Duration = Duration::from_secs(10);

/// The responses of one buyer: what was called, the status, the time.
type Calls = Vec<(&'static str, u16, Duration)>;

/// Logs in, adds an item, pays for it and looks the order up, from an address of the buyer's own.
fn buy(base_url: &str, number: usize) -> Calls {
    let config = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).max_redirects(0);
    let agent: ureq::Agent = config.timeout_global(Some(Duration::from_mins(1))).build().into();
    let address = format!("203.0.{}.{}", number / 200, number % 200 + 1);
    let mut calls = Vec::new();
    let mut token = String::new();
    let mut call = |name: &'static str, path: &str, token: &str, body: Value| {
        let request = agent.post(format!("{base_url}{path}")).header("x-forwarded-for", &address);
        let began = Instant::now();
        let mut reply = request.header("authorization", format!("Bearer {token}")).send(body.to_string()).unwrap();
        let text = reply.body_mut().read_to_string().unwrap();
        calls.push((name, reply.status().as_u16(), began.elapsed()));
        serde_json::from_str::<Value>(&text).unwrap_or_default()
    };
    let logged_in = call("login", "/auth/username", "", json!({"username": format!("Buyer{number}")}));
    token.push_str(logged_in.as_str().unwrap_or_default());
    call("add", "/cart/add/201", &token, json!({}));
    call("cart", "/cart/get", &token, json!({}));
    let agreed = json!({"paymentMethod": "Stripe", "termsAndConditions": true, "privacyPolicy": true});
    let created = call("create", "/payments/create", &token, agreed);
    assert_eq!(created["success"], true, "{created}");
    let page = created["data"]["url"].as_str().unwrap_or_default();
    assert_eq!(agent.post(page).send("action=pay").unwrap().status(), 303);
    let order = created["order_id"].clone();
    let found = call("checkStatus", "/payments/checkStatus", &token, json!({"order_id": order}));
    assert_eq!(found["status"], "success", "{found}");
    calls
}

#[expect(clippy::print_stdout, reason = "the figures are for who runs the test with --nocapture")]
#[test]
fn many_buyers_at_once_get_no_503_and_wait_ten_seconds_at_most() {
    let dir = tempfile::tempdir().unwrap();
    let proxies = ["--parameter", "TrustedProxies=127.0.0.0/8", "--quiet"];
    let server = Server::start(&[&["--data", dir.path().to_str().unwrap()], &proxies[..]].concat());
    let barrier = Barrier::new(BUYERS);
    let calls: Vec<Calls> = std::thread::scope(|scope| {
        let buyer = |number| {
            let (base_url, barrier) = (server.said("/base_url"), &barrier);
            scope.spawn(move || {
                barrier.wait();
                buy(base_url, number)
            })
        };
        let buyers: Vec<_> = (0..BUYERS).map(buyer).collect();
        buyers.into_iter().map(|buyer| buyer.join().unwrap()).collect()
    });
    for name in ["login", "add", "cart", "create", "checkStatus"] {
        let of_kind = calls.iter().flatten().filter(|(kind, ..)| *kind == name);
        let slowest = of_kind.clone().map(|(.., took)| *took).max().unwrap();
        println!("figures: {BUYERS} buyers at once, {name}: slowest {slowest:?}");
        assert!(of_kind.clone().all(|(_, status, _)| *status == 200), "{name}: {:?}", of_kind.collect::<Vec<_>>());
        assert!(slowest < LONGEST, "{name}: {slowest:?}");
    }
}

/// All have the address of this machine, which a deployed store lets begin ten checkouts in ten minutes.
#[test]
fn an_owner_who_tries_the_shop_may_buy_more_often_than_an_address_of_a_deployed_store() {
    let server = Server::start(&[]);
    let agreed = json!({"paymentMethod": "Stripe", "termsAndConditions": true, "privacyPolicy": true});
    let call = |path: &str, token: &str, body: &Value| {
        let url = format!("{}{path}", server.said("/base_url"));
        server.send(&url, &[("authorization", &format!("Bearer {token}"))], body.to_string().as_bytes()).json()
    };
    let began = Instant::now();
    for number in 0..12 {
        let token = call("/auth/username", "", &json!({"username": format!("Buyer{number}")}));
        let token = token.as_str().unwrap();
        call("/cart/add/201", token, &json!({}));
        while call("/payments/create", token, &agreed)["success"] != true {
            assert!(began.elapsed() < Duration::from_mins(1), "the checkout of buyer {number} is refused");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
