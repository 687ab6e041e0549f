//! POST /user, and GET /checkAccessibility: whether the storefront may be shown (api.md, "GET /checkAccessibility").

use crate::support::{configure, fields, private_body, put, subscribe, with_subscriptions};
use serde_json::{Value, json};
use shared::model::SubscriptionDetail::{Incomplete, Paused, Trialing, Unpaid};
use shared::model::SubscriptionStatus::{Active, Cancelled, Ended, PastDue};
use shared::model::{ItemId, Maintenance, Money, User, UserId, UserSubscription};
use shared::table::codec::{decode_live, encode_live};
use shared::table::keys;
use tests::{Call, NOW, Reply, TestStore};

async fn user(store: &TestStore, name: &str) -> Value {
    private_body(store, Call::post("/user").token(&store.token(name))).await
}

const FIELDS: [&str; 8] = ["id", "username", "avatar", "system", "identificator", "uuid", "created_at", "updated_at"];

#[tokio::test]
async fn a_user_sees_their_own_account() {
    let store = TestStore::open().await;
    for name in ["Thornwick", "Quillfeather", "Pebble"] {
        let user = user(&store, name).await;
        assert_eq!(fields(&user)[..8], FIELDS);
        insta::assert_json_snapshot!(format!("user__{name}"), user);
    }
}

#[tokio::test]
async fn times_are_iso_8601_in_utc_with_z() {
    let store = TestStore::open().await;
    let pebble = user(&store, "Pebble").await;
    assert_eq!(pebble["created_at"], "2025-12-31T23:50:00Z");
    assert_eq!(pebble["updated_at"], pebble["created_at"]);
    assert_eq!(user(&store, "Thornwick").await["updated_at"], "2026-06-15T09:00:00Z");
}

#[tokio::test]
async fn the_balance_is_present_exactly_if_the_store_uses_virtual_currency() {
    let store = TestStore::open().await;
    assert_eq!(user(&store, "Thornwick").await["virtual_currency"], 1250);
    assert_eq!(user(&store, "Pebble").await["virtual_currency"], 0);
    configure(&store, |config| config.is_virtual_currency = false).await;
    let user_fields = [&FIELDS[..], &["subscriptions"]].concat();
    assert_eq!(fields(&user(&store, "Thornwick").await), user_fields);
    configure(&store, |config| config.is_virtual_currency = true).await;
    assert_eq!(user(&store, "Thornwick").await["virtual_currency"], 1250);
}

#[tokio::test]
async fn subscriptions_are_shown_with_the_end_of_what_is_paid_until_they_are_over() {
    let store = TestStore::open().await;
    assert_eq!(user(&store, "Pebble").await["subscriptions"], json!([]));
    let all = [(106, Active, NOW + 86_400), (602, PastDue, NOW - 60), (101, Cancelled, NOW + 1), (102, Cancelled, NOW)];
    subscribe(&store, "Pebble", &[&all[..], &[(103, Ended, NOW - 1), (104, Ended, NOW + 1)]].concat()).await;
    let shown = user(&store, "Pebble").await["subscriptions"].clone();
    let subscription = |item: u64, state: &str, has_access: bool, field: &str, time: &str| {
        let name = format!("Item {item}");
        json!({ "item_id": item, "name": name, "price": 4.99, "state": state, "has_access": has_access, field: time })
    };
    let expected = json!([
        subscription(106, "active", true, "renews_at", "2026-06-16T12:00:00Z"),
        subscription(602, "past_due", false, "ends_at", "2026-06-15T11:59:00Z"),
        subscription(101, "cancelled", true, "ends_at", "2026-06-15T12:00:01Z"),
        subscription(104, "cancelled", true, "ends_at", "2026-06-15T12:00:01Z"),
    ]);
    assert_eq!(shown, expected);
    assert_eq!(user(&store, "Thornwick").await["subscriptions"], json!([]), "those of another user");
}

#[tokio::test]
async fn every_state_of_a_subscription_is_shown_and_no_time_that_is_past_is_promised() {
    let store = TestStore::open().await;
    let shown = async |status, detail, until: i64, access_until: i64, ends_at| {
        let subscription = UserSubscription {
            id: "sub_1".to_owned(),
            item: ItemId::new(106),
            name: "Pass".to_owned(),
            price: Money::from_minor(399),
            status,
            detail,
            until: NOW + until,
            access_until: Some(NOW + access_until),
            ends_at,
            rank_of: None,
        };
        with_subscriptions(&store, "Pebble", vec![subscription]).await;
        let one = user(&store, "Pebble").await["subscriptions"][0].clone();
        json!([one["state"], one["has_access"], one["renews_at"], one["ends_at"]])
    };
    let (second, later) = ("2026-06-15T12:00:01Z", "2026-06-15T12:00:09Z");
    let before = "2026-06-15T11:59:59Z";
    assert_eq!(shown(Active, None, 1, 9, None).await, json!(["active", true, second, null]));
    assert_eq!(shown(Active, None, 1, 9, Some(NOW + 9)).await, json!(["active", true, second, later]));
    assert_eq!(shown(Active, None, -1, 9, None).await, json!(["active", true, null, later]), "it is late");
    assert_eq!(shown(Active, None, -9, -1, None).await, json!(["active", false, null, before]));
    assert_eq!(shown(Active, Some(Trialing), 1, 9, None).await, json!(["trialing", true, second, null]));
    assert_eq!(shown(Active, Some(Paused), 1, 1, None).await, json!(["paused", true, null, second]));
    assert_eq!(shown(PastDue, Some(Unpaid), -1, -1, None).await, json!(["unpaid", false, null, before]));
    assert_eq!(shown(PastDue, Some(Incomplete), 1, 1, None).await, json!(["incomplete", true, null, second]));
}

