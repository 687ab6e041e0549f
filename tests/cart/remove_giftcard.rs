//! POST /cart/removeGiftcard: removes the gift card from the cart (api.md, "POST /cart/removeGiftcard").

use super::support::{NEW, RICH, WORN, ask, stored, view};
use serde_json::json;
use shared::model::Cart;
use tests::TestStore;

const PATH: &str = "/cart/removeGiftcard";

#[tokio::test]
async fn the_code_is_removed_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, WORN).await.unwrap();
    let reply = ask(&store, PATH, WORN).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let after = stored(&store, WORN).await.unwrap();
    assert_eq!(after, Cart { gift_card: None, version: before.version + 1, ..before });
    let cart = view(&store, WORN).await["cart"].clone();
    assert_eq!([&cart["coupon_code"], &cart["gift_code"]], [&json!(""), &json!("")]);
}

#[tokio::test]
async fn if_there_is_none_the_message_says_so_and_nothing_is_written() {
    let store = TestStore::open().await;
    for name in [RICH, NEW] {
        let reply = ask(&store, PATH, name).await;
        assert_eq!(reply.json(), json!({ "success": false, "message": "No gift card is on your cart." }));
    }
    assert_eq!(store.calls.writes(), 0);
    assert!(stored(&store, RICH).await.unwrap().coupon.is_some(), "a code of the other kind stays");
}
