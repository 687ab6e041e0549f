//! Data of an earlier version, which `storectl upgrade` has not completed: every function responds 503 and writes nothing.

use crate::schedule;
use crate::support::put;
use serde_json::{Value, json};
use shared::endpoint::InputKind;
use shared::model::{ActiveVersion, SCHEMA};
use shared::table::bulk::delete_each;
use shared::table::published::{raise_schema, read_active_version};
use shared::table::{codec, keys, restoring};
use std::time::Duration;
use tests::{Endpoint, Reply, TestStore, endpoints};

/// Gives the data another schema number; `None` takes it away.
async fn number(store: &TestStore, schema: Option<u32>) {
    let active: ActiveVersion = read_active_version(&store.db).await.unwrap().unwrap();
    let mut row = codec::encode_live(&keys::active_version(), &active).unwrap();
    row.remove("schema");
    if let Some(schema) = schema {
        row.insert("schema".to_owned(), aws_sdk_dynamodb::types::AttributeValue::N(schema.to_string()));
    }
    put(store, row).await;
}

fn is_refused(what: &str, reply: &Reply) {
    assert_eq!(reply.status, 503, "{what}: {}", reply.text);
    assert!(reply.header("retry-after").parse::<u32>().unwrap() > 0, "{what}");
}

/// A game server is shown an empty store, since an error at its start would end its plugin for good.
fn is_refused_by(endpoint: &Endpoint, what: &str, reply: &Reply) {
    match endpoint.declaration.while_away {
        _ if endpoint.declaration.round_trips.cold == 0 => assert_eq!(reply.status, 200, "{what}: {}", reply.text),
        Some(body) => assert_eq!((reply.status.as_u16(), reply.text.as_str()), (200, body), "{what}"),
        None => is_refused(what, reply),
    }
}

async fn sweep(store: &TestStore) -> Reply {
    let event: Value = serde_json::from_str(&schedule::input("payments/sweep")).unwrap();
    store.invoke_unchecked("payments", &event).await
}

#[tokio::test]
async fn every_endpoint_refuses_earlier_data_and_writes_nothing() {
    for schema in [None, Some(SCHEMA - 1)] {
        let store = TestStore::open().await;
        number(&store, schema).await;
        // A function reads the active version while its sandbox starts.
        store.warm_up().await;
        for endpoint in endpoints() {
            for event in endpoint.events() {
                is_refused_by(&endpoint, &event, &store.invoke_file(&event).await);
            }
        }
        is_refused("sweep", &sweep(&store).await);
        assert_eq!(store.calls.writes(), 0, "{:?}", store.calls.operations());
        assert!(raise_schema(&store.db, SCHEMA).await.unwrap());
        for endpoint in endpoints() {
            let reply = store.invoke_file(&endpoint.event).await;
            assert_ne!(reply.status, 503, "{}: {}", endpoint.route, reply.text);
        }
        assert_eq!(sweep(&store).await.status, 200);
    }
}

#[tokio::test]
async fn a_sweep_of_a_process_that_ran_before_does_nothing_while_a_backup_is_restored() {
    let store = TestStore::open().await;
    assert_eq!(sweep(&store).await.status, 200);
    delete_each(&store.db, std::iter::once(keys::active_version()), &|_| {}).await.unwrap();
    assert!(restoring::begin(&store.db, "0", 0).await.unwrap());
    store.clock.advance(Duration::from_mins(1));
    store.calls.clear();
    is_refused("sweep", &sweep(&store).await);
    assert_eq!(store.calls.writes(), 0, "{:?}", store.calls.operations());
}

#[tokio::test]
async fn a_function_that_could_read_nothing_at_its_start_refuses_earlier_data_before_it_writes() {
    let mut store = TestStore::open().await;
    number(&store, None).await;
    // The sample webhook event concerns no order, so that nothing is read or written for it.
    for endpoint in endpoints().into_iter().filter(|endpoint| endpoint.declaration.input != InputKind::Signed) {
        store.restart();
        store.calls.clear();
        is_refused_by(&endpoint, &endpoint.event, &store.invoke_file(&endpoint.event).await);
        // The requests of an address are counted while the version is read.
        assert!(
            store.calls.writes() <= endpoint.counting_writes(),
            "{}: {:?}",
            endpoint.event,
            store.calls.operations()
        );
    }
    store.restart();
    store.calls.clear();
    is_refused("sweep", &sweep(&store).await);
    assert_eq!(store.calls.writes(), 0, "{:?}", store.calls.operations());
}

#[tokio::test]
async fn data_of_a_later_version_and_an_empty_table_are_served() {
    let store = TestStore::open().await;
    number(&store, Some(SCHEMA + 1)).await;
    let body = json!({ "username": "Thornwick" });
    let login = || tests::Call::post("/auth/username").json(&body);
    assert_eq!(store.send(login()).await.status, 200);
    let empty = TestStore::empty().await;
    assert_eq!(empty.send(tests::Call::get("/settings/get")).await.status, 200);
}
