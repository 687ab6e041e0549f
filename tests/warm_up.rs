//! The warm-up of a function before its first request: it reads, writes nothing, ignores failures, and does not change
//! the first response.

use tests::{Fault, TestStore};

const WARM: [&str; 2] = ["content/get_settings", "catalog/list_categories"];

#[tokio::test]
async fn the_first_requests_of_a_visit_read_nothing_on_a_warm_function() {
    let store = TestStore::open().await;
    store.warm_up().await;
    assert_eq!(store.calls.writes(), 0, "{:?}", store.calls.operations());
    for file in WARM {
        store.calls.clear();
        let cold = TestStore::open().await.invoke_file(file).await;
        let warm = store.invoke_file(file).await;
        assert_eq!((warm.status, &warm.text), (cold.status, &cold.text), "{file}");
        assert_eq!(store.calls.operations(), Vec::<String>::new(), "{file}");
    }
}

#[tokio::test]
async fn a_database_failure_during_warm_up_is_ignored() {
    for fault in [Fault::Throttled, Fault::NoTable] {
        let store = TestStore::open().await;
        store.faults.inject(move |_| Some(fault));
        store.warm_up().await;
        store.faults.clear();
        for file in WARM {
            assert_eq!(store.invoke_file(file).await.status, 200, "{file}");
        }
    }
}

#[tokio::test]
async fn a_store_that_is_not_published_yet_does_not_fail_the_warm_up() {
    let store = TestStore::empty().await;
    store.warm_up().await;
    assert_eq!(store.calls.writes(), 0);
}
