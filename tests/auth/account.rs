//! POST /auth/username: a player logs in by name (api.md, "POST /auth/username").

use crate::support::{assert_message, body, configure, put};
use serde_json::{Value, json};
use shared::model::{AuthType, BedrockPrefix, UserId, UserName};
use shared::shop::accounts::names;
use shared::table::codec::key_attributes;
use shared::table::keys;
use shared::token::Via;
use std::collections::BTreeSet;
use std::time::Duration;
use tests::{Call, NOW, Reply, TWO_CHAINS, TestStore, needs_embedded_engine};

fn log_in(name: &str) -> Call {
    Call::post("/auth/username").json(&json!({ "username": name }))
}

#[track_caller]
fn token(reply: &Reply) -> String {
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.header("cache-control"), "no-store");
    let body = reply.json();
    assert!(body.is_string(), "no bare string: {}", reply.text);
    body.as_str().unwrap_or_default().to_owned()
}

async fn account(store: &TestStore, token: &str) -> Value {
    body(store, Call::post("/user").token(token)).await
}

fn key(name: &str) -> UserName {
    UserName::parse(name).unwrap()
}

#[tokio::test]
async fn a_player_with_an_account_is_given_a_token_for_six_hours() {
    let store = TestStore::open().await;
    let token = token(&store.send(log_in("tHORNWICK")).await);
    let claim = store.keys.verify(&token, NOW).unwrap();
    assert_eq!((claim.user.get(), claim.issued_at, claim.via), (1, NOW, Some(Via::Name)));
    assert!(store.keys.verify(&token, NOW + 6 * 3_600 + 60).is_ok());
    assert!(store.keys.verify(&token, NOW + 6 * 3_600 + 61).is_err());
    assert_eq!(account(&store, &token).await["username"], "Thornwick");
}

#[tokio::test]
async fn a_first_login_makes_an_account() {
    let store = TestStore::open().await;
    configure(&store, |config| config.player_avatar = "https://img.example/{player}.png".to_owned()).await;
    let token = token(&store.send(log_in("*Quartz_7-alt")).await);
    let mut user = account(&store, &token).await;
    assert_eq!(user["uuid"].as_str().map(str::len), Some(36));
    user["uuid"] = "random".into();
    let made = json!({
        "id": 9,
        "username": "*Quartz_7-alt",
        "avatar": "https://img.example/*Quartz_7-alt.png",
        "system": "",
        "identificator": "",
        "uuid": "random",
        "created_at": "2026-06-15T12:00:06Z",
        "updated_at": "2026-06-15T12:00:06Z",
        "virtual_currency": 0,
        "subscriptions": [],
    });
    assert_eq!(user, made);
    let again = self::token(&store.send(log_in("*quartz_7-ALT")).await);
    assert_eq!(store.keys.verify(&again, NOW).unwrap().user, store.keys.verify(&token, NOW).unwrap().user);
}

#[tokio::test]
async fn a_bedrock_player_gets_the_name_that_the_servers_have() {
    let store = TestStore::open().await;
    assert_eq!(assert_message(&store.send(log_in("!Thornwick")).await, 400), "Incorrect username!");
    configure(&store, |config| config.bedrock = BedrockPrefix::parse(".")).await;
    for (name, kept) in [
        (".PsychicClover9", ".PsychicClover9"),
        (".PsychicCloverNine", ".PsychicCloverNi"),
        (".Psychic Clover 9", ".Psychic_Clover_"),
        ("PsychicClover9", "PsychicClover9"),
    ] {
        let token = token(&store.send(log_in(name)).await);
        assert_eq!(account(&store, &token).await["username"], kept, "{name}");
    }
    let same = [".PsychicCloverNine", ".PsychicCloverNi", ".psychicclovernice"];
    let mut users = BTreeSet::new();
    for name in same {
        let token = token(&store.send(log_in(name)).await);
        users.insert(store.keys.verify(&token, NOW).unwrap().user.get());
    }
    assert_eq!(users.len(), 1, "the servers know one player by all of these");
    for name in ["*PsychicClover9", "+PsychicClover9", ".Psychic-Clover", ". Psychic", "Psychic Clover"] {
        assert_eq!(assert_message(&store.send(log_in(name)).await, 400), "Incorrect username!", "{name}");
    }
}

#[tokio::test]
async fn a_ban_of_a_bedrock_players_name_holds_for_every_way_to_write_it() {
    let store = TestStore::open().await;
    configure(&store, |config| config.bedrock = BedrockPrefix::parse("+")).await;
    put(&store, key_attributes(&keys::ban(&key("+Psychic_CloverN")))).await;
    for name in ["+Psychic_CloverN", "+Psychic CloverNine", "+psychic_clovernine"] {
        assert_message(&store.send(log_in(name)).await, 403);
    }
}

