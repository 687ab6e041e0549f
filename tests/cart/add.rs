//! POST /cart/add/{id}: adds an item to the cart (api.md, "POST /cart/add/{id}").

use super::support::{
    NEW, RICH, ban, cart_of, cents, line, line_of, post, post_text, refusal, refuses_values, stored, view,
};
use crate::support::{configure, item, republish, run_for_each_unit, run_on_fifty_servers, subscribe};
use futures_util::future::join_all;
use serde_json::{Value, json};
use shared::model::SubscriptionStatus::{Active, Cancelled, PastDue};
use shared::model::{BedrockPrefix, Cart, ItemId, Line, LineVariable, Money, PaymentType, ServerId};
use std::collections::BTreeSet;
use tests::{NOW, Reply, TestStore};

async fn add(store: &TestStore, name: &str, item: u64, body: &Value) -> Reply {
    post(store, &format!("/cart/add/{item}"), name, body).await
}

/// The id of the line that was added.
async fn added(store: &TestStore, name: &str, item: u64, body: &Value) -> u64 {
    let reply = add(store, name, item, body).await;
    assert_eq!(reply.status, 200, "{item} {body}: {}", reply.text);
    reply.json()["cid"].as_u64().unwrap()
}

/// The message with which an item is refused, with 422 and without a write.
async fn refused(store: &TestStore, name: &str, item: u64, body: &Value) -> String {
    let before = stored(store, name).await;
    store.calls.clear();
    let message = refusal(&add(store, name, item, body).await, 422);
    assert_eq!(store.calls.writes(), 0, "{item} {body}");
    assert_eq!(stored(store, name).await, before, "{item} {body}");
    message
}

fn one_unit(item: u64) -> Line {
    cart_of(NEW, &[(item, 1)]).lines.remove(0)
}

#[tokio::test]
async fn a_line_is_added_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let reply = add(&store, RICH, 202, &json!({ "payment_type": 0, "promoted": 1 })).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let mut lines = before.lines.clone();
    // The item is not promoted, so the line is not either.
    lines.push(Line { id: shared::model::LineId::new(9), ..one_unit(202) });
    let after = Cart { lines, version: before.version + 1, next_line: 10, ..before };
    assert_eq!(stored(&store, RICH).await.unwrap(), after);
}

#[tokio::test]
async fn a_cart_that_was_never_written_gets_its_first_line_also_without_a_body() {
    for body in ["", "{}", "{\"payment_type\":null,\"gift_to\":\"\",\"price\":null,\"variables\":{}}"] {
        let store = TestStore::open().await;
        let reply = post_text(&store, "/cart/add/201", NEW, body).await;
        assert_eq!((reply.status.as_u16(), &reply.json()["cid"]), (200, &json!(1)), "{}", reply.text);
        assert_eq!(stored(&store, NEW).await.unwrap().lines, [one_unit(201)]);
    }
}

#[tokio::test]
async fn the_same_choices_again_raise_the_count_and_others_are_a_line_of_their_own() {
    let store = TestStore::open().await;
    let fox = |name: &str| json!({ "variables": { "2": "Ash", "1": name } });
    let (rusty, ginger) = (added(&store, NEW, 301, &fox("Rusty")).await, added(&store, NEW, 301, &fox("Ginger")).await);
    assert_ne!(rusty, ginger);
    assert_eq!(added(&store, NEW, 301, &fox("Rusty")).await, rusty);
    let more = json!({ "variables": { "1": "Rusty", "2": "Ash" }, "count": 3 });
    assert_eq!(added(&store, NEW, 301, &more).await, rusty);
    assert_eq!((line(&store, NEW, rusty).await.count, line(&store, NEW, ginger).await.count), (5, 1));
    let to = |name: &str| json!({ "payment_type": 2, "gift_to": name });
    let gift = added(&store, NEW, 311, &to("Thornwick")).await;
    assert_eq!(added(&store, NEW, 311, &to("THORNWICK")).await, gift, "names are the same without regard to case");
    assert_ne!(added(&store, NEW, 311, &to("Quillfeather")).await, gift);
}

