//! POST /plugin/api/servers/{key}/commands/executed.

use serde_json::json;
use shared::model::CommandState;
use tests::TestStore;

#[tokio::test]
async fn what_a_server_says_is_recorded_once() {
    let store = TestStore::open().await;
    let id = store.queue_command("Thornwick", "give Thornwick diamond", false).await;
    store.poll().await;
    let reply = store.server_says("executed", Some(json!({ "ids": [id] }))).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(store.tell("executed", &[id]).await, [(json!(id), true)]);
    assert_eq!(store.command_state(id).await, CommandState::Executed);
    assert_eq!(store.poll().await, json!([]));
}
