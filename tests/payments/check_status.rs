//! POST /payments/checkStatus: the response for an order's id. [`super::rate_limit`] tests its rate limit.

use serde_json::json;
use shared::model::{InternalId, Order, OrderStatus, UserId};
use shared::table::codec::encode_live;
use shared::table::keys;
use std::collections::BTreeSet;
use tests::{Call, NOW, Reply, TestStore};

const PATH: &str = "/payments/checkStatus";

/// Looks up an order, with a value of the `Authorization` header if there is one.
async fn check(store: &TestStore, order: &str, authorization: Option<&str>) -> Reply {
    let call = Call::post(PATH).json(&json!({ "order_id": order }));
    let call = authorization.into_iter().fold(call, |call, value| call.header("authorization", value));
    store.send(call).await
}

fn bearer(store: &TestStore, name: &str) -> String {
    format!("Bearer {}", store.token(name))
}

fn order(status: OrderStatus, owner: Option<u64>) -> &'static Order {
    let mut orders = TestStore::sample().live.orders.iter();
    let wanted = |order: &&Order| order.status == status && order.owner == owner.map(UserId::new);
    orders.find(wanted).expect("such an order in the sample store")
}

fn owned() -> &'static str {
    order(OrderStatus::Paid, Some(1)).internal_id.as_str()
}

fn unowned() -> &'static str {
    order(OrderStatus::Paid, None).internal_id.as_str()
}

async fn put(store: &TestStore, order: &Order) {
    let item = encode_live(&keys::order(&order.internal_id), order).unwrap();
    tests::put(&store.db, item).await;
}

#[tokio::test]
async fn an_owner_sees_their_order() {
    let store = TestStore::open().await;
    let reply = check(&store, "4mjyi2i34hbzt6b6", Some(&bearer(&store, "Thornwick"))).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("cache-control"), "no-store");
    insta::assert_json_snapshot!(reply.json());
}

#[tokio::test]
async fn the_charge_is_shown_in_the_currency_of_the_charge() {
    let store = TestStore::open().await;
    let reply = check(&store, "636zwpeyszz6c5xt", Some(&bearer(&store, "Quillfeather"))).await;
    insta::assert_json_snapshot!(reply.json());
}

#[tokio::test]
async fn every_status_has_a_message_of_its_own() {
    let store = TestStore::open().await;
    let mut messages = BTreeSet::new();
    for status in OrderStatus::ALL {
        let order = Order { status, owner: None, ..order(OrderStatus::Paid, Some(1)).clone() };
        put(&store, &order).await;
        let reply = check(&store, order.internal_id.as_str(), None).await;
        assert_eq!(reply.status, 200);
        let body = reply.json();
        assert_eq!(body["status"], "success", "the lookup worked");
        assert_eq!(body["order_data"]["status"], status.as_str());
        messages.insert(body["message"].as_str().unwrap().to_owned());
    }
    assert_eq!(messages.len(), OrderStatus::ALL.len(), "{messages:?}");
}

#[tokio::test]
async fn the_time_is_utc_to_the_second() {
    let store = TestStore::open().await;
    for (created_at, shown) in
        [(0, "1970-01-01 00:00:00"), (1_709_210_096, "2024-02-29 12:34:56"), (NOW, "2026-06-15 12:00:00")]
    {
        put(&store, &Order { created_at, ..order(OrderStatus::Paid, None).clone() }).await;
        let body = check(&store, unowned(), None).await.json();
        assert_eq!(body["order_data"]["created_at"], shown);
    }
}

/// Everything that counts as no token, and every token that is not valid (rules.md, "Tokens").
fn nobodies(store: &TestStore) -> Vec<Option<String>> {
    let mut values: Vec<Option<String>> =
        ["", "Bearer", "Bearer ", "Bearer undefined", "bearer null"].map(|value| Some(value.to_owned())).to_vec();
    let expired = store.keys.sign(UserId::new(1), NOW - 7_200, 3_600).unwrap();
    let invalid = ["Bearer a.b.c".to_owned(), "Basic dTpw".to_owned(), format!("Bearer {expired}")];
    values.extend(invalid.map(Some));
    values.push(Some(bearer(store, "Grimble")));
    values.push(Some(format!("Bearer {}", store.token_of(UserId::new(9_999)))));
    values.push(None);
    values
}

#[tokio::test]
async fn without_a_valid_token_only_orders_without_an_owner_are_shown() {
    let store = TestStore::open().await;
    for (number, value) in nobodies(&store).into_iter().enumerate() {
        let ask = |order: &str| {
            let call = Call::post(PATH).json(&json!({ "order_id": order })).from_ip(&format!("192.0.2.{number}"));
            let call = value.iter().fold(call, |call, value| call.header("authorization", value));
            store.send(call)
        };
        let refused = ask(owned()).await;
        assert_eq!(refused.status, 401, "{value:?}");
        assert_eq!(refused.header("www-authenticate"), "Bearer");
        assert_eq!(refused.json(), json!({ "status": "error", "message": "Unauthorized" }), "{value:?}");
        let shown = ask(unowned()).await;
        assert_eq!((shown.status.as_u16(), &shown.json()["status"]), (200, &json!("success")), "{value:?}");
        let missing = ask("nosuchorder").await;
        assert_eq!((missing.status.as_u16(), &missing.json()["status"]), (200, &json!("not_found")), "{value:?}");
    }
}

#[tokio::test]
async fn a_revoked_owner_does_not_see_their_order() {
    let store = TestStore::open().await;
    let order = order(OrderStatus::Paid, Some(4)).internal_id.as_str();
    assert_eq!(check(&store, order, Some(&bearer(&store, "Grimble"))).await.status, 401);
}

#[tokio::test]
async fn another_user_is_forbidden_and_sees_nothing_of_the_order() {
    let store = TestStore::open().await;
    let reply = check(&store, owned(), Some(&bearer(&store, "Pebble"))).await;
    assert_eq!(reply.status, 200);
    let body = reply.json();
    assert_eq!(body["status"], "forbidden");
    assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["status", "message"]);
    for name in ["Thornwick", "Pebble"] {
        let reply = check(&store, unowned(), Some(&bearer(&store, name))).await;
        assert_eq!(reply.json()["status"], "success", "any caller may see an order without an owner");
    }
}

#[tokio::test]
async fn an_id_is_matched_exactly() {
    let store = TestStore::open().await;
    let id = unowned();
    for other in [id.to_uppercase(), format!(" {id}"), format!("{id} "), id[1..].to_owned(), format!("{id}\0")] {
        assert_eq!(check(&store, &other, None).await.json()["status"], "not_found", "{other:?}");
    }
    for odd in ["Order #1", "  padded  ", "\u{0}", &"💎".repeat(255)] {
        put(&store, &Order { internal_id: InternalId::new(odd), ..order(OrderStatus::Paid, None).clone() }).await;
        let body = check(&store, odd, None).await.json();
        assert_eq!(body["order_data"]["internal_id"], odd, "{odd:?}: {body}");
    }
}