#[tokio::test]
async fn what_is_not_a_name_is_refused_before_the_table_is_read() {
    let store = TestStore::open().await;
    let longest = format!("*{0}-{0}x", "x".repeat(24));
    for name in ["", " ", "ab", "4711", " Thornwick", "Thornwick ", "Тhornwick", "a b c", "abc\0", "abc-", &longest] {
        store.calls.clear();
        let reply = store.send(log_in(name)).await;
        assert_eq!(assert_message(&reply, 400), "Incorrect username!", "{name:?}");
        let operations: BTreeSet<String> = store.calls.operations().into_iter().collect();
        assert_eq!(operations, BTreeSet::from(["UpdateItem".to_owned()]), "{name:?}: only the request is counted");
    }
}

#[tokio::test]
async fn a_banned_name_is_refused_with_and_without_an_account() {
    let store = TestStore::open().await;
    for name in ["Pebble", "Newcomer"] {
        put(&store, key_attributes(&keys::ban(&key(name)))).await;
        let reply = store.send(log_in(&name.to_uppercase())).await;
        assert_eq!(assert_message(&reply, 403), "This player is banned from the store.");
    }
    assert!(names::owner(&store.db, &key("newcomer")).await.unwrap().is_none());
}

#[tokio::test]
async fn a_store_that_logs_players_in_from_the_game_gives_no_token() {
    let store = TestStore::open().await;
    configure(&store, |config| config.auth_type = AuthType::Ingame).await;
    for name in ["Thornwick", "Newcomer"] {
        assert_message(&store.send(log_in(name)).await, 403);
    }
    assert!(names::owner(&store.db, &key("newcomer")).await.unwrap().is_none());
}

#[tokio::test]
async fn an_account_whose_tokens_are_refused_for_years_cannot_log_in() {
    let store = TestStore::open().await;
    assert_message(&store.send(log_in("Grimble")).await, 403);
}

#[tokio::test]
async fn a_token_is_valid_even_right_after_a_revocation() {
    let store = TestStore::open().await;
    let row = names::row(&key("Pebble"), UserId::new(3), Some(NOW + 5)).unwrap();
    put(&store, row).await;
    let token = token(&store.send(log_in("Pebble")).await);
    assert_eq!(store.keys.verify(&token, NOW).unwrap().issued_at, NOW + 6);
}

#[tokio::test]
async fn an_address_may_try_twenty_times_a_minute_and_a_refused_attempt_makes_no_account() {
    let store = TestStore::open().await;
    let from = |name: &str| log_in(name).from_ip("203.0.113.20");
    for attempt in 0..20 {
        let name = if attempt % 2 == 0 { "Thornwick" } else { "?" };
        let reply = store.send(from(name)).await;
        assert_ne!(reply.status, 429, "{attempt}");
        assert_eq!(reply.header("ratelimit-limit"), "20");
        assert_eq!(reply.header("ratelimit-remaining"), (19 - attempt).to_string());
    }
    store.calls.clear();
    let refused = store.send(from("Newcomer")).await;
    assert_message(&refused, 429);
    assert_eq!(refused.header("retry-after"), "60");
    assert_eq!(store.calls.operations(), ["UpdateItem"], "nothing is read for it");
    assert!(names::owner(&store.db, &key("newcomer")).await.unwrap().is_none());
    assert_eq!(store.send(log_in("Thornwick").from_ip("203.0.113.21")).await.status, 200, "another address");
    let lookup = Call::post("/payments/checkStatus").from_ip("203.0.113.20");
    assert_ne!(store.send(lookup).await.status, 429, "lookups of payments are counted apart");
    store.clock.advance(Duration::from_mins(1));
    assert_eq!(store.send(from("Newcomer")).await.status, 200);
}

#[tokio::test]
async fn a_login_takes_two_round_trips_and_a_new_account_four() {
    if needs_embedded_engine(TWO_CHAINS) {
        return;
    }
    let store = TestStore::open().await;
    store.warm_up().await;
    store.send(Call::get("/auth/chat")).await;
    for (what, call, trips) in [
        ("a new account in a new window", log_in("Newcomer"), 5),
        ("a known name", log_in("Thornwick"), 2),
        ("a new account", log_in("Another"), 4),
        ("a known name in a new window", log_in("Thornwick").from_ip("203.0.113.99"), 3),
    ] {
        store.calls.clear();
        assert_eq!(store.send(call).await.status, 200, "{what}");
        assert_eq!(store.calls.round_trips(), trips, "{what}: {:?}", store.calls.operations());
    }
}
