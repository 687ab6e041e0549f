//! POST /items/getFeaturedDeals.

use crate::support::{all, by_id, fields, fill_cart, item, republish, subscribe};
use serde_json::{Value, json};
use shared::model::SubscriptionStatus;
use tests::{Call, TestStore};

fn call() -> Call {
    Call::post("/items/getFeaturedDeals")
}

async fn deals(store: &TestStore, call: Call) -> Value {
    let reply = store.send(call).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.header("cache-control"), "no-store");
    reply.json()
}

async fn of(store: &TestStore, user: &str) -> Value {
    deals(store, call().token(&store.token(user))).await
}

#[tokio::test]
async fn the_deals_are_shown_logged_out_and_logged_in() {
    let store = TestStore::open().await;
    let logged_out = deals(&store, call()).await;
    insta::assert_json_snapshot!("deals_logged_out", logged_out);
    insta::assert_json_snapshot!("deals_for_thornwick", of(&store, "Thornwick").await);
    let mut names = fields(&logged_out[0]);
    names.sort_unstable();
    let mut wanted = vec![
        "id",
        "name",
        "active",
        "is_subs",
        "original_price",
        "price",
        "discount",
        "quantityGlobalLimit",
        "quantityGlobalCurrentLimit",
        "quantityUserLimit",
        "quantityUserCurrentLimit",
        "image",
        "virtual_price",
        "is_virtual_currency_only",
        "description",
        "is_unavailable",
        "in_cart",
    ];
    wanted.sort_unstable();
    assert_eq!(names, wanted);
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
async fn a_rank_costs_its_owner_the_difference_and_an_owned_one_is_unavailable() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        item(files, 101).featured = true;
        item(files, 112).featured = true;
    })
    .await;
    let offer = |deals: &Value, id| {
        let deal = by_id(deals, id);
        json!([deal["price"], deal["discount"], deal["original_price"], deal["is_unavailable"]])
    };
    let logged_out = deals(&store, call()).await;
    assert_eq!(offer(&logged_out, 101), json!([4.99, 0, 4.99, false]));
    assert_eq!(offer(&logged_out, 104), json!([34.99, 5, 39.99, false]));
    let owner = of(&store, "Thornwick").await;
    assert_eq!(offer(&owner, 101), json!([4.99, 0, 4.99, true]));
    assert_eq!(offer(&owner, 104), json!([25, 14.99, 39.99, false]));
    assert_eq!(offer(&owner, 112), json!([14.5, 0, 14.5, false]));
    assert_eq!(offer(&of(&store, "Quillfeather").await, 112), json!([7, 7.5, 14.5, false]));
}

#[tokio::test]
async fn limits_of_a_user_are_shown_only_to_that_user() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        for id in [203, 204, 303] {
            item(files, id).featured = true;
        }
    })
    .await;
    let limits = |deals: &Value, id| {
        let deal = by_id(deals, id);
        let global = [&deal["quantityGlobalLimit"], &deal["quantityGlobalCurrentLimit"]];
        json!([global, deal["quantityUserLimit"], deal["quantityUserCurrentLimit"], deal["is_unavailable"]])
    };
    let logged_out = deals(&store, call()).await;
    assert_eq!(limits(&logged_out, 104), json!([[null, null], null, null, false]));
    assert_eq!(limits(&logged_out, 203), json!([[null, null], null, null, false]));
    assert_eq!(limits(&logged_out, 204), json!([[5, 5], null, null, true]));
    assert_eq!(limits(&logged_out, 303), json!([[null, null], null, null, false]));
    let user = of(&store, "Thornwick").await;
    assert_eq!(limits(&user, 104), json!([[null, null], null, null, false]));
    assert_eq!(limits(&user, 203), json!([[null, null], 3, 2, false]));
    assert_eq!(limits(&user, 303), json!([[null, null], 1, 1, true]));
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
