//! POST /payments/delivery: how far the lines of an order are delivered.

use super::support::{act, add, begin, buyer, call, create, enter, login, refused, stored};
use crate::support::{fields, item, republish};
use publish::files::{ChooseFile, Decimal};
use serde_json::{Value, json};
use shared::model::{CommandId, TaxMode, TaxPrices};
use shared::shop::delivery::done;
use std::time::Duration;
use stripe_stand_in::Action;
use tests::{Call, TestStore};

const PATH: &str = "/payments/delivery";
/// An item that is delivered to the server of the tests only.
const DRUMS: u64 = 405;

async fn lines(store: &TestStore, token: &str, order: &str) -> Value {
    let reply = call(store, token, PATH, &json!({ "order_id": order })).await;
    assert_eq!(reply.header("cache-control"), "no-store");
    reply.data()
}

async fn state(store: &TestStore, token: &str, order: &str) -> String {
    lines(store, token, order).await["lines"][0]["state"].as_str().unwrap().to_owned()
}

/// A store whose drums run one command, at once or for a player who is on the server.
async fn open(online: bool) -> TestStore {
    let store = TestStore::open().await;
    republish(&store, |files| {
        files.store.content.commands.clear();
        let commands = &mut item(files, DRUMS).commands;
        commands.retain(|command| command.delay.is_none());
        commands[0].online = online;
    })
    .await;
    store
}

/// The ids that a poll of the game server returns.
async fn served(store: &TestStore) -> Vec<u32> {
    let rows = store.poll().await;
    rows.as_array().unwrap().iter().map(|row| u32::try_from(row["id"].as_u64().unwrap()).unwrap()).collect()
}

#[tokio::test]
async fn tax_that_came_on_top_is_in_the_price_and_named() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        let payments = &mut files.store.content.payments;
        (payments.tax, payments.tax_prices) = (TaxMode::Stripe.into(), Some(TaxPrices::Exclusive.into()));
    })
    .await;
    let token = buyer(&store, "Buyer", 201, 1).await;
    let begun = create(&store, &token).await;
    let sums = async || {
        let shown = lines(&store, &token, &begun.order).await;
        let status = call(&store, &token, "/payments/checkStatus", &json!({ "order_id": begun.order })).await.json();
        json!([status["order_data"]["price"], shown["tax"], shown["lines"][0]["total"]])
    };
    assert_eq!(sums().await, json!([1.99, 0, 1.99]));
    act(&store, &begun, &Action::Pay).await;
    assert_eq!(sums().await, json!([2.37, 0.38, 1.99]));
}

#[tokio::test]
async fn a_line_is_on_its_way_until_the_game_server_has_run_it_and_withdrawn_after_a_refund() {
    let store = open(false).await;
    let token = buyer(&store, "Buyer", DRUMS, 1).await;
    let begun = create(&store, &token).await;
    assert_eq!(state(&store, &token, &begun.order).await, "none", "it is not paid");
    act(&store, &begun, &Action::Pay).await;
    insta::assert_json_snapshot!(lines(&store, &token, &begun.order).await);
    let ids = served(&store).await;
    assert_eq!((ids.len(), state(&store, &token, &begun.order).await.as_str()), (1, "waiting"));
    store.tell("executed", &ids).await;
    assert_eq!(state(&store, &token, &begun.order).await, "delivered");
    act(&store, &begun, &Action::Refund(None)).await;
    assert_eq!(state(&store, &token, &begun.order).await, "withdrawn");
}

#[tokio::test]
async fn what_waits_for_the_player_says_so_and_nothing_is_written() {
    let store = open(true).await;
    let token = buyer(&store, "Buyer", DRUMS, 1).await;
    let begun = create(&store, &token).await;
    act(&store, &begun, &Action::Pay).await;
    let ids = served(&store).await;
    store.tell("delivered", &ids).await;
    store.calls.clear();
    let line = lines(&store, &token, &begun.order).await["lines"][0].clone();
    assert_eq!((&line["state"], &line["player"]), (&json!("join"), &json!("Buyer")), "{line}");
    assert_eq!(line["servers"].as_array().map(Vec::len), Some(1), "{line}");
    assert_eq!(store.calls.writes(), 0);
    store.tell("validated", &ids).await;
    store.clock.advance(Duration::from_mins(6));
    let sweep = serde_json::from_str(include_str!("../../infra/local/src/sweep.json")).unwrap();
    assert_eq!(store.invoke("payments", &sweep).await.status, 200);
    assert_eq!(state(&store, &token, &begun.order).await, "unknown", "nothing was said about it for too long");
}