#[tokio::test]
async fn every_choice_can_be_made_at_once() {
    let store = TestStore::open().await;
    let id = added(&store, NEW, 402, &json!({ "server_id": 4, "count": 2 })).await;
    assert_eq!(line(&store, NEW, id).await.server, Some(ServerId::new(4)));
    // A number is the text of its digits, and a price never passes through binary floating point.
    let id = added(&store, NEW, 514, &json!({ "variables": { "1": 12.50 } })).await;
    let hours = post_text(&store, "/cart/add/514", NEW, "{\"variables\":{\"1\":12.50}}").await;
    assert_ne!(hours.json()["cid"], id, "12.50 is not written 12.5");
    let twelve = LineVariable { id: 1, value: "12.50".to_owned() };
    assert_eq!(line(&store, NEW, hours.json()["cid"].as_u64().unwrap()).await.variables, [twelve]);
    for (price, cents) in [("\"4.50\"", 450), ("4.5", 450), ("1234567890.07", 123_456_789_007), ("\" 2 \"", 200)] {
        let reply = post_text(&store, "/cart/add/601", NEW, &format!("{{\"price\":{price}}}")).await;
        let id = reply.json()["cid"].as_u64().unwrap_or_else(|| panic!("{price}: {}", reply.text));
        assert_eq!(line(&store, NEW, id).await.price, Some(Money::from_minor(cents)), "{price}");
    }
}

#[tokio::test]
async fn a_line_without_its_choices_is_added_and_shown() {
    let store = TestStore::open().await;
    for item in [301, 401, 601] {
        added(&store, NEW, item, &json!({})).await;
    }
    let cart = view(&store, NEW).await;
    assert_eq!(line_of(&cart, 401)["selected_server"], Value::Null);
    assert_eq!(line_of(&cart, 601)["price"], 5, "the suggested price");
    assert!(line_of(&cart, 301)["vars"].as_array().unwrap().iter().all(|variable| variable["value"] == ""));
}

#[tokio::test]
async fn promoted_counts_only_for_items_that_are_promoted_and_not_for_gifts() {
    let store = TestStore::open().await;
    for (item, promoted, price) in [(404, json!(1), 99), (302, json!(true), 200), (301, json!(1), 500)] {
        added(&store, NEW, item, &json!({ "promoted": promoted })).await;
        assert_eq!(cents(&line_of(&view(&store, NEW).await, item)["price"]), price, "{item}");
    }
    let regular = added(&store, NEW, 302, &json!({ "promoted": 0 })).await;
    assert!(!line(&store, NEW, regular).await.promoted);
}

#[tokio::test]
async fn a_gift_is_for_any_player_with_or_without_an_account() {
    let store = TestStore::open().await;
    for name in ["Quillfeather", "Nobody_Yet", "*Bedrock"] {
        let id = added(&store, RICH, 311, &json!({ "payment_type": 2, "gift_to": name })).await;
        let line = line(&store, RICH, id).await;
        assert_eq!((line.payment_type, line.gift_to.unwrap().as_str()), (PaymentType::Gift, name));
    }
}

#[tokio::test]
async fn every_refusal_is_a_422_with_a_sentence_and_writes_nothing() {
    let store = TestStore::open().await;
    let gift = |name: &str| json!({ "payment_type": 2, "gift_to": name });
    let cases = [
        (999, json!({}), "not available"),
        (9_007_199_254_740_991, json!({}), "not available"),
        (205, json!({}), "not on sale"),
        (101, json!({}), "owned already"),
        (204, json!({}), "No more can be bought"),
        (404, json!({ "count": 11 }), "The limit is per buyer"),
        (201, json!({ "count": 998 }), "at most 1000"),
        (901, json!({ "count": 2 }), "At most 1 of this item"),
        (201, json!({ "payment_type": 1 }), "not a subscription"),
        (602, json!({}), "only be bought as a subscription"),
        (602, json!({ "payment_type": 1 }), "bought separately"),
        (201, gift("Pebble"), "cannot be bought as a gift"),
        (311, gift("tHORNWICK"), "another player"),
        (311, json!({ "payment_type": 2 }), "receives the gift is missing"),
        (201, json!({ "gift_to": "Pebble" }), "Only a gift has a recipient"),
        (301, json!({ "variables": { "9": "x" } }), "no variable 9"),
        (301, json!({ "variables": { "2": "Gold" } }), "must be one of"),
        (301, json!({ "variables": { "1": "a b" } }), "\"Name of the fox\" must be"),
        (401, json!({ "server_id": 3 }), "selected server"),
        (201, json!({ "server_id": 1 }), "selected server"),
        (201, json!({ "price": "1.00" }), "cannot be chosen"),
        (601, json!({ "price": 0.99 }), "below this item's minimum"),
        (601, json!({ "price": "10000000000.01" }), "too high"),
        (601, json!({ "price": "9".repeat(400) }), "too high"),
    ];
    for (item, body, part) in cases {
        let message = refused(&store, RICH, item, &body).await;
        assert!(message.contains(part), "{item} {body}: {message}");
    }
}

