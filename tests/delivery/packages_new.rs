//! GET /plugin/api/{key}/gui/packages_new.

use super::content;
use tests::{Call, TestStore};

#[tokio::test]
async fn the_shop_in_the_game_sells_nothing() {
    let store = TestStore::open().await;
    let shown = content(&store, "gui/packages_new/").await.json();
    insta::assert_json_snapshot!(shown);
    let without_key = store.send(Call::get("/plugin/api/gui/packages_new/")).await;
    assert_eq!((without_key.status.as_u16(), without_key.json()), (200, shown));
}
