//! GET /plugin/api/servers/{key}/commands/paynow.

use serde_json::json;
use tests::TestStore;

#[tokio::test]
async fn a_server_that_starts_is_served_again_what_it_threw_away() {
    let store = TestStore::open().await;
    let id = store.queue_command("Thornwick", "give Thornwick diamond", false).await;
    assert_eq!(store.poll().await[0]["id"], id);
    let reply = store.server_says("paynow", None).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(reply.json(), json!({ "status": true }));
    assert_eq!(store.poll().await[0]["id"], id);
}
