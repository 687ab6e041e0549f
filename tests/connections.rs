//! Connections to the database that break or lose a response, with the timeouts and pacing of production.

use futures_util::future::join_all;
use serde_json::json;
use shared::model::UserId;
use shared::table::keys;
use std::time::{Duration, Instant};
use tests::{Call, TestStore};

fn calls(store: &TestStore) -> Vec<Call> {
    let token = store.token("Thornwick");
    vec![
        Call::post("/cart/get").token(&token),
        Call::post("/user").token(&token),
        Call::post("/cart/acceptCoupon").token(&token).json(&json!({ "coupon": "THREEBACK" })),
        Call::post("/categories/get/ranks").token(&token),
        look_up(),
        Call::get("/settings/get"),
    ]
}

fn look_up() -> Call {
    Call::post("/payments/checkStatus").json(&json!({ "order_id": "ska237syhxydekce" }))
}

/// After a sandbox was frozen, every connection may be dead.
#[tokio::test]
async fn connections_that_died_during_a_pause_cost_less_than_a_second() {
    let (store, proxy) = TestStore::open_as_deployed().await;
    for number in 0..calls(&store).len() {
        // Leaves about a dozen connections.
        for reply in join_all(calls(&store).into_iter().map(|call| store.send(call))).await {
            assert_eq!(reply.status, 200, "{}", reply.text);
        }
        proxy.kill_connections();
        // The active version, trusted for five seconds, has to be read again.
        store.clock.advance(Duration::from_mins(10));
        let started = Instant::now();
        let reply = store.send(calls(&store).remove(number)).await;
        let elapsed = started.elapsed();
        assert_eq!(reply.status, 200, "{number}: {}", reply.text);
        assert!(elapsed < Duration::from_secs(1), "{number}: {elapsed:?}");
    }
}

#[tokio::test]
async fn a_request_whose_count_was_written_twice_counts_once() {
    let (store, proxy) = TestStore::open_as_deployed().await;
    for left in [17, 16] {
        // First the write that opens the window, then one that adds to it.
        proxy.lose_responses_to_writes(1);
        let reply = store.send(look_up()).await;
        assert_eq!((reply.status.as_u16(), reply.header("ratelimit-remaining")), (200, &*left.to_string()));
    }
    proxy.lose_responses_to_writes(3);
    for reply in join_all((0..6).map(|_| store.send(look_up()))).await {
        assert_eq!(reply.status, 200, "{}", reply.text);
    }
    let counter = store.db.get(&keys::rate("", "198.51.100.7"), true).await.unwrap().unwrap();
    assert_eq!(counter["hits"].as_n().unwrap(), "8");
}

#[tokio::test]
async fn a_full_window_stays_full_when_responses_are_lost() {
    let (store, proxy) = TestStore::open_as_deployed().await;
    for _ in 0..17 {
        assert_eq!(store.send(look_up()).await.status, 200);
    }
    proxy.lose_responses_to_writes(1);
    let last = store.send(look_up()).await;
    assert_eq!((last.status.as_u16(), last.header("ratelimit-remaining")), (200, "0"));
    assert_eq!(store.send(look_up()).await.status, 429);
}

#[tokio::test]
async fn a_cart_that_was_written_before_its_response_was_lost_is_a_success() {
    let (store, proxy) = TestStore::open_as_deployed().await;
    proxy.lose_responses_to_writes(1);
    let call = Call::post("/cart/acceptCoupon").token(&store.token("Thornwick"));
    let reply = store.send(call.json(&json!({ "coupon": "THREEBACK" }))).await;
    assert_eq!((reply.status.as_u16(), &reply.json()["success"]), (200, &json!(true)), "{}", reply.text);
    let cart = store.db.get(&keys::cart(UserId::new(1)), true).await.unwrap().unwrap();
    assert_eq!(cart["version"].as_n().unwrap(), "2", "written once");
}
