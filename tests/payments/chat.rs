//! Items that need a chat account: whose login counts, and for whom (rules.md, "Chat login").

use super::support::{Begun, add, agreed, call, create, login, refused, stored};
use serde_json::{Value, json};
use shared::clock::Clock;
use shared::model::{ChatAccount, ChatId, ChatName, OrderStatus};
use shared::shop::accounts::logins;
use shared::table::{keys, read_live};
use std::collections::BTreeSet;
use std::time::Duration;
use tests::{Call, TestStore, spread};

const CHAT: &str = "418203377561042101";
const NO_CHAT: &str = "\"Builder's Blessing\" needs a linked chat account. Log in to the chat first.";

fn chat_id() -> ChatId {
    ChatId::parse(CHAT).unwrap()
}

fn with_chat() -> Value {
    json!({ "chatId": CHAT })
}

/// Completes the login at the chat platform.
async fn log_in(store: &TestStore) {
    log_in_as(store, &chat_id()).await;
}

async fn log_in_as(store: &TestStore, id: &ChatId) {
    let name = ChatName::parse("ember").unwrap();
    logins::completed(&store.db, id, name, store.clock.seconds()).await.unwrap();
}

/// A player with an item in the cart that needs a chat account.
async fn buyer(store: &TestStore, name: &str) -> String {
    let token = login(store, name).await;
    let added = call(store, &token, "/cart/add/403", &json!({ "count": 1, "server_id": 1 })).await;
    assert_eq!(added.status, 200, "{}", added.text);
    token
}

fn create_call(token: &str, chat: &str) -> Call {
    let mut body = agreed();
    body["chatId"] = json!(chat);
    Call::post("/payments/create").token(token).json(&body)
}

async fn create_with_chat(store: &TestStore, token: &str) -> Begun {
    create_as(store, token, CHAT).await
}

async fn create_as(store: &TestStore, token: &str, chat: &str) -> Begun {
    let data = store.send(create_call(token, chat)).await.data();
    assert_eq!(data["success"], true, "{data}");
    let session = data["data"]["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    Begun { order: data["order_id"].as_str().unwrap().to_owned(), session }
}

async fn account(store: &TestStore) -> ChatAccount {
    read_live(&store.db, &keys::chat(&chat_id())).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_chat_login_is_of_the_first_account_that_uses_it_until_the_next_login() {
    let store = TestStore::open().await;
    let [first, second] = [buyer(&store, "First").await, buyer(&store, "Second").await];
    assert_eq!(refused(&store, &first, &with_chat()).await, NO_CHAT, "no login is completed");
    log_in(&store).await;
    assert_eq!(account(&store).await.user, None);
    let begun = create_with_chat(&store, &first).await;
    assert_eq!(stored(&store, &begun.order).await.effects.chat, Some(chat_id()));
    assert_eq!(account(&store).await.user, stored(&store, &begun.order).await.order.owner);
    assert_eq!(refused(&store, &second, &with_chat()).await, NO_CHAT);
    add(&store, &first, 302, 1).await;
    create_with_chat(&store, &first).await;
    // The chat account's owner logs in again.
    log_in(&store).await;
    let begun = create_with_chat(&store, &second).await;
    assert_eq!(stored(&store, &begun.order).await.effects.chat, Some(chat_id()));
    add(&store, &first, 302, 1).await;
    assert_eq!(refused(&store, &first, &with_chat()).await, NO_CHAT);
}

#[tokio::test]
async fn a_chat_login_ends_after_six_hours_also_if_its_row_is_still_there() {
    let store = TestStore::open().await;
    log_in(&store).await;
    store.clock.advance(Duration::from_hours(6) - Duration::from_secs(1));
    let token = buyer(&store, "Buyer").await;
    create_with_chat(&store, &token).await;
    store.clock.advance(Duration::from_secs(1));
    add(&store, &token, 302, 1).await;
    account(&store).await;
    assert_eq!(refused(&store, &token, &with_chat()).await, NO_CHAT, "also for the account that uses it");
}

#[tokio::test]
async fn a_buyer_who_links_another_chat_account_pays_for_that_one() {
    let store = TestStore::open().await;
    let other = ChatId::parse("418203377561042102").unwrap();
    log_in(&store).await;
    let token = buyer(&store, "Buyer").await;
    let first = create_with_chat(&store, &token).await;
    assert_eq!(create_with_chat(&store, &token).await.session, first.session);
    log_in_as(&store, &other).await;
    let second = create_as(&store, &token, &other.to_string()).await;
    assert_eq!(stored(&store, &second.order).await.effects.chat, Some(other.clone()));
    assert_eq!(stored(&store, &first.order).await.order.status, OrderStatus::Cancelled);
    assert_eq!(create(&store, &token).await.session, second.session, "a request without one is for the same");
    // Of a login that nobody completed nothing is known.
    assert_eq!(create_as(&store, &token, "418203377561042103").await.session, second.session);
}

#[tokio::test]
async fn a_cart_that_needs_no_chat_account_uses_none() {
    let store = TestStore::open().await;
    log_in(&store).await;
    let token = super::support::buyer(&store, "Buyer", 302, 1).await;
    let begun = create_with_chat(&store, &token).await;
    assert_eq!(stored(&store, &begun.order).await.effects.chat, None);
    assert_eq!(account(&store).await.user, None);
    assert_eq!(create(&store, &token).await.session, begun.session);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn of_sixteen_accounts_that_use_a_chat_login_at_once_one_gets_it() {
    let store = TestStore::open().await;
    log_in(&store).await;
    let mut calls = Vec::new();
    for place in 0..16 {
        let token = buyer(&store, &format!("Racer{place}")).await;
        calls.push(create_call(&token, CHAT).from_ip(&format!("198.18.1.{place}")));
    }
    let replies = spread(&store.instances(8), calls).await;
    let data: Vec<Value> = replies.iter().map(|(reply, _)| reply.data()).collect();
    let begun: Vec<&Value> = data.iter().filter(|data| data["success"] == true).collect();
    assert_eq!(begun.len(), 1, "{data:?}");
    let order = stored(&store, begun[0]["order_id"].as_str().unwrap()).await;
    assert_eq!((order.effects.chat, account(&store).await.user), (Some(chat_id()), order.order.owner));
    let refusals: BTreeSet<&str> = data.iter().filter_map(|data| data["message"].as_str()).collect();
    assert!(refusals.contains(NO_CHAT) && refusals.len() <= 3, "{refusals:?}");
}
