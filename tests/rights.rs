//! Each function's rights in template.yaml are exactly the operations that it uses.

use crate::payments::support;
use crate::support::configure;
use local::stripe::Action;
use shared::model::AuthType;
use std::collections::BTreeSet;
use std::time::Duration;
use tests::{Call, TestStore, event_names, template};

#[tokio::test]
async fn a_function_has_exactly_the_rights_that_it_uses() {
    for function in template().functions().unwrap() {
        let own = format!("{function}/");
        let mut done = BTreeSet::new();
        // Each on a fresh store with empty caches.
        for name in event_names().iter().filter(|name| name.starts_with(&own)) {
            let store = TestStore::open().await;
            store.calls.clear();
            store.invoke_file(name).await;
            done.extend(store.calls.actions());
        }
        match function.as_str() {
            "payments" => done.extend(actions_of_a_checkout().await),
            "auth" => done.extend(actions_of_a_game_login().await),
            "delivery" => done.extend(actions_of_a_game_server().await),
            _ => {}
        }
        assert_eq!(template().actions(&function).unwrap(), done, "{function}");
    }
}

/// The actions of the auth function when a login in the game begins and is voided. The sample store logs players in by name.
async fn actions_of_a_game_login() -> BTreeSet<String> {
    let store = TestStore::open().await;
    configure(&store, |config| config.auth_type = AuthType::Ingame).await;
    store.calls.clear();
    for address in ["192.0.2.1", "192.0.2.2"] {
        store.send(Call::post("/game_auth/init/Thornwick").from_ip(address)).await;
    }
    store.calls.actions()
}

/// The actions of the delivery function for commands that are served, given back, kept, validated and executed, and for a login.
async fn actions_of_a_game_server() -> BTreeSet<String> {
    let store = TestStore::open().await;
    configure(&store, |config| config.auth_type = AuthType::Ingame).await;
    store.send(Call::post("/game_auth/init/Thornwick")).await;
    let id = store.queue_command("Thornwick", "give Thornwick diamond", true).await;
    store.calls.clear();
    let rows = store.poll().await;
    store.server_says("paynow", None).await;
    store.poll().await;
    for word in ["delivered", "validated", "executed"] {
        store.tell(word, &[id]).await;
    }
    let login = rows.as_array().unwrap().iter().find_map(|row| row["auth_id"].as_str()).unwrap();
    store.send(Call::post(&format!("/plugin/api/game_auth/confirm/{login}/")).bytes([0])).await;
    store.clock.advance(Duration::from_mins(10));
    store.poll().await;
    store.calls.actions()
}

/// The actions of the payments function in a checkout that is paid and refunded, and in its sweep. No single event does it.
async fn actions_of_a_checkout() -> BTreeSet<String> {
    let store = TestStore::open().await;
    let token = support::login(&store, "Buyer").await;
    support::add(&store, &token, 302, 1).await;
    store.calls.clear();
    let begun = support::create(&store, &token).await;
    support::act(&store, &begun, &Action::Pay).await;
    support::act(&store, &begun, &Action::Refund(None)).await;
    let sweep = serde_json::from_str(include_str!("../infra/local/src/sweep.json")).unwrap();
    assert_eq!(store.invoke("payments", &sweep).await.status, 200);
    store.calls.actions()
}
