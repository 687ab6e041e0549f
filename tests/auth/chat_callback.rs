//! GET /auth/chat/callback, with the stand-in for the chat platform and with platforms that fail.

use super::platform::{Platform, Script};
use crate::support::{configure, republish};
use bytes::Bytes;
use http::{Method, Request};
use serde_json::{Value, json};
use shared::model::{ChatAccount, ChatId, ChatPlatform};
use shared::table::{codec, connector, keys};
use std::time::{Duration, Instant};
use tests::{Call, Fault, NOW, Reply, TestStore};
use url::Url;
use url::form_urlencoded::Serializer;

const PEBBLE: &str = "418203377561042103";

/// A login that a browser has begun.
struct Login {
    url: Url,
    cookie: String,
}

impl Login {
    async fn begin(store: &TestStore) -> Self {
        let reply = store.send(Call::get("/auth/chat")).await;
        let url = Url::parse(reply.json()["url"].as_str().unwrap()).unwrap();
        let cookie = reply.header("set-cookie").split(';').next().unwrap().to_owned();
        Self { url, cookie }
    }

    fn state(&self) -> String {
        self.url.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned()
    }

    /// Chooses an account on the platform's page; returns the query with which the browser comes back.
    async fn choose(&self, store: &TestStore, account: &str) -> String {
        let form = format!("{}&account={account}", self.url.query().unwrap());
        let request = Request::post(format!("{}/authorize", store.chat_platform));
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(Bytes::from(form));
        let client = outgoing::Client::new(connector::roots());
        let reply = client.send(request.unwrap()).await.unwrap();
        assert_eq!(reply.status(), 303, "{:?}", reply.body());
        let target = Url::parse(reply.headers()["location"].to_str().unwrap()).unwrap();
        assert!(target.as_str().starts_with("https://store.emberfall.example/auth/callback?"), "{target}");
        target.query().unwrap().to_owned()
    }

    async fn come_back(&self, store: &TestStore, query: &str) -> Reply {
        store.send(Call::get(&format!("/auth/chat/callback?{query}")).header("cookie", &self.cookie)).await
    }

    /// Chooses an account, and comes back.
    async fn complete(&self, store: &TestStore, account: &str) -> Reply {
        self.come_back(store, &self.choose(store, account).await).await
    }

    /// Comes back with a code of the script's.
    async fn with_code(&self, store: &TestStore, code: &str) -> Reply {
        self.come_back(store, &query(&[("code", code), ("state", &self.state())])).await
    }
}

