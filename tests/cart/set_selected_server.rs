//! POST /cart/setSelectedServer/{cid}: selects the server of a line (api.md, "POST /cart/setSelectedServer/{cid}").

use super::support::{
    NEW, RICH, cart_of, line_of, post, put_cart, reads_the_id, refusal, refuses_bodies, stored, view,
};
use serde_json::{Value, json};
use shared::model::{Cart, ServerId};
use tests::{Fault, Reply, TestStore};

async fn set(store: &TestStore, name: &str, line: u64, body: &Value) -> Reply {
    post(store, &format!("/cart/setSelectedServer/{line}"), name, body).await
}

/// The message with which a change is refused, with 422 and without a write.
async fn refused(store: &TestStore, name: &str, line: u64, body: &Value) -> String {
    let before = stored(store, name).await;
    store.calls.clear();
    let message = refusal(&set(store, name, line, body).await, 422);
    assert_eq!(store.calls.writes(), 0, "{line} {body}");
    assert_eq!(stored(store, name).await, before, "{line} {body}");
    message
}

#[tokio::test]
async fn a_line_that_is_not_in_the_callers_cart_does_not_exist() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(NEW, &[(201, 1)])).await;
    let before = stored(&store, RICH).await;
    for (name, line) in [(RICH, 999), (NEW, 4)] {
        assert_eq!(refused(&store, name, line, &json!({ "server_id": 2 })).await, "This line does not exist.");
    }
    assert_eq!(stored(&store, RICH).await, before);
}

#[tokio::test]
async fn what_is_not_a_decimal_number_is_404_and_blanks_around_one_do_not_matter() {
    let store = TestStore::open().await;
    reads_the_id(&store, "/cart/setSelectedServer", "4", RICH, &json!({ "server_id": 2 })).await;
}

#[tokio::test]
async fn writers_that_keep_colliding_are_409() {
    let store = TestStore::open().await;
    store.faults.inject(|operation| (operation == "UpdateItem").then_some(Fault::TransactionConflict));
    assert!(refusal(&set(&store, RICH, 4, &json!({ "server_id": 2 })).await, 409).contains("try again"));
}

#[tokio::test]
async fn the_server_is_selected_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let reply = set(&store, RICH, 4, &json!({ "server_id": 2 })).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let mut lines = before.lines.clone();
    lines[3].server = Some(ServerId::new(2));
    assert_eq!(stored(&store, RICH).await.unwrap(), Cart { lines, version: before.version + 1, ..before });
    assert_eq!(line_of(&view(&store, RICH).await, 401)["selected_server"], 2);
    store.calls.clear();
    assert_eq!(set(&store, RICH, 4, &json!({ "server_id": 2 })).await.status, 200);
    assert_eq!(store.calls.writes(), 0, "the same server writes nothing");
}

#[tokio::test]
async fn a_server_that_is_not_one_of_the_items_is_a_422() {
    let store = TestStore::open().await;
    // Another item's server, none at all, and an item whose server is not selected.
    for (line, server) in [(4, 3), (4, 999), (4, u64::MAX), (2, 1)] {
        let message = refused(&store, RICH, line, &json!({ "server_id": server })).await;
        assert!(message.contains("selected server"), "{line} {server}: {message}");
    }
    put_cart(&store, &cart_of(NEW, &[(405, 1)])).await;
    assert!(refused(&store, NEW, 1, &json!({ "server_id": 4 })).await.contains("selected server"));
}

#[tokio::test]
async fn a_body_with_a_wrong_field_is_a_400_that_names_it() {
    let store = TestStore::open().await;
    let cases = [
        ("[]", "request body"),
        ("", "server_id field"),
        ("{\"server_id\":null}", "server_id field"),
        ("{\"server_id\":\"2\"}", "server_id field"),
        ("{\"server_id\":-1}", "server_id field"),
        ("{\"server_id\":2.5}", "server_id field"),
        ("{\"server_id\":1e400}", "server_id field"),
        ("{\"server_id\":true}", "server_id field"),
    ];
    refuses_bodies(&store, "/cart/setSelectedServer/4", RICH, &cases).await;
}
