//! `user credit`, `user rename` and `ban list`.

use crate::bench::Bench;
use futures_util::future::join_all;
use http::{Method, StatusCode};
use serde_json::Value;
use shared::model::UserName;
use shared::store::{keys, names};
use std::time::Duration;
use storectl::error::Exit;
use tests::Cut;

async fn shown(bench: &Bench, user: &str) -> Value {
    bench.ok(&["user", "show", user]).await
}

const CREDIT: [&str; 6] = ["user", "credit", "Newt", "2.50", "--note", "a lost crate"];

#[tokio::test]
async fn a_credit_is_given_once_per_key_and_shown() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt", "--virtual-currency", "1"]).await;
    let first = bench.ok(&CREDIT).await;
    assert_eq!((&first["credited"], first["balance"].to_string().as_str()), (&true.into(), "3.5"));
    let again = bench.run(&CREDIT).await.unwrap();
    assert_eq!((&again.json()["credited"], again.json()["balance"].to_string().as_str()), (&false.into(), "3.5"));
    assert!(again.text().contains("give another --key"), "{}", again.text());
    let keyed = |key: &'static str| [&CREDIT[..], &["--key", key]].concat();
    assert_eq!(bench.ok(&keyed("ticket-1")).await["balance"].to_string(), "6");
    assert_eq!(bench.ok(&keyed("ticket-1")).await["credited"], false);
    let other = bench.fails(&["user", "credit", "Newt", "9", "--note", "x", "--key", "ticket-1"]).await;
    assert!(other.exit == Exit::Refused && other.what.contains("2.50, \"a lost crate\""), "{other}");
    let user = shown(&bench, "Newt").await;
    assert_eq!(user["user"]["virtual_currency"].to_string(), "6");
    let credits = user["credits"].as_array().unwrap();
    assert_eq!(credits.len(), 2);
    assert!(credits.iter().any(|one| one["key"] == "ticket-1" && one["note"] == "a lost crate"), "{credits:?}");
    assert!(bench.run(&["user", "show", "1"]).await.unwrap().text().contains("a lost crate"));
    for (amount, part) in [("0", "more than 0"), ("-1", "AMOUNT"), ("x", "AMOUNT"), ("9999999999", "largest amount")] {
        let failure = bench.fails(&["user", "credit", "Newt", "--note", "x", "--", amount]).await;
        assert!(failure.exit == Exit::Refused && failure.what.contains(part), "{amount}: {failure}");
    }
    assert_eq!(bench.fails(&["user", "credit", "Nobody", "1", "--note", "x"]).await.exit, Exit::Refused);
    bench.ok(&["user", "erase", "Newt", "--yes"]).await;
    let left: Vec<String> = bench.rows().await.into_iter().filter(|row| row.contains("CREDIT#")).collect();
    assert!(left.is_empty(), "notes may name the player: {left:?}");
}

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
async fn a_renamed_account_keeps_its_token_and_its_former_name_for_30_days() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.ok(&["referral", "add", "NEWTS", "--owner", "Newt"]).await;
    let token = bench.token("Newt").await;
    let renamed = bench.ok(&["user", "rename", "newt", "Wren"]).await;
    assert_eq!((&renamed["before"], &renamed["user"]["username"]), (&"Newt".into(), &"Wren".into()));
    bench.tell_the_time();
    let (status, user) = bench.api(Method::POST, "/user", Some(&token), "").await;
    assert_eq!((status, &user["username"]), (StatusCode::OK, &"Wren".into()), "{user}");
    assert!(!user["avatar"].as_str().unwrap_or_default().contains("Newt"), "{user}");
    assert_eq!(bench.log_in("WREN").await.0, StatusCode::OK);
    // Nobody else can have the former name, nor log in with it.
    let (status, body) = bench.log_in("Newt").await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(body["message"].as_str().unwrap().contains("was changed"), "{body}");
    bench.ok(&["user", "add", "Pebble"]).await;
    for line in [&["user", "add", "Newt"][..], &["user", "add", "newt", "--if-absent"]] {
        let failure = bench.fails(line).await;
        assert!(failure.exit == Exit::Refused && failure.what.contains("held for user 1"), "{failure}");
    }
    for name in ["Newt", "wren"] {
        assert_eq!(bench.fails(&["user", "rename", "Pebble", name]).await.exit, Exit::Refused, "{name}");
    }
    assert_eq!(shown(&bench, "Newt").await["user"]["username"], "Wren", "an operator finds the account by it");
    assert_eq!(bench.run(&["referral", "list"]).await.unwrap().text().matches("Wren").count(), 1);
    assert_eq!(bench.run(&["doctor"]).await.unwrap().trouble(), None);
    assert_eq!(names::owner(&bench.db, &UserName::parse("Newt").unwrap()).await.unwrap(), None);
    let gift = ["order", "record", "--owner", "Pebble", "--gateway", "desk", "--line", "303@Newt"];
    assert_eq!(bench.ok(&gift).await["lines"][0]["recipient"], 1, "it was meant for who had the name");
    // Its own account can have it back, and then the other name is held.
    bench.ok(&["user", "rename", "Wren", "NEWT"]).await;
    assert_eq!(bench.log_in("Newt").await.0, StatusCode::OK);
    assert_eq!(bench.log_in("Wren").await.0, StatusCode::FORBIDDEN);
    bench.ok(&["user", "rename", "NEWT", "Newt"]).await;
    assert_eq!(shown(&bench, "1").await["user"]["username"], "Newt");
    bench.tell_the_time();
    bench.clock.advance(Duration::from_hours(30 * 24 + 1));
    let (status, other) = bench.log_in("Wren").await;
    assert_eq!(status, StatusCode::OK, "after 30 days the name is free: {other}");
    assert_ne!(shown(&bench, "Wren").await["user"]["id"], 1, "it is another account");
}