#[tokio::test]
async fn a_subscription_has_the_digits_of_the_stores_currency() {
    let store = TestStore::open().await;
    subscribe(&store, "Pebble", &[(106, Active, NOW + 1)]).await;
    configure(&store, |config| config.digits = 0).await;
    assert_eq!(user(&store, "Pebble").await["subscriptions"][0]["price"], 499);
}

async fn check(store: &TestStore, cookie: Option<&str>) -> Reply {
    let call = Call::get("/checkAccessibility");
    let call = cookie.into_iter().fold(call, |call, cookie| call.header("cookie", cookie));
    let reply = store.send(call).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.header("cache-control"), "no-store");
    reply
}

async fn status(store: &TestStore, cookie: &str) -> String {
    let body = check(store, Some(cookie)).await.json();
    assert_eq!(body["success"], body["status"].is_null());
    assert_eq!(body["message"].is_null(), body["status"].is_null());
    body["status"].as_str().unwrap_or("welcome").to_owned()
}

fn cookie(store: &TestStore, name: &str) -> String {
    format!("theme=dark; token={}; chat_id=1", store.token(name))
}

async fn ban(store: &TestStore, id: u64) {
    let key = keys::user(UserId::new(id));
    let user: User = decode_live(&key, store.db.get(&key, true).await.unwrap().unwrap()).unwrap();
    put(store, encode_live(&key, &User { banned: true, ..user }).unwrap()).await;
}

#[tokio::test]
async fn a_visitor_without_a_token_is_welcome() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!("check_accessibility__welcome", check(&store, None).await.json());
    for cookie in ["", "token=", "token=undefined", "token=null", "token=\"\"", "theme=dark", "xtoken=a.b.c", "token"] {
        assert_eq!(status(&store, cookie).await, "welcome", "{cookie}");
    }
    let header = store.send(Call::get("/checkAccessibility").header("authorization", "Bearer undefined")).await;
    assert_eq!(header.json()["success"], true);
}

#[tokio::test]
async fn a_visitor_with_a_valid_token_is_welcome() {
    let store = TestStore::open().await;
    assert_eq!(status(&store, &cookie(&store, "Thornwick")).await, "welcome");
    let header = store.send(Call::get("/checkAccessibility").token(&store.token("Thornwick"))).await;
    assert_eq!(header.json()["success"], true);
}

#[tokio::test]
async fn a_token_that_is_not_valid_is_named() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!("check_accessibility__invalid_token", check(&store, Some("token=a.b.c")).await.json());
    for cookie in
        [cookie(&store, "Grimble"), format!("token={}", store.token_of(UserId::new(999))), "token=x".to_owned()]
    {
        assert_eq!(status(&store, &cookie).await, "invalid_token", "{cookie}");
    }
    let header = store.send(Call::get("/checkAccessibility").header("authorization", "Basic x")).await;
    assert_eq!(header.json()["status"], "invalid_token");
}

#[tokio::test]
async fn the_cookie_counts_before_the_header_but_not_if_it_holds_no_token() {
    let store = TestStore::open().await;
    let call = |cookie: &str| Call::get("/checkAccessibility").header("cookie", cookie).token("a.b.c");
    let sound = store.send(call(&cookie(&store, "Thornwick"))).await;
    assert_eq!(sound.json()["success"], true);
    let undefined = store.send(call("token=undefined")).await;
    assert_eq!(undefined.json()["status"], "invalid_token");
}

#[tokio::test]
async fn a_banned_player_reads_so_even_with_a_token_that_the_ban_revoked() {
    let store = TestStore::open().await;
    ban(&store, 1).await;
    ban(&store, 4).await;
    insta::assert_json_snapshot!(
        "check_accessibility__banned",
        check(&store, Some(&cookie(&store, "Thornwick"))).await.json()
    );
    assert_eq!(status(&store, &cookie(&store, "Grimble")).await, "banned", "a revoked token says who it was");
}

#[tokio::test]
async fn maintenance_comes_first_and_says_what_its_owner_wrote() {
    let store = TestStore::open().await;
    ban(&store, 1).await;
    configure(&store, |config| config.maintenance.enabled = true).await;
    insta::assert_json_snapshot!(
        "check_accessibility__maintenance",
        check(&store, Some(&cookie(&store, "Thornwick"))).await.json()
    );
    let message = "Back at noon.".to_owned();
    configure(&store, |config| config.maintenance = Maintenance { enabled: true, message }).await;
    for cookie in ["token=a.b.c", "token=undefined"] {
        assert_eq!(check(&store, Some(cookie)).await.json()["message"], "Back at noon.");
    }
}

#[tokio::test]
async fn the_table_is_read_only_for_a_token_that_verifies() {
    let store = TestStore::open().await;
    check(&store, None).await;
    for (cookie, trips) in
        [("token=undefined".to_owned(), 0), ("token=a.b.c".to_owned(), 0), (cookie(&store, "Pebble"), 1)]
    {
        store.calls.clear();
        check(&store, Some(&cookie)).await;
        assert_eq!(store.calls.round_trips(), trips, "{cookie}");
    }
}
