//! The provider's pages for a buyer: POST /payments/portal and POST /payments/receipt.

use super::support::{act, begin, buyer, call, create, login};
use serde_json::json;
use shared::model::{ProviderAccount, ProviderCustomer, User, UserId};
use shared::shop::accounts;
use shared::table::transaction::{Write, send};
use shared::table::{keys, read_live};
use stripe_stand_in::{ACCOUNT, Action, Fault, FaultKind};
use tests::{Call, Reply, TestStore};

const PORTAL: &str = "/payments/portal";
const SESSIONS: &str = "/v1/billing_portal/sessions";

async fn ask_portal(store: &TestStore, token: &str) -> Reply {
    store.send(Call::post(PORTAL).token(token)).await
}

async fn id_of(store: &TestStore, token: &str) -> UserId {
    let reply = store.send(Call::post("/user").token(token)).await;
    UserId::new(reply.json()["id"].as_u64().unwrap())
}

/// Makes the user a customer of an account in test mode.
async fn become_customer(store: &TestStore, user: UserId, account: &str) {
    let read: User = read_live(&store.db, &keys::user(user)).await.unwrap().unwrap();
    let account = ProviderAccount { id: Some(account.to_owned()), live: false };
    let customer = ProviderCustomer { id: "cus_1".to_owned(), account, currency: "EUR".to_owned() };
    let write: Write =
        accounts::set_subscriptions(user, &read.subscriptions, &read.subscriptions, Some(&customer)).unwrap();
    send(&store.db, vec![write]).await.unwrap();
}

/// How often the provider was asked for a page.
fn asked(store: &TestStore) -> usize {
    store.payments.received().iter().filter(|sent| sent.route.ends_with(SESSIONS)).count()
}

#[tokio::test]
async fn a_proven_login_gets_the_page_of_its_customer_and_a_name_does_not() {
    let store = TestStore::open().await;
    let by_name = login(&store, "Buyer").await;
    let token = store.token_of(id_of(&store, &by_name).await);
    let added = call(&store, &token, "/cart/add/602", &json!({ "payment_type": 1 })).await;
    assert_eq!(added.status, 200, "{}", added.text);
    let begun = create(&store, &token).await;
    assert_eq!(ask_portal(&store, &token).await.status, 404, "it is not paid");
    act(&store, &begun, &Action::Pay).await;
    let reply = ask_portal(&store, &token).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.header("cache-control"), "no-store");
    let url = reply.json()["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with(&store.payments.base_url()), "{url}");
    let sent = store.payments.received().into_iter().find(|sent| sent.route.ends_with(SESSIONS)).unwrap();
    let returned = ("return_url".to_owned(), "https://store.emberfall.example/subscriptions".to_owned());
    assert!(sent.parameters.contains(&returned), "{:?}", sent.parameters);
    assert_eq!(ask_portal(&store, &by_name).await.status, 403);
    let order = call(&store, &token, "/payments/delivery", &json!({ "order_id": begun.order })).await.data();
    assert_eq!(order["own"]["is_subscription"], true, "the order's page links it");
}

#[tokio::test]
async fn a_proven_login_pays_as_its_customer_and_as_a_new_one_if_that_was_deleted_at_the_provider() {
    let store = TestStore::open().await;
    let by_name = login(&store, "Buyer").await;
    let user = id_of(&store, &by_name).await;
    // The provider does not have it.
    become_customer(&store, user, ACCOUNT).await;
    let token = store.token_of(user);
    let named = |sessions: &[Vec<(String, String)>]| -> Vec<bool> {
        sessions.iter().map(|sent| sent.iter().any(|(name, _)| name == "customer")).collect()
    };
    let mut begun = None;
    for (token, customers) in [(&by_name, vec![false]), (&token, vec![false, true, false])] {
        call(&store, token, "/cart/add/602", &json!({ "payment_type": 1 })).await;
        begun = Some(create(&store, token).await);
        let sent = store.payments.received().into_iter().filter(|sent| sent.route == "POST /v1/checkout/sessions");
        assert_eq!(named(&sent.map(|sent| sent.parameters).collect::<Vec<_>>()), customers);
    }
    act(&store, &begun.unwrap(), &Action::Pay).await;
    assert_eq!(ask_portal(&store, &token).await.status, 200, "the new customer is the account's");
}

#[tokio::test]
async fn a_name_is_no_proof_also_of_an_account_that_is_a_customer() {
    let store = TestStore::open().await;
    let token = login(&store, "Buyer").await;
    become_customer(&store, id_of(&store, &token).await, ACCOUNT).await;
    let reply = ask_portal(&store, &token).await;
    assert_eq!(reply.status, 403);
    insta::assert_json_snapshot!("portal", reply.json());
    assert_eq!(asked(&store), 0);
}

#[tokio::test]
async fn an_account_that_is_no_customer_of_the_connected_provider_account_has_no_page() {
    let store = TestStore::open().await;
    let token = store.token("Thornwick");
    assert_eq!(ask_portal(&store, &token).await.status, 404);
    become_customer(&store, id_of(&store, &token).await, "acct_other").await;
    assert_eq!(ask_portal(&store, &token).await.status, 404);
    assert_eq!(asked(&store), 0);
}

