//! POST /game_auth/init/{username}.

use crate::support::configure;
use serde_json::{Value, json};
use shared::model::AuthType;
use std::time::Duration;
use tests::{Call, TestStore};

/// A store whose players log in from within the game.
pub async fn open() -> TestStore {
    let store = TestStore::open().await;
    configure(&store, |config| config.auth_type = AuthType::Ingame).await;
    store
}

pub async fn init(store: &TestStore, name: &str, address: &str) -> Value {
    let reply = store.send(Call::post(&format!("/game_auth/init/{name}")).from_ip(address)).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
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
