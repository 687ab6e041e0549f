//! GET and POST /categories/get.

use crate::support::{all, body, category, republish};
use serde_json::{Value, json};
use tests::{Call, Reply, TestStore};

async fn list(store: &TestStore) -> Value {
    body(store, Call::get("/categories/get")).await
}

#[tokio::test]
async fn the_list_shows_every_visible_category_in_two_levels() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!(list(&store).await);
}

#[tokio::test]
async fn hidden_and_deleted_categories_and_their_subcategories_are_absent() {
    let store = TestStore::open().await;
    let list = list(&store).await;
    assert_eq!(all(&list, "idx"), [1, 2, 3, 9, 4, 5, 6]);
    assert_eq!(all(&list[0]["subcategories"], "idx"), [13, 11, 14]);
    for hidden in ["anniversary", "keepsakes", "lost-and-found", "founders"] {
        assert!(!list.to_string().contains(hidden), "{hidden}");
    }
}

#[tokio::test]
async fn categories_of_the_same_sorting_are_in_the_order_of_their_ids() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        files.categories.reverse();
        for source in &mut files.categories {
            source.content.sorting = 5;
        }
        category(files, 6).sorting = -1;
    })
    .await;
    assert_eq!(all(&list(&store).await, "idx"), [6, 1, 2, 3, 4, 5, 9]);
}

#[tokio::test]
async fn a_category_that_is_disabled_is_hidden_with_its_subcategories() {
    let store = TestStore::open().await;
    assert!(list(&store).await.to_string().contains("/companions/mounts"));
    republish(&store, |files| category(files, 3).enabled = false).await;
    let list = list(&store).await;
    assert!(!list.to_string().contains("/companions"), "{list}");
}

#[tokio::test]
async fn an_empty_store_has_an_empty_list() {
    let store = TestStore::empty().await;
    assert_eq!(list(&store).await, json!([]));
}

async fn post(store: &TestStore) -> Reply {
    store.send(Call::post("/categories/get")).await
}

#[tokio::test]
async fn post_responds_with_the_body_of_get() {
    let store = TestStore::open().await;
    let reply = post(&store).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.text, store.send(Call::get("/categories/get")).await.text);
    let with_body = store.send(Call::post("/categories/get").bytes("no json at all")).await;
    assert_eq!((with_body.status, with_body.text), (reply.status, reply.text));
}
