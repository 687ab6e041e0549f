//! GET /plugin/api/{key}/getTotalPayments.

use super::content;
use tests::{Call, TestStore};

#[tokio::test]
async fn the_newest_payments_have_dates_that_the_plugin_reads() {
    let store = TestStore::open().await;
    let shown = content(&store, "getTotalPayments/").await.json();
    insta::assert_json_snapshot!(shown);
    let without_key = store.send(Call::get("/plugin/api/getTotalPayments/")).await;
    assert_eq!((without_key.status.as_u16(), without_key.json()), (200, shown));
}

#[tokio::test]
async fn a_page_that_does_not_exist_is_empty_and_any_other_text_is_the_first() {
    let store = TestStore::open().await;
    let first = content(&store, "getTotalPayments/?page=1").await.json();
    for page in ["0", "-1", "x", "", "99999999999999999999999999"] {
        assert_eq!(content(&store, &format!("getTotalPayments/?page={page}")).await.json(), first, "{page}");
    }
    let last = content(&store, "getTotalPayments/?page=1000000").await.json();
    assert_eq!((&last["data"], &last["per_page"]), (&serde_json::json!([]), &first["per_page"]));
}
