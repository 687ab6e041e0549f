//! `ban`, `unban` and `maintenance`.

use crate::bench::{Bench, sample};
use http::{Method, StatusCode};
use serde_json::Value;
use shared::model::{UserId, UserName};
use shared::store::{keys, names};
use std::time::Duration;
use storectl::error::Exit;

async fn user(bench: &Bench, token: &str) -> StatusCode {
    bench.api(Method::POST, "/user", Some(token), "").await.0
}

async fn access(bench: &Bench, token: Option<&str>) -> Value {
    let (status, body) = bench.api(Method::GET, "/checkAccessibility", token, "").await;
    assert_eq!(status, StatusCode::OK);
    body
}

#[tokio::test]
async fn a_ban_ends_every_login_of_a_name_and_unban_allows_new_ones() {
    let bench = Bench::published().await;
    bench.tell_the_time();
    let (status, token) = bench.log_in("Newt").await;
    assert_eq!(status, StatusCode::OK);
    let token = token.as_str().unwrap();
    assert_eq!(user(&bench, token).await, StatusCode::OK);
    let banned = bench.ok(&["ban", "NEWT"]).await;
    assert_eq!((&banned["banned"], &banned["user"]), (&true.into(), &1.into()));
    assert_eq!(user(&bench, token).await, StatusCode::UNAUTHORIZED);
    assert_eq!(access(&bench, Some(token)).await["status"], "banned");
    assert_eq!(bench.log_in("newt").await.0, StatusCode::FORBIDDEN);
    assert_eq!(bench.fails(&["token", "Newt"]).await.exit, Exit::Refused);
    bench.ok(&["ban", "Newt"]).await;
    bench.ok(&["unban", "newt"]).await;
    assert_eq!(user(&bench, token).await, StatusCode::UNAUTHORIZED, "tokens from before the ban stay refused");
    assert_eq!(access(&bench, Some(token)).await["status"], "invalid_token");
    let (status, again) = bench.log_in("Newt").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(user(&bench, again.as_str().unwrap()).await, StatusCode::OK, "dated after the ban");
    let failure = bench.fails(&["unban", "newt"]).await;
    assert_eq!((failure.exit, failure.what.as_str()), (Exit::Refused, "The name newt is not banned."));
}

#[tokio::test]
async fn a_name_is_banned_before_its_first_login() {
    let bench = Bench::published().await;
    let banned = bench.ok(&["ban", "Newt"]).await;
    assert_eq!(banned["user"], Value::Null);
    assert_eq!(bench.log_in("NEWT").await.0, StatusCode::FORBIDDEN);
    let failure = bench.fails(&["user", "add", "Newt"]).await;
    assert_eq!((failure.exit, failure.what.as_str()), (Exit::Refused, "The name Newt is banned."));
    assert!(bench.db.get(&keys::user(UserId::new(1)), true).await.unwrap().is_none());
    bench.ok(&["unban", "Newt"]).await;
    assert_eq!(bench.log_in("Newt").await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_login_right_after_a_revocation_is_valid() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.ok(&["revoke", "Newt"]).await;
    let row = names::login(&bench.db, &UserName::parse("Newt").unwrap()).await.unwrap().name.unwrap();
    assert!(row.valid_after.is_some(), "a login knows of the revocation without reading the account");
    bench.tell_the_time();
    let (status, token) = bench.log_in("Newt").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(user(&bench, token.as_str().unwrap()).await, StatusCode::OK);
}

#[tokio::test]
async fn maintenance_overrides_the_files_and_survives_a_publish() {
    let bench = Bench::published().await;
    assert_eq!(access(&bench, None).await["success"], true);
    let closed = bench.ok(&["maintenance", "on"]).await;
    assert_eq!(closed["closed"], true);
    bench.clock.advance(Duration::from_secs(6));
    assert_eq!(access(&bench, None).await["status"], "maintenance");
    let changed = bench.path("changed");
    crate::bench::copy(std::path::Path::new(&sample()), &changed);
    let store = std::fs::read_to_string(changed.join("store.yaml")).unwrap();
    let store = store.replace(
        "{enabled: false, message: The fire is being swept out. Back in an hour.}",
        "{enabled: true, message: Back at noon.}",
    );
    std::fs::write(changed.join("store.yaml"), store).unwrap();
    bench.ok(&["publish", &changed.display().to_string(), "--yes"]).await;
    bench.clock.advance(Duration::from_secs(6));
    assert_eq!(access(&bench, None).await["message"], "Back at noon.");
    bench.ok(&["maintenance", "off"]).await;
    bench.clock.advance(Duration::from_secs(6));
    assert_eq!(access(&bench, None).await["success"], true, "the files say otherwise");
    bench.ok(&["rollback", "--yes"]).await;
    assert_eq!(bench.ok(&["maintenance", "default"]).await["closed"], false);
    bench.ok(&["publish", &changed.display().to_string(), "--yes"]).await;
    bench.clock.advance(Duration::from_secs(6));
    assert_eq!(access(&bench, None).await["status"], "maintenance");
}

#[tokio::test]
async fn maintenance_needs_a_published_store() {
    let bench = Bench::empty().await;
    assert_eq!(bench.fails(&["maintenance", "on"]).await.exit, Exit::Refused);
}
