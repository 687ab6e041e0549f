//! `token`, `revoke` and `user`.

use crate::bench::Bench;
use http::{Method, StatusCode};
use shared::clock::Clock;
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
    bench.clock.advance(Duration::from_secs(30 * 60 + 61));
    assert_eq!(status(&bench, &by_id).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(&bench, &by_name).await, StatusCode::OK, "six hours where nothing is said");
    assert_eq!(bench.fails(&["token", "77"]).await.exit, Exit::Refused);
    assert_eq!(bench.fails(&["token", "Nobody"]).await.exit, Exit::Refused);
}

#[tokio::test]
async fn revoked_tokens_are_refused_at_once_and_one_made_right_after_is_not() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    let old = token(&bench.ok(&["token", "1"]).await);
    bench.ok(&["revoke", "1"]).await;
    assert_eq!(status(&bench, &old).await, StatusCode::UNAUTHORIZED, "made in the very same second");
    let new = token(&bench.ok(&["token", "1"]).await);
    assert_eq!(status(&bench, &new).await, StatusCode::OK);
}

#[tokio::test]
async fn accounts_are_numbered_on_from_those_that_are_there() {
    let bench = Bench::empty().await;
    assert!(TestStore::sample().load_into_empty(&bench.db, NOW).await.unwrap());
    let known = bench.ok(&["user", "list"]).await["users"].as_array().unwrap().len();
    let made = bench.ok(&["user", "add", "Newt", "--virtual-currency", "2.5"]).await;
    assert_eq!(made["user"]["id"].as_u64().unwrap(), known as u64 + 1);
    let shown = bench.ok(&["user", "show", "Newt"]).await;
    assert_eq!(shown["user"]["virtual_currency"].to_string(), "2.5");
    assert_eq!(shown["user"]["uuid"].as_str().unwrap().len(), 36);
    bench.ok(&["user", "add", "Newt"]).await;
    let failure = bench.fails(&["user", "show", "Newt"]).await;
    assert!(failure.what.contains("More than one"), "{failure}");
}

#[tokio::test]
async fn an_erased_user_is_gone_from_everywhere_but_their_orders() {
    let bench = Bench::empty().await;
    assert!(TestStore::sample().load_into_empty(&bench.db, NOW).await.unwrap());
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
    let named: Vec<_> = rows.iter().filter(|row| row.contains(&name) && !row.contains("\"data\"")).collect();
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
