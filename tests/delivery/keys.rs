//! The key of a game server in every call that has one.

use serde_json::{Value, json};
use shared::model::{CommandId, CommandState, ServerId};
use shared::shop::delivery::{ServerKey, add_key, revoke_key};
use shared::table::keys;
use tests::{Call, Reply, SERVER, SERVER_KEY, TestStore, endpoints};

/// The body of a word.
const WORD: &str = r#"{"ids":[1]}"#;

/// Every call with this text in the place of its key and the slash after it. `body` is that of the words.
fn calls(key: &str, body: &str) -> Vec<(String, Call)> {
    let routes =
        endpoints().into_iter().filter_map(|endpoint| endpoint.route.contains("{key}").then_some(endpoint.route));
    let calls: Vec<_> = routes
        .map(|route| {
            let (method, path) = route.split_once(' ').unwrap();
            let path = path.replace("{key}/", key).replace("{name}", "Thornwick") + "/";
            let call = if method == "GET" { Call::get(&path) } else { Call::post(&path).bytes(body.to_owned()) };
            (route.to_owned(), call)
        })
        .collect();
    assert_eq!(calls.len(), 10);
    calls
}

async fn all_are(store: &TestStore, key: &str, status: u16) {
    for (route, call) in calls(&format!("{key}/"), WORD) {
        let reply = store.send(call).await;
        assert_eq!(reply.status, status, "{route} {key:.60}: {}", reply.text);
    }
}

/// A further key of a server.
async fn another(store: &TestStore, server: ServerId) -> (String, ServerKey) {
    add_key(&store.db, store.clock.as_ref(), server).await.unwrap()
}

async fn said(store: &TestStore, key: &str, call: &str, body: Option<Value>) -> Reply {
    let path = format!("/plugin/api/servers/{key}/commands/{call}/");
    let call = body.map_or_else(|| Call::get(&path), |body| Call::post(&path).json(&body));
    store.send(call).await
}

#[tokio::test]
async fn a_key_that_is_cut_foreign_long_or_not_one_is_refused_before_the_body() {
    let store = TestStore::open().await;
    let keys = [
        SERVER_KEY[..SERVER_KEY.len() - 1].to_owned(),
        SERVER_KEY[1..].to_owned(),
        format!("{SERVER_KEY}0"),
        format!("0{SERVER_KEY}"),
        SERVER_KEY.to_uppercase(),
        SERVER_KEY.replacen("4-", "3-", 1),
        SERVER_KEY.replacen('-', "%2d%2d", 1),
        SERVER_KEY.replace("7c", "7d"),
        SERVER_KEY.replace("7c", "%37%64"),
        format!("{SERVER_KEY}%00"),
        format!("{SERVER_KEY}%20"),
        "4-".to_owned() + &"a".repeat(4_094),
        "%34-".to_owned() + &"%61".repeat(1_364),
        "4-".to_owned(),
        "%00".to_owned(),
    ];
    for (key, body) in keys.iter().zip([WORD, "{", "[]"].into_iter().cycle()) {
        for (route, call) in calls(&format!("{key}/"), body) {
            let reply = store.send(call).await;
            assert_eq!(reply.status, 401, "{route} {key:.60}: {}", reply.text);
        }
    }
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn a_command_needs_a_key_and_content_does_not() {
    let store = TestStore::open().await;
    for (route, call) in calls("", WORD) {
        let status = if route.contains("/servers/") { 401 } else { 200 };
        assert_eq!(store.send(call).await.status, status, "{route}");
    }
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn a_key_in_another_spelling_of_the_path_is_the_same_key() {
    let store = TestStore::open().await;
    all_are(&store, &format!("%34-{}", &SERVER_KEY[2..]), 200).await;
}

#[tokio::test]
async fn a_key_opens_nothing_once_it_is_revoked() {
    let store = TestStore::open().await;
    let (text, key) = another(&store, SERVER).await;
    all_are(&store, &text, 200).await;
    assert!(revoke_key(&store.db, key.hash(), None).await.unwrap());
    all_are(&store, &text, 401).await;
    all_are(&store, SERVER_KEY, 200).await;
}

#[tokio::test]
async fn no_command_is_read_for_a_caller_without_a_key() {
    let store = TestStore::open().await;
    let id = store.queue_command("Thornwick", "give Thornwick diamond", false).await;
    let key = keys::command(CommandId::new(id).unwrap());
    for call in ["delivered", "executed", "validated"] {
        let body = json!({ "ids": [id] });
        store.calls.clear();
        let refused = said(&store, &SERVER_KEY.replace("7c", "7d"), call, Some(body.clone())).await;
        assert_eq!((refused.status.as_u16(), store.calls.reads_of(&key)), (401, 0), "{call}");
        assert_eq!(said(&store, SERVER_KEY, call, Some(body)).await.status, 200);
        assert!(store.calls.reads_of(&key) > 0, "{call}");
    }
}

#[tokio::test]
async fn a_key_of_another_server_reaches_no_command_of_this_one() {
    let store = TestStore::open().await;
    let (other, _) = another(&store, ServerId::new(3)).await;
    let id = store.queue_command("Thornwick", "give Thornwick diamond", false).await;
    assert_eq!(said(&store, &other, "queue", None).await.json(), json!([]));
    for call in ["delivered", "executed", "validated"] {
        let reply = said(&store, &other, call, Some(json!({ "ids": [id] }))).await;
        assert_eq!(reply.status, 200, "{call}: {}", reply.text);
        assert_eq!(store.command_state(id).await, CommandState::Ready, "{call}");
    }
    assert_eq!(store.poll().await[0]["id"], id);
    said(&store, &other, "paynow", None).await;
    assert_eq!(store.command_state(id).await, CommandState::Served);
}

#[tokio::test]
async fn while_a_key_is_rotated_both_are_of_the_same_server() {
    let store = TestStore::open().await;
    let (new, _) = another(&store, SERVER).await;
    let id = store.queue_command("Thornwick", "give Thornwick diamond", false).await;
    assert_eq!(store.poll().await[0]["id"], id);
    assert_eq!(said(&store, &new, "queue", None).await.json(), json!([]), "one lease for both");
    let reply = said(&store, &new, "delivered", Some(json!({ "ids": [id] }))).await;
    assert_eq!(reply.json()["results"][0]["status"], true, "{}", reply.text);
    let next = store.queue_command("Thornwick", "give Thornwick gold", false).await;
    assert_eq!(said(&store, &new, "queue", None).await.json()[0]["id"], next);
    let old = ServerKey::parse(SERVER_KEY).unwrap();
    assert!(revoke_key(&store.db, old.hash(), None).await.unwrap());
    assert_eq!(said(&store, &new, "executed", Some(json!({ "ids": [next] }))).await.status, 200);
    assert_eq!(said(&store, SERVER_KEY, "queue", None).await.status, 401);
}
