//! POST /payments/portal: the provider's page of the buyer's subscriptions.

use super::support::{act, call, create, login};
use serde_json::json;
use shared::model::{ProviderAccount, ProviderCustomer, User, UserId};
use shared::shop::accounts::users;
use shared::table::transaction::{Write, send};
use shared::table::{keys, read_live};
use stripe_stand_in::{ACCOUNT, Action, Fault, FaultKind};
use tests::{Call, Reply, TestStore};

const PATH: &str = "/payments/portal";
const SESSIONS: &str = "/v1/billing_portal/sessions";

async fn ask(store: &TestStore, token: &str) -> Reply {
    store.send(Call::post(PATH).token(token)).await
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
        users::set_subscriptions(user, &read.subscriptions, &read.subscriptions, Some(&customer)).unwrap();
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
    assert_eq!(ask(&store, &token).await.status, 404, "it is not paid");
    act(&store, &begun, &Action::Pay).await;
    let reply = ask(&store, &token).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.header("cache-control"), "no-store");
    let url = reply.json()["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with(&store.payments.base_url()), "{url}");
    let sent = store.payments.received().into_iter().find(|sent| sent.route.ends_with(SESSIONS)).unwrap();
    let returned = ("return_url".to_owned(), "https://store.emberfall.example/subscriptions".to_owned());
    assert!(sent.parameters.contains(&returned), "{:?}", sent.parameters);
    assert_eq!(ask(&store, &by_name).await.status, 403);
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
    assert_eq!(ask(&store, &token).await.status, 200, "the new customer is the account's");
}

#[tokio::test]
async fn a_name_is_no_proof_also_of_an_account_that_is_a_customer() {
    let store = TestStore::open().await;
    let token = login(&store, "Buyer").await;
    become_customer(&store, id_of(&store, &token).await, ACCOUNT).await;
    let reply = ask(&store, &token).await;
    assert_eq!(reply.status, 403);
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(asked(&store), 0);
}

#[tokio::test]
async fn an_account_that_is_no_customer_of_the_connected_provider_account_has_no_page() {
    let store = TestStore::open().await;
    let token = store.token("Thornwick");
    assert_eq!(ask(&store, &token).await.status, 404);
    become_customer(&store, id_of(&store, &token).await, "acct_other").await;
    assert_eq!(ask(&store, &token).await.status, 404);
    assert_eq!(asked(&store), 0);
}

#[tokio::test]
async fn while_the_provider_is_away_the_same_request_may_be_sent_again() {
    let store = TestStore::open().await;
    let token = store.token("Thornwick");
    become_customer(&store, id_of(&store, &token).await, ACCOUNT).await;
    store.payments.inject(Fault::before(FaultKind::Status(500)).on(SESSIONS).for_ever());
    let reply = ask(&store, &token).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, "1"));
    assert!(asked(&store) > 0);
}

#[tokio::test]
async fn an_address_has_sixty_requests_in_ten_minutes() {
    let store = TestStore::open().await;
    let token = store.token("Thornwick");
    for _ in 0..60 {
        assert_eq!(ask(&store, &token).await.status, 404);
    }
    let reply = ask(&store, &token).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, "600"));
    assert_eq!(ask(&store, &store.token("Grimble")).await.status, 401, "the token comes first");
}

#[tokio::test]
async fn a_name_is_sent_to_the_page_on_which_the_provider_mails_a_code() {
    let store = TestStore::open().await;
    store.payments.set_up_portal();
    let token = login(&store, "Buyer").await;
    become_customer(&store, id_of(&store, &token).await, ACCOUNT).await;
    let reply = ask(&store, &token).await;
    assert_eq!((reply.status.as_u16(), &reply.json()["by_email"]), (200, &json!(true)), "{}", reply.text);
    assert!(reply.json()["url"].as_str().unwrap().contains("/p/login/"), "{}", reply.text);
    assert_eq!(asked(&store), 0, "no page of the account is opened");
    // Without the right to read the portal's settings the refusal says where else a buyer cancels.
    store.payments.inject(Fault::before(FaultKind::Status(403)).on("/v1/billing_portal/configurations").for_ever());
    assert_eq!(ask(&store, &token).await.status, 403);
}
