//! POST /cart/removeCoupon: removes the coupon from the cart (api.md, "POST /cart/removeCoupon").

use super::support::{NEW, RICH, WORN, ask, stored, view};
use serde_json::json;
use shared::model::Cart;
use tests::TestStore;

const PATH: &str = "/cart/removeCoupon";

#[tokio::test]
async fn the_code_is_removed_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let reply = ask(&store, PATH, RICH).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let after = stored(&store, RICH).await.unwrap();
    assert_eq!(after, Cart { coupon: None, version: before.version + 1, ..before });
    let cart = view(&store, RICH).await["cart"].clone();
    assert_eq!([&cart["coupon_code"], &cart["gift_code"]], [&json!(""), &json!("")]);
}

#[tokio::test]
async fn if_there_is_none_the_message_says_so_and_nothing_is_written() {
    let store = TestStore::open().await;
    for name in [WORN, NEW] {
        let reply = ask(&store, PATH, name).await;
        assert_eq!(reply.json(), json!({ "success": false, "message": "No coupon is on your cart." }));
    }
    assert_eq!(store.calls.writes(), 0);
    assert!(stored(&store, WORN).await.unwrap().gift_card.is_some(), "a code of the other kind stays");
}
