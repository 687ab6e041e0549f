//! `user erase`: what is removed of a player, and what stays.

use crate::bench::Bench;
use crate::payments::Paying;
use serde_json::{Value, json};
use shared::model::{ChatId, InternalId, Login, LoginId, NoticeEvent, NoticeTarget, TargetKind};
use shared::shop::orders;
use storectl::error::Exit;
use stripe_stand_in::Action;
use tests::Faults;

async fn order(paying: &Paying, id: &str) -> Value {
    paying.bench.ok(&["order", "show", id]).await
}

/// The rows that have a text, in any case.
async fn rows_with(paying: &Paying, text: &str) -> Vec<String> {
    let rows = paying.bench.rows().await.into_iter();
    rows.filter(|row| row.to_lowercase().contains(&text.to_lowercase()) && !row.contains("\"data\"")).collect()
}

#[tokio::test]
async fn the_name_leaves_other_buyers_carts_and_orders_and_what_was_typed_leaves_the_orders() {
    let paying = Paying::connected().await;
    let bench = &paying.bench;
    bench.ok(&["user", "add", "Pebble"]).await;
    let gift = ["--type", "gift", "--gift-to", "pEBBLE", "--var", "1=Pebbles_horse", "--var", "2=Plain"];
    bench.cart_add(&[&["Newt", "311"][..], &gift].concat()).await;
    let given = paying.paid().await;
    // One more in another buyer's cart, and an order of the player's own.
    bench.cart_add(&[&["Newt", "311"][..], &gift].concat()).await;
    bench.record("--id own --owner Pebble --gateway g --line 921:1:2 --var 1=Old_Pebble").await;
    paying.ok(&["user", "erase", "Pebble", "--yes"]).await;
    assert_eq!(rows_with(&paying, "pebble").await, [""; 0]);
    let given = order(&paying, given.as_str()).await;
    let line = given["lines"].as_array().unwrap().iter().find(|line| line["item"] == 311).unwrap().clone();
    assert_eq!((&line["gift_to"], &line["variables"], &line["recipient"]), (&Value::Null, &json!([]), &json!(2)));
    assert_eq!(given["player"], "Newt");
    let own = order(&paying, "own").await;
    assert_eq!((&own["lines"][0]["variables"], &own["owner"], &own["price"]), (&json!([]), &json!(2), &json!(2)));
    let cart = bench.ok(&["cart", "show", "Newt"]).await;
    assert_eq!(cart["lines"][0]["missing"][0], "The player who receives the gift is missing.");
    assert_eq!(paying.doctor("sums of orders").await["state"], "ok");
    // Once more by id finds nothing.
    assert_eq!(paying.ok(&["user", "erase", "2", "--yes"]).await["orders_and_carts"], 0);
}

#[tokio::test]
async fn the_name_of_who_paid_leaves_what_others_got() {
    let paying = Paying::connected().await;
    let bench = &paying.bench;
    tell_of_everything(bench).await;
    bench.ok(&["user", "add", "Pebble"]).await;
    // A gift, and an order that was moved.
    bench
        .ok(&["order", "record", "--id", "gift", "--owner", "Newt", "--gateway", "g", "--line", "303:1:12@Pebble"])
        .await;
    bench.ok(&["order", "record", "--id", "moved", "--owner", "Newt", "--gateway", "g", "--line", "404:1:1.50"]).await;
    bench.ok(&["order", "move", "moved", "--to", "Pebble", "--yes"]).await;
    paying.ok(&["user", "erase", "Newt", "--yes"]).await;
    assert_eq!(rows_with(&paying, "newt").await, [""; 0]);
}

/// Owners are told of sales, refunds and refused commands.
async fn tell_of_everything(bench: &Bench) {
    let events = [NoticeEvent::Paid, NoticeEvent::Refunded, NoticeEvent::RefusedCommand, NoticeEvent::GaveUp];
    let target = NoticeTarget::new("own", TargetKind::Webhook, &events);
    tests::configure(&bench.db, |config| config.notify = vec![target]).await;
}

