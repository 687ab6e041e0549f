//! Changes around a running process: credentials expire, the database's address goes away and comes back, its name
//! is unknown, and kept connections die.

use super::world::{Pacing, World, undisturbed};
use super::{calling, is_unavailable};
use aws_sdk_dynamodb::config::SharedCredentialsProvider;
use futures_util::future::join_all;
use std::time::{Duration, Instant};
use tests::{Endpoint, Reply};
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