#[tokio::test]
async fn a_gift_to_a_banned_name_is_refused_whatever_its_case() {
    let store = TestStore::open().await;
    ban(&store, "Nobody_Yet").await;
    for name in ["Nobody_Yet", "NOBODY_yet"] {
        let message = refused(&store, RICH, 311, &json!({ "payment_type": 2, "gift_to": name })).await;
        assert!(message.contains("cannot receive gifts"), "{message}");
    }
    added(&store, RICH, 311, &json!({ "payment_type": 2, "gift_to": "Somebody" })).await;
}

#[tokio::test]
async fn a_subscription_is_alone_in_its_cart_and_bought_once() {
    let store = TestStore::open().await;
    added(&store, NEW, 602, &json!({ "payment_type": 1 })).await;
    assert!(refused(&store, NEW, 201, &json!({})).await.contains("bought separately"));
    assert!(refused(&store, NEW, 602, &json!({ "payment_type": 1 })).await.contains("Only one"));
}

#[tokio::test]
async fn a_subscription_that_the_buyer_has_is_refused_until_it_is_over() {
    let store = TestStore::open().await;
    for (status, until) in [(Active, NOW - 1), (PastDue, NOW + 1), (Cancelled, NOW + 1)] {
        subscribe(&store, NEW, &[(106, Cancelled, NOW), (602, status, until)]).await;
        let message = refused(&store, NEW, 602, &json!({ "payment_type": 1 })).await;
        assert_eq!(message, "You already have this subscription.", "{status:?}");
    }
    added(&store, NEW, 106, &json!({ "payment_type": 1 })).await;
}

#[tokio::test]
async fn a_subscription_that_gives_no_access_can_be_bought_again_while_the_provider_still_has_it() {
    let store = TestStore::open().await;
    subscribe(&store, NEW, &[(602, PastDue, NOW)]).await;
    added(&store, NEW, 602, &json!({ "payment_type": 1 })).await;
}

#[tokio::test]
async fn a_cart_has_at_most_50_lines_and_gifts_for_10_players() {
    let store = TestStore::open().await;
    for number in 0..10 {
        added(&store, NEW, 311, &json!({ "payment_type": 2, "gift_to": format!("Player_{number}") })).await;
    }
    let eleventh = json!({ "payment_type": 2, "gift_to": "Player_10" });
    assert!(refused(&store, NEW, 311, &eleventh).await.contains("at most 10 players"));
    let fox = |number: usize| json!({ "variables": { "1": format!("Fox-{number}") } });
    for number in 10..50 {
        added(&store, NEW, 301, &fox(number)).await;
    }
    assert!(refused(&store, NEW, 301, &fox(50)).await.contains("at most 50 lines"));
    added(&store, NEW, 301, &fox(49)).await;
    assert_eq!(stored(&store, NEW).await.unwrap().lines.len(), 50);
}

#[tokio::test]
async fn the_next_step_of_a_ladder_replaces_the_one_in_the_cart_and_the_message_says_so() {
    let store = TestStore::open().await;
    added(&store, NEW, 101, &json!({})).await;
    let reply = add(&store, NEW, 102, &json!({})).await;
    assert!(reply.json()["message"].as_str().unwrap().contains("replaces"), "{}", reply.text);
    let lines = stored(&store, NEW).await.unwrap().lines;
    assert_eq!(lines.iter().map(|line| line.item).collect::<Vec<_>>(), [ItemId::new(102)]);
}

#[tokio::test]
async fn a_body_with_a_wrong_field_is_a_400_that_names_it() {
    let store = TestStore::open().await;
    let long = format!("\"{}\"", "x".repeat(51));
    let fields: &[(&str, &[&str])] = &[
        ("count", &["0", "-1", "1001", "1.5", "1e400", "\"2\"", "18446744073709551616"]),
        ("payment_type", &["3", "\"0\"", "true"]),
        ("promoted", &["2", "\"yes\""]),
        ("server_id", &["\"1\"", "-1"]),
        ("variables", &["[]", "{\"x\":\"a\"}", "{\"07\":\"a\"}", "{\"1\":null}", "{\"1\":true}"]),
        ("gift_to", &["7", "\"ab\"", "\"123\"", "\" Pebble\"", "\"Pe bble\"", "\" \"", "\"P\u{435}bble\"", &long]),
        ("gift_to", &["\"Pebble\\u0000\""]),
        ("price", &["true", "\"\"", "\"1e3\"", "1e3", "1e400", "\"-0\"", "-0", "\"0.001\"", "\"\u{664}\""]),
    ];
    refuses_values(&store, "/cart/add/601", RICH, fields).await;
}

