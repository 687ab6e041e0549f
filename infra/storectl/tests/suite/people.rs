//! `token`, `revoke` and `user`.

use crate::bench::Bench;
use http::{Method, StatusCode};
use shared::clock::{Clock, SystemClock};
use shared::model::{User, UserId, UserName};
use shared::shop::accounts::{Added, names};
use shared::table::keys;
use storectl::error::Exit;
use tests::NOW;

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
