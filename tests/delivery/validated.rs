//! POST /plugin/api/servers/{key}/commands/validated.

use serde_json::json;
use shared::model::CommandState;
use std::time::Duration;
use tests::TestStore;

#[tokio::test]
async fn a_kept_command_may_run_when_its_player_joins() {
    let store = TestStore::open().await;
    let id = store.queue_command("Thornwick", "give Thornwick diamond", true).await;
    store.poll().await;
    assert_eq!(store.tell("delivered", &[id]).await, [(json!(id), true)]);
    assert_eq!(store.command_state(id).await, CommandState::Kept);
    store.clock.advance(Duration::from_mins(10));
    let reply = store.server_says("validated", Some(json!({ "ids": [id] }))).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(store.command_state(id).await, CommandState::Validated);
    assert_eq!(store.tell("executed", &[id]).await, [(json!(id), true)]);
    store.clock.advance(Duration::from_mins(10));
    assert_eq!(store.tell("validated", &[id]).await, [(json!(id), false)], "it has run");
}
