//! POST /payments/orders: the orders of the caller's account.

use super::support::{act, add, buyer, call, create, login};
use serde_json::{Value, json};
use shared::shop::orders;
use shared::shop::orders::lists::{OwnedOrder, PAGE};
use shared::table::keys;
use shared::table::transaction::send;
use std::time::Duration;
use stripe_stand_in::Action;
use tests::{Reply, TestStore};

const PATH: &str = "/payments/orders";

async fn list(store: &TestStore, token: &str, cursor: &Value) -> Reply {
    call(store, token, PATH, &json!({ "cursor": cursor })).await
}

async fn proven(store: &TestStore, by_name: &str) -> String {
    let user = call(store, by_name, "/user", &json!({})).await.json()["id"].as_u64().unwrap();
    store.token_of(shared::model::UserId::new(user))
}

#[tokio::test]
async fn a_proven_login_sees_the_orders_of_every_login_of_its_account() {
    let store = TestStore::open().await;
    let by_name = login(&store, "Buyer").await;
    let token = proven(&store, &by_name).await;
    assert_eq!(list(&store, &token, &Value::Null).await.json(), json!({ "orders": [], "next": null }));
    for (login, item) in [(&by_name, 302), (&token, 201)] {
        add(&store, login, item, 2).await;
        let begun = create(&store, login).await;
        act(&store, &begun, &Action::Pay).await;
        store.clock.advance(Duration::from_mins(1));
    }
    let reply = list(&store, &token, &Value::Null).await;
    assert_eq!((reply.status.as_u16(), reply.header("cache-control")), (200, "no-store"));
    let mut body = reply.json();
    for order in body["orders"].as_array_mut().unwrap() {
        // It is random.
        assert_eq!(order["internal_id"].take().as_str().unwrap().len(), 16);
    }
    insta::assert_json_snapshot!(body);
}

#[tokio::test]
async fn another_account_and_a_login_by_name_see_none() {
    let store = TestStore::open().await;
    let by_name = buyer(&store, "Buyer", 302, 1).await;
    create(&store, &by_name).await;
    let other = proven(&store, &login(&store, "Stranger").await).await;
    assert_eq!(list(&store, &other, &Value::Null).await.json()["orders"], json!([]));
    let refused = list(&store, &by_name, &Value::Null).await;
    assert_eq!(refused.status, 403);
    assert!(refused.json()["message"].as_str().unwrap().contains("from within the game"), "{}", refused.text);
    // The orders are not even read for it.
    store.calls.clear();
    list(&store, &by_name, &Value::Null).await;
    assert!(!store.calls.operations().iter().any(|operation| format!("{operation:?}").contains("Query")));
}

#[tokio::test]
async fn a_cursor_continues_where_the_page_before_ended_and_nothing_else_is_one() {
    let store = TestStore::open().await;
    let by_name = login(&store, "Buyer").await;
    let token = proven(&store, &by_name).await;
    add(&store, &by_name, 302, 1).await;
    let begun = create(&store, &by_name).await;
    let first = orders::get(&store.db, &shared::model::InternalId::new(&begun.order)).await.unwrap().unwrap();
    for number in 1..=PAGE {
        let mut copy = first.clone();
        copy.order.created_at += i64::from(number);
        copy.order.internal_id = shared::model::InternalId::new(&format!("copy-{number:03}"));
        let writes = vec![copy.put_new().unwrap(), OwnedOrder::put(&copy.order).unwrap().unwrap()];
        send(&store.db, writes).await.unwrap();
    }
    let page = list(&store, &token, &Value::Null).await.json();
    let id = |page: &Value, place: usize| page["orders"][place]["internal_id"].as_str().unwrap_or_default().to_owned();
    assert_eq!((page["orders"].as_array().unwrap().len(), id(&page, 0)), (50, "copy-050".to_owned()));
    let rest = list(&store, &token, &page["next"]).await.json();
    assert_eq!(
        (rest["orders"].as_array().unwrap().len(), id(&rest, 0), &rest["next"]),
        (1, first.order.internal_id.to_string(), &Value::Null)
    );
    for wrong in ["", "x", "1", "1#", "#1", "1#2#3", &"1".repeat(200), "1#x"] {
        let reply = list(&store, &token, &json!(wrong)).await;
        assert_eq!(reply.status, 400, "{wrong}");
        assert!(reply.json()["message"].as_str().unwrap().contains("cursor"), "{}", reply.text);
    }
    // That of another account is a place in the caller's own list.
    let other = proven(&store, &login(&store, "Stranger").await).await;
    assert_eq!(list(&store, &other, &page["next"]).await.json()["orders"], json!([]));
}

#[tokio::test]
async fn the_row_under_the_user_is_written_with_the_order_or_not_at_all() {
    let store = TestStore::open().await;
    let by_name = buyer(&store, "Buyer", 302, 1).await;
    store.calls.clear();
    let begun = create(&store, &by_name).await;
    let stored = orders::get(&store.db, &shared::model::InternalId::new(&begun.order)).await.unwrap().unwrap();
    let order = keys::order(&stored.order.internal_id).pk;
    let row = OwnedOrder::key(&stored.order).unwrap().pk;
    let needs = store.calls.needs();
    let together = needs
        .iter()
        .filter(|need| need.keys.contains(&order) && need.actions.iter().any(|action| action.contains("Put")));
    assert!(together.clone().count() >= 1 && together.into_iter().all(|need| need.keys.contains(&row)), "{needs:?}");
}
