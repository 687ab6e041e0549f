//! The calls of the plugin about commands and logins: it polls, reports and confirms.

use serde_json::json;
use shared::model::CommandState;
use std::time::Duration;
use tests::{Call, Fault, TestStore};

/// GET /plugin/api/servers/{key}/commands/queue
#[tokio::test]
async fn a_poll_returns_what_is_due_as_ascii_and_keeps_it_from_the_next_poll() {
    let store = TestStore::open().await;
    assert_eq!(store.poll().await, json!([]));
    let id = store.queue_command("Thornwick", "say Größe 💎", true).await;
    let reply = store.server_says("queue", None).await;
    assert!(reply.text.is_ascii(), "{}", reply.text);
    insta::assert_json_snapshot!("queue", reply.json());
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

/// GET /plugin/api/servers/{key}/commands/paynow
#[tokio::test]
async fn a_server_that_starts_is_served_again_what_it_threw_away() {
    let store = TestStore::open().await;
    let id = store.queue_command("Thornwick", "give Thornwick diamond", false).await;
    assert_eq!(store.poll().await[0]["id"], id);
    let reply = store.server_says("paynow", None).await;
    insta::assert_json_snapshot!("paynow", reply.json());
    assert_eq!(reply.json(), json!({ "status": true }));
    assert_eq!(store.poll().await[0]["id"], id);
}

/// POST /plugin/api/servers/{key}/commands/delivered and POST /plugin/api/servers/{key}/commands/executed
#[tokio::test]
async fn what_a_server_says_is_recorded_once() {
    for (call, state) in [("delivered", CommandState::Delivered), ("executed", CommandState::Executed)] {
        let store = TestStore::open().await;
        let id = store.queue_command("Thornwick", "give Thornwick diamond", false).await;
        store.poll().await;
        let reply = store.server_says(call, Some(json!({ "ids": [id] }))).await;
        insta::assert_json_snapshot!(call, reply.json());
        assert_eq!(store.tell(call, &[id]).await, [(json!(id), true)]);
        assert_eq!(store.command_state(id).await, state);
        assert_eq!(store.poll().await, json!([]));
    }
}

/// POST /plugin/api/servers/{key}/commands/validated
#[tokio::test]
async fn a_kept_command_may_run_when_its_player_joins() {
    let store = TestStore::open().await;
    let id = store.queue_command("Thornwick", "give Thornwick diamond", true).await;
    store.poll().await;
    assert_eq!(store.tell("delivered", &[id]).await, [(json!(id), true)]);
    assert_eq!(store.command_state(id).await, CommandState::Kept);
    store.clock.advance(Duration::from_mins(10));
    let reply = store.server_says("validated", Some(json!({ "ids": [id] }))).await;
    insta::assert_json_snapshot!("validated", reply.json());
    assert_eq!(store.command_state(id).await, CommandState::Validated);
    assert_eq!(store.tell("executed", &[id]).await, [(json!(id), true)]);
    store.clock.advance(Duration::from_mins(10));
    assert_eq!(store.tell("validated", &[id]).await, [(json!(id), false)], "it has run");
}

fn confirm(id: &str) -> Call {
    Call::post(&format!("/plugin/api/game_auth/confirm/{id}/")).header("content-type", "application/json").bytes([0])
}

/// POST /plugin/api/game_auth/confirm/{auth_id}
#[tokio::test]
async fn unknown_and_malformed_ids_are_responded_to_without_a_body() {
    let store = TestStore::open().await;
    for id in [&"0".repeat(32), "x", &"a".repeat(4_096), "..", "%00"] {
        let reply = store.send(confirm(id)).await;
        assert_eq!((reply.status.as_u16(), reply.text.as_str()), (200, ""), "{id:.40}");
    }
    assert_eq!(store.calls.writes(), 0);
    store.faults.inject(|_| Some(Fault::Away));
    assert_eq!(store.send(confirm(&"0".repeat(32))).await.status, 503, "while the database is away");
}
