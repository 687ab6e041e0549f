//! Logins at a checkout. A login by name, and what another login of the same account began: anyone who knows the name
//! can log in (rules.md, "Logins"). And items that need a chat account: whose login counts, and for whom (rules.md,
//! "Chat login").

use super::support::{Begun, act, add, agreed, call, cart, create, enter, login, refused, status, stored};
use crate::attacks::tokens::without_login_id;
use serde_json::{Value, json};
use shared::clock::Clock;
use shared::model::{ChatAccount, ChatId, ChatName, Login, OrderStatus, UserId};
use shared::shop::accounts::logins;
use shared::table::{keys, read_live};
use std::collections::BTreeSet;
use std::time::Duration;
use stripe_stand_in::Action;
use tests::{Call, NOW, TestStore, spread};

const CARD: &str = "GLOW-7QXM-2K4D";
const MASKED: &str = "****2k4d";
const ENTER_AGAIN: &str = "Please enter your gift card ****2k4d again before you pay. It was entered by another login.";

/// Two logins by the same name.
async fn two_logins(store: &TestStore) -> [String; 2] {
    [login(store, "Buyer").await, login(store, "bUYER").await]
}

fn user_of(store: &TestStore, token: &str) -> UserId {
    store.keys.verify(token, NOW).unwrap().user
}

/// A name login's cart with a gift card on it that does not pay all of it.
async fn with_card(store: &TestStore, token: &str) {
    add(store, token, 302, 50).await;
    let (success, message) = enter(store, token, CARD).await;
    assert!(success, "{message}");
}

#[tokio::test]
async fn a_gift_card_pays_only_for_the_login_that_entered_it() {
    let store = TestStore::open().await;
    let [owner, thief] = two_logins(&store).await;
    with_card(&store, &owner).await;
    assert_eq!(cart(&store, &owner).await["gift_code"], CARD.to_lowercase());
    assert_eq!(cart(&store, &thief).await["gift_code"], MASKED);
    // For any lines that the thief adds or leaves.
    for (path, body) in [("/cart/add/302", json!({ "count": 1 })), ("/cart/reload/1", json!({ "count": 1 }))] {
        assert_eq!(call(&store, &thief, path, &body).await.status, 200);
        assert_eq!(refused(&store, &thief, &json!({})).await, ENTER_AGAIN);
    }
    let (success, message) = enter(&store, &thief, MASKED).await;
    assert!(!success && message == "This code does not exist.", "{message}");
    assert!(store.payments.sessions().is_empty(), "nothing was begun");
    let begun = create(&store, &owner).await;
    assert!(stored(&store, &begun.order).await.effects.gift_card.is_some());
}

#[tokio::test]
async fn entering_a_card_again_makes_it_that_logins_own() {
    let store = TestStore::open().await;
    let [first, second] = two_logins(&store).await;
    with_card(&store, &first).await;
    store.calls.clear();
    assert_eq!(enter(&store, &second, CARD).await, (true, "The gift card was applied.".to_owned()));
    assert_eq!(store.calls.writes(), 1);
    assert_eq!(enter(&store, &second, CARD).await, (true, "This code is on your cart already.".to_owned()));
    assert_eq!(store.calls.writes(), 1);
    assert_eq!(cart(&store, &first).await["gift_code"], MASKED);
    assert_eq!(refused(&store, &first, &json!({})).await, ENTER_AGAIN);
    create(&store, &second).await;
}

#[tokio::test]
async fn a_short_card_is_masked_whole() {
    let store = TestStore::open().await;
    let card = json!({ "kind": "gift", "id": 901, "code": "elevenchars", "active": true, "balance": 100, "start_balance": 100 });
    let item =
        shared::table::codec::encode_live(&keys::code(&shared::model::CodeText::parse("elevenchars").unwrap()), &card);
    crate::support::put(&store, item.unwrap()).await;
    let [owner, thief] = two_logins(&store).await;
    add(&store, &owner, 302, 1).await;
    assert!(enter(&store, &owner, "elevenchars").await.0);
    assert_eq!(cart(&store, &thief).await["gift_code"], "****");
}

#[tokio::test]
async fn a_checkout_is_given_to_the_login_that_began_it_and_another_begins_its_own() {
    let store = TestStore::open().await;
    let [owner, thief] = two_logins(&store).await;
    add(&store, &owner, 302, 1).await;
    let begun = create(&store, &owner).await;
    assert_eq!(create(&store, &owner).await.session, begun.session, "the same login has the same checkout");
    let other = create(&store, &thief).await;
    assert_ne!((&other.order, &other.session), (&begun.order, &begun.session));
    store.payments.act(&begun.session, &Action::Pay).unwrap_err();
    assert_eq!(status(&store, &owner, &begun).await.1, "CANCELLED");
    let sid = |token: &str| store.keys.verify(token, NOW).unwrap().login();
    assert_eq!(stored(&store, &begun.order).await.effects.login, sid(&owner));
    assert_eq!(stored(&store, &other.order).await.effects.login, sid(&thief));
    // And back: what the thief began is not the owner's either.
    let again = create(&store, &owner).await;
    store.payments.act(&other.session, &Action::Pay).unwrap_err();
    act(&store, &again, &Action::Pay).await;
    assert_eq!(status(&store, &owner, &again).await.1, "PAID");
}

