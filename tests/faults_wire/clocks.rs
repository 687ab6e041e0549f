//! Clocks that are six minutes off, either way: the database's, ours, and the payment provider's.

use super::world::{Pacing, World, undisturbed};
use crate::payments::support::begin;
use serde_json::json;
use std::time::Duration;
use stripe_stand_in::Action;
use tests::{Call, TestStore};

const OFF: Duration = Duration::from_mins(6);
/// How far Stripe's clock may be from ours.
const TOLERANCE: Duration = Duration::from_mins(5);

#[tokio::test]
async fn a_database_whose_clock_is_ahead_or_behind_is_signed_for_by_its_clock() {
    let all = undisturbed().await;
    let world = World::open(Pacing::Shortened).await;
    for (expected, ahead) in all.iter().flat_map(|expected| [(expected, 360), (expected, -360)]) {
        let endpoint = &expected.endpoint;
        world.database.set_clock(ahead);
        let instance = world.instance();
        for (number, right) in [&expected.first, &expected.second].into_iter().enumerate() {
            let earlier = world.database.seen().len();
            let reply = instance.send(endpoint.call()).await;
            assert_eq!(world.outcome(&reply, expected).await, *right, "{}", endpoint.route);
            let seen = world.database.seen().split_off(earlier);
            let refused = seen.iter().filter(|exchange| exchange.is_refused).count();
            // The first refusals say what time it is.
            assert_eq!(refused > 0, number == 0 && expected.database_calls > 0, "{}: {seen:?}", endpoint.route);
        }
        world.restore().await;
    }
}

#[tokio::test]
async fn a_token_is_valid_for_a_minute_longer_and_no_more() {
    let store = TestStore::open().await;
    let token = store.token("Thornwick");
    let user = || store.send(Call::post("/user").token(&token));
    // A token is valid for an hour; one from a clock that is ahead is valid at once.
    store.clock.set_back(OFF);
    assert_eq!(user().await.status, 200);
    store.clock.advance(OFF + Duration::from_hours(1) + Duration::from_mins(1));
    assert_eq!(user().await.status, 200);
    store.clock.advance(Duration::from_secs(1));
    assert_eq!(user().await.status, 401);
}

/// Looks an order up: the status, and the seconds that a refused caller should wait.
async fn look_up(store: &TestStore) -> (u16, u64) {
    let call = Call::post("/payments/checkStatus").json(&json!({ "order_id": "ska237syhxydekce" }));
    let reply = store.send(call).await;
    (reply.status.as_u16(), reply.header("retry-after").parse().unwrap_or(0))
}

async fn exhaust(store: &TestStore) {
    for _ in 0..18 {
        assert_eq!(look_up(store).await.0, 200);
    }
    assert_eq!(look_up(store).await.0, 429);
}

#[tokio::test]
async fn a_function_whose_clock_is_ahead_opens_one_window_that_all_keep_to() {
    let store = TestStore::open().await;
    exhaust(&store).await;
    store.clock.advance(OFF);
    exhaust(&store).await;
    // The functions with the right time keep to that window: never a second one, and a time to wait that is true.
    store.clock.set_back(OFF);
    let (status, wait) = look_up(&store).await;
    assert_eq!((status, wait), (429, 360 + 60));
    store.clock.advance(Duration::from_secs(wait - 1));
    assert_eq!(look_up(&store).await.0, 429);
    store.clock.advance(Duration::from_secs(1));
    assert_eq!(look_up(&store).await.0, 200);
}

#[tokio::test]
async fn a_function_whose_clock_is_behind_opens_no_window_of_its_own() {
    let store = TestStore::open().await;
    exhaust(&store).await;
    store.clock.set_back(OFF);
    let (status, wait) = look_up(&store).await;
    assert_eq!((status, wait), (429, 360 + 60));
    store.clock.advance(OFF + Duration::from_mins(1));
    exhaust(&store).await;
}

#[tokio::test]
async fn what_was_read_by_a_clock_that_was_ahead_is_read_again() {
    let store = TestStore::open().await;
    store.clock.advance(OFF);
    assert_eq!(store.send(Call::get("/staff")).await.status, 200);
    store.clock.set_back(OFF);
    store.calls.clear();
    assert_eq!(store.send(Call::get("/staff")).await.status, 200);
    assert_eq!(store.calls.operations(), ["GetItem"], "the active version");
}

#[tokio::test]
async fn a_webhook_event_is_refused_if_stripes_clock_and_ours_differ_by_more_than_five_minutes() {
    let store = TestStore::open().await;
    let (_, begun) = begin(&store).await;
    store.payments.act(&begun.session, &Action::Pay).unwrap();
    let signed = store.payments.signed(store.payments.events().last().unwrap()).unwrap();
    let send = async || {
        let call = Call::post("/payments/webhook/stripe").header("stripe-signature", &signed.header);
        store.send(call.bytes(signed.body.clone())).await.status.as_u16()
    };
    let order = shared::model::InternalId::new(&begun.order);
    let is_paid = async || {
        let stored = shared::shop::orders::get(&store.db, &order).await.unwrap().unwrap();
        stored.order.status.as_str() == "PAID"
    };
    store.clock.advance(OFF);
    assert_eq!((send().await, is_paid().await), (400, false), "ours is ahead");
    store.clock.set_back(OFF * 2);
    assert_eq!((send().await, is_paid().await), (400, false), "ours is behind");
    store.clock.advance(OFF.saturating_sub(TOLERANCE));
    assert_eq!((send().await, is_paid().await), (200, true), "behind, and within the tolerance");
    store.clock.advance(TOLERANCE * 2);
    assert_eq!((send().await, is_paid().await), (200, true), "ahead, and within the tolerance");
}
