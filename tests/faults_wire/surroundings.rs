//! Changes around a running process: credentials expire, the database's address goes away and comes back, its name is
//! unknown, and kept connections die. And clocks that are six minutes off, either way: the database's, ours, and the
//! payment provider's.

use super::world::{Pacing, World, undisturbed};
use super::{calling, is_unavailable};
use crate::payments::support::begin;
use aws_sdk_dynamodb::config::SharedCredentialsProvider;
use futures_util::future::join_all;
use serde_json::json;
use std::time::{Duration, Instant};
use stripe_stand_in::Action;
use tests::{Call, Endpoint, Reply, TestStore};
use tokio::task::JoinSet;

fn assert_unavailable(endpoint: &Endpoint, reply: &Reply) {
    assert!(is_unavailable(endpoint, reply), "{}: {} {}", endpoint.route, reply.status, reply.text);
    assert_eq!(reply.header("cache-control"), "no-store", "{}", endpoint.route);
}

#[tokio::test]
async fn expired_credentials_are_a_503_until_a_process_with_new_ones_responds() {
    let all = undisturbed().await;
    let mut world = World::open(Pacing::Shortened).await;
    for (number, expected) in all.iter().enumerate() {
        let (endpoint, call) = (&expected.endpoint, expected.endpoint.call());
        let id = format!("ID{number}");
        world.database.accept_only(&id);
        let old = world.instance();
        let reply = old.send(call.clone()).await;
        if expected.database_calls > 0 {
            assert_unavailable(endpoint, &reply);
            let got = world.outcome(&reply, expected).await;
            assert!(got.rows.is_empty() && got.counters.is_empty(), "{}", endpoint.route);
        }
        world.restore().await;
        world.store.reach(|access| {
            let credentials = aws_sdk_dynamodb::config::Credentials::new(&id, "local", None, None, "local");
            access.credentials = Some(SharedCredentialsProvider::new(credentials));
        });
        let reply = world.instance().send(call).await;
        assert_eq!(world.outcome(&reply, expected).await, expected.first, "{}", endpoint.route);
        world.restore().await;
    }
}

#[tokio::test]
async fn a_database_whose_address_is_gone_is_reached_once_it_is_back() {
    let all = undisturbed().await;
    let world = World::open(Pacing::Shortened).await;
    for expected in all {
        let (endpoint, call) = (&expected.endpoint, expected.endpoint.call());
        let instance = world.instance();
        let port = world.database.go_away().await;
        let reply = instance.send(call.clone()).await;
        if expected.database_calls > 0 {
            assert_unavailable(endpoint, &reply);
        }
        world.database.come_back(port);
        let reply = instance.send(call).await;
        assert_eq!(world.outcome(&reply, expected).await, expected.first, "{}", endpoint.route);
        world.restore().await;
    }
}

#[tokio::test]
async fn a_database_whose_name_is_unknown_is_a_503() {
    let mut world = World::open(Pacing::Shortened).await;
    // A name of RFC 2606, which no server knows.
    world.store.reach(|access| access.endpoint = "http://dynamodb.invalid:8000".to_owned());
    let replies = join_all(calling().into_iter().map(async |endpoint| {
        let started = Instant::now();
        let reply = world.instance().send(endpoint.call()).await;
        assert!(started.elapsed() < endpoint.declaration.deadline, "{}", endpoint.route);
        (endpoint, reply)
    }));
    let mut unavailable = 0;
    for (endpoint, reply) in replies.await {
        if reply.status != 200 {
            assert_unavailable(&endpoint, &reply);
            unavailable += 1;
        }
    }
    assert!(unavailable > 30, "{unavailable}");
}

/// With the connector, the timeouts and the pacing of production.
#[tokio::test(flavor = "multi_thread")]
async fn connections_that_died_in_a_frozen_process_are_replaced() {
    let (all, mut jobs) = (undisturbed().await, JoinSet::new());
    for store in 0..4 {
        jobs.spawn(async move {
            let world = World::open(Pacing::Deployed).await;
            for expected in all.iter().skip(store).step_by(4) {
                let (endpoint, call) = (&expected.endpoint, expected.endpoint.call());
                world.restore().await;
                let instance = world.instance();
                let reply = instance.send(call.clone()).await;
                assert_eq!(world.outcome(&reply, expected).await, expected.first, "{}", endpoint.route);
                world.database.kill_connections();
                let started = Instant::now();
                let reply = instance.send(call).await;
                let elapsed = started.elapsed();
                assert_eq!(world.outcome(&reply, expected).await, expected.second, "{}", endpoint.route);
                assert!(elapsed < Duration::from_secs(3), "{}: {elapsed:?}", endpoint.route);
            }
        });
    }
    while let Some(job) = jobs.join_next().await {
        job.unwrap();
    }
}

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