#[tokio::test]
async fn killed_at_any_write_a_rename_is_completed_by_the_same_command() {
    for let_through in 0.. {
        let bench = Bench::stocked().await;
        // The largest patron, who is shown everywhere.
        let id = bench.ok(&["user", "show", "Thornwick"]).await["user"]["id"].to_string();
        bench.ok(&["referral", "add", "THORNS", "--owner", "Thornwick"]).await;
        let line = ["user", "rename", "Thornwick", "Wren"];
        let killed = bench.run_through(Cut::after(let_through), &line).await;
        bench.ok(&line).await;
        let named: Vec<String> = bench.rows().await.into_iter().filter(|row| row.contains("Thornwick")).collect();
        let left: Vec<&String> =
            named.iter().filter(|row| !row.contains("\"data\"") && !row.contains("CART#")).collect();
        assert!(left.is_empty(), "after {let_through} writes: {left:#?}");
        assert_eq!(shown(&bench, &id).await["user"]["username"], "Wren");
        let patrons = bench.api(Method::GET, "/patrons/get", None, "").await.1.to_string();
        assert!(!patrons.contains("Thornwick"), "{patrons}");
        assert!(!shared::usecases::orders::patrons_differ(&bench.db).await.unwrap());
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

#[tokio::test]
async fn bans_are_listed_with_date_and_reason_and_no_rename_evades_one() {
    let bench = Bench::published().await;
    assert_eq!(bench.ok(&["ban", "list"]).await["bans"].as_array().unwrap().len(), 0);
    bench.ok(&["user", "add", "Newt"]).await;
    bench.ok(&["ban", "Newt", "--reason", "chargeback of May 3"]).await;
    bench.ok(&["ban", "Newt"]).await;
    bench.ok(&["ban", "Pebble"]).await;
    bench.ok(&["ban", "--", "list"]).await;
    let listed = bench.run(&["ban", "list"]).await.unwrap();
    let bans = listed.json()["bans"].as_array().unwrap();
    let names: Vec<&Value> = bans.iter().map(|ban| &ban["name"]).collect();
    assert_eq!(names, ["list", "newt", "pebble"]);
    assert_eq!((&bans[1]["reason"], &bans[2]["reason"]), (&"chargeback of May 3".into(), &Value::Null));
    assert!(bans[1]["since"].as_str().unwrap().starts_with("20"), "{bans:?}");
    assert!(listed.text().contains("chargeback of May 3"), "{}", listed.text());
    let newt = bench.run(&["user", "show", "Newt"]).await.unwrap();
    assert_eq!(newt.json()["ban"]["reason"], "chargeback of May 3");
    assert!(newt.text().contains("Banned since 20") && newt.text().contains("chargeback"), "{}", newt.text());
    let banned = bench.fails(&["user", "rename", "Newt", "Wren"]).await;
    assert!(banned.exit == Exit::Refused && banned.what.contains("is banned"), "{banned}");
    bench.ok(&["user", "add", "Ash"]).await;
    assert_eq!(bench.fails(&["user", "rename", "Ash", "Pebble"]).await.what, "The name Pebble is banned.");
    // A former name belongs to no account: a ban of it bans the name.
    bench.ok(&["user", "rename", "Ash", "Elm"]).await;
    assert_eq!(bench.ok(&["ban", "Ash"]).await["user"], Value::Null);
    assert_eq!(shown(&bench, "Elm").await["ban"], Value::Null);
    bench.ok(&["unban", "Ash"]).await;
    bench.ok(&["unban", "Newt"]).await;
    assert_eq!(shown(&bench, "Newt").await["ban"], Value::Null);
}

#[tokio::test]
async fn an_erased_account_frees_its_former_names() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.ok(&["user", "rename", "Newt", "Wren"]).await;
    bench.ok(&["user", "erase", "Wren", "--yes"]).await;
    assert!(bench.db.get(&keys::name(&UserName::parse("Newt").unwrap()), true).await.unwrap().is_none());
    assert_eq!(bench.ok(&["user", "add", "Newt"]).await["created"], true);
}

#[tokio::test]
async fn credits_and_former_names_are_restored() {
    let (bench, other) = (Bench::published().await, Bench::empty().await);
    bench.ok(&["user", "add", "Newt"]).await;
    bench.ok(&CREDIT).await;
    bench.ok(&["user", "rename", "Newt", "Wren"]).await;
    bench.ok(&["ban", "Pebble", "--reason", "x"]).await;
    let file = bench.path("backup.gz").display().to_string();
    bench.ok(&["backup", &file]).await;
    other.ok(&["restore", &file, "--yes"]).await;
    assert_eq!(shown(&other, "Wren").await["credits"], shown(&bench, "Wren").await["credits"]);
    assert_eq!(other.ok(&["ban", "list"]).await, bench.ok(&["ban", "list"]).await);
    assert!(other.fails(&["user", "add", "Newt"]).await.what.contains("held for user 1"));
    let again = ["user", "credit", "Wren", "2.50", "--note", "a lost crate"];
    assert_eq!(other.ok(&again).await["credited"], false, "the restored table knows the credit");
}
