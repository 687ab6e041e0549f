//! Many buyers at once: the embedded database runs one call after another, and none of them may time out.

use super::process::Server;
use serde_json::{Value, json};
use std::sync::Barrier;
use std::time::{Duration, Instant};

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
