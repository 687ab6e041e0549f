//! GET /plugin/api/getVersion.

use tests::{Call, Fault, TestStore};

#[tokio::test]
async fn the_version_is_bare_text_also_while_the_database_is_away() {
    let store = TestStore::open().await;
    store.faults.inject(|_| Some(Fault::Away));
    for path in ["/plugin/api/getVersion/", "/plugin/api/getVersion", "/plugin/getVersion/"] {
        let reply = store.send(Call::get(path)).await;
        assert_eq!((reply.status.as_u16(), reply.text.as_str()), (200, "3.8.7"), "{path}");
        assert_eq!((reply.header("content-type"), reply.header("cache-control")), ("text/plain", "no-store"));
    }
    assert!(store.calls.operations().is_empty());
}
