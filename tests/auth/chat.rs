//! GET /auth/chat.

#![expect(clippy::expect_used, reason = "a helper that fails fails its test")]

use crate::support::{configure, fields, republish};
use shared::model::{ChatLogin, ChatPlatform};
use shared::table::published::read_active_version;
use shared::token::STATE_SECONDS;
use std::collections::BTreeMap;
use std::time::Duration;
use tests::{Call, Reply, TestStore, repository};
use url::Url;

fn call() -> Call {
    Call::get("/auth/chat")
}

async fn login(store: &TestStore) -> Url {
    let reply = store.send(call()).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.header("cache-control"), "no-store");
    let body = reply.json();
    assert_eq!(fields(&body), ["success", "url"]);
    assert_eq!(body["success"], true);
    Url::parse(body["url"].as_str().unwrap_or_default()).expect("the response has a URL")
}

fn state(url: &Url) -> String {
    url.query_pairs().find(|(name, _)| name == "state").map(|(_, value)| value.into_owned()).unwrap_or_default()
}

#[tokio::test]
async fn the_url_asks_the_platform_for_an_authorization_code() {
    let store = TestStore::open().await;
    let url = login(&store).await;
    assert_eq!(url.as_str().split('?').next(), Some("https://chat.example/oauth2/authorize"));
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let query: BTreeMap<&str, &str> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(query.len(), pairs.len(), "every parameter occurs once: {url}");
    let expected = BTreeMap::from([
        ("response_type", "code"),
        ("client_id", "418203377561042001"),
        ("redirect_uri", "https://store.emberfall.example/auth/callback"),
        ("scope", "identify guilds.join"),
        ("state", query["state"]),
        ("code_challenge", query["code_challenge"]),
        ("code_challenge_method", "S256"),
    ]);
    assert_eq!(query, expected);
    assert!(!query["state"].is_empty());
    assert_eq!(query["code_challenge"].len(), 43, "base64 of a SHA-256 hash");
}

#[tokio::test]
async fn the_state_is_new_every_time_and_expires_after_ten_minutes() {
    let store = TestStore::open().await;
    let now = tests::NOW;
    let states = [state(&login(&store).await), state(&login(&store).await)];
    assert_ne!(states[0], states[1]);
    for state in states {
        assert!(store.keys.verify_state(&state, now).is_ok());
        assert!(store.keys.verify_state(&state, now + 600).is_ok());
        assert!(store.keys.verify_state(&state, now + 601).is_err());
        assert!(store.keys.verify_state(&format!("{state}x"), now).is_err());
    }
    assert_eq!(STATE_SECONDS, 600);
    store.clock.advance(Duration::from_secs(700));
    assert!(store.keys.verify_state(&state(&login(&store).await), now + 700).is_ok());
}

#[tokio::test]
async fn no_secret_is_in_the_url() {
    let store = TestStore::open().await;
    let reply = store.send(call()).await;
    let keys = std::fs::read_to_string(repository().join("events/token-keys.json")).unwrap();
    let keys: BTreeMap<String, String> = serde_json::from_str(&keys).unwrap();
    for secret in keys.values() {
        assert!(!reply.text.contains(secret.as_str()));
    }
    assert!(!reply.text.contains("secret"), "{}", reply.text);
}

