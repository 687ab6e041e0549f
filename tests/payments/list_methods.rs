//! POST /payments/get: the payment methods. No checkout begins while the parameter Payments is false, or the store is
//! leaving the provider's account; what is open is settled.

use super::support::{act, add, agreed, begin, buyer, call, login, status};
use crate::support::STALE;
use serde_json::{Value, json};
use shared::model::ProviderAccount;
use shared::table::published::set_leaving;
use std::time::Duration;
use stripe_stand_in::{ACCOUNT, Action};
use tests::{Call, TestStore};

#[tokio::test]
async fn methods_that_are_switched_on_and_have_keys_are_listed() {
    let store = TestStore::open().await;
    let reply = store.send(Call::post("/payments/get").token(&store.token("Thornwick"))).await;
    insta::assert_json_snapshot!("methods_that_are_switched_on", reply.data());
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn without_keys_there_is_no_method() {
    let mut store = TestStore::open().await;
    store.set_payment_keys("{}");
    let token = store.token("Thornwick");
    assert_eq!(store.send(Call::post("/payments/get").token(&token)).await.data(), json!([]));
    let reply = store.send(Call::post("/payments/create").token(&token).json(&super::support::agreed())).await;
    assert_eq!(reply.data()["message"], "This payment method is not available.");
}

/// The message to a buyer with a line in the cart, and the methods that are listed.
async fn responses(store: &TestStore, name: &str) -> (Value, Value) {
    let token = login(store, name).await;
    add(store, &token, 302, 1).await;
    let methods = call(store, &token, "/payments/get", &json!({})).await.data();
    let reply = call(store, &token, "/payments/create", &agreed()).await.data();
    (reply["message"].clone(), methods)
}

fn paused() -> (Value, Value) {
    (json!("This payment method is not available."), json!([]))
}

#[tokio::test]
async fn without_payments_open_orders_are_still_settled_by_webhook_and_sweep() {
    let mut store = TestStore::open().await;
    let (token, begun) = begin(&store).await;
    let other = buyer(&store, "Other", 302, 1).await;
    let left = super::support::create(&store, &other).await;
    store.set_parameters(&[("Payments", "false")]);
    assert_eq!(responses(&store, "Late").await, paused());
    act(&store, &begun, &Action::Pay).await;
    assert_eq!(status(&store, &token, &begun).await.1, "PAID");
    store.clock.advance(Duration::from_mins(40));
    let sweep = serde_json::from_str(include_str!("../../infra/local/src/sweep.json")).unwrap();
    assert_eq!(store.invoke("payments", &sweep).await.status, 200);
    assert_eq!(status(&store, &other, &left).await.1, "CANCELLED");
}

#[tokio::test]
async fn in_an_account_that_is_left_no_checkout_begins_and_in_another_one_does() {
    let store = TestStore::open().await;
    let (token, begun) = begin(&store).await;
    for (id, live, is_paused) in [
        (Some(ACCOUNT), false, true),
        (None, false, true),
        (Some(ACCOUNT), true, false),
        (Some("acct_2"), false, false),
    ] {
        let account = ProviderAccount { id: id.map(str::to_owned), live };
        assert!(set_leaving(&store.db, Some(&account)).await.unwrap());
        store.clock.advance(STALE);
        let found = responses(&store, &format!("B{}{live}", id.unwrap_or("none"))).await;
        assert_eq!(found == paused(), is_paused, "{id:?} {live}: {found:?}");
    }
    act(&store, &begun, &Action::Pay).await;
    assert_eq!(status(&store, &token, &begun).await.1, "PAID");
    assert!(set_leaving(&store.db, None).await.unwrap());
    store.clock.advance(STALE);
    assert_ne!(responses(&store, "Later").await, paused());
}
