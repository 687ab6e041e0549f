//! GET /staff.

use crate::support::{all, body, fields, republish};
use publish::files::StaffEntry;
use serde_json::{Value, json};
use tests::{Call, TestStore};

async fn staff(store: &TestStore) -> Value {
    body(store, Call::get("/staff")).await
}

#[tokio::test]
async fn the_staff_is_shown_by_group_in_the_order_of_sorting() {
    let store = TestStore::open().await;
    let staff = staff(&store).await;
    insta::assert_json_snapshot!(staff);
    assert_eq!(fields(&staff["keepers"][0]), ["username", "prefix", "sorting"]);
    assert_eq!(all(&staff["wardens"], "username"), ["Isolde_of_Fen", "Bracken", "Tuppence"]);
}

#[tokio::test]
async fn members_of_the_same_sorting_are_sorted_by_name() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        let member =
            |name: &str, sorting| StaffEntry { username: name.to_owned().into(), prefix: String::new(), sorting };
        let members = vec![member("b", 1), member("c", -1), member("a", 1)];
        files.staff.content.0 = [("new".to_owned(), members)].into();
    })
    .await;
    assert_eq!(all(&staff(&store).await["new"], "username"), ["c", "a", "b"]);
}

#[tokio::test]
async fn an_empty_store_has_no_staff() {
    assert_eq!(staff(&TestStore::empty().await).await, json!({}));
}
