//! The notices function, by the event of its schedule.

use crate::support::configure;
use serde_json::{Value, json};
use shared::model::{About, NoticeEvent, NoticeTarget, TargetKind};
use shared::shop::notices::put;
use shared::table::transaction::sent;
use tests::receiver::{Arrived, Receiver};
use tests::{NOW, Reply, TestStore};

/// Publishes targets of these names, and connects all but `unknown` to a receiver: `good` takes everything, `busy` nothing. One
/// notice is due.
pub async fn with_targets(store: &mut TestStore, names: &[&str]) -> Receiver {
    let receiver = Receiver::start(|one: &Arrived, _| match one.path.as_str() {
        "/busy" => Some((429, "retry-after: 900\r\n", String::new())),
        _ => Some((200, "", String::new())),
    })
    .await;
    let target = |name: &&str| NoticeTarget::new(name, TargetKind::Webhook, &[NoticeEvent::SoldOut]);
    configure(store, |config| config.notify = names.iter().map(target).collect()).await;
    let address = |name: &&str| {
        (
            (*name).to_owned(),
            json!({ "url": format!("{}/{name}", receiver.url), "keys": ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] }),
        )
    };
    let keys: serde_json::Map<String, Value> = names.iter().filter(|name| **name != "unknown").map(address).collect();
    store.set_notice_keys(&Value::Object(keys).to_string());
    due(store, "sold_out-201").await;
    receiver
}

async fn due(store: &TestStore, id: &str) {
    let about = About::Item { id: 201, name: "A crate".to_owned() };
    sent(&store.db, vec![put(NoticeEvent::SoldOut, id.to_owned(), NOW, about).unwrap()]).await.unwrap();
}

/// Runs the function once, as its schedule does.
pub async fn send(store: &TestStore) -> Reply {
    let event: Value = serde_json::from_str(&crate::schedule::input("notices/send")).unwrap();
    store.invoke("notices", &event).await
}

#[tokio::test]
async fn a_target_that_was_just_published_gets_what_is_due() {
    let mut store = TestStore::open().await;
    let receiver = with_targets(&mut store, &["good"]).await;
    let mut targets = Vec::new();
    configure(&store, |config| targets = std::mem::take(&mut config.notify)).await;
    // The function has read a version without targets a moment ago.
    send(&store).await;
    tests::configure(&store.db, |config| config.notify = targets).await;
    due(&store, "sold_out-202").await;
    assert_eq!((send(&store).await.json()["sent"].clone(), receiver.at("/good").len()), (json!(1), 1));
}

#[tokio::test]
async fn what_is_due_is_sent_and_the_run_says_how_much() {
    let mut store = TestStore::open().await;
    let receiver = with_targets(&mut store, &["good", "busy", "unknown"]).await;
    let reply = send(&store).await;
    assert_eq!((reply.status.as_u16(), reply.json()), (200, json!({ "due": 3, "sent": 1, "failed": 2, "left": 0 })));
    assert_eq!(receiver.at("/good")[0].header("webhook-id"), "sold_out-201");
    assert_eq!(send(&store).await.json()["due"], 0);
}
