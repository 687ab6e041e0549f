//! Each function's rights in template.yaml are exactly the operations that it uses.

use std::collections::BTreeSet;
use tests::{TestStore, event_names, template};

#[tokio::test]
async fn a_function_has_exactly_the_rights_that_it_uses() {
    for function in template().functions().unwrap() {
        let own = format!("{function}/");
        let mut done = BTreeSet::new();
        // Each on a fresh store with empty caches.
        for name in event_names().iter().filter(|name| name.starts_with(&own)) {
            let store = TestStore::open().await;
            store.calls.clear();
            store.invoke_file(name).await;
            done.extend(store.calls.actions());
        }
        assert_eq!(template().actions(&function).unwrap(), done, "{function}");
    }
}
