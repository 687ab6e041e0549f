//! Offers of the cart: POST /cart/getPromoted and POST /cart/getSelectServers.

use super::support::{NEW, RICH, WORN, ask, cart_of, put_cart, republish, view};
use serde_json::{Value, json};
use shared::model::{Cart, Held, InternalId, ItemId, OpenCheckout, Units};
use tests::TestStore;

const PROMOTED: &str = "/cart/getPromoted";

async fn offered(store: &TestStore, name: &str) -> Vec<u64> {
    let reply = ask(store, PROMOTED, name).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let ids = reply.json().as_array().unwrap().iter().map(|offer| offer["id"].as_u64().unwrap()).collect();
    assert_eq!(store.calls.writes(), 0);
    ids
}

#[tokio::test]
async fn the_promotions_are_shown_in_their_order() {
    let store = TestStore::open().await;
    let reply = ask(&store, PROMOTED, RICH).await;
    insta::assert_json_snapshot!("get_promoted", reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
}

#[tokio::test]
async fn a_user_without_a_cart_is_offered_all_of_them() {
    let store = TestStore::open().await;
    assert_eq!(offered(&store, NEW).await, [404, 212, 302]);
}

#[tokio::test]
async fn an_item_in_the_cart_is_not_offered() {
    let store = TestStore::open().await;
    assert_eq!(offered(&store, WORN).await, [404, 302], "212 is in the cart");
    put_cart(&store, &cart_of(NEW, &[(404, 1), (302, 1), (212, 1)])).await;
    assert_eq!(ask(&store, PROMOTED, NEW).await.json(), Value::Array(Vec::new()));
}

#[tokio::test]
async fn an_item_that_the_caller_cannot_buy_is_not_offered() {
    let store = TestStore::open().await;
    // The rich user has bought two of these and is at a limit of two; a new user is not.
    republish(&store, |compiled| {
        for entry in compiled.promotions.0.iter_mut().filter(|entry| entry.item.id == ItemId::new(404)) {
            entry.item.user_limit = Some(2);
        }
        for entry in compiled.promotions.0.iter_mut().filter(|entry| entry.item.id == ItemId::new(302)) {
            entry.item.active = false;
        }
    })
    .await;
    assert_eq!(offered(&store, RICH).await, [212]);
    assert_eq!(offered(&store, NEW).await, [404, 212]);
}

#[tokio::test]
async fn a_sold_out_item_is_not_offered() {
    let store = TestStore::open().await;
    republish(&store, |compiled| {
        let sold_out = compiled.items.iter().find(|entry| entry.item.id == ItemId::new(204)).unwrap().clone();
        let promotion = compiled.promotions.0[0].item.promotion.clone();
        compiled.promotions.0.insert(0, sold_out);
        compiled.promotions.0[0].item.promotion = promotion;
    })
    .await;
    assert_eq!(offered(&store, NEW).await, [404, 212, 302]);
    // The last unit is in the caller's own checkout, and no longer in the cart.
    let units = vec![Units { item: ItemId::new(204), count: 1 }];
    let held = Held { units, ..Held::default() };
    let checkout = OpenCheckout { order: InternalId::new("abcdefghijklmnop"), version: 1, until: i64::MAX, held };
    put_cart(&store, &Cart { checkout: Some(checkout), ..cart_of(NEW, &[]) }).await;
    assert_eq!(offered(&store, NEW).await, [204, 404, 212, 302]);
}

#[tokio::test]
async fn a_store_without_promotions_offers_none() {
    let store = TestStore::open().await;
    republish(&store, |compiled| compiled.promotions.0.clear()).await;
    assert_eq!(ask(&store, PROMOTED, RICH).await.json(), Value::Array(Vec::new()));
}

const SELECT_SERVERS: &str = "/cart/getSelectServers";

#[tokio::test]
async fn the_servers_of_items_that_let_the_buyer_select_one_are_shown() {
    let store = TestStore::open().await;
    let reply = ask(&store, SELECT_SERVERS, RICH).await;
    insta::assert_json_snapshot!("get_select_servers", reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn a_cart_without_such_items_is_an_empty_object() {
    let store = TestStore::open().await;
    assert_eq!(ask(&store, SELECT_SERVERS, NEW).await.text, "{}");
    // Delivered to one server without a selection; not published.
    put_cart(&store, &cart_of(RICH, &[(405, 1), (801, 1)])).await;
    assert_eq!(ask(&store, SELECT_SERVERS, RICH).await.text, "{}");
}

#[tokio::test]
async fn the_servers_have_the_field_names_of_the_cart() {
    let store = TestStore::open().await;
    let servers = ask(&store, SELECT_SERVERS, WORN).await.json();
    let lines = view(&store, WORN).await;
    let line = lines["items"].as_array().unwrap().iter().find(|line| line["id"] == 402).unwrap();
    assert_eq!(servers, json!({ "402": line["allowed_servers"] }));
}

#[tokio::test]
async fn an_item_on_two_lines_is_shown_once() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(RICH, &[(401, 1), (401, 2), (402, 1)])).await;
    let servers = ask(&store, SELECT_SERVERS, RICH).await.json();
    assert_eq!(servers.as_object().unwrap().keys().collect::<Vec<_>>(), ["401", "402"]);
}
