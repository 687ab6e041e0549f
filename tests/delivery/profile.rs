//! GET /plugin/api/{key}/profile/Thornwick.

use super::content;
use tests::{Call, TestStore};

#[tokio::test]
async fn a_profile_says_what_a_player_spent() {
    let store = TestStore::open().await;
    let shown = content(&store, "profile/Thornwick/").await.json();
    insta::assert_json_snapshot!(shown);
    let without_key = store.send(Call::get("/plugin/api/profile/Thornwick/")).await;
    assert_eq!((without_key.status.as_u16(), without_key.json()), (200, shown));
}
