//! GET /checkAccessibility: whether the storefront may be shown (api.md, "GET /checkAccessibility").

use crate::support::{configure, put};
use shared::model::{Maintenance, User, UserId};
use shared::table::codec::{decode_live, encode_live};
use shared::table::keys;
use tests::{Call, Reply, TestStore};

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
    insta::assert_json_snapshot!("welcome", check(&store, None).await.json());
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
    insta::assert_json_snapshot!("invalid_token", check(&store, Some("token=a.b.c")).await.json());
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
    insta::assert_json_snapshot!("banned", check(&store, Some(&cookie(&store, "Thornwick"))).await.json());
    assert_eq!(status(&store, &cookie(&store, "Grimble")).await, "banned", "a revoked token says who it was");
}

#[tokio::test]
async fn maintenance_comes_first_and_says_what_its_owner_wrote() {
    let store = TestStore::open().await;
    ban(&store, 1).await;
    configure(&store, |config| config.maintenance.enabled = true).await;
    insta::assert_json_snapshot!("maintenance", check(&store, Some(&cookie(&store, "Thornwick"))).await.json());
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
