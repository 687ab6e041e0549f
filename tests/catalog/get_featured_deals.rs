//! POST /items/getFeaturedDeals.

use crate::support::{all, by_id, fill_cart, item, private_body, republish, subscribe};
use serde_json::{Value, json};
use shared::model::SubscriptionStatus;
use tests::{Call, TestStore};

fn call() -> Call {
    Call::post("/items/getFeaturedDeals")
}

async fn deals(store: &TestStore, call: Call) -> Value {
    private_body(store, call).await
}

async fn of(store: &TestStore, user: &str) -> Value {
    deals(store, call().token(&store.token(user))).await
}

#[tokio::test]
async fn the_deals_are_shown_logged_out_and_logged_in() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!("deals_logged_out", deals(&store, call()).await);
    insta::assert_json_snapshot!("deals_for_thornwick", of(&store, "Thornwick").await);
}

#[tokio::test]
async fn a_subscription_that_the_caller_has_is_unavailable() {
    let store = TestStore::open().await;
    republish(&store, |files| item(files, 106).featured = true).await;
    subscribe(&store, "Pebble", &[(106, SubscriptionStatus::Active, 0)]).await;
    let unavailable = |deals: &Value| by_id(deals, 106)["is_unavailable"].clone();
    assert_eq!(unavailable(&of(&store, "Pebble").await), true);
    assert_eq!(unavailable(&of(&store, "Thornwick").await), false);
    assert_eq!(unavailable(&deals(&store, call()).await), false, "logged out");
}

#[tokio::test]
async fn only_featured_items_on_sale_in_visible_categories_are_deals() {
    let store = TestStore::open().await;
    assert_eq!(all(&deals(&store, call()).await, "id"), [104, 202, 312, 503]);
    republish(&store, |files| {
        item(files, 205).featured = true;
        item(files, 312).active = false;
        item(files, 711).featured = true;
        item(files, 121).featured = true;
    })
    .await;
    assert_eq!(all(&deals(&store, call()).await, "id"), [104, 202, 503]);
}

#[tokio::test]
async fn a_deal_says_whether_it_is_in_the_callers_cart() {
    let store = TestStore::open().await;
    assert_eq!(all(&of(&store, "Thornwick").await, "in_cart"), [false; 4]);
    fill_cart(&store, 1, &[503, 104]).await;
    assert_eq!(all(&of(&store, "Thornwick").await, "in_cart"), [true, false, false, true]);
    assert_eq!(all(&of(&store, "Quillfeather").await, "in_cart"), [false; 4]);
    assert_eq!(all(&deals(&store, call()).await, "in_cart"), [false; 4]);
}

#[tokio::test]
async fn an_empty_store_has_no_deals() {
    let store = TestStore::empty().await;
    assert_eq!(deals(&store, call()).await, json!([]));
    assert_eq!(deals(&store, call().token(&store.token("Thornwick"))).await, json!([]));
}
