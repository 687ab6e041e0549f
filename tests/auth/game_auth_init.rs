//! POST /game_auth/init/{username}.

use crate::support::configure;
use serde_json::{Value, json};
use shared::clock::Clock as _;
use shared::model::{AuthType, StoreConfig, UserId, UserName};
use shared::shop::accounts::rename;
use std::time::Duration;
use tests::{Call, TestStore};

/// A store whose players log in from within the game.
pub async fn open() -> TestStore {
    let store = TestStore::open().await;
    configure(&store, |config| config.auth_type = AuthType::Ingame).await;
    store
}

/// Sends a step of a player's login, with a body or without.
pub async fn step(store: &TestStore, step: &str, name: &str, address: &str, body: Option<Value>) -> Value {
    let call = Call::post(&format!("/game_auth/{step}/{name}")).from_ip(address);
    let reply = store.send(body.iter().fold(call, Call::json)).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

pub async fn init(store: &TestStore, name: &str, address: &str) -> Value {
    step(store, "init", name, address, None).await
}

#[tokio::test]
async fn a_login_is_served_to_the_game_server_every_30_seconds_until_it_ends() {
    let store = open().await;
    let begun = init(&store, ".Thornwick", "192.0.2.1").await;
    insta::assert_json_snapshot!(begun);
    assert_eq!(begun["status"], true);
    let mut served = Vec::new();
    for _ in 0..34 {
        served.extend(store.poll().await.as_array().cloned().unwrap());
        store.clock.advance(Duration::from_secs(10));
    }
    assert_eq!(served.len(), 10, "{served:?}");
    let login = &served[0];
    assert_eq!((&login["type"], &login["username"]), (&json!("auth"), &json!(".Thornwick")));
    assert_eq!(login["auth_id"].as_str().map(str::len), Some(32));
    assert!(served.iter().all(|row| row["auth_id"] == login["auth_id"]));
}

/// A client that keeps a secret begins a login, and the secret that it has then.
pub async fn init_with_secret(store: &TestStore, name: &str, address: &str, kept: &str) -> (Value, String) {
    let begun = step(store, "init", name, address, Some(json!({ "secret": kept }))).await;
    let secret = begun["secret"].as_str().unwrap_or(kept).to_owned();
    (begun, secret)
}

#[tokio::test]
async fn a_client_that_keeps_a_secret_is_given_one_and_keeps_it() {
    let store = open().await;
    let (begun, secret) = init_with_secret(&store, "Thornwick", "192.0.2.1", "").await;
    assert_eq!((&begun["status"], secret.len()), (&json!(true), 32));
    assert_eq!(init_with_secret(&store, "Thornwick", "198.51.100.1", &secret).await.1, secret);
    let null = Call::post("/game_auth/init/Pebble").json(&json!({ "secret": null }));
    let other = store.send(null).await.json()["secret"].as_str().unwrap().to_owned();
    assert!(other.len() == 32 && other != secret);
    assert_eq!(init(&store, "Quillfeather", "192.0.2.3").await["secret"], json!(null), "it did not ask for one");
    for bad in [json!("1"), json!("A".repeat(32)), json!("0".repeat(33)), json!(7), json!(["0"])] {
        for step in ["init", "check"] {
            let call = Call::post(&format!("/game_auth/{step}/Thornwick")).json(&json!({ "secret": bad }));
            let reply = store.send(call).await;
            assert_eq!((reply.status.as_u16(), &reply.json()["status"]), (400, &json!(false)), "{}", reply.text);
            assert!(reply.json()["message"].as_str().unwrap().contains("secret field"), "{}", reply.text);
        }
    }
}

#[tokio::test]
async fn another_client_behind_the_same_address_voids_a_login_and_the_text_says_that_it_is_another_device() {
    let store = open().await;
    let (begun, secret) = init_with_secret(&store, "Thornwick", "192.0.2.1", "").await;
    assert_eq!(begun["status"], true);
    let (voided, _) = init_with_secret(&store, "Thornwick", "192.0.2.1", "").await;
    let text = voided["message"].as_str().unwrap();
    assert!(voided["status"] == false && text.starts_with("Another device"), "{text}");
    store.clock.advance(Duration::from_secs(10));
    let (waits, _) = init_with_secret(&store, "Thornwick", "192.0.2.1", &secret).await;
    assert_eq!(waits["message"], "Another device has begun to log this player in. Please try again in 5 minutes.");
    assert_eq!(store.poll().await, json!([]));
}

#[tokio::test]
async fn a_48_of_ipv6_begins_at_most_200_logins_in_ten_minutes() {
    let store = open().await;
    for number in 0..200 {
        let address = format!("2001:db8:1:{number:x}::1");
        assert_eq!(init(&store, &format!("Player_{number}"), &address).await["status"], true, "{number}");
    }
    let refused = init(&store, "Player_201", "2001:db8:1:ffff::1").await;
    assert!(refused["message"].as_str().unwrap().starts_with("Too many attempts"), "{refused}");
    assert_eq!(init(&store, "Player_201", "2001:db8:2::1").await["status"], true, "another network");
}

#[tokio::test]
async fn an_eleventh_login_of_an_address_in_ten_minutes_is_refused() {
    let store = open().await;
    for number in 0..10 {
        assert_eq!(init(&store, &format!("Player_{number}"), "192.0.2.1").await["status"], true);
    }
    let reply = store.send(Call::post("/game_auth/init/Player_11").from_ip("192.0.2.1")).await;
    assert_eq!((reply.status.as_u16(), &reply.json()["status"]), (429, &json!(false)));
}

#[tokio::test]
async fn nothing_begins_for_a_banned_player_or_a_text_that_is_not_a_name() {
    let store = open().await;
    for name in ["ab", "4711", "a%20b%20c", "%F0%9F%92%8E"] {
        let reply = init(&store, name, "192.0.2.1").await;
        assert_eq!(reply, json!({ "status": false, "message": "Incorrect username!" }), "{name}");
    }
    assert_eq!(store.poll().await, json!([]));
}

#[tokio::test]
async fn nothing_begins_for_a_former_name_or_a_locked_account() {
    let store = open().await;
    let (briar, now) = (UserName::parse("Briar").unwrap(), store.clock.seconds());
    rename(&store.db, &StoreConfig::default(), UserId::new(1), ("Briar", &briar), now).await.unwrap();
    for (name, message) in [
        ("Thornwick", "This name was changed. Please log in with the new one."),
        ("Grimble", "The store's owner has locked this account."),
    ] {
        assert_eq!(init(&store, name, "192.0.2.1").await, json!({ "status": false, "message": message }));
    }
    assert_eq!(store.poll().await, json!([]));
    store.clock.advance(Duration::from_hours(30 * 24));
    assert_eq!(init(&store, "Thornwick", "192.0.2.1").await["status"], true, "anybody may have it");
}

#[tokio::test]
async fn a_second_address_voids_both_logins_and_the_name_waits_five_minutes() {
    let store = open().await;
    assert_eq!(init(&store, "Thornwick", "192.0.2.1").await["status"], true);
    assert_eq!(init(&store, "tHORNWICK", "192.0.2.2").await["status"], false);
    assert_eq!(store.poll().await, json!([]));
    store.clock.advance(Duration::from_secs(290));
    assert_eq!(init(&store, "Thornwick", "192.0.2.1").await["status"], false);
    store.clock.advance(Duration::from_secs(10));
    assert_eq!(init(&store, "Thornwick", "192.0.2.1").await["status"], true);
}
