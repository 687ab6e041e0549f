//! GET /announcement/get.

use crate::support::{body, republish};
use publish::files::{AnnouncementFile, LinkFile};
use serde_json::{Value, json};
use tests::{Call, TestStore};

async fn announcement(store: &TestStore) -> Value {
    body(store, Call::get("/announcement/get")).await
}

#[tokio::test]
async fn the_published_announcement_is_shown() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!(announcement(&store).await);
}

#[tokio::test]
async fn what_the_owner_leaves_out_is_empty() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        files.store.content.announcement =
            Some(AnnouncementFile { id: 7.into(), title: "New".to_owned(), ..AnnouncementFile::default() });
    })
    .await;
    let empty = json!({
        "id": 7, "title": "New", "content": "", "button_name": "", "button_url": "", "created_at": "", "updated_at": "",
        "is_index": 1,
    });
    assert_eq!(announcement(&store).await, empty);
}

#[tokio::test]
async fn an_announcement_that_never_changed_was_updated_when_it_was_made() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        let button = LinkFile { name: "Rules".to_owned(), url: "/pages/rules".to_owned().into() };
        files.store.content.announcement = Some(AnnouncementFile {
            id: 8.into(),
            title: "Again".to_owned(),
            button: Some(button),
            created_at: Some("2031-05-01T14:00:00+02:00".to_owned().into()),
            ..AnnouncementFile::default()
        });
    })
    .await;
    let shown = announcement(&store).await;
    assert_eq!([&shown["created_at"], &shown["updated_at"]], ["2031-05-01T12:00:00Z"; 2]);
    assert_eq!([&shown["button_name"], &shown["button_url"]], ["Rules", "/pages/rules"]);
}

#[tokio::test]
async fn a_store_without_one_says_so() {
    let none = json!({
        "id": 0, "title": "", "content": "", "button_name": "", "button_url": "", "created_at": "", "updated_at": "",
        "is_index": 0,
    });
    assert_eq!(announcement(&TestStore::empty().await).await, none);
    let store = TestStore::open().await;
    announcement(&store).await;
    republish(&store, |files| files.store.content.announcement = None).await;
    assert_eq!(announcement(&store).await, none);
}
