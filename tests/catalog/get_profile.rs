//! GET /profile/{name}.

use crate::support::{all, assert_message, body, republish};
use serde_json::{Value, json};
use shared::model::UserId;
use shared::table::keys;
use tests::{Call, Reply, TestStore};

async fn profile(store: &TestStore, name: &str) -> Reply {
    store.send(Call::get(&format!("/profile/{name}"))).await
}

async fn shown(store: &TestStore, name: &str) -> Value {
    body(store, Call::get(&format!("/profile/{name}"))).await
}

#[tokio::test]
async fn a_profile_shows_what_a_player_bought_for_themself() {
    let store = TestStore::open().await;
    let shown = shown(&store, "Thornwick").await;
    insta::assert_json_snapshot!(shown);
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn the_sum_is_that_of_the_patrons_list() {
    let store = TestStore::open().await;
    let patrons = store.send(Call::get("/patrons/get")).await.json();
    let of = |name: &str| patrons["top_patrons"].as_array().unwrap().iter().find(|p| p["username"] == name).cloned();
    for name in ["Thornwick", "Quillfeather", "Grimble"] {
        assert_eq!(shown(&store, name).await["money_spent"], of(name).unwrap()["amount"], "{name}");
    }
}

#[tokio::test]
async fn a_player_who_bought_nothing_has_an_empty_profile() {
    let store = TestStore::open().await;
    let shown = shown(&store, "Pebble").await;
    let expected = [("items", json!([])), ("top_item_name", Value::Null), ("top_item_id", json!(0))];
    let none = [("money_spent", json!(0)), ("group", json!("")), ("display_group", json!(0))];
    for (field, value) in expected.into_iter().chain(none) {
        assert_eq!(shown[field], value, "{field}");
    }
}

#[tokio::test]
async fn at_most_twenty_items_are_shown_by_id_and_the_dearest_is_never_left_out() {
    let store = TestStore::open().await;
    let ids: Vec<u64> = TestStore::sample().compiled.items.iter().map(|entry| entry.item.id.get()).collect();
    let dearest = ids.iter().copied().max().unwrap();
    let mut item = shared::table::codec::key_attributes(&keys::ledger(UserId::new(3)));
    let number = |text: String| aws_sdk_dynamodb::types::AttributeValue::N(text);
    for id in &ids {
        item.insert(format!("u{id}"), number("1".to_owned()));
        item.insert(format!("p{id}"), number(if *id == dearest { "900" } else { "100" }.to_owned()));
    }
    // Of what is no longer published, nothing is known.
    item.insert("u999999".to_owned(), number("1".to_owned()));
    crate::support::put(&store, item).await;
    let shown = shown(&store, "Pebble").await;
    let listed: Vec<u64> = all(&shown["items"], "id").into_iter().filter_map(Value::as_u64).collect();
    assert_eq!((listed.len(), listed.is_sorted(), listed.last()), (20, true, Some(&dearest)), "{listed:?}");
    assert_eq!(shown["top_item_id"], dearest);
    assert!(shown["top_item_name"].is_string());
}

#[tokio::test]
async fn a_member_of_the_staff_has_their_group() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        let member = files.staff.content.0.get_mut("masons").unwrap();
        member[0].username = "pebble".to_owned().into();
    })
    .await;
    let shown = shown(&store, "Pebble").await;
    assert_eq!((&shown["group"], &shown["display_group"]), (&"masons".into(), &1.into()));
}

#[tokio::test]
async fn names_are_found_without_regard_to_case_and_percent_encoded() {
    let store = TestStore::open().await;
    let plain = shown(&store, "Thornwick").await;
    for name in ["thornwick", "THORNWICK", "%54hornwick", "Thornwick%20"] {
        assert_eq!(shown(&store, name).await, plain, "{name}");
    }
}

#[tokio::test]
async fn unknown_and_banned_players_have_no_profile() {
    let store = TestStore::open().await;
    let unknown = assert_message(&profile(&store, "Nobody_Yet").await, 404);
    let long = "x".repeat(256);
    for name in ["Mildew", "mildew", "1", "%20", long.as_str()] {
        let reply = profile(&store, name).await;
        assert_eq!(assert_message(&reply, 404), unknown, "{name}");
        assert_eq!(reply.header("cache-control"), "no-store");
    }
}

#[tokio::test]
async fn a_store_without_profiles_shows_none() {
    let store = TestStore::open().await;
    republish(&store, |files| files.store.content.profiles = false).await;
    assert_message(&profile(&store, "Thornwick").await, 404);
    assert_message(&profile(&TestStore::empty().await, "Thornwick").await, 404);
}

#[tokio::test]
async fn a_profile_costs_two_round_trips_if_its_items_are_cached() {
    let store = TestStore::open().await;
    shown(&store, "Quillfeather").await;
    store.calls.clear();
    shown(&store, "Quillfeather").await;
    assert_eq!(store.calls.round_trips(), 2, "{:?}", store.calls.operations());
}
