//! Requests that no plugin sends: ids and bodies that are wrong, and calls that do not exist.

use crate::support::put;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;
use shared::clock::Clock as _;
use shared::model::{CommandId, CommandState};
use shared::table::codec::encode_live;
use shared::table::keys;
use tests::{Call, Fault, SERVER, SERVER_KEY, TestStore};

const CALLS: [(&str, &str); 5] =
    [("GET", "queue"), ("GET", "paynow"), ("POST", "delivered"), ("POST", "executed"), ("POST", "validated")];

fn call(method: &str, key: &str, call: &str, body: &str) -> Call {
    let path = format!("/plugin/api/servers/{key}commands/{call}/");
    if method == "GET" { Call::get(&path) } else { Call::post(&path).bytes(body.to_owned()) }
}

#[tokio::test]
async fn ids_that_cannot_be_are_named_false_and_change_nothing() {
    let store = TestStore::open().await;
    let id = store.queue_command("Thornwick", "give Thornwick diamond", false).await;
    for name in ["delivered", "executed", "validated"] {
        let sent = json!({ "ids": [0, -1, 2_147_483_648_u32, -9_223_372_036_854_775_808_i64, 0] });
        let reply = store.server_says(name, Some(sent)).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        let results = reply.json()["results"].as_array().cloned().unwrap();
        assert_eq!(results.len(), 4, "each once: {}", reply.text);
        assert!(results.iter().all(|result| result["status"] == json!(false)), "{}", reply.text);
    }
    assert_eq!(store.command_state(id).await, CommandState::Ready);
}

