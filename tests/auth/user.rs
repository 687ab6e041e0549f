//! POST /user.

use crate::support::{configure, fields};
use serde_json::Value;
use tests::{Call, TestStore};

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
    assert_eq!(fields(&user(&store, "Thornwick").await), FIELDS);
    configure(&store, |config| config.is_virtual_currency = true).await;
    assert_eq!(user(&store, "Thornwick").await["virtual_currency"], 1250);
}
