//! The calls about referral codes (rules.md, "Referral codes"): POST /cart/setReferral, POST /cart/removeReferral, and
//! POST /capture-referral with the cookie that it sets.

use super::support::{
    NEW, RICH, WORN, ask, outcome, put_cart, put_referral, republish, sample_referral, stored, tell, text, user, view,
};
use serde_json::{Value, json};
use shared::model::{Cart, Referral, UserId};
use std::collections::BTreeSet;
use tests::{Call, Reply, TestStore};

const SET: &str = "/cart/setReferral";

async fn set(store: &TestStore, name: &str, code: &str) -> Reply {
    tell(store, SET, name, "ref_code", code).await
}

/// Expects `success` and no write; returns the message.
async fn unwritten(store: &TestStore, name: &str, code: &str, expected: bool) -> String {
    let before = stored(store, name).await;
    store.calls.clear();
    let reply = set(store, name, code).await;
    let (success, message) = outcome(&reply);
    assert_eq!(success, expected, "{code}: {message}");
    assert_eq!(reply.json().as_object().unwrap().len(), 2);
    assert_eq!(store.calls.writes(), 0, "{code}");
    assert_eq!(stored(store, name).await, before, "{code}");
    message
}

#[tokio::test]
async fn a_code_is_applied() {
    let store = TestStore::open().await;
    let reply = set(&store, WORN, "toadmail").await;
    insta::assert_json_snapshot!("set_referral", reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    assert_eq!(stored(&store, WORN).await.unwrap().referral, Some(text("toadmail")));
    assert_eq!(view(&store, WORN).await["cart"]["referral"], "Grimble");
}

#[tokio::test]
async fn the_same_code_again_succeeds_and_writes_nothing() {
    let store = TestStore::open().await;
    unwritten(&store, RICH, "lantern", true).await;
    unwritten(&store, RICH, " LANTERN ", true).await;
}

#[tokio::test]
async fn every_outcome_has_a_message_of_its_own() {
    let store = TestStore::open().await;
    let mut messages = BTreeSet::new();
    messages.insert(unwritten(&store, NEW, "no-such-code", false).await);
    messages.insert(unwritten(&store, WORN, "lantern", false).await);
    messages.insert(unwritten(&store, RICH, "lantern", true).await);
    let another = unwritten(&store, RICH, "toadmail", false).await;
    assert!(another.contains("remove it first"), "{another}");
    messages.insert(another);
    messages.insert(outcome(&set(&store, NEW, "lantern").await).1);
    assert_eq!(messages.len(), 5, "{messages:?}");
}

#[tokio::test]
async fn no_code_is_accepted_while_referrals_are_off() {
    let store = TestStore::open().await;
    let unknown = unwritten(&store, NEW, "no-such-code", false).await;
    republish(&store, |compiled| compiled.config.is_ref = false).await;
    assert_eq!(unwritten(&store, NEW, "lantern", false).await, unknown);
    assert_eq!(unwritten(&store, RICH, "lantern", false).await, unknown, "also if it is already set");
}

#[tokio::test]
async fn the_reasons_are_checked_in_their_order() {
    let store = TestStore::open().await;
    let unknown = unwritten(&store, NEW, "no-such-code", false).await;
    let own = unwritten(&store, WORN, "lantern", false).await;
    // Quillfeather's own code, which is off; unknown and own codes with another one set.
    assert_eq!(unwritten(&store, WORN, "oldroad", false).await, unknown);
    assert_eq!(unwritten(&store, RICH, "no-such-code", false).await, unknown);
    assert_eq!(unwritten(&store, RICH, "thornwick", false).await, own);
}

#[tokio::test]
async fn a_code_that_is_disabled_or_deleted_does_not_block_another() {
    let store = TestStore::open().await;
    put_referral(&store, &Referral { active: false, ..sample_referral("lantern") }).await;
    assert_eq!(view(&store, RICH).await["cart"]["referral"], Value::Null);
    store.calls.clear();
    let reply = set(&store, RICH, "toadmail").await;
    assert_eq!(reply.json(), json!({ "success": true, "message": "The referral code was applied." }));
    assert_eq!(store.calls.round_trips(), 3, "one read more than usual: {:?}", store.calls.operations());
    assert_eq!(stored(&store, RICH).await.unwrap().referral, Some(text("toadmail")));
    let gone = Cart { referral: Some(text("gone")), ..stored(&store, RICH).await.unwrap() };
    put_cart(&store, &gone).await;
    assert!(outcome(&set(&store, RICH, "toadmail").await).0);
    assert_eq!(view(&store, RICH).await["cart"]["referral_code"], "toadmail");
}

const REMOVE: &str = "/cart/removeReferral";

#[tokio::test]
async fn the_code_is_removed() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let reply = ask(&store, REMOVE, RICH).await;
    insta::assert_json_snapshot!("remove_referral", reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let after = stored(&store, RICH).await.unwrap();
    assert_eq!(after, shared::model::Cart { referral: None, version: before.version + 1, ..before });
    let cart = view(&store, RICH).await["cart"].clone();
    assert_eq!([&cart["referral"], &cart["referral_code"]], [&json!(null), &json!("")]);
}

#[tokio::test]
async fn if_none_is_set_the_message_says_so_and_nothing_is_written() {
    let store = TestStore::open().await;
    for name in [WORN, NEW] {
        let reply = ask(&store, REMOVE, name).await;
        assert_eq!(reply.json(), json!({ "success": false, "message": "No referral code is set." }));
    }
    assert_eq!(store.calls.writes(), 0);
    assert_eq!(stored(&store, NEW).await, None);
}

#[tokio::test]
async fn a_code_that_is_no_longer_in_force_can_still_be_removed() {
    let store = TestStore::open().await;
    put_referral(&store, &Referral { active: false, ..sample_referral("lantern") }).await;
    republish(&store, |compiled| compiled.config.is_ref = false).await;
    assert!(outcome(&ask(&store, REMOVE, RICH).await).0);
    assert_eq!(stored(&store, RICH).await.unwrap().referral, None);
}

fn capture(code: &str) -> Call {
    Call::post("/capture-referral").json(&json!({ "ref": code }))
}

fn add(store: &TestStore, name: &str) -> Call {
    Call::post("/cart/add/201").token(&store.token(name)).json(&json!({}))
}

/// The cookie that a browser sends after a response.
fn kept(reply: &Reply) -> String {
    reply.header("set-cookie").split(';').next().unwrap().to_owned()
}

#[track_caller]
fn cleared(reply: &Reply) {
    let cookie = reply.header("set-cookie");
    assert!(cookie.starts_with("captured_referral=; Max-Age=0; Path=/;"), "{cookie:?}: {}", reply.text);
}

#[tokio::test]
async fn with_a_token_a_code_is_applied_as_by_set_referral() {
    let store = TestStore::open().await;
    let reply = store.send(capture("toadmail").token(&store.token(WORN))).await;
    insta::assert_json_snapshot!("capture_referral__with_a_token_a_code_is_applied_as_by_set_referral", reply.json());
    assert_eq!([reply.header("set-cookie"), reply.header("cache-control")], ["", "no-store"]);
    assert_eq!(stored(&store, WORN).await.unwrap().referral, Some(text("toadmail")));
}

#[tokio::test]
async fn with_a_token_every_other_outcome_is_that_of_set_referral_and_writes_nothing() {
    let store = TestStore::open().await;
    for (name, code) in
        [(NEW, "no-such-code"), (NEW, "oldroad"), (WORN, "lantern"), (RICH, "lantern"), (RICH, "toadmail")]
    {
        store.calls.clear();
        let set = Call::post("/cart/setReferral").token(&store.token(name)).json(&json!({ "ref_code": code }));
        let set = store.send(set).await.json();
        let body = store.send(capture(code).token(&store.token(name))).await.json();
        let expected = json!({
            "success": set["success"], "attribution_applied": set["success"], "message": set["message"],
        });
        assert_eq!((body, store.calls.writes()), (expected, 0), "{name}, {code}");
    }
}

#[tokio::test]
async fn without_a_token_the_browser_keeps_a_code_that_exists() {
    let store = TestStore::open().await;
    let reply = store.send(capture(" LANTERN ")).await;
    insta::assert_json_snapshot!(
        "capture_referral__without_a_token_the_browser_keeps_a_code_that_exists",
        reply.json()
    );
    let cookie = reply.header("set-cookie");
    assert_eq!(cookie, "captured_referral=lantern; Max-Age=2592000; Path=/; HttpOnly; Secure; SameSite=Lax");
    for code in ["no-such-code", "oldroad", "HEARTH10"] {
        let reply = store.send(capture(code)).await;
        assert_eq!((&reply.json()["success"], reply.header("set-cookie")), (&false.into(), ""), "{code}");
    }
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn a_token_that_is_not_valid_counts_as_none() {
    let store = TestStore::open().await;
    for token in ["a.b.c", "undefined", &store.token("Grimble"), &store.token_of(UserId::new(4_711))] {
        let reply = store.send(capture("lantern").token(token)).await;
        assert_eq!((&reply.json()["success"], kept(&reply).as_str()), (&true.into(), "captured_referral=lantern"));
    }
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn referrals_that_are_off_capture_nothing() {
    let store = TestStore::open().await;
    let cookie = kept(&store.send(capture("lantern")).await);
    crate::support::configure(&store, |config| config.is_ref = false).await;
    let reply = store.send(capture("lantern")).await;
    assert_eq!((&reply.json()["success"], reply.header("set-cookie")), (&false.into(), ""));
    cleared(&store.send(add(&store, NEW).header("cookie", &cookie)).await);
    assert_eq!(stored(&store, NEW).await.unwrap().referral, None);
}

#[tokio::test]
async fn the_first_write_of_the_browser_applies_the_code_once() {
    let store = TestStore::open().await;
    let cookie = kept(&store.send(capture("lantern")).await);
    // Reads leave it alone, and so does a caller without a token.
    for path in ["/cart/get", "/cart/getPromoted", "/cart/getSelectServers"] {
        let call = Call::post(path).header("cookie", &cookie);
        assert_eq!(store.send(call.token(&store.token(NEW))).await.header("set-cookie"), "", "{path}");
    }
    let anonymous = Call::post("/cart/add/201").json(&json!({})).header("cookie", &cookie);
    assert_eq!(store.send(anonymous).await.header("set-cookie"), "");
    store.calls.clear();
    let reply = store.send(add(&store, NEW).header("cookie", &cookie)).await;
    assert_eq!((reply.status.as_u16(), store.calls.writes()), (200, 1), "the same write");
    cleared(&reply);
    let cart = stored(&store, NEW).await.unwrap();
    assert_eq!((cart.referral, cart.lines.len(), cart.version), (Some(text("lantern")), 1, 1));
    assert_eq!(view(&store, NEW).await["cart"]["referral_code"], "lantern");
    // The browser no longer has it.
    assert_eq!(store.send(add(&store, NEW)).await.header("set-cookie"), "");
}

#[tokio::test]
async fn a_code_on_the_cart_that_is_not_in_force_does_not_block_the_captured_one() {
    for (on_cart, expected) in [("oldroad", "lantern"), ("no-such-code", "lantern"), ("toadmail", "toadmail")] {
        let store = TestStore::open().await;
        let empty = Cart::empty(user(NEW));
        put_cart(&store, &Cart { version: 1, referral: Some(text(on_cart)), ..empty }).await;
        let reply = store.send(add(&store, NEW).header("cookie", "captured_referral=lantern")).await;
        cleared(&reply);
        assert_eq!(stored(&store, NEW).await.unwrap().referral, Some(text(expected)), "{on_cart}");
    }
}

#[tokio::test]
async fn a_refused_write_keeps_the_cookie_for_the_next_one() {
    let store = TestStore::open().await;
    let cookie = kept(&store.send(capture("lantern")).await);
    let refused = Call::post("/cart/add/999999").token(&store.token(NEW)).json(&json!({})).header("cookie", &cookie);
    let refused = store.send(refused).await;
    assert_eq!((refused.status.as_u16(), refused.header("set-cookie")), (422, ""));
    let done = Call::post("/cart/removeCoupon").token(&store.token(NEW)).header("cookie", &cookie);
    let done = store.send(done).await;
    assert_eq!((&done.json()["success"], done.header("set-cookie")), (&false.into(), ""), "nothing was written");
    assert_eq!(stored(&store, NEW).await, None);
}

#[tokio::test]
async fn a_code_that_the_rules_refuse_is_dropped_with_the_first_write() {
    let store = TestStore::open().await;
    // The buyer's own, a disabled one, one that does not exist, and what no code can be.
    for value in ["lantern", "oldroad", "no-such-code"] {
        let call = Call::post("/cart/remove/1").token(&store.token(WORN));
        let before = stored(&store, WORN).await.unwrap();
        let line = before.lines.first().map_or(0, |line| line.id.get());
        let call = if line == 0 { call } else { Call::post(&format!("/cart/remove/{line}")).token(&store.token(WORN)) };
        let reply = store.send(call.header("cookie", &format!("captured_referral={value}"))).await;
        assert_eq!(reply.json()["success"], true, "{}", reply.text);
        cleared(&reply);
        assert_eq!(stored(&store, WORN).await.unwrap().referral, None, "{value}");
    }
    for value in ["", "%ff", "%20", &"x".repeat(256)] {
        let reply = store.send(add(&store, NEW).header("cookie", &format!("captured_referral={value}"))).await;
        cleared(&reply);
        assert_eq!(stored(&store, NEW).await.unwrap().referral, None, "{value}");
    }
}

#[tokio::test]
async fn a_code_on_the_cart_stays_and_a_removed_one_is_not_replaced() {
    let store = TestStore::open().await;
    let cookie = kept(&store.send(capture("toadmail")).await);
    assert_eq!(stored(&store, RICH).await.unwrap().referral, Some(text("lantern")));
    cleared(&store.send(add(&store, RICH).header("cookie", &cookie)).await);
    assert_eq!(stored(&store, RICH).await.unwrap().referral, Some(text("lantern")));
    let remove = Call::post("/cart/removeReferral").token(&store.token(RICH)).header("cookie", &cookie);
    cleared(&store.send(remove).await);
    assert_eq!(stored(&store, RICH).await.unwrap().referral, None);
}

#[tokio::test]
async fn the_cookie_costs_no_round_trip() {
    let store = TestStore::open().await;
    store.send(add(&store, NEW)).await;
    let mut trips = Vec::new();
    for cookie in ["other=1", "captured_referral=lantern"] {
        store.calls.clear();
        assert_eq!(store.send(add(&store, NEW).header("cookie", cookie)).await.status, 200);
        trips.push(store.calls.round_trips());
    }
    assert_eq!(trips, [2, 2]);
}

#[tokio::test]
async fn a_page_of_another_origin_may_send_the_cookie_if_the_origin_is_named() {
    let store = TestStore::open_with(&[("AllowedOrigins", "https://shop.example")]).await;
    let reply = store.send(capture("lantern").header("origin", "https://shop.example")).await;
    assert_eq!(reply.header("access-control-allow-credentials"), "true");
    assert_eq!(reply.header("access-control-allow-origin"), "https://shop.example");
    assert_eq!(kept(&reply), "captured_referral=lantern");
}