#[tokio::test]
async fn a_request_for_an_unknown_item_is_not_remembered() {
    let store = TestStore::open().await;
    refused(&store, RICH, 999, &json!({})).await;
    store.calls.clear();
    refused(&store, RICH, 999, &json!({})).await;
    assert!(store.calls.round_trips() <= 2);
    // The item is published: it is found at once.
    crate::support::republish(&store, |files| crate::support::item(files, 205).active = true).await;
    added(&store, RICH, 205, &json!({})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_limit_of_3_is_never_passed_by_requests_at_the_same_time() {
    let store = TestStore::open().await;
    let body = json!({});
    let replies = join_all((0..8).map(|_| add(&store, NEW, 203, &body))).await;
    let accepted = replies.iter().filter(|reply| reply.status == 200).count();
    let count: u32 = stored(&store, NEW).await.unwrap().lines.iter().map(|line| line.count).sum();
    assert!((1..=3).contains(&count) && count as usize == accepted, "{count} units, {accepted} accepted");
    assert!(replies.iter().all(|reply| [200, 409, 422].contains(&reply.status.as_u16())));
}

#[tokio::test]
async fn a_line_with_which_an_order_would_run_over_a_thousand_commands_is_refused() {
    let store = TestStore::open().await;
    run_on_fifty_servers(&store, 11).await;
    added(&store, NEW, 302, &json!({})).await;
    added(&store, NEW, 302, &json!({})).await;
    let message = "One order can run at most 1000 commands on game servers. Pay for what is in your cart first.";
    assert_eq!(refused(&store, NEW, 303, &json!({})).await, message);
}

#[tokio::test]
async fn a_line_whose_command_runs_for_each_unit_has_at_most_a_hundred() {
    let store = TestStore::open().await;
    run_for_each_unit(&store).await;
    let message = "At most 100 of this item can be bought at once.";
    assert_eq!(refused(&store, NEW, 302, &json!({ "count": 101 })).await, message);
    added(&store, NEW, 302, &json!({ "count": 100 })).await;
    assert_eq!(refused(&store, NEW, 302, &json!({ "count": 1 })).await, message);
    assert_eq!(stored(&store, NEW).await.unwrap().lines[0].count, 100);
}

#[tokio::test]
async fn an_order_has_at_most_so_many_of_an_item_in_all_lines() {
    let store = TestStore::open().await;
    republish(&store, |files| item(files, 311).most = Some(1.into())).await;
    let message = "At most 1 of this item can be bought at once.";
    assert_eq!(refused(&store, NEW, 311, &json!({ "count": 2 })).await, message);
    added(&store, NEW, 311, &json!({ "payment_type": 2, "gift_to": "Quartz" })).await;
    assert_eq!(refused(&store, NEW, 311, &json!({ "payment_type": 2, "gift_to": "Moss" })).await, message);
}

#[tokio::test]
async fn a_gift_for_a_bedrock_player_is_for_the_name_that_the_servers_have() {
    let store = TestStore::open().await;
    configure(&store, |config| config.bedrock = BedrockPrefix::parse(".")).await;
    let to = |name: &str| json!({ "payment_type": 2, "gift_to": name });
    let mut lines = BTreeSet::new();
    for name in [".PsychicCloverNine", ".PsychicCloverNi", ".psychicclovernice"] {
        let id = added(&store, RICH, 311, &to(name)).await;
        assert_eq!(line(&store, RICH, id).await.gift_to.unwrap().as_str(), ".PsychicCloverNi", "{name}");
        lines.insert(id);
    }
    assert_eq!(lines.len(), 1, "one player, one line");
    let id = added(&store, RICH, 311, &to(".Psychic Clover")).await;
    assert_eq!(line(&store, RICH, id).await.gift_to.unwrap().as_str(), ".Psychic_Clover");
    let reply = post(&store, "/cart/add/311", RICH, &to("*Quartz")).await;
    assert_eq!(reply.status, 400, "{}", reply.text);
    assert!(reply.text.contains("gift_to"), "{}", reply.text);
    ban(&store, ".Quartz_Quartz_Q").await;
    let message = refused(&store, RICH, 311, &to(".Quartz Quartz Quartz")).await;
    assert!(message.contains("cannot receive gifts"), "{message}");
}
