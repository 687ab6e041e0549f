//! POST /categories/get/{url}: how a category is found, and the largest page.

use crate::support::{assert_message, assert_unauthorized, category, item, open_to_guests, republish};
use publish::LARGEST_PAGE;
use publish::files::{CategoryFile, ItemFile};
use serde_json::json;
use shared::model::Item;
use tests::{Call, Reply, TestStore};

async fn look_up(store: &TestStore, url: &str) -> Reply {
    store.send(Call::post(&format!("/categories/get/{url}")).token(&store.token("Thornwick"))).await
}

#[tokio::test]
async fn slashes_percent_encoding_and_ids_lead_to_the_same_category() {
    let store = TestStore::open().await;
    let same = [
        ("ranks", "/ranks ranks/ //ranks// %72anks %2Franks 1 /1/ %31"),
        (
            "ranks/guild",
            "/ranks/guild ranks/guild/ ranks//guild ///ranks///guild/// ranks%2Fguild %2Franks%2Fguild%2F ranks%252Fguild 11",
        ),
    ];
    for (url, others) in same {
        let expected = look_up(&store, url).await;
        assert_eq!(expected.status, 200);
        for other in others.split(' ') {
            let reply = look_up(&store, other).await;
            assert_eq!((reply.status, reply.text), (expected.status, expected.text.clone()), "{other}");
        }
    }
}

#[tokio::test]
async fn a_subcategory_is_found_on_its_own() {
    let store = TestStore::open().await;
    let reply = look_up(&store, "ranks/guild").await.json();
    assert_eq!(reply["category"]["id"], 11);
    assert_eq!(reply["category"]["url"], "/ranks/guild");
    assert_eq!(reply["subcategories"], serde_json::json!([]));
    assert_eq!(reply["items"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn hidden_and_unknown_categories_are_not_found_by_url_or_by_id() {
    let store = TestStore::open().await;
    let hidden = ["anniversary", "7", "anniversary/keepsakes", "71", "lost-and-found", "8", "ranks/founders", "12"];
    let unknown = ["nowhere", "ranks/nowhere", "guild", "founders", "ranks/guild/deeper", "999", "0", "ranks.", "1a"];
    for url in hidden.into_iter().chain(unknown) {
        let text = assert_message(&look_up(&store, url).await, 404);
        assert!(!text.contains(url), "{text}");
    }
}

#[tokio::test]
async fn a_url_that_cannot_name_a_category_is_not_found_without_a_read() {
    let overlong = format!("ranks/{}", "a".repeat(250));
    let long_in_bytes = "%C3%A9".repeat(128);
    let slashes = "/".repeat(256);
    let nonsense = "Ranks RANKS ranks%20 ranks%09 ranks%00 %00 ra%00nks %F0%9F%92%8E a%0Ab ranks! ranks+guild \
        ranks%3Fx r%C3%A4nke . .. %2e %2e%2e %2E%2E %252e%252e ranks/.. ranks/./guild ../ranks \
        ../../pages/get %2e%2e/%2e%2e/pages/get ranks/%2e%2e/ranks 01 1.%00 18446744073709551616 \
        99999999999999999999999999 %ff %25ff %2525 -1%20 // %2F";
    let nonsense = nonsense.split(' ').chain([overlong.as_str(), &long_in_bytes, &slashes]);
    for store in [TestStore::open().await, TestStore::empty().await] {
        let token = store.token_of(shared::model::UserId::new(1));
        for url in nonsense.clone() {
            store.calls.clear();
            let reply = store.send(Call::post(&format!("/categories/get/{url}")).token(&token)).await;
            if url.contains("%ff") {
                // Not UTF-8: the gateway itself refuses it.
                assert_eq!(reply.status, 400, "{url}");
            } else {
                assert_message(&reply, 404);
            }
            assert!(store.calls.operations().is_empty(), "{url}: {:?}", store.calls.operations());
        }
    }
}

#[tokio::test]
async fn the_longest_url_has_255_characters() {
    let store = TestStore::open().await;
    let padded = |slashes: usize| format!("{}ranks", "/".repeat(slashes));
    assert_eq!(look_up(&store, &padded(250)).await.status, 200);
    assert_message(&look_up(&store, &padded(251)).await, 404);
    // Counted in characters, not in encoded bytes.
    assert_eq!(look_up(&store, &format!("{}ranks", "%2F".repeat(250))).await.status, 200);
}

#[tokio::test]
async fn a_malformed_url_without_a_token_is_unauthorized() {
    let store = TestStore::open().await;
    for url in ["..", "nowhere", "ranks"] {
        let call = Call::post(&format!("/categories/get/{url}"));
        assert_unauthorized(&store.send(call.clone()).await);
        assert_unauthorized(&store.send(call.token("a.b.c")).await);
    }
    let store = open_to_guests().await;
    for url in ["..", "nowhere", "anniversary", "NO"] {
        assert_message(&store.send(Call::post(&format!("/categories/get/{url}"))).await, 404);
    }
}

#[tokio::test]
async fn an_empty_store_has_no_category() {
    let store = TestStore::open().await;
    let token = store.token("Pebble");
    let user = store.db.get(&shared::table::keys::user(shared::model::UserId::new(3)), true).await.unwrap().unwrap();
    let empty = TestStore::empty().await;
    crate::support::put(&empty, user).await;
    for url in ["ranks", "1"] {
        assert_message(&empty.send(Call::post(&format!("/categories/get/{url}")).token(&token)).await, 404);
    }
}

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
