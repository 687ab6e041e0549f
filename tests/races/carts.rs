//! Requests to one cart over several instances (rules.md, "Writing a cart").

use serde_json::json;
use shared::model::{Cart, UserId};
use shared::shop::carts;
use shared::table::keys;
use std::collections::BTreeSet;
use tests::{Call, TestStore, spread};

/// A user who has bought nothing and has no cart.
const BUYER: UserId = UserId::new(3);

async fn stored(store: &TestStore) -> Cart {
    let mut rows = store.db.batch_get(vec![keys::cart(BUYER)]).await.unwrap();
    carts::take(&mut rows, BUYER).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_limit_of_three_is_never_shown_as_four() {
    let store = TestStore::open().await;
    let instances = store.instances(8);
    let token = store.token("Pebble");
    let post = |path: &str, count: u64| Call::post(path).token(&token).json(&json!({ "count": count }));
    let mut shown = BTreeSet::new();
    for _ in 0..5 {
        // The cart has one line at most. A removed one comes back with the next id.
        let first = stored(&store).await.next_line;
        let calls = (0..80).map(|number| {
            let line = first.saturating_sub(1) + number / 20;
            match number % 5 {
                0 => post("/cart/add/203", 1),
                1 => post("/cart/add/203", 2 + number / 5 % 2),
                2 => post(&format!("/cart/reload/{line}"), 1 + number / 5 % 4),
                3 => Call::post(&format!("/cart/remove/{line}")).token(&token),
                _ => Call::post("/cart/get").token(&token),
            }
        });
        let replies = spread(&instances, calls.collect()).await;
        for (reply, _) in &replies {
            if let Some(lines) = reply.json()["items"].as_array() {
                shown.insert(lines.iter().map(|line| line["count"].as_u64().unwrap()).sum::<u64>());
            }
        }
        let written = replies.iter().filter(|(_, trace)| !trace.written.is_empty()).count();
        assert!(written > 4, "{written} writes are too few for a race");
        shown.insert(stored(&store).await.lines.iter().map(|line| u64::from(line.count)).sum());
    }
    assert!(shown.contains(&3) && shown.iter().all(|units| *units <= 3), "{shown:?}");
}
