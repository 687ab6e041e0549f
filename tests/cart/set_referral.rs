//! POST /cart/setReferral.

use super::support::{
    NEW, RICH, WORN, ask, outcome, put_cart, put_referral, republish, sample_referral, stored, tell, text, user, view,
};
use crate::bodies::Reader;
use serde_json::{Value, json};
use shared::model::{Cart, ItemId, Referral};
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
async fn a_user_who_never_had_a_cart_can_set_a_code() {
    let store = TestStore::open().await;
    assert!(outcome(&set(&store, NEW, "lantern").await).0);
    let cart = stored(&store, NEW).await.unwrap();
    assert_eq!((cart.version, cart.referral), (1, Some(text("lantern"))));
    assert_eq!(view(&store, NEW).await["cart"]["referral_code"], "lantern");
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
async fn a_disabled_code_is_refused_like_an_unknown_one() {
    let store = TestStore::open().await;
    let unknown = unwritten(&store, NEW, "no-such-code", false).await;
    assert_eq!(unwritten(&store, NEW, "oldroad", false).await, unknown);
    // A coupon is not a referral code.
    assert_eq!(unwritten(&store, NEW, "HEARTH10", false).await, unknown);
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
async fn codes_are_trimmed_and_lower_cased_and_never_upper_cased() {
    let store = TestStore::open().await;
    let owner = user(RICH);
    let referral = Referral { code: text("gruß"), owner, owner_name: RICH.to_owned(), active: true };
    put_referral(&store, &referral).await;
    let unknown = unwritten(&store, NEW, "no-such-code", false).await;
    assert_eq!(unwritten(&store, NEW, "gruss", false).await, unknown);
    assert!(outcome(&set(&store, NEW, "\tGRUẞ ").await).0);
}

#[tokio::test]
async fn a_code_has_at_most_255_characters_as_sent() {
    let store = TestStore::open().await;
    let long = "ü".repeat(255);
    put_referral(&store, &Referral { code: text(&long), ..sample_referral("lantern") }).await;
    for code in [format!("{long}ü"), format!("{long} "), format!("{:256}", "lantern")] {
        let reply = set(&store, NEW, &code).await;
        assert_eq!(reply.status, 400);
        assert_eq!(reply.json()["success"], false);
    }
    assert!(outcome(&set(&store, NEW, &long).await).0);
}

#[tokio::test]
async fn a_line_that_is_known_to_be_unpublished_is_removed_by_the_write() {
    let store = TestStore::open().await;
    view(&store, WORN).await;
    assert!(outcome(&set(&store, WORN, "toadmail").await).0);
    let lines = stored(&store, WORN).await.unwrap().lines;
    assert_eq!(lines.iter().filter(|line| line.item == ItemId::new(801)).count(), 0);
    assert_eq!(lines.len(), 5);
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

#[tokio::test]
async fn the_rest_of_the_cart_does_not_change() {
    let store = TestStore::open().await;
    let before = stored(&store, WORN).await.unwrap();
    set(&store, WORN, "toadmail").await;
    let after = stored(&store, WORN).await.unwrap();
    assert_eq!((after.coupon, after.next_line, after.version), (before.coupon, before.next_line, before.version + 1));
    assert!(outcome(&ask(&store, "/cart/removeReferral", WORN).await).0);
}

fn reader() -> Reader {
    Reader {
        path: PATH,
        field: "ref_code",
        good: "lantern",
        longest: 255,
        refused: json!({ "success": false }),
        admit: |store, call| call.token(&store.token(NEW)),
    }
}

fn is_set(body: &Value) -> bool {
    body["success"] == true
}

#[tokio::test]
async fn malformed_bodies_are_refused_and_nothing_is_written() {
    let store = TestStore::open().await;
    reader().refuses_malformed_bodies(&store, 0).await;
    assert_eq!(stored(&store, NEW).await, None);
}

#[tokio::test]
async fn odd_texts_are_unknown_codes() {
    let store = TestStore::open().await;
    reader().takes_odd_texts_for_what_they_are(&store, |body| body["success"] == false).await;
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn any_json_with_a_code_is_read() {
    let store = TestStore::open().await;
    reader().reads_whatever_is_json(&store, is_set).await;
    assert_eq!(store.calls.writes(), 1, "the first sets it, the others read it");
}

#[tokio::test]
async fn a_number_in_an_unknown_field_is_ignored_however_large() {
    let store = TestStore::open().await;
    reader().ignores_numbers_that_nobody_reads(&store, is_set).await;
}

#[tokio::test]
async fn a_body_of_more_than_16_kib_is_refused() {
    let store = TestStore::open().await;
    reader().refuses_one_byte_more_than_16_kib(&store).await;
    assert_eq!(store.calls.writes(), 0);
}
