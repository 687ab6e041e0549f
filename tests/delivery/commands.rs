//! The calls about commands and logins: the plugin polls, reports and confirms. And the calls as an agent makes them:
//! it names itself in its polls, and reports what the game server answered.

use serde_json::{Value, json};
use shared::model::{CommandId, CommandState};
use shared::shop::delivery::commands;
use std::time::Duration;
use tests::{Call, Fault, Reply, SERVER_KEY, TestStore};

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

const AGENT: &str = "0123456789abcdef";

async fn ask(store: &TestStore, call: &str, key: &str, agent: &str) -> Reply {
    store.send(Call::get(&format!("/plugin/api/servers/{key}/commands/{call}/?agent={agent}"))).await
}

async fn poll(store: &TestStore, key: &str, agent: &str) -> Reply {
    ask(store, "queue", key, agent).await
}

async fn output(store: &TestStore, id: u32) -> Option<String> {
    commands::get(&store.db, CommandId::new(id).unwrap()).await.unwrap().unwrap().output
}

#[tokio::test]
async fn an_agents_rows_name_their_order_and_the_plugins_do_not() {
    let store = TestStore::open().await;
    let id = store.queue_command("Thornwick", "give Thornwick diamond", true).await;
    let row = json!({
        "id": id, "username": "Thornwick", "command": "give Thornwick diamond", "is_online_required": true,
        "order": "4mjyi2i34hbzt6b6",
    });
    assert_eq!(poll(&store, SERVER_KEY, AGENT).await.json(), json!([row]));
}

#[tokio::test]
async fn a_second_agent_is_refused_and_one_that_is_none_is_named_to_a_valid_key_alone() {
    let store = TestStore::open().await;
    assert_eq!(poll(&store, SERVER_KEY, AGENT).await.status, 200);
    assert_eq!(store.poll().await, json!([]), "the plugin has no name, and is served");
    for call in ["queue", "paynow"] {
        let second = ask(&store, call, SERVER_KEY, "0123456789abcdee").await;
        assert_eq!(second.status, 409, "{}", second.text);
        for wrong in ["", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "0123456789abcdeg", "%00"] {
            let reply = ask(&store, call, SERVER_KEY, wrong).await;
            let message = "The agent parameter must be 16 digits from 0 to 9 and a to f.";
            assert_eq!((reply.status.as_u16(), &reply.json()["message"]), (400, &json!(message)), "{wrong}");
            assert_eq!(ask(&store, call, &SERVER_KEY.replace("7c", "7d"), wrong).await.status, 401);
        }
    }
}

#[tokio::test]
async fn an_agent_reports_what_ran_and_what_it_does_not_know() {
    let store = TestStore::open().await;
    let [done, unknown, plain, refused] = [
        store.queue_command("Thornwick", "give Thornwick diamond", false).await,
        store.queue_command("Thornwick", "give Thornwick stone", false).await,
        store.queue_command("Thornwick", "give Thornwick sand", false).await,
        store.queue_command("Thornwick", "gives Thornwick sand", false).await,
    ];
    poll(&store, SERVER_KEY, AGENT).await;
    let body = json!({
        "ids": [plain],
        "results": [{"id": done, "state": "done", "output": "Gave 1 [Diamond]\n"}, {"id": unknown, "state": "unknown"},
            {"id": refused, "state": "unknown", "refused": true, "output": "Unknown or incomplete command"}],
    });
    for _ in 0..2 {
        let reply = store.server_says("executed", Some(body.clone())).await;
        let results: Vec<Value> = reply.json()["results"].as_array().cloned().unwrap();
        assert!(results.iter().all(|result| result["status"] == true), "{}", reply.text);
        assert_eq!(results.len(), 4);
    }
    let states =
        [store.command_state(done).await, store.command_state(unknown).await, store.command_state(plain).await];
    assert_eq!(states, [CommandState::Executed, CommandState::Unknown, CommandState::Executed]);
    assert_eq!(store.command_state(refused).await, CommandState::Refused);
    assert_eq!(output(&store, refused).await.as_deref(), Some("Unknown or incomplete command"));
    assert_eq!(store.tell("validated", &[refused]).await, [(json!(refused), false)]);
    assert_eq!(output(&store, done).await.as_deref(), Some("Gave 1 [Diamond] "), "it is one line");
    assert_eq!(output(&store, unknown).await, None);
    assert_eq!(store.tell("validated", &[unknown]).await, [(json!(unknown), false)], "it is not repeated by itself");
    assert_eq!(store.tell("executed", &[unknown]).await, [(json!(unknown), true)]);
    assert_eq!(store.command_state(unknown).await, CommandState::Executed);
}

#[tokio::test]
async fn reports_that_are_wrong_are_named_and_change_nothing() {
    let store = TestStore::open().await;
    let id = store.queue_command("Thornwick", "give Thornwick diamond", false).await;
    let one = json!({"id": id, "state": "done"});
    for (results, field) in [
        (json!(1), "results"),
        (json!([{"state": "done"}]), "results.id"),
        (json!([{"id": id}]), "results.state"),
        (json!([{"id": id, "state": "ran"}]), "results.state"),
        (json!([{"id": id, "state": true}]), "results.state"),
        (json!([{"id": id, "state": "done", "output": 1}]), "results.output"),
        (json!([{"id": id, "state": "done", "refused": 1}]), "results.refused"),
        (json!([{"id": id, "state": "done", "output": "ä".repeat(513)}]), "results.output"),
        (json!(vec![one; 1_001]), "results"),
    ] {
        let reply = store.server_says("executed", Some(json!({ "results": results }))).await;
        let message = reply.json()["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!(reply.status, 400, "{results:.60}: {}", reply.text);
        assert!(message.starts_with(&format!("The {field} field ")), "{message}");
    }
    assert_eq!(store.command_state(id).await, CommandState::Ready);
    assert_eq!(store.server_says("executed", Some(json!({ "results": [] }))).await.status, 200);
}
