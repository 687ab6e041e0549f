//! Guessing codes from one address over several instances (rules.md, "Unknown codes").

use serde_json::json;
use shared::table::keys;
use std::collections::BTreeMap;
use tests::{Call, Reply, TestStore, spread};

const HOME: &str = "203.0.113.5";

fn guess(store: &TestStore, code: &str) -> Call {
    Call::post("/cart/acceptCoupon").token(&store.token("Thornwick")).json(&json!({ "coupon": code })).from_ip(HOME)
}

/// How often each message came.
fn messages<'a>(replies: impl Iterator<Item = &'a Reply>) -> BTreeMap<String, usize> {
    let mut messages = BTreeMap::new();
    for reply in replies {
        assert_eq!((reply.status.as_u16(), &reply.json()["success"]), (200, &json!(false)), "{}", reply.text);
        let message = reply.json()["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!(message.contains("Too many attempts"), !reply.header("retry-after").is_empty(), "{}", reply.text);
        *messages.entry(message).or_default() += 1;
    }
    messages
}

fn expected(unknown: usize, refused: usize) -> BTreeMap<String, usize> {
    let message = |text: &str, count| (text.to_owned(), count);
    BTreeMap::from([
        message("This code does not exist.", unknown),
        message("Too many attempts. Please try again in 10 minutes.", refused),
    ])
}

async fn hits(store: &TestStore) -> String {
    let window = store.db.get(&keys::rate("code", HOME), true).await.unwrap().unwrap();
    window["hits"].as_n().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn of_five_hundred_wrong_codes_over_eight_instances_thirty_are_looked_up() {
    let store = TestStore::open().await;
    let instances = store.instances(8);
    let calls = (0..500).map(|number| guess(&store, &format!("guess {number}"))).collect();
    let replies = spread(&instances, calls).await;
    assert_eq!(messages(replies.iter().map(|(reply, _)| reply)), expected(30, 470));
    assert_eq!(hits(&store).await, "30");
    let known = ["EIGHTH", "hearth10", "MIDWINTER"].map(|code| guess(&store, code)).to_vec();
    let replies = spread(&instances, known).await;
    assert!(replies.iter().all(|(_, trace)| trace.written.is_empty()));
    assert_eq!(messages(replies.iter().map(|(reply, _)| reply)).len(), 1, "over the limit every code is the same");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn wrong_codes_that_are_all_read_before_the_first_is_counted_are_counted_too() {
    let store = TestStore::open().await;
    // One instance for each, so that every request is under way at the same time.
    let instances = store.instances(60);
    let calls = (0..60).map(|number| guess(&store, &format!("guess {number}"))).collect();
    let replies = spread(&instances, calls).await;
    assert_eq!(messages(replies.iter().map(|(reply, _)| reply)), expected(30, 30));
}
