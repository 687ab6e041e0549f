//! `token`, `revoke` and `user`.

use crate::bench::{Bench, copy, sample};
use http::{Method, StatusCode};
use shared::clock::{Clock, SystemClock};
use shared::model::{Money, User, UserId, UserName};
use shared::store::keys;
use shared::store::names::{self, Created};
use std::path::Path;
use std::time::Duration;
use storectl::error::Exit;
use tests::{NOW, TestStore};

async fn status(bench: &Bench, token: &str) -> StatusCode {
    bench.api(Method::POST, "/user", Some(token), "").await.0
}

fn token(answer: &serde_json::Value) -> String {
    answer["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_token_lets_its_user_in_until_it_expires() {
    let bench = Bench::published().await;
    let user = bench.ok(&["user", "add", "Newt"]).await;
    let id = user["user"]["id"].to_string();
    let by_id = token(&bench.ok(&["token", &id, "--ttl", "30m"]).await);
    let by_name = token(&bench.ok(&["token", "Newt"]).await);
    assert_eq!(status(&bench, &by_id).await, StatusCode::OK);
    assert_eq!(status(&bench, &by_name).await, StatusCode::OK);
    // Tokens are dated by the database's clock, which is this machine's.
    bench.clock.advance(Duration::from_secs((SystemClock.seconds() - NOW).unsigned_abs() + 30 * 60 + 70));
    assert_eq!(status(&bench, &by_id).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(&bench, &by_name).await, StatusCode::OK, "six hours where nothing is said");
    assert_eq!(bench.fails(&["token", "77"]).await.exit, Exit::Refused);
    assert_eq!(bench.fails(&["token", "Nobody"]).await.exit, Exit::Refused);
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
async fn a_revocation_that_is_dated_ahead_is_not_taken_back_by_another() {
    let bench = Bench::stocked().await;
    let after = |answer: &serde_json::Value| answer["tokens_valid_after"].as_str().unwrap().to_owned();
    let before = after(&bench.ok(&["user", "show", "Grimble"]).await["user"]);
    assert_eq!(bench.fails(&["token", "Grimble"]).await.exit, Exit::Refused);
    assert!(after(&bench.ok(&["revoke", "Grimble"]).await) > before);
}

#[tokio::test]
async fn a_revocation_says_what_helps_where_a_name_is_enough_to_log_in() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    let login = async || bench.log_in("Newt").await.0;
    let by_name = bench.run(&["revoke", "Newt"]).await.unwrap();
    // Revocations are by the database's clock, and the test's functions must not be behind it.
    bench.clock.advance(Duration::from_hours(10 * 365 * 24));
    assert_eq!(by_name.json()["can_log_in_by_name"], true);
    assert!(by_name.text().contains("storectl ban Newt"), "{}", by_name.text());
    assert_eq!(login().await, StatusCode::OK, "as it says");
    bench.ok(&["ban", "Newt"]).await;
    assert_eq!(login().await, StatusCode::FORBIDDEN);
    bench.ok(&["unban", "Newt"]).await;
    let files = bench.path("store");
    copy(Path::new(&sample()), &files);
    let text = std::fs::read_to_string(files.join("store.yaml")).unwrap();
    assert!(text.contains("auth_type: username"));
    bench.write("store/store.yaml", &text.replace("auth_type: username", "auth_type: ingame"));
    bench.ok(&["publish", &files.display().to_string(), "--yes"]).await;
    let in_game = bench.run(&["revoke", "Newt"]).await.unwrap();
    assert_eq!(in_game.json()["can_log_in_by_name"], false);
    assert_eq!((in_game.text().lines().count(), login().await), (1, StatusCode::FORBIDDEN));
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
    assert_eq!(names::create(&bench.db, &wren, &name).await.unwrap(), Created::Written);
    assert_eq!(status(&bench, &old).await, StatusCode::UNAUTHORIZED);
}

fn user(name: &str) -> User {
    User {
        id: UserId::new(0),
        username: name.to_owned(),
        avatar: String::new(),
        system: String::new(),
        identificator: String::new(),
        uuid: String::new(),
        created_at: NOW,
        updated_at: NOW,
        virtual_currency: Money::ZERO,
        tokens_valid_after: None,
        banned: false,
        subscriptions: Vec::new(),
        customer: None,
    }
}

#[tokio::test]
async fn a_name_belongs_to_one_account_whatever_its_case() {
    let bench = Bench::published().await;
    let made = bench.ok(&["user", "add", "Loki"]).await;
    assert_eq!((&made["created"], &made["user"]["id"]), (&true.into(), &1.into()));
    let failure = bench.fails(&["user", "add", " LOKI "]).await;
    assert_eq!((failure.exit, failure.done.as_str()), (Exit::Refused, "Nothing was changed."));
    assert!(failure.what.contains("user 1"), "{failure}");
    let there = bench.ok(&["user", "add", "loki", "--if-absent"]).await;
    assert_eq!((&there["created"], &there["user"]), (&false.into(), &made["user"]));
    assert_eq!(bench.ok(&["user", "add", "Ymir", "--if-absent"]).await["created"], true);
    assert_eq!(bench.ok(&["user", "show", "lOKI"]).await["user"]["id"], 1);
    bench.ok(&["user", "erase", "loki", "--yes"]).await;
    assert_eq!(bench.ok(&["user", "add", "LOKI"]).await["created"], true, "an erased user's name is free");
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

#[tokio::test]
async fn digits_are_an_id_and_never_a_name() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    assert_eq!(bench.fails(&["user", "add", "1"]).await.exit, Exit::Refused);
    for arguments in [&["user", "show", "--name", "1"][..], &["user", "erase", "--name", "1", "--yes"]] {
        assert_eq!(bench.fails(arguments).await.exit, Exit::Refused, "{arguments:?}");
    }
    for arguments in [&["token", "1"][..], &["token", "--id", "1"], &["token", "--name", "newt"]] {
        assert_eq!(bench.ok(arguments).await["username"], "Newt", "{arguments:?}");
    }
    bench.ok(&["user", "erase", "--id", "1", "--yes"]).await;
    assert_eq!(bench.fails(&["user", "show", "Newt"]).await.exit, Exit::Refused);
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
async fn accounts_are_numbered_on_from_those_that_are_there() {
    let bench = Bench::stocked().await;
    let known = bench.ok(&["user", "list"]).await["users"].as_array().unwrap().len();
    let made = bench.ok(&["user", "add", "Newt", "--virtual-currency", "2.5"]).await;
    assert_eq!(made["user"]["id"].as_u64().unwrap(), known as u64 + 1);
    let shown = bench.ok(&["user", "show", "Newt"]).await;
    assert_eq!(shown["user"]["virtual_currency"].to_string(), "2.5");
    assert_eq!(shown["user"]["uuid"].as_str().unwrap().len(), 36);
    assert_eq!(bench.ok(&["user", "show", "thornwick"]).await["user"]["id"], 1, "the sample's users have their names");
}

#[tokio::test]
async fn an_erased_user_is_gone_from_everywhere_but_their_orders() {
    let bench = Bench::stocked().await;
    let user = &TestStore::sample().live.users[0];
    let (id, name) = (user.id.to_string(), user.username.clone());
    let token = token(&bench.ok(&["token", &id]).await);
    assert_eq!(bench.fails(&["user", "erase", &id]).await.exit, Exit::Declined);
    let orders = bench.rows().await.iter().filter(|row| row.contains("ORDER#")).count();
    bench.ok(&["user", "erase", &id, "--yes"]).await;
    assert_eq!(status(&bench, &token).await, StatusCode::UNAUTHORIZED);
    let rows = bench.rows().await;
    for kind in ["USER", "CART", "LEDGER"] {
        let key = format!(r#""pk":{{"S":"{kind}#{id}"}}"#);
        let found: Vec<_> = rows.iter().filter(|row| row.contains(&key)).collect();
        assert!(found.is_empty(), "{found:?}");
    }
    let lower = name.to_lowercase();
    let named: Vec<_> =
        rows.iter().filter(|row| row.to_lowercase().contains(&lower) && !row.contains("\"data\"")).collect();
    assert!(named.is_empty(), "{named:#?}");
    assert_eq!(rows.iter().filter(|row| row.contains("ORDER#")).count(), orders);
    // Cut off and run again, it goes on by id.
    bench.ok(&["user", "erase", &id, "--yes"]).await;
    let order = TestStore::sample().live.orders.iter().find(|order| order.owner == Some(user.id)).unwrap();
    let body = format!(r#"{{"order_id":"{}"}}"#, order.internal_id);
    let (answer, _) = bench.api(Method::POST, "/payments/checkStatus", Some(&token), &body).await;
    assert_eq!(answer, StatusCode::UNAUTHORIZED);
    assert!(bench.clock.seconds() > 0);
}
