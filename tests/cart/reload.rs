//! POST /cart/reload/{cid}: sets the number of units of a line (api.md, "POST /cart/reload/{cid}").

use super::support::{NEW, RICH, cart_of, line, post, put_cart, refusal, refuses_values, stored};
use serde_json::json;
use shared::model::{Cart, LineId};
use tests::{Reply, TestStore};

async fn reload(store: &TestStore, name: &str, line: u64, count: u64) -> Reply {
    post(store, &format!("/cart/reload/{line}"), name, &json!({ "count": count })).await
}

/// The message with which a number of units is refused: 200, because the storefront reads the body.
async fn refused(store: &TestStore, name: &str, line: u64, count: u64) -> String {
    let before = stored(store, name).await;
    store.calls.clear();
    let message = refusal(&reload(store, name, line, count).await, 200);
    assert_eq!(store.calls.writes(), 0, "{line}: {count}");
    assert_eq!(stored(store, name).await, before);
    message
}

#[tokio::test]
async fn the_count_is_set_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let reply = reload(&store, RICH, 2, 5).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let mut lines = before.lines.clone();
    lines.iter_mut().filter(|line| line.id == LineId::new(2)).for_each(|line| line.count = 5);
    assert_eq!(stored(&store, RICH).await.unwrap(), Cart { lines, version: before.version + 1, ..before });
    assert_eq!(reload(&store, RICH, 2, 1000).await.json(), json!({ "success": true }));
    assert_eq!(line(&store, RICH, 2).await.count, 1000);
}

#[tokio::test]
async fn the_line_is_also_named_by_its_item_as_the_public_client_does() {
    let store = TestStore::open().await;
    assert_eq!(reload(&store, RICH, 201, 7).await.json(), json!({ "success": true }));
    assert_eq!(line(&store, RICH, 2).await.count, 7);
}

#[tokio::test]
async fn the_same_count_writes_nothing_and_reads_only_the_cart_for_every_line() {
    let store = TestStore::open().await;
    // Also lines that cannot be bought: the storefront sends the count of every row when the page opens.
    put_cart(&store, &cart_of(NEW, &[(205, 2), (801, 1), (102, 3)])).await;
    for (name, lines) in [(RICH, stored(&store, RICH).await), (NEW, stored(&store, NEW).await)] {
        for line in lines.unwrap().lines {
            store.calls.clear();
            let reply = reload(&store, name, line.id.get(), line.count.into()).await;
            assert_eq!(reply.json(), json!({ "success": true }));
            assert!(store.calls.round_trips() <= 1, "{:?}", store.calls.operations());
            assert_eq!(store.calls.writes(), 0);
        }
    }
}

#[tokio::test]
async fn a_refusal_is_200_so_that_the_client_reads_it() {
    let store = TestStore::open().await;
    assert!(refused(&store, RICH, 999, 1).await.contains("does not exist"));
    assert!(refused(&store, RICH, 1, 2).await.contains("Only one"));
    put_cart(&store, &cart_of(NEW, &[(203, 1), (313, 1), (205, 1)])).await;
    assert!(refused(&store, NEW, 1, 4).await.contains("Only 2 more"), "the buyer has one of three");
    assert!(refused(&store, NEW, 2, 2).await.contains("No more"));
    assert!(refused(&store, NEW, 3, 2).await.contains("not on sale"));
    assert_eq!(reload(&store, NEW, 1, 3).await.json(), json!({ "success": true }));
}

#[tokio::test]
async fn a_line_of_another_users_cart_does_not_exist() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(NEW, &[(201, 1)])).await;
    let before = stored(&store, RICH).await;
    assert_eq!(refused(&store, NEW, 2, 5).await, "This line does not exist.");
    assert_eq!(stored(&store, RICH).await, before);
}

#[tokio::test]
async fn a_body_with_a_wrong_field_is_a_400_that_names_it() {
    let store = TestStore::open().await;
    let fields: &[(&str, &[&str])] = &[("count", &["null", "0", "-1", "1001", "1e400", "2.0", "\"2\"", "[2]"])];
    refuses_values(&store, "/cart/reload/2", RICH, fields).await;
}
