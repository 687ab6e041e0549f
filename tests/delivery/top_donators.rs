//! GET /plugin/api/{key}/top_donators.

use super::content;
use tests::{Call, TestStore};

#[tokio::test]
async fn the_largest_patrons_are_listed_by_pages() {
    let store = TestStore::open().await;
    let shown = content(&store, "top_donators/").await.json();
    insta::assert_json_snapshot!(shown);
    let without_key = store.send(Call::get("/plugin/api/top_donators/")).await;
    assert_eq!((without_key.status.as_u16(), without_key.json()), (200, shown));
}
