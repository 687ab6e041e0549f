//! Concurrent requests: every limit holds, and no change is lost.

mod carts;
mod checkouts;
mod codes;
mod logins;

use futures_util::future::join_all;
use serde_json::json;
use shared::model::UserId;
use shared::table::keys;
use std::time::Duration;
use tests::{Call, Reply, TestStore};

fn check_status(address: &str) -> Call {
    Call::post("/payments/checkStatus").json(&json!({ "order_id": "ska237syhxydekce" })).from_ip(address)
}

fn passed(replies: &[Reply]) -> usize {
    for reply in replies {
        assert!([200, 429].contains(&reply.status.as_u16()), "{}: {}", reply.status, reply.text);
    }
    replies.iter().filter(|reply| reply.status == 200).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn exactly_eighteen_of_many_pass_in_each_window() {
    let store = TestStore::open().await;
    for _window in 0..2 {
        let replies = join_all((0..100).map(|_| store.send(check_status("203.0.113.5")))).await;
        assert_eq!(passed(&replies), 18);
        let mut remaining: Vec<u32> = replies
            .iter()
            .filter(|reply| reply.status == 200)
            .map(|reply| reply.header("ratelimit-remaining").parse().unwrap())
            .collect();
        remaining.sort_unstable();
        assert_eq!(remaining, (0..18).collect::<Vec<u32>>(), "each place is given once");
        store.clock.advance(Duration::from_mins(1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_code_and_a_referral_set_at_the_same_time_are_both_kept() {
    for _ in 0..5 {
        let store = TestStore::open().await;
        let token = store.token("Quillfeather");
        let coupon = Call::post("/cart/acceptCoupon").token(&token).json(&json!({ "coupon": "THREEBACK" }));
        let referral = Call::post("/cart/setReferral").token(&token).json(&json!({ "ref_code": "thornwick" }));
        let (coupon, referral) = tokio::join!(store.send(coupon), store.send(referral));
        assert_eq!(coupon.json()["success"], true, "{}", coupon.text);
        assert_eq!(referral.json()["success"], true, "{}", referral.text);
        let cart = store.send(Call::post("/cart/get").token(&token)).await.json();
        assert_eq!(cart["cart"]["coupon_code"], "threeback");
        assert_eq!(cart["cart"]["referral_code"], "thornwick");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn every_write_to_a_cart_counts_its_version_up_by_one() {
    let store = TestStore::open().await;
    let token = store.token("Quillfeather");
    let codes = ["HEARTH10", "THREEBACK", "EIGHTH", "GLOW-7QXM-2K4D", "ASH-3NTV-8WRC", "RANKUP"];
    let calls = codes.map(|code| Call::post("/cart/acceptCoupon").token(&token).json(&json!({ "coupon": code })));
    let before = version(&store).await;
    let replies = join_all(calls.map(|call| store.send(call))).await;
    let written = replies.iter().filter(|reply| reply.json()["success"] == true).count();
    for reply in replies.iter().filter(|reply| reply.json()["success"] == false) {
        let message = reply.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("try again") || message.contains("applies to nothing"), "{message}");
    }
    assert!(written > 0);
    assert_eq!(version(&store).await, before + written as u64);
}

async fn version(store: &TestStore) -> u64 {
    let cart = store.db.get(&keys::cart(UserId::new(2)), true).await.unwrap().unwrap();
    cart["version"].as_n().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_first_write_to_a_cart_happens_once() {
    let store = TestStore::open().await;
    let token = store.token("Pebble");
    let call = || Call::post("/cart/setReferral").token(&token).json(&json!({ "ref_code": "lantern" }));
    let replies = join_all((0..16).map(|_| store.send(call()))).await;
    let messages: Vec<String> =
        replies.iter().map(|reply| reply.json()["message"].as_str().unwrap().to_owned()).collect();
    let applied = messages.iter().filter(|message| message.contains("applied")).count();
    assert_eq!(applied, 1, "{messages:?}");
    let cart = store.db.get(&keys::cart(UserId::new(3)), true).await.unwrap().unwrap();
    assert_eq!(cart["version"].as_n().unwrap(), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn misses_at_the_same_time_share_one_read() {
    let store = TestStore::open().await;
    let token = store.token("Pebble");
    let page = || store.send(Call::post("/categories/get/ranks").token(&token));
    let replies = join_all((0..20).map(|_| page())).await;
    assert!(replies.iter().all(|reply| reply.status == 200));
    let operations = store.calls.operations();
    let count = |name: &str| operations.iter().filter(|operation| *operation == name).count();
    assert_eq!(count("Query"), 1, "{operations:?}");
    assert_eq!(count("GetItem"), 1, "the active version: {operations:?}");
}
