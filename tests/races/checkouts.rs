//! Checkouts of many buyers of one address at the same time (rules.md, "Checkout").

use serde_json::json;
use shared::model::Money;
use std::time::Duration;
use tests::{Call, TestStore, spread};

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn exactly_ten_of_many_checkouts_of_an_address_begin_in_each_window() {
    let store = TestStore::open().await;
    let mut tokens = Vec::new();
    for place in 0..30 {
        let call = Call::post("/auth/username").json(&json!({ "username": format!("Buyer{place}") }));
        let reply = store.send(call.from_ip(&format!("198.18.0.{place}"))).await;
        tokens.push(reply.json().as_str().unwrap().to_owned());
    }
    let agreed = json!({ "paymentMethod": "Stripe", "termsAndConditions": true, "privacyPolicy": true });
    for _window in 0..2 {
        for token in &tokens {
            let added = Call::post("/cart/add/302").token(token).json(&json!({ "count": 1 }));
            assert_eq!(store.send(added).await.status, 200);
        }
        let before = store.payments.sessions().len();
        let create = |token: &String| Call::post("/payments/create").token(token).json(&agreed);
        let replies = spread(&store.instances(8), tokens.iter().map(create).collect()).await;
        let begun = replies.iter().filter(|(reply, _)| reply.data()["success"] == true).count();
        assert_eq!(begun, 10);
        assert_eq!(store.payments.sessions().len(), before + 10);
        for (reply, _) in replies.iter().filter(|(reply, _)| reply.data()["success"] != true) {
            assert_eq!(reply.data()["message"], "Too many attempts. Please try again in 10 minutes.");
            assert_eq!(reply.header("retry-after"), "600");
        }
        store.clock.advance(Duration::from_mins(10));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn of_many_new_names_of_an_address_no_more_than_a_first_day_allows_begin() {
    let store = TestStore::open().await;
    tests::configure(&store.db, |config| config.payments.first_day = Some(Money::from_minor(800))).await;
    store.clock.advance(Duration::from_mins(1));
    let mut tokens = Vec::new();
    for place in 0..8 {
        let call = Call::post("/auth/username").json(&json!({ "username": format!("Buyer{place}") }));
        let reply = store.send(call).await;
        tokens.push(reply.json().as_str().unwrap().to_owned());
        let added = Call::post("/cart/add/302").token(&tokens[place]).json(&json!({ "count": 1 }));
        assert_eq!(store.send(added).await.status, 200);
    }
    let agreed = json!({ "paymentMethod": "Stripe", "termsAndConditions": true, "privacyPolicy": true });
    let create = |token: &String| Call::post("/payments/create").token(token).json(&agreed);
    let replies = spread(&store.instances(8), tokens.iter().map(create).collect()).await;
    let (begun, refused): (Vec<_>, Vec<_>) = replies.iter().partition(|(reply, _)| reply.data()["success"] == true);
    let message = refused[0].0.data()["message"].clone();
    assert_eq!((begun.len(), store.payments.sessions().len()), (2, 2), "{message}");
    let wanted = "To guard against stolen cards, logins by name from a new internet address can pay at most 8.00 in the first 24 \
                  hours. 2.00 is left of it; more can be paid 24 hours after the first payment.";
    assert_eq!(message, wanted);
}
