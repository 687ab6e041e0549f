//! GET /settings/get.

use crate::support::{all, body, fields, item, republish};
use serde_json::{Value, json};
use shared::model::{ChatPlatform, Donations, Money};
use shared::table::codec::encode_live;
use shared::table::{keys, read_live};
use std::time::Duration;
use tests::{Call, TestStore};

async fn settings(store: &TestStore) -> Value {
    body(store, Call::get("/settings/get")).await
}

/// See api.md, "GET /settings/get"; those behind `system_language` are additions (api.md, "Added fields").
const KEYS: [&str; 28] = [
    "auth_type",
    "header",
    "footer",
    "website_name",
    "website_description",
    "server",
    "is_featuredDeal",
    "details",
    "goals",
    "top",
    "recentDonators",
    "chat_url",
    "chat_id",
    "is_ref",
    "is_profile_enabled",
    "chat_sync",
    "socials",
    "is_virtual_currency",
    "virtual_currency",
    "system_currency",
    "currencies",
    "languages",
    "system_language",
    "is_patrons_enabled",
    "guest_mode_enabled",
    "discord_url",
    "discord_id",
    "discord_sync",
];

#[tokio::test]
async fn the_settings_are_shown_in_full() {
    let store = TestStore::open().await;
    let settings = settings(&store).await;
    insta::assert_json_snapshot!("sample", settings);
    assert_eq!(fields(&settings), KEYS);
    assert_eq!(fields(&settings["server"]), ["ip", "port"]);
    assert_eq!(fields(&settings["top"]), ["avatar", "username"]);
    assert_eq!(fields(&settings["goals"][0]), ["name", "current_amount", "goal_amount"]);
    assert_eq!(fields(&settings["recentDonators"][0]), ["username", "avatar", "amount", "currency"]);
    assert_eq!(fields(&settings["system_currency"]), ["name", "value"]);
    assert_eq!(fields(&settings["system_language"]), ["code", "name"]);
}

#[tokio::test]
async fn an_empty_store_has_every_key_with_an_empty_value() {
    let settings = settings(&TestStore::empty().await).await;
    assert_eq!(fields(&settings), KEYS);
    insta::assert_json_snapshot!("empty", settings);
}

#[tokio::test]
async fn the_smallest_possible_store_has_every_key() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        let currency = files.store.content.currency.clone();
        let format = files.store.content.format.clone();
        files.store.content =
            publish::files::StoreFile { format, currency, name: "Bare".to_owned(), ..Default::default() };
        files.categories.clear();
    })
    .await;
    let settings = settings(&store).await;
    assert_eq!(fields(&settings), KEYS);
    assert_eq!(settings["system_language"], json!({"code": "", "name": ""}));
    for (key, nothing) in
        [("header", json!([])), ("goals", json!([])), ("languages", json!([])), ("socials", json!({}))]
    {
        assert_eq!(settings[key], nothing, "{key}");
    }
    for (key, unset) in [
        ("is_featuredDeal", json!(false)),
        ("chat_sync", json!(0)),
        ("is_virtual_currency", json!(false)),
        ("virtual_currency", json!("")),
    ] {
        assert_eq!(settings[key], unset, "{key}");
    }
}

/// Storefronts show price × currency.value / system_currency.value.
#[tokio::test]
async fn the_value_of_a_currency_is_how_many_units_one_us_dollar_buys() {
    let store = TestStore::open().await;
    let settings = settings(&store).await;
    let value = |currency: &Value| currency["value"].as_f64().unwrap();
    let shown = |code: &str| {
        let listed = settings["currencies"].as_array().unwrap().iter().find(|currency| currency["name"] == code);
        format!("{:.2}", 34.99 * value(listed.unwrap()) / value(&settings["system_currency"]))
    };
    assert_eq!(["EUR", "USD", "GBP", "PLN"].map(shown), ["34.99", "37.96", "29.79", "151.07"]);
    let dollar = settings["currencies"].as_array().unwrap().iter().find(|currency| currency["name"] == "USD");
    assert_eq!(dollar.unwrap()["value"], 1);
}

#[tokio::test]
async fn every_paid_order_counts_towards_every_goal() {
    let store = TestStore::open().await;
    let settings = settings(&store).await;
    // The sum of the lines of every paid order in live.jsonl, including those of guests.
    assert_eq!(all(&settings["goals"], "current_amount"), [311.79, 311.79]);
    assert_eq!(all(&settings["goals"], "goal_amount"), [750, 120]);
}

