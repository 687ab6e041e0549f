//! POST /cart/remove/{cid}: removes a line from the cart (api.md, "POST /cart/remove/{cid}").

use super::support::{NEW, RICH, ask, cart_of, outcome, put_cart, stored, view};
use crate::support::fill_cart;
use futures_util::future::join_all;
use shared::model::Cart;
use tests::TestStore;

fn path(cid: &str) -> String {
    format!("/cart/remove/{cid}")
}

async fn first_line(store: &TestStore, name: &str) -> String {
    view(store, name).await["items"][0]["cid"].to_string()
}

#[tokio::test]
async fn the_line_is_removed_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let line = before.lines[0].id;
    let reply = ask(&store, &path(&line.to_string()), RICH).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let lines = before.lines.iter().filter(|other| other.id != line).cloned().collect();
    assert_eq!(stored(&store, RICH).await.unwrap(), Cart { lines, version: before.version + 1, ..before });
}

#[tokio::test]
async fn a_line_that_is_gone_already_counts_as_removed_and_nothing_is_written() {
    let store = TestStore::open().await;
    let line = first_line(&store, RICH).await;
    assert!(outcome(&ask(&store, &path(&line), RICH).await).0);
    store.calls.clear();
    assert!(outcome(&ask(&store, &path(&line), RICH).await).0);
    assert!(outcome(&ask(&store, &path("999999"), RICH).await).0);
    assert!(outcome(&ask(&store, &path("1"), NEW).await).0);
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn the_first_line_of_an_item_is_removed_by_the_items_id_as_the_public_client_sends_it() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(NEW, &[(401, 1), (201, 1), (401, 2)])).await;
    assert!(outcome(&ask(&store, &path("401"), NEW).await).0);
    let left: Vec<_> = stored(&store, NEW).await.unwrap().lines.iter().map(|line| line.id.get()).collect();
    assert_eq!(left, [2, 3]);
}

#[tokio::test]
async fn a_line_of_another_users_cart_stays() {
    let store = TestStore::open().await;
    fill_cart(&store, 3, &[201]).await;
    let (own, other) = (stored(&store, NEW).await.unwrap(), stored(&store, RICH).await.unwrap());
    let foreign = other.lines.iter().find(|line| own.lines.iter().all(|own| own.id != line.id)).unwrap();
    assert!(outcome(&ask(&store, &path(&foreign.id.to_string()), NEW).await).0);
    assert_eq!(stored(&store, RICH).await.unwrap(), other);
    assert_eq!(stored(&store, NEW).await.unwrap(), own);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn lines_that_are_removed_at_the_same_time_are_all_removed_or_the_request_says_so() {
    let store = TestStore::open().await;
    let lines = stored(&store, RICH).await.unwrap().lines;
    let paths: Vec<String> = lines.iter().map(|line| path(&line.id.to_string())).collect();
    let replies = join_all(paths.iter().map(|path| ask(&store, path, RICH))).await;
    let left = stored(&store, RICH).await.unwrap().lines;
    for (line, reply) in lines.iter().zip(&replies) {
        let is_left = left.iter().any(|other| other.id == line.id);
        assert_eq!(reply.status.as_u16(), if is_left { 409 } else { 200 }, "{}: {}", line.id, reply.text);
    }
}
