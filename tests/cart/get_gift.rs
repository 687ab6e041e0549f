//! POST /cart/getGift.

use super::support::{RICH, coupon, gift, percent, put_code};
use serde_json::{Value, json};
use shared::model::{Code, GiftCard, Money};
use shared::table::keys;
use tests::{Call, Reply, TestStore};

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
fn refused(body: &Value, part: &str) {
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
    insta::assert_json_snapshot!(ask(&store, CARD).await);
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
        refused(&ask(&store, code).await, part);
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
        refused(&ask(&store, &format!("guess {number}")).await, "does not exist");
        let reply = store.send(coupon(&format!("guess {number}"))).await;
        assert_eq!(reply.json()["message"], "This code does not exist.");
    }
    let full = store.send(call(CARD)).await;
    limited(&full);
    refused(&full.json(), TOO_MANY);
    limited(&store.send(coupon("EIGHTH")).await);
    assert_eq!(tries(&store).await.as_deref(), Some("30"));
    let elsewhere = store.send(call(CARD).from_ip("203.0.113.9")).await;
    assert_eq!(elsewhere.json()["status"], true);
}
