//! What a function does before its first request: it reads, writes nothing, fails nothing, and the first answer is no
//! other for it.

use tests::{Fault, TestStore};

const WARM: [&str; 2] = ["content/get_settings", "catalog/list_categories"];

#[tokio::test]
async fn a_visit_that_begins_on_a_warm_function_reads_nothing() {
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
async fn a_database_that_fails_meanwhile_fails_nothing() {
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
async fn a_store_that_is_not_published_yet_fails_nothing() {
    let store = TestStore::empty().await;
    store.warm_up().await;
    assert_eq!(store.calls.writes(), 0);
}
