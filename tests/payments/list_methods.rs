//! POST /payments/get: the payment methods.

use serde_json::json;
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