#[tokio::test]
async fn open_orders_are_ended_first_also_those_with_a_gift_for_the_player() {
    let paying = Paying::connected().await;
    let bench = &paying.bench;
    bench.ok(&["user", "add", "Pebble"]).await;
    bench.cart_add(&["Newt", "303", "--type", "gift", "--gift-to", "Pebble"]).await;
    let open = paying.checkout().await;
    bench.record("--id own --owner Pebble --gateway g --status pending --line 201:1:1.99").await;
    assert_eq!(bench.fails(&["user", "erase", "Pebble", "--yes"]).await.exit, Exit::Denied, "without keys");
    assert_eq!(bench.ok(&["user", "show", "Pebble"]).await["user"]["id"], 2);
    paying.ok(&["user", "erase", "Pebble", "--yes"]).await;
    for id in [open.as_str(), "own"] {
        assert_eq!(order(&paying, id).await["status"], "CANCELLED", "{id}");
    }
    paying.stand_in.act(&paying.stand_in.sessions()[0], &Action::Pay).unwrap_err();
    assert_eq!(rows_with(&paying, "pebble").await, [""; 0]);
}

#[tokio::test]
async fn the_chat_account_and_the_login_of_an_order_are_removed_with_its_buyer() {
    let (chat, login) = (ChatId::parse("80351110224678912").ok(), LoginId::parse("0123456789abcdef").map(Login::Name));
    for (chat, login) in [(chat, None), (None, login.ok())] {
        let paying = Paying::connected().await;
        let id: InternalId = paying.paid().await;
        let bench = &paying.bench;
        let mut stored = orders::get(&bench.db, &id).await.unwrap().unwrap();
        (stored.effects.chat, stored.effects.login) = (chat.clone(), login);
        let key = stored.key();
        let mut item = shared::table::codec::encode_live(&key, &stored.effects).unwrap();
        item.extend(shared::table::codec::encode_live(&key, &stored.order).unwrap());
        bench.write_item(item).await;
        assert_eq!(order(&paying, id.as_str()).await["chat"], json!(chat));
        paying.ok(&["user", "erase", "Newt", "--yes"]).await;
        assert_eq!(order(&paying, id.as_str()).await["chat"], Value::Null);
        let erased = orders::get(&bench.db, &id).await.unwrap().unwrap().effects;
        assert_eq!((erased.chat, erased.login), (None, None));
    }
}

#[tokio::test]
async fn an_erasure_that_was_cut_off_at_any_write_is_completed_by_the_same_command() {
    let paying = Paying::connected().await;
    let bench = &paying.bench;
    let gift = ["--type", "gift", "--gift-to", "Pebble"];
    tell_of_everything(bench).await;
    for writes in Faults::cuts().take_while(|writes| *writes < 40) {
        let id = bench.ok(&["user", "add", "Pebble"]).await["user"]["id"].to_string();
        bench.record("--owner Newt --gateway g --line 303:1:12@Pebble").await;
        bench.record("--owner Pebble --gateway g --line 921:1:2 --var 1=Pebble").await;
        bench.record("--status pending --owner Pebble --gateway g --line 201:1:1.99").await;
        bench.ok(&["cart", "clear", "Newt"]).await;
        bench.cart_add(&[&["Newt", "303"][..], &gift].concat()).await;
        bench.ok(&["referral", "add", "pebbles", "--owner", &id]).await;
        let cut = bench.run_through(Faults::cut_after(writes), &["user", "erase", &id, "--yes"]).await;
        bench.ok(&["user", "erase", &id, "--yes"]).await;
        assert_eq!(rows_with(&paying, "pebble").await, [""; 0], "cut off after {writes} writes");
        assert_eq!(bench.ok(&["order", "list", "--player", &id, "--status", "pending"]).await["orders"], json!([]));
        if cut.is_ok() {
            assert!(writes > 5, "{writes}");
            return;
        }
    }
    panic!("it is never complete");
}
