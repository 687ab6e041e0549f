//! POST /cart/setSelectedServer/{cid}: selects the server of a line (api.md, "POST /cart/setSelectedServer/{cid}").

use super::changes::{refused, set};
use super::support::{NEW, RICH, cart_of, line_of, put_cart, refuses_values, stored, view};
use serde_json::json;
use shared::model::{Cart, ServerId};
use tests::TestStore;

/// The call that these tests make.
const CALL: &str = "setSelectedServer";

#[tokio::test]
async fn the_server_is_selected_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let reply = set(&store, CALL, RICH, 4, &json!({ "server_id": 2 })).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let mut lines = before.lines.clone();
    lines[3].server = Some(ServerId::new(2));
    assert_eq!(stored(&store, RICH).await.unwrap(), Cart { lines, version: before.version + 1, ..before });
    assert_eq!(line_of(&view(&store, RICH).await, 401)["selected_server"], 2);
    store.calls.clear();
    assert_eq!(set(&store, CALL, RICH, 4, &json!({ "server_id": 2 })).await.status, 200);
    assert_eq!(store.calls.writes(), 0, "the same server writes nothing");
}

#[tokio::test]
async fn a_server_that_is_not_one_of_the_items_is_a_422() {
    let store = TestStore::open().await;
    // Another item's server, none at all, and an item whose server is not selected.
    for (line, server) in [(4, 3), (4, 999), (4, u64::MAX), (2, 1)] {
        let message = refused(&store, CALL, RICH, line, &json!({ "server_id": server })).await;
        assert!(message.contains("selected server"), "{line} {server}: {message}");
    }
    put_cart(&store, &cart_of(NEW, &[(405, 1)])).await;
    assert!(refused(&store, CALL, NEW, 1, &json!({ "server_id": 4 })).await.contains("selected server"));
}

#[tokio::test]
async fn a_body_with_a_wrong_field_is_a_400_that_names_it() {
    let store = TestStore::open().await;
    let fields: &[(&str, &[&str])] = &[("server_id", &["null", "\"2\"", "-1", "2.5", "1e400", "true"])];
    refuses_values(&store, "/cart/setSelectedServer/4", RICH, fields).await;
}
