//! GET /plugin/api/{key}/donation_goal.

use super::content;
use tests::{Call, TestStore};

#[tokio::test]
async fn the_goals_are_those_of_the_settings() {
    let store = TestStore::open().await;
    let shown = content(&store, "donation_goal/").await.json();
    insta::assert_json_snapshot!(shown);
    let without_key = store.send(Call::get("/plugin/api/donation_goal/")).await;
    assert_eq!((without_key.status.as_u16(), without_key.json()), (200, shown));
}