#[tokio::test]
async fn while_the_provider_is_away_the_same_request_for_a_page_may_be_sent_again() {
    let store = TestStore::open().await;
    let token = store.token("Thornwick");
    become_customer(&store, id_of(&store, &token).await, ACCOUNT).await;
    store.payments.inject(Fault::before(FaultKind::Status(500)).on(SESSIONS).for_ever());
    let reply = ask_portal(&store, &token).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, "1"));
    assert!(asked(&store) > 0);
}

#[tokio::test]
async fn an_address_has_sixty_requests_in_ten_minutes() {
    let store = TestStore::open().await;
    let token = store.token("Thornwick");
    for _ in 0..60 {
        assert_eq!(ask_portal(&store, &token).await.status, 404);
    }
    let reply = ask_portal(&store, &token).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, "600"));
    assert_eq!(ask_portal(&store, &store.token("Grimble")).await.status, 401, "the token comes first");
}

#[tokio::test]
async fn a_name_is_sent_to_the_page_on_which_the_provider_mails_a_code() {
    let store = TestStore::open().await;
    store.payments.set_up_portal();
    let token = login(&store, "Buyer").await;
    become_customer(&store, id_of(&store, &token).await, ACCOUNT).await;
    let reply = ask_portal(&store, &token).await;
    assert_eq!((reply.status.as_u16(), &reply.json()["by_email"]), (200, &json!(true)), "{}", reply.text);
    assert!(reply.json()["url"].as_str().unwrap().contains("/p/login/"), "{}", reply.text);
    assert_eq!(asked(&store), 0, "no page of the account is opened");
    // Without the right to read the portal's settings the refusal says where else a buyer cancels.
    store.payments.inject(Fault::before(FaultKind::Status(403)).on("/v1/billing_portal/configurations").for_ever());
    assert_eq!(ask_portal(&store, &token).await.status, 403);
}

const RECEIPT: &str = "/payments/receipt";

async fn ask_receipt(store: &TestStore, token: &str, order: &str) -> Reply {
    call(store, token, RECEIPT, &json!({ "order_id": order })).await
}

/// The message of a refusal, for which the provider was not asked.
async fn refused(store: &TestStore, token: &str, order: &str) -> String {
    let before = store.payments.received().len();
    let reply = ask_receipt(store, token, order).await;
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
    let reply = ask_receipt(&store, &token, &begun.order).await;
    assert_eq!((reply.status.as_u16(), reply.header("cache-control")), (200, "no-store"), "{}", reply.text);
    let url = reply.json()["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with(&format!("{}/receipts/ch_", store.payments.base_url())), "{url}");
    let user = call(&store, &token, "/user", &json!({})).await.json()["id"].as_u64().unwrap();
    let proven = store.token_of(shared::model::UserId::new(user));
    assert_eq!(ask_receipt(&store, &proven, &begun.order).await.json()["url"], url);
    let same_name = login(&store, "Buyer").await;
    refused(&store, &same_name, &begun.order).await;
    insta::assert_json_snapshot!("receipt", ask_receipt(&store, &same_name, &begun.order).await.json());
    assert_eq!(
        refused(&store, &store.token("Thornwick"), &begun.order).await,
        "This payment belongs to another account."
    );
    assert_eq!(refused(&store, &token, "aaaaaaaaaaaaaaaa").await, "This payment does not exist.");
    act(&store, &begun, &Action::Refund(None)).await;
    assert_eq!(ask_receipt(&store, &token, &begun.order).await.json()["url"], url, "it shows the refund");
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
    let url = ask_receipt(&store, &token, &begun.order).await.json()["url"].as_str().unwrap().to_owned();
    assert!(url.contains("/invoices/in_"), "{url}");
}

#[tokio::test]
async fn while_the_provider_is_away_the_same_request_for_a_receipt_may_be_sent_again() {
    let store = TestStore::open().await;
    let (token, begun) = begin(&store).await;
    act(&store, &begun, &Action::Pay).await;
    store.payments.inject(Fault::before(FaultKind::Status(500)).on("/v1/checkout/sessions"));
    let reply = ask_receipt(&store, &token, &begun.order).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, "1"), "{}", reply.text);
    assert_eq!(ask_receipt(&store, &token, &begun.order).await.json()["success"], true);
    store.payments.delete_test_data();
    assert_eq!(
        ask_receipt(&store, &token, &begun.order).await.json()["success"],
        false,
        "the provider has no such payment"
    );
}

#[tokio::test]
async fn an_address_has_sixty_requests_in_ten_minutes_with_those_for_checkouts() {
    let store = TestStore::open().await;
    let token = buyer(&store, "Buyer", 302, 1).await;
    create(&store, &token).await;
    for _ in 0..59 {
        assert_eq!(
            ask_receipt(&store, &token, "aaaaaaaaaaaaaaaa").await.json()["message"],
            "This payment does not exist."
        );
    }
    let reply = ask_receipt(&store, &token, "aaaaaaaaaaaaaaaa").await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (200, "600"), "{}", reply.text);
}
