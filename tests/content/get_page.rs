//! POST /pages/get.

use crate::support::{fields, private_body, republish};
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
        insta::assert_json_snapshot!(url.replace('/', "_"), body);
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
    insta::assert_json_snapshot!("not_found", page(&store, "nowhere").await);
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