#[tokio::test]
async fn what_the_game_server_refused_says_so_until_the_owner_has_done_it() {
    let store = open(false).await;
    let token = buyer(&store, "Buyer", DRUMS, 1).await;
    let begun = create(&store, &token).await;
    act(&store, &begun, &Action::Pay).await;
    let ids = served(&store).await;
    let body =
        json!({ "results": [{ "id": ids[0], "state": "unknown", "refused": true, "output": "Unknown command" }] });
    assert_eq!(store.server_says("executed", Some(body)).await.status, 200);
    assert_eq!(state(&store, &token, &begun.order).await, "refused");
    let id = CommandId::new(ids[0]).unwrap();
    done(&store.db, store.clock.as_ref(), id).await.unwrap();
    assert_eq!(state(&store, &token, &begun.order).await, "delivered");
}

#[tokio::test]
async fn another_login_sees_nothing_of_the_order() {
    let store = TestStore::open().await;
    let (_, begun) = begin(&store).await;
    let other = login(&store, "Stranger").await;
    let body = lines(&store, &other, &begun.order).await;
    assert_eq!((fields(&body), &body["status"]), (vec!["status", "message"], &json!("forbidden")));
    for token in ["undefined", "a.b.c"] {
        let reply = call(&store, token, PATH, &json!({ "order_id": begun.order })).await;
        assert_eq!(reply.status, 401);
        assert_eq!(reply.json(), json!({ "status": "error", "message": "Unauthorized" }));
    }
}

#[tokio::test]
async fn an_order_without_an_owner_is_shown_to_all_and_one_that_does_not_exist_to_none() {
    let store = TestStore::open().await;
    for token in ["undefined".to_owned(), store.token("Pebble")] {
        // It was recorded without names of its items.
        let shown = lines(&store, &token, "u2qlyq2uxxth4o4j").await;
        assert_eq!(
            shown["lines"][0],
            json!({
                "name": "An armful of firewood", "state": "none", "player": null, "servers": [], "count": 1, "total": 12,
                "gift_to": null,
            })
        );
        let body = lines(&store, &token, "aaaaaaaaaaaaaaaa").await;
        assert_eq!((fields(&body), &body["status"]), (vec!["status", "message"], &json!("not_found")));
    }
    assert_eq!(store.send(Call::get(PATH)).await.status, 404);
}

/// What only the buyer sees of an order.
async fn own(store: &TestStore, token: &str, order: &str) -> Value {
    lines(store, token, order).await["own"].clone()
}

#[tokio::test]
async fn only_the_login_that_began_an_order_and_a_proven_one_can_pay_it_and_see_its_codes() {
    let store = TestStore::open().await;
    let (token, begun) = begin(&store).await;
    let seen = own(&store, &token, &begun.order).await;
    assert!(seen["pay_url"].as_str().unwrap().ends_with(&begun.session), "{seen}");
    let rest = (&seen["coupon"], &seen["gift_card"], &seen["is_subscription"]);
    assert_eq!(rest, (&Value::Null, &Value::Null, &json!(false)));
    let same_name = login(&store, "Buyer").await;
    let shown = lines(&store, &same_name, &begun.order).await;
    assert_eq!((&shown["player"], &shown["own"]), (&json!("Buyer"), &Value::Null), "a name is not a proof");
    let user = call(&store, &token, "/user", &json!({})).await.json()["id"].as_u64().unwrap();
    let proven = store.token_of(shared::model::UserId::new(user));
    assert_eq!(own(&store, &proven, &begun.order).await, seen);
    act(&store, &begun, &Action::Pay).await;
    assert_eq!(own(&store, &token, &begun.order).await["pay_url"], Value::Null, "it is paid");
}

