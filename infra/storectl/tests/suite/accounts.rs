//! `user credit`, `user rename` and `ban list`.

use crate::bench::Bench;
use futures_util::future::join_all;
use http::Method;
use serde_json::Value;
use tests::Faults;

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
