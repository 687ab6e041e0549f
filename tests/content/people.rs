//! GET /patrons/get and GET /staff.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use crate::support::{STALE, all, body, fields, put, republish};
use aws_sdk_dynamodb::types::AttributeValue;
use publish::files::{Decimal, StaffEntry};
use serde_json::{Value, json};
use shared::model::{Donor, Money, Patron, UserId};
use shared::rules::patrons::largest;
use shared::shop::statistics::{VersionedDonations, rename_in_statistics};
use shared::table::transaction::{Write, sent};
use shared::table::{codec, keys};
use tests::{Call, TestStore};

async fn patrons(store: &TestStore) -> Value {
    body(store, Call::get("/patrons/get")).await
}

/// Adds patrons to those of the sample store, as if their orders had been counted.
async fn list(store: &TestStore, patrons: impl Iterator<Item = (u64, String, i64)>) {
    let patron =
        |(user, username, cents)| Patron { user: UserId::new(user), username, amount: Money::from_minor(cents) };
    let sample = TestStore::sample().live.derived.patrons.iter().map(Patron::from);
    let top = largest(sample.chain(patrons.map(patron)));
    put(store, codec::encode_live(&keys::top_patrons(), &top).unwrap()).await;
    store.clock.advance(STALE);
}

fn thresholds(texts: &[&str]) -> Vec<Decimal> {
    texts.iter().map(|text| Decimal((*text).to_owned().into())).collect()
}

#[tokio::test]
async fn a_sweep_that_has_read_the_former_name_of_a_user_cannot_write_it_after_the_rename() {
    let store = TestStore::open().await;
    let sample = TestStore::sample();
    let is_shown = |user: UserId| sample.live.derived.patrons.iter().any(|patron| patron.user == user);
    let user = sample.live.users.iter().find(|user| !is_shown(user.id)).unwrap();
    let read_by_the_sweep = VersionedDonations::read(&store.db).await.unwrap();
    rename_in_statistics(&store.db, user).await.unwrap();
    let write: Write = read_by_the_sweep.write().unwrap();
    assert!(!sent(&store.db, vec![write]).await.unwrap());
}

#[tokio::test]
async fn patrons_are_shown_by_what_they_gave_all_time_less_refunds() {
    let store = TestStore::open().await;
    let body = patrons(&store).await;
    insta::assert_json_snapshot!("list_patrons", body);
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
async fn the_ten_largest_are_at_the_top_and_users_who_gave_nothing_are_not_listed() {
    let store = TestStore::open().await;
    let given = (10..22).map(|user| (user, 20_000 + i64::try_from(user).unwrap())).chain([(30, 0), (31, -500)]);
    list(&store, given.map(|(user, cents)| (user, format!("patron{user}"), cents))).await;
    let body = patrons(&store).await;
    assert_eq!(body["top_patrons"].as_array().unwrap().len(), 10);
    assert_eq!(body["top_patrons"][0], json!({"username": "patron21", "amount": 200.21}));
    assert_eq!(body["top_patrons"][9]["username"], "patron12");
    assert_eq!(body["patrons"]["25"].as_array().unwrap().len(), 15);
    assert!(!body.to_string().contains("patron3"), "{body}");
}

#[tokio::test]
async fn patrons_of_the_same_sum_are_sorted_by_name() {
    let store = TestStore::open().await;
    list(&store, [12, 10, 11].into_iter().map(|user| (user, format!("patron{user}"), 99_900))).await;
    assert_eq!(all(&patrons(&store).await["top_patrons"], "username")[..3], ["patron10", "patron11", "patron12"]);
}

#[tokio::test]
async fn a_disabled_list_and_an_empty_store_respond_with_the_documented_error() {
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

#[tokio::test]
async fn while_patrons_are_off_nothing_is_read_for_them() {
    let store = TestStore::open().await;
    republish(&store, |files| files.store.content.patrons.enabled = false).await;
    for expected in [1, 0] {
        store.calls.clear();
        assert_eq!(patrons(&store).await["success"], false);
        assert_eq!(store.calls.operations().len(), expected, "only the active version: {:?}", store.calls.operations());
    }
}

#[tokio::test]
async fn one_row_is_read_for_any_number_of_patrons() {
    let store = TestStore::open().await;
    patrons(&store).await;
    for user in 1_000..1_400 {
        let (username, avatar) = ("x".repeat(5_000), String::new());
        let donor = Donor { user: UserId::new(user), username, avatar, amount: Money::from_minor(100) };
        put(&store, codec::encode_live(&keys::patron(donor.user), &donor).unwrap()).await;
    }
    store.clock.advance(STALE);
    store.calls.clear();
    patrons(&store).await;
    assert_eq!(store.calls.operations(), ["GetItem", "GetItem"], "the active version and the row");
}

#[tokio::test]
async fn each_threshold_lists_the_thousand_highest_at_most() {
    let store = TestStore::open().await;
    let given = (0..1_200).map(|place| (1_000 + place, format!("patron{place:04}"), 20_000_i64));
    list(&store, given).await;
    let tiers = patrons(&store).await["patrons"].clone();
    for threshold in ["25", "50", "100"] {
        let names = tiers[threshold].as_array().unwrap();
        assert_eq!(names.len(), 1_000);
        assert_eq!((&names[0], &names[999]), (&json!("patron0000"), &json!("patron0999")));
    }
}

#[tokio::test]
async fn with_an_older_pointer_the_published_version_says_whether_patrons_are_shown() {
    for enabled in [true, false] {
        let store = TestStore::open().await;
        republish(&store, |files| files.store.content.patrons.enabled = enabled).await;
        let mut active = store.db.get(&keys::active_version(), true).await.unwrap().unwrap();
        let mut config = active["config"].as_m().unwrap().clone();
        config.remove("is_patrons_enabled");
        active.insert("config".to_owned(), AttributeValue::M(config));
        put(&store, active).await;
        assert_eq!(patrons(&store).await["success"], enabled);
    }
}

async fn staff(store: &TestStore) -> Value {
    body(store, Call::get("/staff")).await
}

#[tokio::test]
async fn the_staff_is_shown_by_group_in_the_order_of_sorting() {
    let store = TestStore::open().await;
    let staff = staff(&store).await;
    insta::assert_json_snapshot!("list_staff", staff);
    assert_eq!(fields(&staff["keepers"][0]), ["username", "prefix", "sorting"]);
    assert_eq!(all(&staff["wardens"], "username"), ["Isolde_of_Fen", "Bracken", "Tuppence"]);
}

#[tokio::test]
async fn members_of_the_same_sorting_are_sorted_by_name() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        let member =
            |name: &str, sorting| StaffEntry { username: name.to_owned().into(), prefix: String::new(), sorting };
        let members = vec![member("b", 1), member("c", -1), member("a", 1)];
        files.staff.content.0 = [("new".to_owned(), members)].into();
    })
    .await;
    assert_eq!(all(&staff(&store).await["new"], "username"), ["c", "a", "b"]);
}

#[tokio::test]
async fn an_empty_store_has_no_staff() {
    assert_eq!(staff(&TestStore::empty().await).await, json!({}));
}
