//! The calls of the plugin that only read: what a game server shows of the store.

use serde_json::{Value, json};
use tests::{Call, Fault, SERVER_KEY, TestStore};

/// The lists with their routes. A key is checked if it is sent, and need not be.
const LISTS: [(&str, &str); 5] = [
    ("donation_goal", "GET /plugin/api/{key}/donation_goal"),
    ("packages_new", "GET /plugin/api/{key}/gui/packages_new"),
    ("profile", "GET /plugin/api/{key}/profile/{name}"),
    ("top_donators", "GET /plugin/api/{key}/top_donators"),
    ("total_payments", "GET /plugin/api/{key}/getTotalPayments"),
];

async fn get(store: &TestStore, path: &str) -> Value {
    let reply = store.send(Call::get(path)).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert!(reply.text.is_ascii(), "{}", reply.text);
    reply.json()
}

#[tokio::test]
async fn every_list_is_pinned_and_the_same_without_a_key() {
    let store = TestStore::open().await;
    for (name, route) in LISTS {
        let path = route.replace("GET ", "").replace("{name}", "Thornwick") + "/";
        let shown = get(&store, &path.replace("{key}", SERVER_KEY)).await;
        assert_eq!(get(&store, &path.replace("{key}/", "")).await, shown, "{route}");
        insta::assert_json_snapshot!(name, shown);
    }
}

#[tokio::test]
async fn a_page_that_does_not_exist_is_empty_and_any_other_text_is_the_first() {
    let store = TestStore::open().await;
    let payments =
        async |page: &str| get(&store, &format!("/plugin/api/{SERVER_KEY}/getTotalPayments/?page={page}")).await;
    let first = payments("1").await;
    for page in ["0", "-1", "x", "", "99999999999999999999999999"] {
        assert_eq!(payments(page).await, first, "{page}");
    }
    let last = payments("1000000").await;
    assert_eq!((&last["data"], &last["per_page"]), (&json!([]), &first["per_page"]));
}

/// GET /plugin/api/settings/get
#[tokio::test]
async fn the_plugin_is_told_of_no_server_to_watch() {
    let store = TestStore::open().await;
    let shown = get(&store, "/plugin/api/settings/get/").await;
    insta::assert_json_snapshot!("settings_get", shown);
    assert_eq!(shown, json!({}));
    assert!(store.calls.operations().is_empty());
}

/// GET /plugin/api/getVersion
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