fn query(pairs: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// The message that the page posts, after the checks that every page passes.
#[track_caller]
fn posted(reply: &Reply) -> Value {
    assert_eq!(reply.header("content-type"), "text/html; charset=utf-8", "{}", reply.text);
    assert_eq!(reply.header("cache-control"), "no-store");
    assert_eq!(reply.header("x-content-type-options"), "nosniff");
    assert_eq!(reply.header("referrer-policy"), "no-referrer");
    assert!(reply.header("content-security-policy").starts_with("default-src 'none'; script-src 'sha256-"));
    let data = reply.data();
    assert!(data["message"].is_object(), "{data}");
    data
}

/// The text of a refusal that is posted to the storefront.
#[track_caller]
fn refusal(reply: &Reply) -> String {
    let data = posted(reply);
    assert_eq!(reply.status, 400, "{}", reply.text);
    assert_eq!(data["storefront"], "https://store.emberfall.example");
    assert_eq!(data["message"]["error"], true);
    let text = data["message"]["message"].as_str().unwrap().to_owned();
    assert!(reply.text.contains(&format!("<p>{text}</p>")), "the page shows it too: {}", reply.text);
    text
}

async fn account(store: &TestStore, id: &str) -> Option<ChatAccount> {
    let key = keys::chat(&ChatId::parse(id).unwrap());
    store.db.get(&key, true).await.unwrap().map(|item| codec::decode_live(&key, item).unwrap())
}

#[tokio::test]
async fn a_login_is_posted_to_the_storefront_and_kept_for_six_hours() {
    let store = TestStore::open().await;
    let reply = Login::begin(&store).await.complete(&store, PEBBLE).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let data = posted(&reply);
    assert_eq!(data["storefront"], "https://store.emberfall.example");
    let neutral = json!({ "success": true, "chat_username": "Pebble <& Sons>", "chat_id": PEBBLE });
    let mut expected = neutral.clone();
    expected["discord_username"] = json!("Pebble <& Sons>");
    expected["discord_id"] = json!(PEBBLE);
    assert_eq!(data["message"], expected);
    assert!(!reply.text.contains("<& Sons"), "markup in a name is escaped: {}", reply.text);
    insta::assert_json_snapshot!("posted", data["message"]);
    assert_eq!(reply.text, include_str!("chat_callback.html"));
    let kept = account(&store, PEBBLE).await.unwrap();
    assert_eq!((kept.name.as_str(), kept.logged_in_at, kept.expires_at), ("Pebble <& Sons>", NOW, NOW + 6 * 3_600));
    configure(&store, |config| config.chat.platform = Some(ChatPlatform::Other)).await;
    let reply = Login::begin(&store).await.complete(&store, PEBBLE).await;
    assert_eq!(posted(&reply)["message"], neutral, "Discord's names are another platform's");
}

#[tokio::test]
async fn a_second_login_replaces_the_row_of_the_first() {
    let store = TestStore::open().await;
    for _ in 0..2 {
        store.clock.advance(Duration::from_mins(1));
        assert_eq!(Login::begin(&store).await.complete(&store, PEBBLE).await.status, 200);
    }
    assert_eq!(account(&store, PEBBLE).await.unwrap().logged_in_at, NOW + 120);
}

#[tokio::test]
async fn a_fresh_login_is_one_round_trip_and_writes_one_row() {
    let store = TestStore::open().await;
    let login = Login::begin(&store).await;
    store.calls.clear();
    assert_eq!(login.with_code(&store, "unknown").await.status, 400);
    assert_eq!(store.calls.operations(), Vec::<String>::new(), "a refusal writes nothing");
    assert_eq!(login.complete(&store, PEBBLE).await.status, 200);
    assert_eq!(store.calls.operations(), ["TransactWriteItems"]);
    let needs = store.calls.needs();
    assert_eq!(needs.iter().flat_map(|need| &need.actions).collect::<Vec<_>>(), ["dynamodb:PutItem"]);
}

#[tokio::test]
async fn a_code_is_accepted_once() {
    let store = TestStore::open().await;
    let login = Login::begin(&store).await;
    let back = login.choose(&store, PEBBLE).await;
    assert_eq!(login.come_back(&store, &back).await.status, 200);
    assert!(refusal(&login.come_back(&store, &back).await).contains("refused the login"));
}

#[tokio::test]
async fn a_code_of_another_login_is_refused_by_its_challenge() {
    let store = TestStore::open().await;
    let (login, other) = (Login::begin(&store).await, Login::begin(&store).await);
    let stolen = other.choose(&store, PEBBLE).await;
    let code = Url::parse(&format!("https://a.example/?{stolen}")).unwrap();
    let code = code.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
    assert!(refusal(&login.with_code(&store, &code).await).contains("refused the login"));
    assert_eq!(account(&store, PEBBLE).await, None);
}

#[tokio::test]
async fn a_login_is_completed_only_in_the_browser_that_began_it() {
    let store = TestStore::open().await;
    let (victim, attacker) = (Login::begin(&store).await, Login::begin(&store).await);
    let back = attacker.choose(&store, PEBBLE).await;
    assert!(refusal(&victim.come_back(&store, &back).await).contains("another browser"));
    let call = || Call::get(&format!("/auth/chat/callback?{back}"));
    assert!(refusal(&store.send(call()).await).contains("cookie of this login is missing"));
    for cookie in ["chat_login=", "xchat_login=1", "chat_login"] {
        let text = refusal(&store.send(call().header("cookie", cookie)).await);
        assert!(text.contains("another browser") || text.contains("is missing"), "{cookie}: {text}");
    }
    assert_eq!(account(&store, PEBBLE).await, None);
    let among_others = format!("theme=dark; {}; token=undefined", attacker.cookie);
    assert_eq!(store.send(call().header("cookie", &among_others)).await.status, 200);
}

#[tokio::test]
async fn a_state_must_be_valid() {
    let store = TestStore::open().await;
    let login = Login::begin(&store).await;
    let state = login.state();
    let (head, signature) = state.rsplit_once('.').unwrap();
    let forged = format!("{head}.{}", signature.chars().rev().collect::<String>());
    let token = store.token("Thornwick");
    let long = "x".repeat(5_000);
    for (what, state) in
        [("forged", forged.as_str()), ("a token", &token), ("garbage", "a.b.c"), ("empty", ""), ("long", &long)]
    {
        let reply = login.come_back(&store, &query(&[("code", "sample-code"), ("state", state)])).await;
        assert!(refusal(&reply).contains("not valid"), "{what}");
    }
    assert!(refusal(&login.come_back(&store, "code=sample-code").await).contains("not valid"));
    assert!(refusal(&login.come_back(&store, "").await).contains("not valid"));
    store.clock.advance(Duration::from_secs(601));
    assert!(refusal(&login.with_code(&store, "sample-code").await).contains("has expired"));
}

#[tokio::test]
async fn what_the_platform_says_in_the_address_is_a_refusal() {
    let store = TestStore::open().await;
    let login = Login::begin(&store).await;
    let back = login.choose(&store, "").await;
    assert!(back.contains("error=access_denied"), "{back}");
    assert!(refusal(&login.come_back(&store, &back).await).contains("cancelled"));
    let state = login.state();
    for pairs in [
        vec![("error", "server_error"), ("state", &state)],
        vec![("error", "<script>"), ("code", "sample-code"), ("state", &state)],
        vec![("state", &state)],
        vec![("code", ""), ("state", &state)],
        vec![("code", &"x".repeat(2_049)), ("state", &state)],
    ] {
        let reply = login.come_back(&store, &query(&pairs)).await;
        assert!(refusal(&reply).contains("refused the login"), "{pairs:?}");
        assert!(!reply.text.contains("<script>x"), "{}", reply.text);
    }
}

#[tokio::test]
async fn a_platform_that_fails_is_a_page_that_says_so() {
    let store = TestStore::open().await;
    let token = Script::Reply(200, r#"{"access_token":"t","token_type":"bearer"}"#);
    let user = Script::Reply(200, r#"{"id":"7","username":"Ember"}"#);
    let refused = Script::Reply(400, r#"{"error":"invalid_grant"}"#);
    for (first, second, expected) in [
        (token, user, ""),
        (token, Script::Reply(200, r#"{"id":418203377561042101,"username":" Ember ","locale":"en"}"#), ""),
        (refused, user, "refused the login"),
        (Script::Reply(401, r#"{"error":"invalid_client"}"#), user, "refused the login"),
        (Script::Reply(403, r#"{"error":"a reason of its own"}"#), user, "refused the login"),
        (Script::Reply(500, "oops"), user, "did not respond"),
        (Script::Reply(503, r#"{"error":"invalid_grant"}"#), user, "did not respond"),
        (Script::Reply(429, "{}"), user, "did not respond"),
        (Script::Close, user, "did not respond"),
        (Script::Reply(200, "<html>"), user, "cannot be read"),
        (Script::Reply(200, "{}"), user, "cannot be read"),
        (Script::Reply(404, "<html>"), user, "cannot be read"),
        (Script::Reply(302, ""), user, "cannot be read"),
        (Script::Reply(200, r#"{"access_token":"a\nb","token_type":"bearer"}"#), user, "cannot be read"),
        (Script::Large, user, "did not respond"),
        (token, Script::Reply(401, "{}"), "refused the login"),
        (token, Script::Reply(500, "oops"), "did not respond"),
        (token, Script::Close, "did not respond"),
        (token, Script::Reply(200, "oops"), "cannot be read"),
        (token, Script::Reply(200, r#"{"username":"Ember"}"#), "cannot be read"),
        (token, Script::Reply(200, r#"{"id":"7"}"#), "cannot be read"),
        (token, Script::Reply(200, r#"{"id":"a#b","username":"Ember"}"#), "cannot be read"),
        (token, Script::Reply(200, r#"{"id":-1,"username":"Ember"}"#), "cannot be read"),
        (token, Script::Reply(200, r#"{"id":"7","username":" "}"#), "cannot be read"),
        (token, Script::Reply(204, ""), "cannot be read"),
    ] {
        let platform = Platform::start(first, second).await;
        configure(&store, |config| platform.serve(&mut config.chat)).await;
        let reply = Login::begin(&store).await.with_code(&store, "c0de").await;
        let what = format!("{first:?}, {second:?}: {}", reply.text);
        if expected.is_empty() {
            assert_eq!(reply.status, 200, "{what}");
            assert_eq!(posted(&reply)["message"]["chat_username"], "Ember", "{what}");
        } else {
            assert!(refusal(&reply).contains(expected), "{what}");
        }
        assert!(!reply.text.contains("oops") && !reply.text.contains("c0de"), "{what}");
    }
    assert!(account(&store, "7").await.is_some() && account(&store, "418203377561042101").await.is_some());
}

#[tokio::test]
async fn the_platform_receives_what_the_standards_ask_for() {
    let store = TestStore::open().await;
    let token = Script::Reply(200, r#"{"access_token":"t0ken","token_type":"Bearer"}"#);
    let platform = Platform::start(token, Script::Reply(200, r#"{"id":"7","username":"Ember"}"#)).await;
    configure(&store, |config| platform.serve(&mut config.chat)).await;
    let login = Login::begin(&store).await;
    assert_eq!(login.with_code(&store, "c0de").await.status, 200);
    let seen = platform.seen();
    let [exchange, user] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!((&exchange.method, exchange.path.as_str()), (&Method::POST, "/token"));
    assert!(exchange.headers["authorization"].to_str().unwrap().starts_with("Basic "));
    let form: Vec<(String, String)> = url::form_urlencoded::parse(exchange.body.as_bytes()).into_owned().collect();
    let verifier = store.keys.verify_state(&login.state(), NOW).unwrap().pkce_verifier;
    let field = |name: &str| form.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    assert_eq!(field("grant_type"), Some("authorization_code"));
    assert_eq!(field("code"), Some("c0de"));
    assert_eq!(field("code_verifier"), Some(verifier.as_str()));
    assert_eq!(field("redirect_uri"), Some("https://store.emberfall.example/auth/callback"));
    assert!(!exchange.body.contains("stand-in-client-secret"), "the secret is in the header only");
    assert_eq!((&user.method, user.path.as_str()), (&Method::GET, "/user"));
    assert_eq!(user.headers["authorization"], "Bearer t0ken");
    assert!(seen.iter().all(|request| request.headers.contains_key("user-agent")));
}

#[tokio::test]
async fn a_platform_that_is_slow_or_not_there_is_a_page_in_time() {
    let mut store = TestStore::open().await;
    store.limit_outgoing(Duration::from_millis(300));
    let token = Script::Reply(200, r#"{"access_token":"t","token_type":"bearer"}"#);
    for (first, second) in [(Script::Hang, Script::Hang), (token, Script::Hang)] {
        let platform = Platform::start(first, second).await;
        configure(&store, |config| platform.serve(&mut config.chat)).await;
        let login = Login::begin(&store).await;
        let started = Instant::now();
        assert!(refusal(&login.with_code(&store, "c0de").await).contains("did not respond"));
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
    // The second is of a version that was published without the check of its URLs: nothing is sent.
    for url in ["http://127.0.0.1:1/token", "http://chat.example/token"] {
        configure(&store, |config| url.clone_into(&mut config.chat.token_url)).await;
        let reply = Login::begin(&store).await.with_code(&store, "c0de").await;
        assert!(refusal(&reply).contains("did not respond"), "{url}");
    }
}

#[tokio::test]
async fn two_slow_responses_end_with_the_time_of_the_request() {
    let store = TestStore::open().await;
    let token = Script::After(Duration::from_secs(4), r#"{"access_token":"t","token_type":"bearer"}"#);
    let platform = Platform::start(token, Script::Hang).await;
    configure(&store, |config| platform.serve(&mut config.chat)).await;
    let login = Login::begin(&store).await;
    let started = Instant::now();
    assert!(refusal(&login.with_code(&store, "c0de").await).contains("did not respond"));
    assert!(started.elapsed() < Duration::from_millis(9_500), "Lambda ends it after ten: {:?}", started.elapsed());
}

#[tokio::test]
async fn the_page_says_what_a_store_is_missing() {
    let store = TestStore::open().await;
    let login = Login::begin(&store).await;
    configure(&store, |config| config.chat.user_url.clear()).await;
    assert!(refusal(&login.with_code(&store, "sample-code").await).contains("chat.client.token_url"));
    configure(&store, |config| config.chat_sync = false).await;
    assert!(refusal(&login.with_code(&store, "sample-code").await).contains("disabled or not configured"));
    let without_storefront = |files: &mut publish::files::StoreFiles| {
        files.store.content.storefront = publish::files::StorefrontFile::default();
        // Payments need a storefront.
        files.store.content.payments = publish::files::PaymentsFile::default();
    };
    republish(&store, without_storefront).await;
    let reply = login.with_code(&store, "sample-code").await;
    let data = posted(&reply);
    assert_eq!((reply.status.as_u16(), &data["storefront"]), (400, &Value::Null), "there is no page to post to");
    assert!(reply.text.contains("<p>Chat login is not complete: storefront.url must be set"), "{}", reply.text);
    let empty = TestStore::empty().await;
    let reply = empty.send(Call::get("/auth/chat/callback")).await;
    assert_eq!((reply.status.as_u16(), &posted(&reply)["storefront"]), (400, &Value::Null));
}

#[tokio::test]
async fn the_storefronts_origin_must_be_named_or_have_the_callback_under_it() {
    for origins in ["*", "https://other.example", "http://store.emberfall.example"] {
        let store = TestStore::open_with(&[("AllowedOrigins", origins)]).await;
        let login = Login::begin(&store).await;
        assert_eq!(login.complete(&store, PEBBLE).await.status, 200, "the sample store has both under one origin");
        configure(&store, |config| config.chat.redirect_url.insert("https://store".len(), 's')).await;
        assert!(refusal(&login.with_code(&store, "sample-code").await).contains("AllowedOrigins"), "{origins}");
    }
    let both = "https://other.example,https://store.emberfall.example";
    let store = TestStore::open_with(&[("AllowedOrigins", both)]).await;
    configure(&store, |config| "https://STORE.emberfall.example:443".clone_into(&mut config.storefront_url)).await;
    let reply = Login::begin(&store).await.complete(&store, PEBBLE).await;
    assert_eq!(posted(&reply)["storefront"], "https://store.emberfall.example", "an origin as browsers write it");
}

#[tokio::test]
async fn a_store_without_its_client_secret_says_which_command_is_missing() {
    let mut store = TestStore::open().await;
    for secret in ["{}", "", r#"{"client_secret":""}"#, "not JSON"] {
        store.set_chat_secret(secret);
        let reply = Login::begin(&store).await.with_code(&store, "sample-code").await;
        assert!(refusal(&reply).contains("storectl chat connect"), "{secret}");
    }
    store.set_chat_secret(r#"{"client_secret":"another"}"#);
    let reply = Login::begin(&store).await.complete(&store, PEBBLE).await;
    assert!(refusal(&reply).contains("refused the login"), "the platform knows another secret");
    assert!(!reply.text.contains("another"), "{}", reply.text);
}

#[tokio::test]
async fn a_database_that_fails_after_the_login_is_a_503() {
    let store = TestStore::open().await;
    let login = Login::begin(&store).await;
    let back = login.choose(&store, PEBBLE).await;
    store.faults.inject(|operation| (operation == "TransactWriteItems").then_some(Fault::Throttled));
    let reply = login.come_back(&store, &back).await;
    assert_eq!(reply.status, 503, "{}", reply.text);
    assert!(!reply.header("retry-after").is_empty());
    store.faults.clear();
    assert_eq!(account(&store, PEBBLE).await, None);
}

#[tokio::test]
async fn a_key_rotation_during_a_login_does_not_interrupt_it() {
    let store = TestStore::open().await;
    let login = Login::begin(&store).await;
    let back = login.choose(&store, PEBBLE).await;
    let mut rotated = store;
    rotated.rotate_keys();
    assert_ne!(Login::begin(&rotated).await.state(), login.state());
    assert_eq!(login.come_back(&rotated, &back).await.status, 200);
}
