//! What template.yaml allows each function to do with the table is what the function does.

use std::collections::BTreeSet;
use tests::{TestStore, event_names, template};

#[tokio::test]
async fn a_function_may_do_what_it_does_and_nothing_else() {
    for function in template().functions().unwrap() {
        let own = format!("{function}/");
        let mut done = BTreeSet::new();
        // Each on a fresh store, where nothing is cached.
        for name in event_names().iter().filter(|name| name.starts_with(&own)) {
            let store = TestStore::open().await;
            store.calls.clear();
            store.invoke_file(name).await;
            done.extend(store.calls.actions());
        }
        assert_eq!(template().actions(&function).unwrap(), done, "{function}");
    }
}