#[tokio::test]
async fn ids_that_the_server_does_not_have_change_nothing() {
    let store = TestStore::open().await;
    let id = store.queue_command("Thornwick", "give Thornwick diamond", false).await;
    let (unknown, largest) = (id + 1, 2_147_483_647);
    store.calls.clear();
    for name in ["delivered", "executed", "validated"] {
        let answers = store.tell(name, &[unknown, largest, unknown]).await;
        assert_eq!(answers, [(json!(unknown), true), (json!(largest), true)], "{name}");
    }
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn bodies_that_are_not_lists_of_at_most_ten_thousand_numbers_are_refused() {
    let store = TestStore::open().await;
    let many = |count: u32| json!({ "ids": (1..=count).collect::<Vec<_>>() }).to_string();
    let bad = [
        "",
        "{",
        "[]",
        "{}",
        r#"{"ids":1}"#,
        r#"{"ids":["7"]}"#,
        r#"{"ids":[1.5]}"#,
        r#"{"ids":[null]}"#,
        r#"{"ids":{}}"#,
        r#"{"ids":[9223372036854775808]}"#,
        "\0",
        &many(10_001),
    ];
    for name in ["delivered", "executed", "validated"] {
        for body in bad {
            let reply = store.send(call("POST", &format!("{SERVER_KEY}/"), name, body)).await;
            assert_eq!(reply.status, 400, "{name} {body:.40}: {}", reply.text);
        }
        let empty = store.send(call("POST", &format!("{SERVER_KEY}/"), name, r#"{"ids":[]}"#)).await;
        assert_eq!((empty.status.as_u16(), &empty.json()["results"]), (200, &json!([])));
        let large = format!("{{\"ids\":[1]{}}}", " ".repeat(256 * 1024));
        assert_eq!(store.send(call("POST", &format!("{SERVER_KEY}/"), name, &large)).await.status, 413);
    }
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn calls_of_add_ons_do_not_exist() {
    let store = TestStore::open().await;
    for path in [
        "createCoupon",
        "createGiftCard",
        "cart/getGift",
        "payment/markAsPaid/1",
        "payment/handle",
        "in-game/manageSubscriptions",
    ] {
        for call in [Call::get, Call::post] {
            let reply = store.send(call(&format!("/plugin/api/{SERVER_KEY}/{path}/"))).await;
            assert_eq!((reply.status.as_u16(), reply.text.as_str()), (404, r#"{"message":"Not Found"}"#), "{path}");
        }
    }
    assert!(store.calls.operations().is_empty());
}

#[tokio::test]
async fn a_word_before_the_command_was_served_counts_and_a_second_one_changes_nothing() {
    let store = TestStore::open().await;
    let id = store.queue_command("Thornwick", "give Thornwick diamond", false).await;
    assert_eq!(store.tell("executed", &[id, id]).await, [(json!(id), true)]);
    assert_eq!(store.tell("delivered", &[id]).await, [(json!(id), true)]);
    assert_eq!(store.command_state(id).await, CommandState::Executed);
    assert_eq!(store.poll().await, json!([]));
}

#[tokio::test]
async fn while_the_database_is_away_reads_are_empty_and_words_are_refused() {
    let store = TestStore::open().await;
    store.faults.inject(|_| Some(Fault::Away));
    // It is not known whether a key is one.
    for key in [SERVER_KEY, &SERVER_KEY.replace("7c", "7d")] {
        for (method, name) in CALLS {
            let reply = store.send(call(method, &format!("{key}/"), name, r#"{"ids":[1]}"#)).await;
            assert_eq!(reply.status.as_u16(), if method == "GET" { 200 } else { 503 }, "{name}: {}", reply.text);
            assert!(!reply.text.is_empty(), "an empty body ends the plugin");
        }
        for name in ["gui/packages_new", "donation_goal", "getTotalPayments", "top_donators", "profile/Thornwick"] {
            let reply = store.send(Call::get(&format!("/plugin/api/{key}/{name}/"))).await;
            assert_eq!(reply.status, 200, "{name}: {}", reply.text);
        }
    }
}

#[tokio::test]
async fn rows_of_a_queue_that_cannot_be_read_keep_no_other_from_running() {
    let store = TestStore::open().await;
    // More of them than a poll serves, and before what can be read.
    for _ in 0..200 {
        let id = CommandId::new(u64::from(store.queue_command("Pebble", "say later", false).await)).unwrap();
        let key = keys::queued(SERVER, store.clock.seconds(), id);
        let mut row = store.db.get(&key, true).await.unwrap().unwrap();
        row.insert("command".to_owned(), AttributeValue::S("of a later version".to_owned()));
        put(&store, row).await;
    }
    let good = store.queue_command("Thornwick", "give Thornwick diamond", false).await;
    let rows = store.poll().await;
    assert_eq!(rows.as_array().unwrap().iter().map(|row| &row["id"]).collect::<Vec<_>>(), [&json!(good)]);
    assert_eq!(store.tell("executed", &[good]).await, [(json!(good), true)]);
}

#[tokio::test]
async fn a_command_that_cannot_be_read_keeps_no_word_about_others_from_being_heard() {
    let store = TestStore::open().await;
    let bad = store.queue_command("Pebble", "say later", false).await;
    let good = store.queue_command("Thornwick", "give Thornwick diamond", false).await;
    let key = keys::command(CommandId::new(u64::from(bad)).unwrap());
    let mut row = store.db.get(&key, true).await.unwrap().unwrap();
    row.insert("event".to_owned(), AttributeValue::S("of_a_later_version".to_owned()));
    row.insert("version".to_owned(), AttributeValue::N("9".to_owned()));
    put(&store, row.clone()).await;
    let rows = store.poll().await;
    assert_eq!(rows.as_array().unwrap().iter().map(|row| &row["id"]).collect::<Vec<_>>(), [&json!(good)]);
    for name in ["delivered", "executed", "validated"] {
        assert_eq!(store.tell(name, &[bad, good]).await, [(json!(bad), true), (json!(good), true)], "{name}");
    }
    assert_eq!(store.command_state(good).await, CommandState::Executed);
    assert_eq!(store.db.get(&key, true).await.unwrap(), Some(row), "it stays as it is");
}

#[tokio::test]
async fn a_fault_that_does_not_pass_is_no_empty_response() {
    let store = TestStore::open().await;
    let lease = encode_live(&keys::lease(SERVER), &json!({ "number": "of a later version" })).unwrap();
    put(&store, lease).await;
    let reply = store.server_says("queue", None).await;
    assert_eq!(reply.status, 500, "{}", reply.text);
    let store = TestStore::open().await;
    store
        .faults
        .inject(|operation| (operation == "Query").then_some(Fault::Refused("AccessDeniedException", "injected")));
    assert_eq!(store.server_says("queue", None).await.status, 500);
    store.faults.inject(|operation| (operation == "Query").then_some(Fault::Throttled));
    let reply = store.server_says("queue", None).await;
    assert_eq!((reply.status.as_u16(), reply.text.as_str()), (200, "[]"));
}
