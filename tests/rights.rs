//! Each function's rights in template.yaml are exactly the operations that it uses.

use crate::payments::support;
use local::stripe::Action;
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
        if function == "payments" {
            done.extend(actions_of_a_checkout().await);
        }
        assert_eq!(template().actions(&function).unwrap(), done, "{function}");
    }
}

/// The actions of the payments function in a checkout that is paid and refunded, and in its sweep. No single event does it.
async fn actions_of_a_checkout() -> BTreeSet<String> {
    let store = TestStore::open().await;
    let token = support::login(&store, "Buyer").await;
    support::add(&store, &token, 302, 1).await;
    store.calls.clear();
    let begun = support::create(&store, &token).await;
    support::act(&store, &begun, &Action::Pay).await;
    support::act(&store, &begun, &Action::Refund(None)).await;
    let sweep = serde_json::from_str(include_str!("../infra/local/src/sweep.json")).unwrap();
    assert_eq!(store.invoke("payments", &sweep).await.status, 200);
    store.calls.actions()
}
