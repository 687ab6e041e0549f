//! POST /cart/changePrice/{cid}: sets the price of an any-price line (api.md, "POST /cart/changePrice/{cid}").

use super::changes::{refused, set};
use super::support::{RICH, line_of, refuses_values, stored, view};
use serde_json::json;
use shared::model::{Cart, Money};
use tests::TestStore;

/// The call that these tests make.
const CALL: &str = "changePrice";

#[tokio::test]
async fn the_price_is_set_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let reply = set(&store, CALL, RICH, 6, &json!({ "price": "4.50" })).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let mut lines = before.lines.clone();
    lines[5].price = Some(Money::from_minor(450));
    assert_eq!(stored(&store, RICH).await.unwrap(), Cart { lines, version: before.version + 1, ..before });
    assert_eq!(line_of(&view(&store, RICH).await, 601)["price"], 4.5);
    store.calls.clear();
    assert_eq!(set(&store, CALL, RICH, 6, &json!({ "price": 4.5 })).await.status, 200);
    assert_eq!(store.calls.writes(), 0, "the same price writes nothing");
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
        let message = refused(&store, CALL, RICH, line, &json!({ "price": price })).await;
        assert!(message.contains(part), "{line} {price}: {message}");
    }
}

#[tokio::test]
async fn a_body_with_a_wrong_field_is_a_400_that_names_it() {
    let store = TestStore::open().await;
    let fields: &[(&str, &[&str])] = &[
        (
            "price",
            &["null", "\"\"", "true", "[1]", "\"1e3\"", "1e3", "1e400", "\"-0\"", "-0", "-1.5", "\"0.001\"", "1.001"],
        ),
        ("price", &["\"\u{661}\"", "\"1,50\"", "\"+1\"", "\"017\"", "\"NaN\""]),
    ];
    refuses_values(&store, "/cart/changePrice/6", RICH, fields).await;
}
