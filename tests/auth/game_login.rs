//! Logins in the game: POST /game_auth/init/{username} and POST /game_auth/check/{username}.

use crate::payments::support::{agreed, call, refused, stored};
use crate::support::{configure, fill_cart};
use serde_json::{Value, json};
use shared::clock::Clock as _;
use shared::model::{AuthType, LoginKind, OrderStatus, StoreConfig, User, UserId, UserName};
use shared::shop::accounts::bans::{ban, revoke, unban};
use shared::shop::accounts::rename;
use shared::table::{keys, read_live};
use shared::token::Via;
use std::time::Duration;
use tests::{Call, NOW, TestStore};

/// A store whose players log in from within the game.
async fn open() -> TestStore {
    let store = TestStore::open().await;
    configure(&store, |config| config.auth_type = AuthType::Ingame).await;
    store
}

/// Sends a step of a player's login, with a body or without.
async fn step(store: &TestStore, step: &str, name: &str, address: &str, body: Option<Value>) -> Value {
    let call = Call::post(&format!("/game_auth/{step}/{name}")).from_ip(address);
    let reply = store.send(body.iter().fold(call, Call::json)).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

async fn init(store: &TestStore, name: &str, address: &str) -> Value {
    step(store, "init", name, address, None).await
}

#[tokio::test]
async fn a_login_is_served_to_the_game_server_every_30_seconds_until_it_ends() {
    let store = open().await;
    let begun = init(&store, ".Thornwick", "192.0.2.1").await;
    insta::assert_json_snapshot!("game_auth_init", begun);
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
async fn init_with_secret(store: &TestStore, name: &str, address: &str, kept: &str) -> (Value, String) {
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
    assert_eq!(init(&store, "Thornwick", "192.0.2.1").await["status"], true, "anyone may have it");
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

async fn check(store: &TestStore, name: &str, address: &str) -> Value {
    step(store, "check", name, address, None).await
}

/// The id of the login that the game server is served.
async fn auth_id(store: &TestStore) -> String {
    store.poll().await[0]["auth_id"].as_str().unwrap().to_owned()
}

async fn confirm(store: &TestStore, id: &str) {
    let call = Call::post(&format!("/plugin/api/game_auth/confirm/{id}/")).bytes([0]);
    let reply = store.send(call).await;
    assert_eq!((reply.status.as_u16(), reply.text.as_str()), (200, ""));
}

/// Logs a player in from an address.
async fn log_in(store: &TestStore, name: &str, address: &str) -> Value {
    assert_eq!(init(store, name, address).await["status"], true);
    let id = auth_id(store).await;
    confirm(store, &id).await;
    check(store, name, address).await
}

#[tokio::test]
async fn a_confirmed_login_gives_one_token_to_the_address_that_began() {
    let store = open().await;
    let waiting = check(&store, "Thornwick", "192.0.2.1").await;
    insta::assert_json_snapshot!("game_auth_check", waiting);
    init(&store, "Thornwick", "192.0.2.1").await;
    assert_eq!(check(&store, "Thornwick", "192.0.2.1").await, waiting);
    let id = auth_id(&store).await;
    confirm(&store, &id).await;
    assert_eq!(check(&store, "Thornwick", "192.0.2.2").await, waiting, "another address");
    let done = check(&store, "Thornwick", "192.0.2.1").await;
    assert_eq!(done["status"], true);
    let claim = store.keys.verify(done["token"].as_str().unwrap(), tests::NOW).unwrap();
    assert_eq!((claim.user.get(), claim.via), (1, Some(Via::Game)));
    confirm(&store, &id).await;
    assert_eq!(check(&store, "Thornwick", "192.0.2.1").await, waiting, "once");
    store.clock.advance(Duration::from_secs(30));
    assert_eq!(store.poll().await, json!([]), "it is not served again");
}

async fn check_with_secret(store: &TestStore, name: &str, address: &str, secret: &str) -> Value {
    step(store, "check", name, address, Some(json!({ "secret": secret }))).await
}

#[tokio::test]
async fn a_login_that_begins_on_ipv6_ends_on_ipv4_for_the_client_with_its_secret_and_for_nobody_at_its_address() {
    let (home, mobile) = ("2001:db8:1::7", "198.51.100.7");
    let store = open().await;
    let (_, secret) = init_with_secret(&store, "Thornwick", home, "").await;
    confirm(&store, &auth_id(&store).await).await;
    let waiting = json!({ "status": false });
    let (_, other) = init_with_secret(&store, "Pebble", home, "").await;
    for address in [home, mobile] {
        assert_eq!(check(&store, "Thornwick", address).await, waiting, "by the address alone");
        assert_eq!(check_with_secret(&store, "Thornwick", address, &other).await, waiting, "another client");
        assert_eq!(check_with_secret(&store, "Thornwick", address, "").await, waiting, "a client without its secret");
    }
    let done = check_with_secret(&store, "Thornwick", mobile, &secret).await;
    assert_eq!(store.keys.verify(done["token"].as_str().unwrap(), NOW).unwrap().user, UserId::new(1));
    assert_eq!(check_with_secret(&store, "Thornwick", mobile, &secret).await, waiting, "once");
    // It is known now, at any address: no stranger voids its next login, also not one behind the address of the first.
    store.clock.advance(Duration::from_mins(10));
    let (again, _) = init_with_secret(&store, "Thornwick", "203.0.113.9", &secret).await;
    assert_eq!(again["status"], true);
    for stranger in [home, mobile, "203.0.113.9"] {
        assert_eq!(init(&store, "Thornwick", stranger).await["status"], false, "{stranger}");
    }
    confirm(&store, &auth_id(&store).await).await;
    assert_eq!(check_with_secret(&store, "Thornwick", home, &secret).await["status"], true);
}

#[tokio::test]
async fn five_minutes_after_a_login_began_it_is_neither_confirmed_nor_given_a_token() {
    for (confirmed_after, asked_after) in [(0, 5), (5, 0)] {
        let store = open().await;
        init(&store, "Thornwick", "192.0.2.1").await;
        let id = auth_id(&store).await;
        store.clock.advance(Duration::from_mins(confirmed_after));
        confirm(&store, &id).await;
        store.clock.advance(Duration::from_mins(asked_after));
        assert_eq!(check(&store, "Thornwick", "192.0.2.1").await["status"], false);
    }
}

#[tokio::test]
async fn a_stranger_does_not_ride_on_the_players_confirmation() {
    let store = open().await;
    init(&store, "Thornwick", "203.0.113.66").await;
    let first = auth_id(&store).await;
    assert_eq!(init(&store, "Thornwick", "192.0.2.1").await["status"], false);
    // The game server keeps the first id, and the player confirms that one.
    confirm(&store, &first).await;
    for address in ["203.0.113.66", "192.0.2.1"] {
        assert_eq!(check(&store, "Thornwick", address).await["status"], false, "{address}");
    }
}

#[tokio::test]
async fn an_address_that_logged_in_before_a_revocation_is_not_believed_before_others() {
    let (thief, player) = ("203.0.113.66", "192.0.2.1");
    for step in ["none", "revoke", "ban", "rename"] {
        let store = open().await;
        assert_eq!(log_in(&store, "Thornwick", thief).await["status"], true);
        let user: User = read_live(&store.db, &keys::user(UserId::new(1))).await.unwrap().unwrap();
        let name = UserName::parse("Thornwick").unwrap();
        let now = store.clock.seconds();
        match step {
            "revoke" => assert!(revoke(&store.db, &user, now).await.unwrap().is_some()),
            "ban" => {
                ban(&store.db, &name, None, &[], now).await.unwrap();
                unban(&store.db, &name).await.unwrap();
            }
            "rename" => {
                let present = UserName::parse("Briar").unwrap();
                rename(&store.db, &StoreConfig::default(), user.id, ("Briar", &present), now).await.unwrap();
                store.clock.advance(Duration::from_hours(31 * 24));
            }
            _ => {}
        }
        init(&store, "Thornwick", player).await;
        let id = auth_id(&store).await;
        let taken_over = init(&store, "Thornwick", thief).await["status"] == true;
        confirm(&store, &id).await;
        let has_token = check(&store, "Thornwick", thief).await["status"] == true;
        assert_eq!((taken_over, has_token), (step == "none", step == "none"), "{step}");
    }
}

#[tokio::test]
async fn a_login_that_began_before_an_account_got_the_name_is_not_one_of_that_account() {
    let store = open().await;
    init(&store, "Briar", "203.0.113.66").await;
    let [before, confirmed] = [auth_id(&store).await, "Bracken".to_owned()];
    init(&store, &confirmed, "203.0.113.66").await;
    confirm(&store, &auth_id(&store).await).await;
    for (user, name) in [(1, "Briar"), (2, "Bracken")] {
        let (present, now) = (UserName::parse(name).unwrap(), store.clock.seconds());
        rename(&store.db, &StoreConfig::default(), UserId::new(user), (name, &present), now).await.unwrap();
    }
    confirm(&store, &before).await;
    for name in ["Briar", "Bracken"] {
        assert_eq!(check(&store, name, "203.0.113.66").await["status"], false, "{name}");
        assert_eq!(init(&store, name, "192.0.2.1").await["status"], true, "the player need not wait: {name}");
    }
}

#[tokio::test]
async fn a_first_login_in_the_game_makes_an_account() {
    let store = open().await;
    let done = log_in(&store, "*Quartz_7", "192.0.2.1").await;
    let user = store.send(Call::post("/user").token(done["token"].as_str().unwrap())).await;
    assert_eq!(user.json()["username"], "*Quartz_7");
}

#[tokio::test]
async fn a_login_in_the_game_spends_virtual_currency_and_one_by_name_does_not() {
    let store = open().await;
    let done = log_in(&store, "Thornwick", "192.0.2.1").await;
    let token = done["token"].as_str().unwrap();
    fill_cart(&store, 1, &[511]).await;
    let by_name = store.keys.sign_via(UserId::new(1), NOW, 3_600, Some(Via::Name)).unwrap();
    assert_eq!(refused(&store, &by_name, &json!({})).await, "Virtual currency needs a login proven in the game.");
    let reply = call(&store, token, "/payments/create", &agreed()).await.data();
    assert_eq!(reply["success"], true, "{reply}");
    let order = stored(&store, reply["order_id"].as_str().unwrap()).await;
    assert_eq!((order.order.status, order.effects.via), (OrderStatus::Paid, Some(LoginKind::Proven)));
    let user = call(&store, token, "/user", &json!({})).await.data();
    assert_eq!(user["virtual_currency"], 1_100, "1,250 less 150");
}
