//! The calls that change one field of a line: what they have in common.

use super::support::{NEW, RICH, cart_of, post, put_cart, refusal, stored};
use serde_json::{Value, json};
use tests::{Reply, TestStore};

/// Every call, a line of RICH's cart that it can change, and a body that changes it.
fn calls() -> [(&'static str, u64, Value); 3] {
    [
        ("changePrice", 6, json!({ "price": "4.50" })),
        ("setSelectedServer", 4, json!({ "server_id": 2 })),
        ("setVariable", 3, json!({ "var_id": 2, "var_value": "Midnight" })),
    ]
}

pub async fn set(store: &TestStore, call: &str, name: &str, line: u64, body: &Value) -> Reply {
    post(store, &format!("/cart/{call}/{line}"), name, body).await
}

/// The message with which a change is refused, with 422 and without a write.
pub async fn refused(store: &TestStore, call: &str, name: &str, line: u64, body: &Value) -> String {
    let before = stored(store, name).await;
    store.calls.clear();
    let message = refusal(&set(store, call, name, line, body).await, 422);
    assert_eq!(store.calls.writes(), 0, "{call} {line} {body}");
    assert_eq!(stored(store, name).await, before, "{call} {line} {body}");
    message
}

#[tokio::test]
async fn a_line_is_also_named_by_its_item_as_the_public_client_does() {
    for (call, line, body) in calls() {
        let (by_line, by_item) = (TestStore::open().await, TestStore::open().await);
        let mut lines = stored(&by_item, RICH).await.unwrap().lines.into_iter();
        let item = lines.find(|other| other.id.get() == line).unwrap().item.get();
        assert_eq!(set(&by_line, call, RICH, line, &body).await.status, 200);
        let reply = set(&by_item, call, RICH, item, &body).await;
        assert_eq!(reply.status, 200, "{call}: {}", reply.text);
        assert_eq!(stored(&by_item, RICH).await, stored(&by_line, RICH).await, "{call}");
    }
}

#[tokio::test]
async fn a_line_that_is_not_in_the_callers_cart_does_not_exist() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(NEW, &[(201, 1)])).await;
    let before = stored(&store, RICH).await;
    for (call, line, body) in calls() {
        for (name, line) in [(RICH, 999), (NEW, line)] {
            assert_eq!(refused(&store, call, name, line, &body).await, "This line does not exist.", "{call}");
        }
    }
    assert_eq!(stored(&store, RICH).await, before);
}
