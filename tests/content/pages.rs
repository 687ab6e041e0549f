//! POST /pages/get and GET /announcement/get.

use crate::support::{body, fields, private_body, republish};
use publish::files::{AnnouncementFile, LinkFile};
use serde_json::{Value, json};
use shared::model::UserId;
use tests::{Call, Reply, TestStore};

fn call(url: &str) -> Call {
    Call::post("/pages/get").json(&json!({ "url": url }))
}

async fn ask(store: &TestStore, call: Call) -> Reply {
    store.send(call.token(&store.token("Thornwick"))).await
}

async fn page(store: &TestStore, url: &str) -> Value {
    private_body(store, call(url).token(&store.token("Thornwick"))).await
}

const NOT_FOUND: &str = r#"{"success":false,"page":null}"#;

#[tokio::test]
async fn every_page_is_shown_in_full() {
    let store = TestStore::open().await;
    for url in ["about", "rules", "refunds", "help/linking"] {
        let body = page(&store, url).await;
        assert_eq!(fields(&body), ["success", "page"]);
        assert_eq!(fields(&body["page"]), ["id", "title", "url", "content"]);
        insta::assert_json_snapshot!(format!("get_page__{}", url.replace('/', "_")), body);
    }
}

#[tokio::test]
async fn a_url_is_accepted_with_and_without_its_leading_slash() {
    let store = TestStore::open().await;
    for (url, other) in [("/rules", "rules"), ("refunds", "/refunds"), ("/help/linking", "help/linking")] {
        assert_eq!(page(&store, url).await, page(&store, other).await);
        assert_eq!(page(&store, url).await["success"], true);
    }
}

#[tokio::test]
async fn a_page_that_does_not_exist_is_not_an_error() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!("get_page__not_found", page(&store, "nowhere").await);
    let odd = [
        "/",
        "Rules",
        "rules/",
        "/rules/x",
        "..",
        "../rules",
        "%2e%2e",
        "rul\u{0}es",
        "\u{0}",
        "a\u{7}b",
        "💎",
        "ﬀ\u{202e}",
        "#",
        "rules#",
    ];
    for url in odd {
        assert_eq!(ask(&store, call(url)).await.text, NOT_FOUND, "{url:?}");
    }
}

#[tokio::test]
async fn an_empty_store_has_no_page() {
    let store = TestStore::empty().await;
    let reply = store.send(call("rules").token(&store.token_of(UserId::new(1)))).await;
    assert_eq!((reply.status.as_u16(), reply.text.as_str()), (200, NOT_FOUND));
}

#[tokio::test]
async fn a_published_change_is_shown_and_a_removed_page_is_not_found() {
    let store = TestStore::open().await;
    assert_eq!(page(&store, "rules").await["page"]["title"], "House rules");
    republish(&store, |files| {
        files.pages.retain(|page| page.content.id.value != 3);
        for page in &mut files.pages {
            page.content.title.push('!');
        }
    })
    .await;
    assert_eq!(page(&store, "rules").await["page"]["title"], "House rules!");
    assert_eq!(page(&store, "refunds").await["success"], false);
}

async fn announcement(store: &TestStore) -> Value {
    body(store, Call::get("/announcement/get")).await
}

#[tokio::test]
async fn the_published_announcement_is_shown() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!("get_announcement", announcement(&store).await);
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
