//! `token`, `revoke`, `user` and `ban list`; and `user erase`: what is removed of a player, and what stays.

use crate::bench::Bench;
use crate::payments::Paying;
use futures_util::future::join_all;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use shared::clock::{Clock, SystemClock};
use shared::model::{
    ChatId, InternalId, Login, LoginId, NoticeEvent, NoticeTarget, TargetKind, User, UserId, UserName,
};
use shared::shop::accounts::{Added, names};
use shared::shop::orders;
use shared::table::keys;
use storectl::error::Exit;
use stripe_stand_in::Action;
use tests::{Faults, NOW};

async fn status(bench: &Bench, token: &str) -> StatusCode {
    bench.api(Method::POST, "/user", Some(token), "").await.0
}

fn token(answer: &serde_json::Value) -> String {
    answer["token"].as_str().unwrap().to_owned()
}

/// The bench's clock is months behind the database's: an operator's slow clock.
#[tokio::test]
async fn a_revocation_by_a_slow_clock_refuses_every_token_so_far_and_none_made_right_after() {
    let bench = Bench::published().await;
    assert!(bench.clock.seconds() < SystemClock.seconds() - 600);
    bench.ok(&["user", "add", "Newt"]).await;
    for round in 0..5 {
        let old = token(&bench.ok(&["token", "1"]).await);
        assert_eq!(status(&bench, &old).await, StatusCode::OK, "round {round}");
        bench.ok(&["revoke", "1"]).await;
        assert_eq!(status(&bench, &old).await, StatusCode::UNAUTHORIZED, "round {round}: made in the same second");
        let new = token(&bench.ok(&["token", "1"]).await);
        assert_eq!(status(&bench, &new).await, StatusCode::OK, "round {round}");
    }
}

#[tokio::test]
async fn a_token_of_an_erased_account_is_not_valid_for_a_later_one_with_the_same_id() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    let old = token(&bench.ok(&["token", "1"]).await);
    bench.ok(&["user", "erase", "1", "--yes"]).await;
    // What a restore does that knows nothing of the account: its id is given once more, here two minutes later.
    let later = SystemClock.seconds() + 120;
    let name = UserName::parse("Wren").unwrap();
    let wren = User { id: UserId::new(1), created_at: later, updated_at: later, ..user("Wren") };
    assert_eq!(names::create(&bench.db, &wren, &name).await.unwrap(), Some(Added::Written));
    assert_eq!(status(&bench, &old).await, StatusCode::UNAUTHORIZED);
}

fn user(name: &str) -> User {
    let user = serde_json::json!({ "id": 0, "username": name, "avatar": "", "system": "", "identificator": "", "uuid": "",
                                   "created_at": NOW, "updated_at": NOW });
    serde_json::from_value(user).unwrap()
}

#[tokio::test]
async fn of_many_who_add_one_name_at_once_one_succeeds() {
    let bench = Bench::published().await;
    let names = ["newt", "Newt", "NEWT", "nEWT", "neWT", "newT", "NewT", "NEwt"];
    let commands = names.map(|name| ["user", "add", name]);
    let outcomes = futures_util::future::join_all(commands.iter().map(|command| bench.run(command))).await;
    let made = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(made, 1, "{outcomes:?}");
    for failure in outcomes.into_iter().filter_map(Result::err) {
        assert_eq!(failure.exit, Exit::Refused, "{failure}");
    }
    assert_eq!(bench.ok(&["user", "list"]).await["users"].as_array().unwrap().len(), 1);
}

/// Accounts as a version without an index of names made them.
#[tokio::test]
async fn the_doctor_indexes_names_and_the_older_of_two_accounts_keeps_its_name() {
    let bench = Bench::published().await;
    for (id, name, age) in [(3, "LOKI", 10), (5, "loki", 20), (7, "Newt", 5), (8, "2", 1)] {
        let user = User { id: UserId::new(id), created_at: NOW - age, ..user(name) };
        bench.put(&keys::user(user.id), &user).await;
    }
    for _ in 0..2 {
        let sick = bench.run(&["doctor"]).await.unwrap();
        assert_eq!(sick.trouble(), Some(Exit::Faults));
        let finding = sick.text().lines().find(|line| line.contains("user names")).unwrap().to_owned();
        for word in ["user 3", "user 5", "user 8"] {
            assert!(finding.contains(word), "{finding}");
        }
        assert!(!finding.contains("user 7"), "{finding}");
        assert_eq!(bench.ok(&["user", "show", "Loki"]).await["user"]["id"], 5);
        assert_eq!(bench.ok(&["user", "show", "NEWT"]).await["user"]["id"], 7);
    }
    for id in ["3", "8"] {
        bench.ok(&["user", "erase", "--id", id, "--yes"]).await;
    }
    assert_eq!(bench.run(&["doctor"]).await.unwrap().trouble(), None);
    assert_eq!(bench.ok(&["user", "show", "Loki"]).await["user"]["id"], 5, "the name was not user 3's to take along");
}

