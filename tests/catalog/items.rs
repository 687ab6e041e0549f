//! The calls about items: POST /items/get/{id} and POST /items/getFeaturedDeals.

use crate::support::{
    all, assert_message, assert_unauthorized, by_id, configure, fields, fill_cart, item, private_body, republish,
    subscribe,
};
use serde_json::{Value, json};
use shared::model::SubscriptionStatus;
use tests::{Call, Reply, TestStore};

fn call(id: &str) -> Call {
    Call::post(&format!("/items/get/{id}"))
}

async fn of(store: &TestStore, user: &str, id: &str) -> Value {
    private_body(store, call(id).token(&store.token(user))).await
}

#[track_caller]
fn assert_unknown(reply: &Reply) {
    assert_eq!(assert_message(reply, 404), "This item does not exist.");
}

#[tokio::test]
async fn an_item_is_shown_as_in_its_category_with_what_its_page_needs() {
    let store = TestStore::open().await;
    let item = of(&store, "Thornwick", "103").await;
    insta::assert_json_snapshot!("get_item__rank_for_thornwick", item);
    let category = store.send(Call::post("/categories/get/ranks").token(&store.token("Thornwick"))).await.json();
    let shelves = category["subcategories"].as_array().unwrap();
    let listed = shelves.iter().flat_map(|shelf| shelf["items"].as_array().unwrap()).find(|item| item["id"] == 103);
    let listed = listed.unwrap();
    for field in fields(listed) {
        assert_eq!(item[field], listed[field], "{field}");
    }
    let added: Vec<&str> = fields(&item).into_iter().filter(|field| listed.get(field).is_none()).collect();
    assert_eq!(added, ["gifting", "is_subs_only", "plan", "in_cart", "requires", "excludes", "parts", "choices"]);
}

#[tokio::test]
async fn it_says_whether_it_is_in_the_cart_and_can_be_given() {
    let mut store = TestStore::open().await;
    republish(&store, |files| item(files, 201).gifting = true).await;
    store.restart();
    let before = of(&store, "Pebble", "201").await;
    assert_eq!((&before["in_cart"], &before["gifting"]), (&false.into(), &true.into()));
    fill_cart(&store, 3, &[201]).await;
    assert_eq!(of(&store, "Pebble", "201").await["in_cart"], true);
    assert_eq!(of(&store, "Thornwick", "202").await["gifting"], false);
}

#[tokio::test]
async fn a_visitor_without_a_token_sees_featured_items_or_all_in_guest_mode() {
    let store = TestStore::open().await;
    let deals = store.send(Call::post("/items/getFeaturedDeals")).await.json();
    let featured = deals[0]["id"].to_string();
    let shown = store.send(call(&featured)).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    assert_eq!((&shown.json()["in_cart"], &shown.json()["quantityUserLimit"]), (&false.into(), &Value::Null));
    republish(&store, |files| {
        (item(files, 101).featured, item(files, 101).active) = (true, false);
    })
    .await;
    store.clock.advance(std::time::Duration::from_secs(6));
    for id in ["101", "999", "nonsense"] {
        assert_unauthorized(&store.send(call(id)).await);
    }
    configure(&store, |config| config.guest_mode_enabled = true).await;
    assert_eq!(store.send(call("101")).await.status, 200);
    assert_unknown(&store.send(call("999")).await);
}

#[tokio::test]
async fn what_is_not_an_items_id_is_unknown_and_blanks_around_one_do_not_matter() {
    let store = TestStore::open().await;
    let token = store.token("Pebble");
    for id in ["999", "0", "-1", "1e2", "x", "18446744073709551616", "%D9%A1", "10%001", "+101"] {
        assert_unknown(&store.send(call(id).token(&token)).await);
    }
    assert_eq!(of(&store, "Pebble", "101%20").await["id"], 101);
}

fn call_deals() -> Call {
    Call::post("/items/getFeaturedDeals")
}

async fn deals(store: &TestStore, call: Call) -> Value {
    private_body(store, call).await
}

async fn deals_of(store: &TestStore, user: &str) -> Value {
    deals(store, call_deals().token(&store.token(user))).await
}

#[tokio::test]
async fn the_deals_are_shown_logged_out_and_logged_in() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!("get_featured_deals__deals_logged_out", deals(&store, call_deals()).await);
    insta::assert_json_snapshot!("get_featured_deals__deals_for_thornwick", deals_of(&store, "Thornwick").await);
}

#[tokio::test]
async fn a_subscription_that_the_caller_has_is_unavailable() {
    let store = TestStore::open().await;
    republish(&store, |files| item(files, 106).featured = true).await;
    subscribe(&store, "Pebble", &[(106, SubscriptionStatus::Active, 0)]).await;
    let unavailable = |deals: &Value| by_id(deals, 106)["is_unavailable"].clone();
    assert_eq!(unavailable(&deals_of(&store, "Pebble").await), true);
    assert_eq!(unavailable(&deals_of(&store, "Thornwick").await), false);
    assert_eq!(unavailable(&deals(&store, call_deals()).await), false, "logged out");
}

#[tokio::test]
async fn only_featured_items_on_sale_in_visible_categories_are_deals() {
    let store = TestStore::open().await;
    assert_eq!(all(&deals(&store, call_deals()).await, "id"), [104, 202, 312, 503]);
    republish(&store, |files| {
        item(files, 205).featured = true;
        item(files, 312).active = false;
        item(files, 711).featured = true;
        item(files, 121).featured = true;
    })
    .await;
    assert_eq!(all(&deals(&store, call_deals()).await, "id"), [104, 202, 503]);
}

#[tokio::test]
async fn a_deal_says_whether_it_is_in_the_callers_cart() {
    let store = TestStore::open().await;
    assert_eq!(all(&deals_of(&store, "Thornwick").await, "in_cart"), [false; 4]);
    fill_cart(&store, 1, &[503, 104]).await;
    assert_eq!(all(&deals_of(&store, "Thornwick").await, "in_cart"), [true, false, false, true]);
    assert_eq!(all(&deals_of(&store, "Quillfeather").await, "in_cart"), [false; 4]);
    assert_eq!(all(&deals(&store, call_deals()).await, "in_cart"), [false; 4]);
}

#[tokio::test]
async fn an_empty_store_has_no_deals() {
    let store = TestStore::empty().await;
    assert_eq!(deals(&store, call_deals()).await, json!([]));
    assert_eq!(deals(&store, call_deals().token(&store.token("Thornwick"))).await, json!([]));
}