#[tokio::test]
async fn a_checkout_that_is_paid_is_not_begun_again_by_another_login() {
    let store = TestStore::open().await;
    let [owner, other] = two_logins(&store).await;
    add(&store, &owner, 302, 1).await;
    let begun = create(&store, &owner).await;
    // The webhook event has not come yet.
    store.payments.act(&begun.session, &Action::Pay).unwrap();
    let reply = call(&store, &other, "/payments/create", &agreed()).await;
    assert!(!reply.text.contains(&begun.session) && reply.text.contains(&begun.order), "{}", reply.text);
    assert_eq!(stored(&store, &begun.order).await.order.status.as_str(), "PAID");
    assert_eq!(store.payments.sessions().len(), 1);
}

#[tokio::test]
async fn no_response_repeats_the_card_the_session_or_its_url_to_another_login() {
    let store = TestStore::open().await;
    let [owner, thief] = two_logins(&store).await;
    with_card(&store, &owner).await;
    let Begun { order, session } = create(&store, &owner).await;
    let url = stored(&store, &order).await.effects.provider.unwrap().url.unwrap();
    let secrets = [CARD.to_lowercase(), session, url, owner.clone(), "player@example.com".to_owned()];
    let mut calls: Vec<Call> = Vec::new();
    for endpoint in tests::endpoints() {
        let (method, path) = endpoint.route.split_once(' ').unwrap();
        let path = path.replace("{id}", "302").replace("{cid}", "1").replace("{url}", "companions");
        let call = if method == "GET" { Call::get(&path) } else { Call::post(&path) };
        let body = json!({
            "url": "about", "coupon": MASKED, "ref_code": "x", "order_id": order, "checkout_id": "cs_x", "count": 1,
            "username": "Buyer", "var_id": 1, "var_value": "x", "server_id": 1, "price": 1,
        });
        calls.push(if method == "GET" { call } else { call.json(&body) });
    }
    // Removing the card and the lines comes last, and a checkout before and after it.
    calls.push(Call::post("/payments/create").json(&agreed()));
    calls.sort_by_key(|call| format!("{call:?}").contains("remove"));
    calls.push(Call::post("/payments/create").json(&agreed()));
    for call in calls {
        let reply = store.send(call.clone().token(&thief)).await;
        for secret in &secrets {
            assert!(!reply.text.to_lowercase().contains(&secret.to_lowercase()), "{call:?}: {}", reply.text);
        }
    }
}

#[tokio::test]
async fn logins_that_prove_something_count_as_one() {
    let store = TestStore::open().await;
    let [by_name, _] = two_logins(&store).await;
    let user = user_of(&store, &by_name);
    let [one, other] = [store.token_of(user), store.token_of(user)];
    with_card(&store, &one).await;
    assert_eq!(cart(&store, &other).await["gift_code"], CARD.to_lowercase());
    assert_eq!(cart(&store, &by_name).await["gift_code"], MASKED);
    let begun = create(&store, &one).await;
    assert_eq!(create(&store, &other).await.session, begun.session);
    assert_eq!(stored(&store, &begun.order).await.effects.login, Some(Login::Proven));
    assert_eq!(refused(&store, &by_name, &json!({})).await, ENTER_AGAIN);
    // What a login by name entered is on the account, whose owner may use it; the checkout is of the one that began it.
    assert!(enter(&store, &by_name, CARD).await.0);
    let begun = create(&store, &by_name).await;
    assert_eq!(cart(&store, &one).await["gift_code"], CARD.to_lowercase());
    let own = create(&store, &one).await;
    assert_ne!(own.session, begun.session);
    assert!(stored(&store, &own.order).await.effects.gift_card.is_some());
}

#[tokio::test]
async fn a_login_by_name_without_an_id_must_log_in_again_before_it_enters_a_card_or_pays() {
    let store = TestStore::open().await;
    let token = login(&store, "Buyer").await;
    let old = without_login_id(user_of(&store, &token).get());
    with_card(&store, &token).await;
    assert_eq!(cart(&store, &old).await["gift_code"], MASKED);
    let before = store.db.get(&keys::cart(user_of(&store, &token)), true).await.unwrap();
    let again = (false, "Please log in again before you enter a gift card.".to_owned());
    assert_eq!(enter(&store, &old, CARD).await, again);
    assert_eq!(refused(&store, &old, &json!({})).await, "Please log in again before you pay.");
    assert_eq!(store.db.get(&keys::cart(user_of(&store, &token)), true).await.unwrap(), before);
    assert!(store.payments.sessions().is_empty());
    // Everything else goes on.
    assert!(enter(&store, &old, "HEARTH10").await.0);
    add(&store, &old, 302, 1).await;
    assert_eq!(call(&store, &old, "/cart/removeGiftcard", &json!({})).await.data()["success"], true);
    assert_eq!(refused(&store, &old, &json!({})).await, "Please log in again before you pay.");
}

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
    // Of a login that no one completed nothing is known.
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
