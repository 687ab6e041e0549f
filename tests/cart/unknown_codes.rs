//! POST /cart/getGift, and the limit on unknown codes that it shares with acceptCoupon (rules.md, "Unknown codes").

use super::support::{NEW, RICH, coupon, gift, outcome, percent, put_code, stored};
use serde_json::{Value, json};
use shared::endpoint::too_many_attempts;
use shared::model::{Code, GiftCard, Money, UserId};
use shared::table::codec::Item;
use shared::table::keys;
use std::time::Duration;
use tests::{Call, Fault, Reply, TestStore};

const CARD: &str = "GLOW-7QXM-2K4D";
const TOO_MANY: &str = "Too many attempts. Please try again in 10 minutes.";

fn call(code: &str) -> Call {
    Call::post("/cart/getGift").json(&json!({ "gift": code }))
}

async fn ask(store: &TestStore, code: &str) -> Value {
    let reply = store.send(call(code)).await;
    assert_eq!((reply.status.as_u16(), reply.header("cache-control")), (200, "no-store"), "{}", reply.text);
    reply.json()
}

/// Expects a refusal with its message alone.
#[track_caller]
fn gift_refused(body: &Value, part: &str) {
    assert_eq!((&body["status"], body.as_object().unwrap().len()), (&false.into(), 2), "{body}");
    assert!(body["message"].as_str().unwrap().contains(part), "{body}");
}

async fn tries(store: &TestStore) -> Option<String> {
    let window = store.db.get(&keys::rate("code", "198.51.100.7"), true).await.unwrap();
    window.map(|window| window["hits"].as_n().unwrap().clone())
}

#[tokio::test]
async fn the_balance_of_a_card_is_shown_to_whoever_has_its_code() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!("get_gift", ask(&store, CARD).await);
    let with_token = store.send(call(" glow-7qxm-2k4d ").token(&store.token(RICH))).await;
    assert_eq!(with_token.json(), ask(&store, CARD).await);
    assert_eq!((store.calls.writes(), tries(&store).await), (0, None), "a card that can be used is not counted");
}

#[tokio::test]
async fn a_card_shows_what_was_put_on_it_and_what_is_left() {
    let store = TestStore::open().await;
    let sums = |body: &Value| (body["start_balance"].clone(), body["end_balance"].clone());
    assert_eq!(sums(&ask(&store, "ASH-3NTV-8WRC").await), (10.into(), 0.75.into()));
    let known = GiftCard { start_balance: Money::from_minor(2_500), ..gift("known", 1_999) };
    put_code(&store, &Code::Gift(known)).await;
    assert_eq!(sums(&ask(&store, "known").await), (25.into(), 19.99.into()));
}

#[tokio::test]
async fn a_card_that_cannot_be_used_is_refused_with_the_message_alone() {
    let store = TestStore::open().await;
    put_code(&store, &Code::Coupon(coupon("ten", percent(1_000)))).await;
    let cases = [
        ("no-such-card", "does not exist"),
        ("ten", "does not exist"),
        ("DUST-6MWK-1RQX", "not valid"),
        ("SOOT-8VBN-3FDJ", "not valid"),
        ("COLD-5HJP-9ZLB", "nothing left"),
    ];
    for (place, (code, part)) in cases.into_iter().enumerate() {
        gift_refused(&ask(&store, code).await, part);
        assert_eq!(tries(&store).await, Some((place + 1).to_string()), "{code}");
    }
}

#[track_caller]
fn limited(reply: &Reply) {
    assert_eq!((reply.status.as_u16(), reply.json()["message"].as_str()), (200, Some(TOO_MANY)), "{}", reply.text);
    assert_eq!(reply.header("retry-after"), "600");
}

#[tokio::test]
async fn unknown_codes_are_counted_together_with_those_of_accept_coupon() {
    let store = TestStore::open().await;
    let coupon =
        |code: &str| Call::post("/cart/acceptCoupon").token(&store.token(RICH)).json(&json!({ "coupon": code }));
    for number in 0..15 {
        gift_refused(&ask(&store, &format!("guess {number}")).await, "does not exist");
        let reply = store.send(coupon(&format!("guess {number}"))).await;
        assert_eq!(reply.json()["message"], "This code does not exist.");
    }
    let full = store.send(call(CARD)).await;
    limited(&full);
    gift_refused(&full.json(), TOO_MANY);
    limited(&store.send(coupon("EIGHTH")).await);
    assert_eq!(tries(&store).await.as_deref(), Some("30"));
    let elsewhere = store.send(call(CARD).from_ip("203.0.113.9")).await;
    assert_eq!(elsewhere.json()["status"], true);
}

const HOME: &str = "198.51.100.7";
const UNKNOWN: &str = "This code does not exist.";

fn guess(store: &TestStore, code: &str) -> Call {
    Call::post("/cart/acceptCoupon").token(&store.token(RICH)).json(&json!({ "coupon": code }))
}

