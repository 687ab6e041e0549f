//! GET /plugin/api/settings/get.

use serde_json::json;
use tests::{Call, TestStore};

#[tokio::test]
async fn the_plugin_is_told_of_no_server_to_watch() {
    let store = TestStore::open().await;
    let reply = store.send(Call::get("/plugin/api/settings/get/")).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!((reply.status.as_u16(), reply.json()), (200, json!({})));
    assert!(store.calls.operations().is_empty());
}
