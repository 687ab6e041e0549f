//! GET /patrons/get.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use crate::support::{STALE, all, fields, put, republish};
use publish::files::Decimal;
use serde_json::{Value, json};
use shared::model::{Donor, Money, UserId};
use shared::store::{codec, keys};
use tests::{Call, TestStore};

async fn patrons(store: &TestStore) -> Value {
    let reply = store.send(Call::get("/patrons/get")).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

async fn give(store: &TestStore, user: u64, cents: i64) {
    let (user, username) = (UserId::new(user), format!("patron{user:02}"));
    let donor = Donor { user, username, avatar: String::new(), amount: Money::from_minor(cents) };
    put(store, codec::encode_live(&keys::patron(user), &donor).unwrap()).await;
}

fn thresholds(texts: &[&str]) -> Vec<Decimal> {
    texts.iter().map(|text| Decimal((*text).to_owned().into())).collect()
}

#[tokio::test]
async fn patrons_are_shown_by_what_they_gave_all_time_less_refunds() {
    let store = TestStore::open().await;
    let body = patrons(&store).await;
    insta::assert_json_snapshot!(body);
    assert_eq!(fields(&body), ["success", "currency_code", "description", "top_patrons", "patrons"]);
    let top = json!([
        {"username": "Grimble", "amount": 142.96},
        {"username": "Thornwick", "amount": 76.93},
        {"username": "Quillfeather", "amount": 49.92},
    ]);
    assert_eq!(body["top_patrons"], top);
    let tiers = json!({
        "25": ["Grimble", "Thornwick", "Quillfeather"],
        "50": ["Grimble", "Thornwick"],
        "100": ["Grimble"],
    });
    assert_eq!(body["patrons"], tiers);
}

#[tokio::test]
async fn a_threshold_is_reached_by_exactly_its_sum() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        files.store.content.patrons.thresholds = thresholds(&["12.5", "49.92", "49.93", "1000"]);
    })
    .await;
    let tiers = patrons(&store).await["patrons"].clone();
    assert_eq!(fields(&tiers), ["12.5", "49.92", "49.93", "1000"]);
    assert_eq!(tiers["49.92"], json!(["Grimble", "Thornwick", "Quillfeather"]));
    assert_eq!(tiers["49.93"], json!(["Grimble", "Thornwick"]));
    assert_eq!(tiers["1000"], json!([]));
}

#[tokio::test]
async fn the_ten_largest_stand_at_the_top_and_whoever_gave_nothing_nowhere() {
    let store = TestStore::open().await;
    for user in 10..22 {
        give(&store, user, 20_000 + i64::try_from(user).unwrap()).await;
    }
    give(&store, 30, 0).await;
    give(&store, 31, -500).await;
    store.clock.advance(STALE);
    let body = patrons(&store).await;
    assert_eq!(body["top_patrons"].as_array().unwrap().len(), 10);
    assert_eq!(body["top_patrons"][0], json!({"username": "patron21", "amount": 200.21}));
    assert_eq!(body["top_patrons"][9]["username"], "patron12");
    assert_eq!(body["patrons"]["25"].as_array().unwrap().len(), 15);
    assert!(!body.to_string().contains("patron3"), "{body}");
}

#[tokio::test]
async fn patrons_of_the_same_sum_stand_by_name() {
    let store = TestStore::open().await;
    for user in [12, 10, 11] {
        give(&store, user, 99_900).await;
    }
    store.clock.advance(STALE);
    assert_eq!(all(&patrons(&store).await["top_patrons"], "username")[..3], ["patron10", "patron11", "patron12"]);
}

#[tokio::test]
async fn a_disabled_list_and_an_empty_store_answer_with_the_contracts_error() {
    let disabled = TestStore::open().await;
    republish(&disabled, |files| files.store.content.patrons.enabled = false).await;
    for store in [disabled, TestStore::empty().await] {
        let body = patrons(&store).await;
        assert_eq!(fields(&body), ["success", "error"]);
        assert_eq!(body["success"], false);
        let text = body["error"].as_str().unwrap();
        assert!(text.contains("disabled") && text.contains("not configured"), "{text}");
    }
}

#[tokio::test]
async fn a_list_without_thresholds_is_an_empty_object() {
    let store = TestStore::open().await;
    republish(&store, |files| files.store.content.patrons.thresholds.clear()).await;
    assert_eq!(patrons(&store).await["patrons"], json!({}));
}