/// Sends a refused code; returns its message.
async fn refused(store: &TestStore, call: Call) -> String {
    let (success, message) = outcome(&store.send(call).await);
    assert!(!success, "{message}");
    message
}

/// Fills the window of `call`'s address.
async fn fill(store: &TestStore, call: impl Fn(&str) -> Call) {
    for number in 0..30 {
        assert_eq!(refused(store, call(&format!("guess {number}"))).await, UNKNOWN, "{number}");
    }
}

/// Expects the refusal of an address over its limit.
#[track_caller]
fn assert_limited(reply: &Reply, retry_after: &str) {
    assert_eq!(outcome(reply), (false, too_many_attempts(retry_after.parse().unwrap())));
    assert_eq!(reply.json().as_object().map(serde_json::Map::len), Some(2), "{}", reply.text);
    assert_eq!([reply.header("retry-after"), reply.header("cache-control")], [retry_after, "no-store"]);
}

async fn window(store: &TestStore, address: &str) -> Option<Item> {
    store.db.get(&keys::rate("code", address), true).await.unwrap()
}

fn hits(window: &Item) -> &str {
    window["hits"].as_n().unwrap()
}

#[tokio::test]
async fn thirty_unknown_codes_are_looked_up_and_then_no_code() {
    let store = TestStore::open().await;
    fill(&store, |code| guess(&store, code)).await;
    let before = (stored(&store, RICH).await, window(&store, HOME).await);
    store.clock.advance(Duration::from_mins(1));
    for code in ["guess 30", "EIGHTH", "hearth10", "MIDWINTER", "ONCEONLY"] {
        store.calls.clear();
        assert_limited(&store.send(guess(&store, code)).await, "540");
        assert_eq!((store.calls.round_trips(), store.calls.writes()), (1, 0), "{code}");
    }
    assert_eq!((stored(&store, RICH).await, window(&store, HOME).await), before);
}

#[tokio::test]
async fn known_codes_do_not_count_with_any_outcome() {
    let store = TestStore::open().await;
    for code in ["EIGHTH", "eighth", "MIDWINTER", "ONCEONLY", "COLD-5HJP-9ZLB", "DRAGONHOARD", "GLOW-7QXM-2K4D"] {
        outcome(&store.send(guess(&store, code)).await);
    }
    let empty = Call::post("/cart/acceptCoupon").token(&store.token(NEW)).json(&json!({ "coupon": "hearth10" }));
    outcome(&store.send(empty).await);
    assert_eq!(window(&store, HOME).await, None);
    assert_eq!(refused(&store, guess(&store, "guess")).await, UNKNOWN);
    assert_eq!(hits(&window(&store, HOME).await.unwrap()), "1");
}

#[tokio::test]
async fn a_caller_or_a_body_that_is_refused_does_not_count() {
    let store = TestStore::open().await;
    let gone = store.token_of(UserId::new(9_999));
    for call in [
        Call::post("/cart/acceptCoupon").json(&json!({ "coupon": "guess" })),
        Call::post("/cart/acceptCoupon").token(&gone).json(&json!({ "coupon": "guess" })),
        guess(&store, " "),
        guess(&store, &"x".repeat(41)),
    ] {
        assert!([400, 401].contains(&store.send(call).await.status.as_u16()));
    }
    assert_eq!(window(&store, HOME).await, None);
    fill(&store, |code| guess(&store, code)).await;
    let token = Call::post("/cart/acceptCoupon").token(&gone).json(&json!({ "coupon": "guess" }));
    assert_eq!(store.send(token).await.status, 401, "the token is checked first");
}

#[tokio::test]
async fn the_limit_is_of_the_address_over_all_accounts_and_instances() {
    let mut store = TestStore::open().await;
    let other = Call::post("/cart/acceptCoupon").token(&store.token(NEW)).json(&json!({ "coupon": "guess" }));
    fill(&store, |code| guess(&store, code)).await;
    store.restart();
    assert_limited(&store.send(other).await, "600");
    assert_eq!(refused(&store, guess(&store, "guess").from_ip("198.51.100.8")).await, UNKNOWN);
    let lookup = Call::post("/payments/checkStatus").json(&json!({ "order_id": "u2qlyq2uxxth4o4j" }));
    assert_eq!(store.send(lookup).await.header("ratelimit-remaining"), "17", "other limits are counted apart");
}

#[tokio::test]
async fn a_code_is_not_called_unknown_before_it_is_counted() {
    let store = TestStore::open().await;
    for fault in [Fault::Throttled, Fault::Away, Fault::Internal] {
        store.faults.inject(move |operation| (operation == "UpdateItem").then_some(fault));
        let reply = store.send(guess(&store, "guess")).await;
        assert_eq!(reply.status, 503, "{fault:?}: {}", reply.text);
        assert!(!reply.text.contains("exist"), "{}", reply.text);
        store.faults.clear();
    }
    assert_eq!(window(&store, HOME).await, None);
}
