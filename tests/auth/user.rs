//! POST /user.

use crate::support::{configure, fields, subscribe};
use serde_json::{Value, json};
use shared::model::SubscriptionStatus::{Active, Cancelled, Ended, PastDue};
use tests::{Call, NOW, TestStore};

async fn user(store: &TestStore, name: &str) -> Value {
    let reply = store.send(Call::post("/user").token(&store.token(name))).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.header("cache-control"), "no-store");
    reply.json()
}

const FIELDS: [&str; 8] = ["id", "username", "avatar", "system", "identificator", "uuid", "created_at", "updated_at"];

#[tokio::test]
async fn a_user_sees_their_own_account() {
    let store = TestStore::open().await;
    for name in ["Thornwick", "Quillfeather", "Pebble"] {
        let user = user(&store, name).await;
        assert_eq!(fields(&user)[..8], FIELDS);
        insta::assert_json_snapshot!(name, user);
    }
}

#[tokio::test]
async fn times_are_iso_8601_in_utc_with_z() {
    let store = TestStore::open().await;
    let pebble = user(&store, "Pebble").await;
    assert_eq!(pebble["created_at"], "2025-12-31T23:50:00Z");
    assert_eq!(pebble["updated_at"], pebble["created_at"]);
    assert_eq!(user(&store, "Thornwick").await["updated_at"], "2026-06-15T09:00:00Z");
}

#[tokio::test]
async fn the_balance_is_present_exactly_if_the_store_uses_virtual_currency() {
    let store = TestStore::open().await;
    assert_eq!(user(&store, "Thornwick").await["virtual_currency"], 1250);
    assert_eq!(user(&store, "Pebble").await["virtual_currency"], 0);
    configure(&store, |config| config.is_virtual_currency = false).await;
    let user_fields = [&FIELDS[..], &["subscriptions"]].concat();
    assert_eq!(fields(&user(&store, "Thornwick").await), user_fields);
    configure(&store, |config| config.is_virtual_currency = true).await;
    assert_eq!(user(&store, "Thornwick").await["virtual_currency"], 1250);
}

#[tokio::test]
async fn subscriptions_are_shown_with_the_end_of_what_is_paid_until_they_are_over() {
    let store = TestStore::open().await;
    assert_eq!(user(&store, "Pebble").await["subscriptions"], json!([]));
    let all = [(106, Active, NOW + 86_400), (602, PastDue, NOW - 60), (101, Cancelled, NOW + 1), (102, Cancelled, NOW)];
    subscribe(&store, "Pebble", &[&all[..], &[(103, Ended, NOW - 1), (104, Ended, NOW + 1)]].concat()).await;
    let shown = user(&store, "Pebble").await["subscriptions"].clone();
    let subscription = |item: u64, state: &str, field: &str, time: &str| json!({ "item_id": item, "name": format!("Item {item}"), "price": 4.99, "state": state, field: time });
    let expected = json!([
        subscription(106, "active", "renews_at", "2026-06-16T12:00:00Z"),
        subscription(602, "past_due", "ends_at", "2026-06-15T11:59:00Z"),
        subscription(101, "cancelled", "ends_at", "2026-06-15T12:00:01Z"),
        subscription(104, "cancelled", "ends_at", "2026-06-15T12:00:01Z"),
    ]);
    assert_eq!(shown, expected);
    assert_eq!(user(&store, "Thornwick").await["subscriptions"], json!([]), "those of another user");
}

#[tokio::test]
async fn a_subscription_has_the_digits_of_the_stores_currency() {
    let store = TestStore::open().await;
    subscribe(&store, "Pebble", &[(106, Active, NOW + 1)]).await;
    configure(&store, |config| config.digits = 0).await;
    assert_eq!(user(&store, "Pebble").await["subscriptions"][0]["price"], 499);
}