#[tokio::test]
async fn a_login_right_after_a_revocation_is_valid() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.ok(&["revoke", "Newt"]).await;
    let row = names::login(&bench.db, &UserName::parse("Newt").unwrap()).await.unwrap().name.unwrap();
    assert!(row.valid_after.is_some(), "a login knows of the revocation without reading the account");
    bench.tell_the_time();
    let (login, token) = bench.log_in("Newt").await;
    assert_eq!(login, StatusCode::OK);
    assert_eq!(status(&bench, token.as_str().unwrap()).await, StatusCode::OK);
}

async fn shown(bench: &Bench, user: &str) -> Value {
    bench.ok(&["user", "show", user]).await
}

const CREDIT: [&str; 6] = ["user", "credit", "Newt", "2.50", "--note", "a lost crate"];

#[tokio::test]
async fn a_credit_that_is_repeated_by_many_or_after_a_lost_response_is_given_once() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.run_losing("TransactWriteItems", &CREDIT).await.unwrap();
    assert_eq!(bench.ok(&CREDIT).await["balance"].to_string(), "2.5");
    let line = ["user", "credit", "Newt", "1", "--note", "vote", "--key", "v1"];
    let outcomes = join_all((0..8).map(|_| bench.run(&line))).await;
    let given = outcomes.iter().flatten().filter(|answer| answer.json()["credited"] == true).count();
    assert_eq!(given, 1, "{outcomes:?}");
    assert_eq!(bench.ok(&line).await["balance"].to_string(), "3.5");
}

#[tokio::test]
async fn killed_at_any_write_a_rename_is_completed_by_the_same_command() {
    for let_through in Faults::cuts() {
        let bench = Bench::stocked().await;
        // The largest patron, who is shown everywhere.
        let id = bench.ok(&["user", "show", "Thornwick"]).await["user"]["id"].to_string();
        bench.ok(&["referral", "add", "THORNS", "--owner", "Thornwick"]).await;
        let line = ["user", "rename", "Thornwick", "Wren"];
        let killed = bench.run_through(Faults::cut_after(let_through), &line).await;
        bench.ok(&line).await;
        let named: Vec<String> = bench.rows().await.into_iter().filter(|row| row.contains("Thornwick")).collect();
        let left: Vec<&String> =
            named.iter().filter(|row| !row.contains("\"data\"") && !row.contains("CART#")).collect();
        assert!(left.is_empty(), "after {let_through} writes: {left:#?}");
        assert_eq!(shown(&bench, &id).await["user"]["username"], "Wren");
        let patrons = bench.api(Method::GET, "/patrons/get", None, "").await.1.to_string();
        assert!(!patrons.contains("Thornwick"), "{patrons}");
        assert!(!shared::shop::statistics::patrons_differ(&bench.db).await.unwrap());
        if killed.is_ok() {
            assert!(let_through > 1, "there are more writes than that");
            return;
        }
    }
}

#[tokio::test]
async fn of_many_who_are_renamed_to_one_name_one_gets_it() {
    let bench = Bench::published().await;
    let users = ["Ash", "Elm", "Fir", "Oak"];
    for user in users {
        bench.ok(&["user", "add", user]).await;
    }
    let lines = users.map(|user| ["user", "rename", user, "Yew"]);
    let outcomes = join_all(lines.iter().map(|line| bench.run(line))).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    assert_eq!(bench.run(&["doctor"]).await.unwrap().trouble(), None);
}

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

/// Owners are notified of sales, refunds and refused commands.
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
