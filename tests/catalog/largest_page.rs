//! The largest category page that `check` accepts, and its response.

use crate::support::{category, item, republish};
use publish::LARGEST_PAGE;
use publish::files::{CategoryFile, ItemFile};
use serde_json::json;
use shared::model::Item;
use tests::{Call, TestStore};

/// The largest response of Lambda, in bytes. The body is a string in JSON there.
const LARGEST_RESPONSE: usize = 6 * 1024 * 1024;

/// A subcategory with as many of the smallest items as possible: their responses are the largest relative to what is
/// stored.
fn subcategory(like: &ItemFile, id: u64, items: u64) -> CategoryFile {
    let item = |place: u64| ItemFile { id: (id * 10_000 + place).into(), ..like.clone() };
    CategoryFile {
        id: id.into(),
        slug: format!("s{id}").into(),
        name: "S".to_owned(),
        description: None,
        image: None,
        sorting: 0,
        enabled: true,
        deleted: false,
        from: None,
        until: None,
        cumulative: false,
        one_of: false,
        comparison: Vec::new(),
        items: (0..items).map(item).collect(),
        subcategories: Vec::new(),
    }
}

#[tokio::test]
async fn a_page_of_the_largest_size_is_read_once_and_fits_into_a_response() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        let smallest = ItemFile { name: "I".to_owned(), image: String::new(), ..item(files, 501).clone() };
        let stored: Item =
            serde_json::from_value(json!({"id": 6_001_000, "name": "I", "price": 499, "active": true})).unwrap();
        // With the comma after it.
        let stored = serde_json::to_string(&stored).unwrap().len() + 1;
        let support = category(files, 6);
        support.items.clear();
        let per_subcategory = 1_000;
        let items = u64::try_from((LARGEST_PAGE - 10_000) / stored).unwrap();
        support.subcategories = (0..=items / per_subcategory)
            .map(|n| subcategory(&smallest, 600 + n, per_subcategory.min(items - n * per_subcategory)))
            .collect();
    })
    .await;
    let call = || Call::post("/categories/get/support").token(&store.token("Pebble"));
    store.calls.clear();
    let first = store.send(call()).await;
    let queries = |store: &TestStore| store.calls.operations().iter().filter(|name| *name == "Query").count();
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!(queries(&store), 1, "it is read by one query");
    let wrapped = serde_json::to_string(&first.text).unwrap().len();
    // The 2.2 MB that store-format.md names.
    assert_eq!(wrapped / 100_000, 22, "{wrapped}");
    assert!(2 * wrapped < LARGEST_RESPONSE, "{wrapped}");
    store.calls.clear();
    assert_eq!(store.send(call()).await.text, first.text);
    assert_eq!(queries(&store), 0, "it is kept");
}