#[tokio::test]
async fn codes_are_masked_for_their_own_buyer_too() {
    let store = TestStore::open().await;
    let token = buyer(&store, "Buyer", 302, 5).await;
    assert!(enter(&store, &token, "EIGHTH").await.0 && enter(&store, &token, "GLOW-7QXM-2K4D").await.0);
    let begun = create(&store, &token).await;
    let seen = own(&store, &token, &begun.order).await;
    assert_eq!((&seen["coupon"], &seen["gift_card"]), (&json!("****"), &json!("****2k4d")));
}

#[tokio::test]
async fn a_refund_says_how_much_and_a_checkout_that_ended_that_nothing_was_charged() {
    let store = TestStore::open().await;
    let (token, begun) = begin(&store).await;
    let shown = lines(&store, &token, &begun.order).await;
    assert_eq!((&shown["is_uncharged"], shown["lines"][0]["total"].as_f64()), (&json!(false), Some(3.0)), "{shown}");
    act(&store, &begun, &Action::Pay).await;
    act(&store, &begun, &Action::Refund(Some(100))).await;
    let shown = lines(&store, &token, &begun.order).await;
    assert_eq!((shown["refunded"].as_f64(), &shown["is_uncharged"]), (Some(1.0), &json!(false)));
    assert!(shown["refunded_at"].is_string(), "made in the provider's dashboard, it has a day all the same: {shown}");
    act(&store, &begun, &Action::Refund(None)).await;
    let shown = lines(&store, &token, &begun.order).await;
    assert_eq!((shown["refunded"].as_f64(), shown["refunded_at"].is_string()), (Some(3.0), true), "all of it");
    add(&store, &token, 302, 1).await;
    let left = create(&store, &token).await;
    act(&store, &left, &Action::Expire).await;
    assert_eq!(lines(&store, &token, &left.order).await["is_uncharged"], true);
}

#[tokio::test]
async fn a_bundle_is_bought_with_a_choice_and_named_once_with_its_price() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        files.store.content.commands.clear();
        let bundle = item(files, 404);
        (bundle.name, bundle.user_limit, bundle.promotion) = ("Party".to_owned(), None, None);
        bundle.price = Some(Decimal("7.00".to_owned().into()));
        bundle.bundle = vec![DRUMS.into()];
        let from = vec![302.into(), 201.into()];
        bundle.choose = Some(ChooseFile { from, count: 1.into(), name: "Extra".to_owned() });
    })
    .await;
    let token = login(&store, "Buyer").await;
    let shown = call(&store, &token, "/items/get/404", &json!({})).await.json();
    assert_eq!((&shown["parts"][0]["id"], shown["choices"].as_array().unwrap().len()), (&json!(DRUMS), 2));
    let page = store.send(Call::get("/shop/item/404")).await.text;
    assert!(page.contains("In it:") && page.contains("You choose in the cart, 1 of:"), "{page}");
    add(&store, &token, 404, 2).await;
    let cart = call(&store, &token, "/cart/get", &json!({})).await.json();
    let variable = &cart["items"][0]["vars"][0];
    assert_eq!((&variable["name"], variable["variables"].as_array().unwrap().len()), (&json!("Extra"), 2));
    let missing = refused(&store, &token, &json!({})).await;
    assert_eq!(missing, "\"Party\" is not complete: \"Extra\" is missing.");
    let (line, name) = (&cart["items"][0]["cid"], &variable["variables"][0]["value"]);
    let choice = json!({ "var_id": variable["id"], "var_value": name });
    let set = call(&store, &token, &format!("/cart/setVariable/{line}"), &choice).await;
    assert_eq!(set.status, 200, "{}", set.text);
    let begun = create(&store, &token).await;
    act(&store, &begun, &Action::Pay).await;
    let order = lines(&store, &token, &begun.order).await;
    assert_eq!(order["lines"].as_array().unwrap().len(), 1, "{order}");
    let party = &order["lines"][0];
    assert_eq!((&party["name"], &party["count"], &party["total"]), (&json!("Party"), &json!(2), &json!(14)));
    assert_eq!(party["state"], "waiting", "its drums are on their way");
    let stored = stored(&store, &begun.order).await.order;
    let sold: Vec<(u64, u32)> = stored.lines.iter().map(|line| (line.item.get(), line.count)).collect();
    assert_eq!(sold, [(404, 2), (DRUMS, 2), (302, 2)]);
    assert_eq!(stored.total(), stored.price);
}