#[tokio::test]
async fn the_last_ten_paid_orders_with_an_owner_are_shown_newest_first() {
    let store = TestStore::open().await;
    let settings = settings(&store).await;
    let recent = &settings["recentDonators"];
    let names = all(recent, "username");
    let quill = "Quillfeather";
    assert_eq!(
        names,
        [quill, "Thornwick", quill, "Thornwick", "Grimble", quill, "Thornwick", quill, "Grimble", "Thornwick"]
    );
    assert_eq!(json!(all(recent, "amount")), json!([1.5, 10.99, 2, 7.99, 6, 10.84, 8.98, 9.96, 25, 9]));
    let currencies = ["EUR", "EUR", "EUR", "EUR", "EUR", "USD", "EUR", "EUR", "EUR", "EUR"];
    assert_eq!(all(recent, "currency"), currencies);
}

#[tokio::test]
async fn an_order_that_cost_nothing_is_not_shown_although_it_is_in_the_list() {
    let store = TestStore::open().await;
    let key = keys::donations();
    let mut donations: Donations = read_live(&store.db, &key).await.unwrap().unwrap();
    donations.recent[0].amount = Money::ZERO;
    let put = store.db.client().put_item().table_name(store.db.table());
    put.set_item(Some(encode_live(&key, &donations).unwrap())).send().await.unwrap();
    let settings = settings(&store).await;
    assert_eq!(all(&settings["recentDonators"], "username").len(), 9);
    assert_eq!(settings["recentDonators"][0]["username"], "Thornwick");
}

#[tokio::test]
async fn the_top_donator_is_that_of_the_month_and_a_new_month_begins_without_one() {
    let store = TestStore::open().await;
    let top = settings(&store).await["top"].clone();
    assert_eq!(
        top,
        json!({"avatar": "https://shop.emberfall.example/img/avatars/thornwick.svg", "username": "Thornwick"})
    );
    // Noon of 15 June to the last second of 30 June, in UTC.
    store.clock.advance(Duration::from_secs(15 * 86_400 + 43_199));
    assert_eq!(settings(&store).await["top"], top);
    store.clock.advance(Duration::from_secs(1));
    let july = settings(&store).await;
    assert_eq!(july["top"], json!({"avatar": "", "username": ""}));
    assert_eq!(all(&july["goals"], "current_amount"), [311.79, 311.79]);
    assert_eq!(july["recentDonators"].as_array().unwrap().len(), 10);
}

#[tokio::test]
async fn switches_are_shown_as_they_are_published() {
    let store = TestStore::open().await;
    let before = settings(&store).await;
    republish(&store, |files| {
        let site = &mut files.store.content;
        site.auth_type = shared::model::AuthType::Ingame;
        site.referrals = false;
        site.profiles = false;
        site.details_form = true;
        site.chat.sync = false;
        site.guest_mode = true;
        site.patrons.enabled = false;
        for id in [104, 202, 312, 503] {
            item(files, id).featured = false;
        }
    })
    .await;
    let after = settings(&store).await;
    let switches = [
        ("auth_type", json!("username"), json!("ingame")),
        ("is_ref", json!(true), json!(false)),
        ("is_profile_enabled", json!(true), json!(false)),
        ("details", json!(false), json!(true)),
        ("chat_sync", json!(1), json!(0)),
        ("guest_mode_enabled", json!(false), json!(true)),
        ("is_patrons_enabled", json!(1), json!(0)),
        ("is_featuredDeal", json!(true), json!(false)),
    ];
    for (key, was, is) in switches {
        assert_eq!((&before[key], &after[key]), (&was, &is), "{key}");
    }
}

#[tokio::test]
async fn discords_names_repeat_the_neutral_ones_unless_the_store_names_another_platform() {
    let store = TestStore::open().await;
    let names = [("chat_url", "discord_url"), ("chat_id", "discord_id"), ("chat_sync", "discord_sync")];
    for platform in [None, Some(ChatPlatform::Discord), Some(ChatPlatform::Other)] {
        republish(&store, |files| files.store.content.chat.platform = platform).await;
        let settings = settings(&store).await;
        for (neutral, discord) in names {
            let shown = settings.get(discord);
            assert!(settings[neutral].is_string() || settings[neutral] == 1, "{neutral}");
            let expected = (platform != Some(ChatPlatform::Other)).then_some(&settings[neutral]);
            assert_eq!(shown, expected, "{discord}, {platform:?}");
        }
    }
}
