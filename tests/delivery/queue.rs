//! GET /plugin/api/servers/{key}/commands/queue.

use serde_json::json;
use shared::model::CommandState;
use std::time::Duration;
use tests::TestStore;

#[tokio::test]
async fn a_poll_returns_what_is_due_as_ascii_and_keeps_it_from_the_next_poll() {
    let store = TestStore::open().await;
    assert_eq!(store.poll().await, json!([]));
    let id = store.queue_command("Thornwick", "say Größe 💎", true).await;
    let reply = store.server_says("queue", None).await;
    assert!(reply.text.is_ascii(), "{}", reply.text);
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(reply.json()[0]["id"], id);
    assert_eq!(store.command_state(id).await, CommandState::Served);
    assert_eq!(store.poll().await, json!([]), "under the lease");
    store.clock.advance(Duration::from_secs(61));
    assert_eq!(store.poll().await[0]["id"], id, "nothing was said about it");
}

#[tokio::test]
async fn an_empty_poll_takes_one_round_trip_and_writes_nothing() {
    let store = TestStore::open().await;
    store.poll().await;
    store.calls.clear();
    assert_eq!(store.poll().await, json!([]));
    assert_eq!((store.calls.round_trips(), store.calls.writes()), (1, 0), "{:?}", store.calls.operations());
}
