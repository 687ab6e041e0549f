//! POST /cart/setReferral.

use super::support::{
    NEW, RICH, WORN, outcome, put_cart, put_referral, republish, sample_referral, stored, tell, text, view,
};
use serde_json::{Value, json};
use shared::model::{Cart, Referral};
use std::collections::BTreeSet;
use tests::{Reply, TestStore};

const PATH: &str = "/cart/setReferral";

async fn set(store: &TestStore, name: &str, code: &str) -> Reply {
    tell(store, PATH, name, "ref_code", code).await
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
    insta::assert_json_snapshot!(reply.json());
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
