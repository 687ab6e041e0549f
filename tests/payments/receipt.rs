//! POST /payments/receipt: the provider's receipt of an order.

use super::support::{act, begin, buyer, call, create, login};
use serde_json::json;
use stripe_stand_in::{Action, Fault, FaultKind};
use tests::{Reply, TestStore};

const PATH: &str = "/payments/receipt";

async fn ask(store: &TestStore, token: &str, order: &str) -> Reply {
    call(store, token, PATH, &json!({ "order_id": order })).await
}

/// The message of a refusal, for which the provider was not asked.
async fn refused(store: &TestStore, token: &str, order: &str) -> String {
    let before = store.payments.received().len();
    let reply = ask(store, token, order).await;
    assert_eq!((reply.status.as_u16(), &reply.json()["success"]), (200, &json!(false)), "{}", reply.text);
    assert_eq!(store.payments.received().len(), before);
    reply.json()["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_login_that_paid_and_a_proven_one_are_sent_to_the_receipt_and_no_other_login() {
    let store = TestStore::open().await;
    let (token, begun) = begin(&store).await;
    assert_eq!(refused(&store, &token, &begun.order).await, "There is no receipt of this payment.", "it is not paid");
    act(&store, &begun, &Action::Pay).await;
    let reply = ask(&store, &token, &begun.order).await;
    assert_eq!((reply.status.as_u16(), reply.header("cache-control")), (200, "no-store"), "{}", reply.text);
    let url = reply.json()["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with(&format!("{}/receipts/ch_", store.payments.base_url())), "{url}");
    let user = call(&store, &token, "/user", &json!({})).await.json()["id"].as_u64().unwrap();
    let proven = store.token_of(shared::model::UserId::new(user));
    assert_eq!(ask(&store, &proven, &begun.order).await.json()["url"], url);
    let same_name = login(&store, "Buyer").await;
    refused(&store, &same_name, &begun.order).await;
    insta::assert_json_snapshot!(ask(&store, &same_name, &begun.order).await.json());
    assert_eq!(
        refused(&store, &store.token("Thornwick"), &begun.order).await,
        "This payment belongs to another account."
    );
    assert_eq!(refused(&store, &token, "aaaaaaaaaaaaaaaa").await, "This payment does not exist.");
    act(&store, &begun, &Action::Refund(None)).await;
    assert_eq!(ask(&store, &token, &begun.order).await.json()["url"], url, "it shows the refund");
    let rows = format!("{:?}", super::support::stored(&store, &begun.order).await);
    assert!(!rows.contains("/receipts/"), "nothing of it is stored");
}

#[tokio::test]
async fn what_cost_nothing_was_recorded_or_bought_by_a_guest_has_no_receipt() {
    let store = TestStore::open().await;
    for order in ["4mjyi2i34hbzt6b6", "u2qlyq2uxxth4o4j"] {
        assert_eq!(refused(&store, &store.token("Thornwick"), order).await, "There is no receipt of this payment.");
    }
}

#[tokio::test]
async fn a_subscription_has_the_invoice_of_each_payment() {
    let store = TestStore::open().await;
    let token = login(&store, "Buyer").await;
    call(&store, &token, "/cart/add/602", &json!({ "payment_type": 1 })).await;
    let begun = create(&store, &token).await;
    act(&store, &begun, &Action::Pay).await;
    let url = ask(&store, &token, &begun.order).await.json()["url"].as_str().unwrap().to_owned();
    assert!(url.contains("/invoices/in_"), "{url}");
}

#[tokio::test]
async fn while_the_provider_is_away_the_same_request_may_be_sent_again() {
    let store = TestStore::open().await;
    let (token, begun) = begin(&store).await;
    act(&store, &begun, &Action::Pay).await;
    store.payments.inject(Fault::before(FaultKind::Status(500)).on("/v1/checkout/sessions"));
    let reply = ask(&store, &token, &begun.order).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, "1"), "{}", reply.text);
    assert_eq!(ask(&store, &token, &begun.order).await.json()["success"], true);
    store.payments.delete_test_data();
    assert_eq!(ask(&store, &token, &begun.order).await.json()["success"], false, "the provider has no such payment");
}

#[tokio::test]
async fn an_address_has_sixty_requests_in_ten_minutes_with_those_for_checkouts() {
    let store = TestStore::open().await;
    let token = buyer(&store, "Buyer", 302, 1).await;
    create(&store, &token).await;
    for _ in 0..59 {
        assert_eq!(ask(&store, &token, "aaaaaaaaaaaaaaaa").await.json()["message"], "This payment does not exist.");
    }
    let reply = ask(&store, &token, "aaaaaaaaaaaaaaaa").await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (200, "600"), "{}", reply.text);
}