fn assert_failure(reply: &Reply, status: u16) -> String {
    assert_eq!(reply.status.as_u16(), status, "{}", reply.text);
    assert_eq!(reply.header("cache-control"), "no-store");
    let body = reply.json();
    assert_eq!(fields(&body), ["success", "error"]);
    assert_eq!(body["success"], false);
    body["error"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_store_without_the_integration_says_so() {
    let store = TestStore::open().await;
    republish(&store, |files| files.store.content.chat.sync = false).await;
    for store in [store, TestStore::empty().await] {
        let text = assert_failure(&store.send(call()).await, 200);
        assert!(text.contains("disabled") && text.contains("not configured"), "{text}");
    }
}

type Break = fn(&mut ChatLogin);

#[tokio::test]
async fn a_client_of_which_a_part_is_not_set_or_makes_no_url_is_the_documented_failure() {
    let store = TestStore::open().await;
    let (unset, broken) = ("not configured", "Failed to generate auth URL: ");
    let breaks: [(u16, &str, Break); 7] = [
        (200, unset, |chat| chat.client_id.clear()),
        (200, unset, |chat| chat.redirect_url.clear()),
        (200, unset, |chat| chat.scopes.clear()),
        (200, unset, |chat| chat.authorize_url.clear()),
        (500, broken, |chat| "not a url".clone_into(&mut chat.authorize_url)),
        (500, broken, |chat| "//chat.example".clone_into(&mut chat.authorize_url)),
        (500, broken, |chat| "https://".clone_into(&mut chat.redirect_url)),
    ];
    let whole = read_active_version(&store.db).await.unwrap().unwrap().config.chat;
    for (status, part, break_it) in breaks {
        let mut chat = whole.clone();
        break_it(&mut chat);
        configure(&store, |config| config.chat = chat).await;
        let text = assert_failure(&store.send(call()).await, status);
        assert!(text.split_once(part).is_some_and(|(_, reason)| part == unset || !reason.is_empty()), "{text}");
    }
    configure(&store, |config| config.chat = whole).await;
    login(&store).await;
}

#[tokio::test]
async fn an_authorize_endpoint_with_a_query_of_its_own_keeps_it() {
    let store = TestStore::open().await;
    configure(&store, |config| config.chat.authorize_url.push_str("?prompt=none")).await;
    let url = login(&store).await;
    assert!(url.query_pairs().any(|(name, value)| name == "prompt" && value == "none"), "{url}");
    assert!(!state(&url).is_empty());
}

#[tokio::test]
async fn the_browser_gets_the_nonce_of_its_state_in_a_cookie_for_the_callback() {
    let store = TestStore::open().await;
    let cookie = |reply: &Reply| reply.header("set-cookie").to_owned();
    let (first, second) = (store.send(call()).await, store.send(call()).await);
    assert_ne!(cookie(&first), cookie(&second));
    let url = Url::parse(first.json()["url"].as_str().unwrap()).unwrap();
    let login = store.keys.verify_state(&state(&url), tests::NOW).unwrap();
    let expected =
        format!("chat_login={}; Max-Age=600; Path=/auth/callback; HttpOnly; Secure; SameSite=Lax", login.nonce);
    assert_eq!(cookie(&first), expected);
    for secret in [&login.pkce_verifier, &login.nonce] {
        assert!(!url.as_str().contains(secret.as_str()), "the URL has neither, in the clear");
    }
    configure(&store, |config| config.chat_sync = false).await;
    assert_eq!(cookie(&store.send(call()).await), "", "no login, no cookie");
}

#[tokio::test]
async fn the_cookie_is_for_the_path_of_the_redirect_url() {
    let store = TestStore::open().await;
    for (redirect, path) in [
        ("https://api.shop.example/api/auth/chat/callback?x=1", "/api/auth/chat/callback"),
        ("https://api.shop.example", "/"),
        ("https://api.shop.example/a;Domain=shop.example", "/"),
    ] {
        configure(&store, |config| redirect.clone_into(&mut config.chat.redirect_url)).await;
        let reply = store.send(call()).await;
        assert!(reply.header("set-cookie").contains(&format!("; Path={path}; HttpOnly;")), "{:?}", reply.headers);
    }
}

#[tokio::test]
async fn by_discords_name_the_same_login_begins_unless_the_store_names_another_platform() {
    let store = TestStore::open().await;
    let [neutral, discord] = ["/auth/chat", "/auth/discord"].map(Call::get);
    let before_query = |reply: &Reply| {
        let url = reply.json()["url"].as_str().unwrap_or_default().to_owned();
        url.split('?').next().unwrap_or_default().to_owned()
    };
    let (by_neutral, by_discord) = (store.send(neutral.clone()).await, store.send(discord.clone()).await);
    assert_eq!(before_query(&by_discord), before_query(&by_neutral));
    assert!(by_discord.header("set-cookie").starts_with("chat_login="));
    configure(&store, |config| config.chat.platform = Some(ChatPlatform::Other)).await;
    assert_eq!(before_query(&store.send(neutral).await), before_query(&by_neutral));
    assert!(assert_failure(&store.send(discord).await, 200).contains("not configured"));
}
