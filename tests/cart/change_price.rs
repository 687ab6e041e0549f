//! POST /cart/changePrice/{cid}: sets the price of an any-price line (api.md, "POST /cart/changePrice/{cid}").

use super::support::{
    NEW, RICH, cart_of, line, line_of, post, post_text, put_cart, reads_the_id, refusal, refuses_bodies, stored, view,
};
use serde_json::{Value, json};
use shared::model::{Cart, Money};
use tests::{Fault, Reply, TestStore};

async fn set(store: &TestStore, name: &str, line: u64, body: &Value) -> Reply {
    post(store, &format!("/cart/changePrice/{line}"), name, body).await
}

/// The message with which a change is refused, with 422 and without a write.
async fn refused(store: &TestStore, name: &str, line: u64, body: &Value) -> String {
    let before = stored(store, name).await;
    store.calls.clear();
    let message = refusal(&set(store, name, line, body).await, 422);
    assert_eq!(store.calls.writes(), 0, "{line} {body}");
    assert_eq!(stored(store, name).await, before, "{line} {body}");
    message
}

#[tokio::test]
async fn a_line_that_is_not_in_the_callers_cart_does_not_exist() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(NEW, &[(201, 1)])).await;
    let before = stored(&store, RICH).await;
    for (name, line) in [(RICH, 999), (NEW, 6)] {
        assert_eq!(refused(&store, name, line, &json!({ "price": "4.50" })).await, "This line does not exist.");
    }
    assert_eq!(stored(&store, RICH).await, before);
}

#[tokio::test]
async fn what_is_not_a_decimal_number_is_404_and_blanks_around_one_do_not_matter() {
    let store = TestStore::open().await;
    reads_the_id(&store, "/cart/changePrice", "6", RICH, &json!({ "price": "4.50" })).await;
}

#[tokio::test]
async fn writers_that_keep_colliding_are_409() {
    let store = TestStore::open().await;
    store.faults.inject(|operation| (operation == "UpdateItem").then_some(Fault::TransactionConflict));
    assert!(refusal(&set(&store, RICH, 6, &json!({ "price": "4.50" })).await, 409).contains("try again"));
}

#[tokio::test]
async fn the_price_is_set_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let reply = set(&store, RICH, 6, &json!({ "price": "4.50" })).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let mut lines = before.lines.clone();
    lines[5].price = Some(Money::from_minor(450));
    assert_eq!(stored(&store, RICH).await.unwrap(), Cart { lines, version: before.version + 1, ..before });
    assert_eq!(line_of(&view(&store, RICH).await, 601)["price"], 4.5);
    store.calls.clear();
    assert_eq!(set(&store, RICH, 6, &json!({ "price": 4.5 })).await.status, 200);
    assert_eq!(store.calls.writes(), 0, "the same price writes nothing");
}

#[tokio::test]
async fn a_price_is_read_digit_by_digit_from_a_number_or_a_text() {
    let store = TestStore::open().await;
    for (price, cents) in [
        ("1", 100),
        ("\"1\"", 100),
        ("1.1", 110),
        ("1.10", 110),
        ("\" 2.30 \"", 230),
        ("\"2.3\"", 230),
        ("9007199254.93", 900_719_925_493),
        ("\"10000000000\"", 1_000_000_000_000),
    ] {
        let reply = post_text(&store, "/cart/changePrice/6", RICH, &format!("{{\"price\":{price}}}")).await;
        assert_eq!(reply.json(), json!({ "success": true }), "{price}");
        assert_eq!(line(&store, RICH, 6).await.price, Some(Money::from_minor(cents)), "{price}");
    }
}

#[tokio::test]
async fn a_price_that_the_item_does_not_have_is_a_422() {
    let store = TestStore::open().await;
    for (line, price, part) in [
        (2, json!("1.99"), "cannot be chosen"),
        (6, json!("0.99"), "below this item's minimum"),
        (6, json!(0), "below this item's minimum"),
        (6, json!("10000000000.01"), "too high"),
        (6, json!("9".repeat(400)), "too high"),
    ] {
        let message = refused(&store, RICH, line, &json!({ "price": price })).await;
        assert!(message.contains(part), "{line} {price}: {message}");
    }
}

#[tokio::test]
async fn a_body_with_a_wrong_field_is_a_400_that_names_it() {
    let store = TestStore::open().await;
    let cases = [
        ("[]", "request body"),
        ("", "price field"),
        ("{\"price\":null}", "price field"),
        ("{\"price\":\"\"}", "price field"),
        ("{\"price\":true}", "price field"),
        ("{\"price\":[1]}", "price field"),
        ("{\"price\":\"1e3\"}", "price field"),
        ("{\"price\":1e3}", "price field"),
        ("{\"price\":1e400}", "price field"),
        ("{\"price\":\"-0\"}", "price field"),
        ("{\"price\":-0}", "price field"),
        ("{\"price\":-1.5}", "price field"),
        ("{\"price\":\"0.001\"}", "price field"),
        ("{\"price\":1.001}", "price field"),
        ("{\"price\":\"\u{661}\"}", "price field"),
        ("{\"price\":\"1,50\"}", "price field"),
        ("{\"price\":\"+1\"}", "price field"),
        ("{\"price\":\"017\"}", "price field"),
        ("{\"price\":\"NaN\"}", "price field"),
    ];
    refuses_bodies(&store, "/cart/changePrice/6", RICH, &cases).await;
}
