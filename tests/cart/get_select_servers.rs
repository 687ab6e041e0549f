//! POST /cart/getSelectServers.

use super::support::{NEW, RICH, WORN, ask, cart_of, put_cart, view};
use serde_json::json;
use tests::TestStore;

const PATH: &str = "/cart/getSelectServers";

#[tokio::test]
async fn the_servers_of_items_that_let_the_buyer_select_one_are_shown() {
    let store = TestStore::open().await;
    let reply = ask(&store, PATH, RICH).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn a_cart_without_such_items_is_an_empty_object() {
    let store = TestStore::open().await;
    assert_eq!(ask(&store, PATH, NEW).await.text, "{}");
    // Delivered to one server without a selection; not published.
    put_cart(&store, &cart_of(RICH, &[(405, 1), (801, 1)])).await;
    assert_eq!(ask(&store, PATH, RICH).await.text, "{}");
}

#[tokio::test]
async fn the_servers_have_the_field_names_of_the_cart() {
    let store = TestStore::open().await;
    let servers = ask(&store, PATH, WORN).await.json();
    let lines = view(&store, WORN).await;
    let line = lines["items"].as_array().unwrap().iter().find(|line| line["id"] == 402).unwrap();
    assert_eq!(servers, json!({ "402": line["allowed_servers"] }));
}

#[tokio::test]
async fn an_item_on_two_lines_is_shown_once() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(RICH, &[(401, 1), (401, 2), (402, 1)])).await;
    let servers = ask(&store, PATH, RICH).await.json();
    assert_eq!(servers.as_object().unwrap().keys().collect::<Vec<_>>(), ["401", "402"]);
}
