//! POST /pages/get.

use crate::support::{assert_message, assert_unauthorized, fields, open_to_guests, republish};
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
    let reply = ask(store, call(url)).await;
    assert_eq!(reply.status, 200, "{url}: {}", reply.text);
    assert_eq!(reply.header("cache-control"), "no-store");
    reply.json()
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
async fn a_missing_url_is_said_to_be_required() {
    let store = TestStore::open().await;
    for body in
        [json!({}), json!({"url": null}), json!({"url": ""}), json!({"url": " \t\u{a0}"}), json!({"URL": "rules"})]
    {
        let text = assert_message(&ask(&store, Call::post("/pages/get").json(&body)).await, 400);
        assert!(text.contains("url") && text.contains("required"), "{body}: {text}");
    }
    assert_eq!(assert_message(&ask(&store, Call::post("/pages/get")).await, 400), "The url field is required.");
}

#[tokio::test]
async fn a_body_that_is_not_an_object_with_a_url_is_refused() {
    let store = TestStore::open().await;
    let bodies: [&[u8]; 16] = [
        b"",
        b"{",
        b"rules",
        b"\"rules\"",
        b"[]",
        b"[{\"url\":\"rules\"}]",
        b"null",
        b"7",
        b"{\"url\":7}",
        b"{\"url\":1e400}",
        b"{\"url\":true}",
        b"{\"url\":[\"rules\"]}",
        b"{\"url\":{}}",
        b"{\"url\":\"\\ud800\"}",
        b"{\"url\":\"rules\xff\"}",
        b"{\"url\":\"rules\"}}",
    ];
    for body in bodies {
        let reply = ask(&store, Call::post("/pages/get").bytes(body)).await;
        let text = assert_message(&reply, 400);
        // The message never repeats what was sent.
        assert!(!text.contains("rules"), "{text}");
    }
}

#[tokio::test]
async fn unknown_fields_are_ignored_with_any_value() {
    let store = TestStore::open().await;
    let expected = page(&store, "rules").await;
    let deep = format!("{{\"x\":{}1{},\"url\":\"rules\"}}", "[".repeat(5_000), "]".repeat(5_000));
    let bodies = [
        &deep,
        r#"{"x":1e999,"url":"rules"}"#,
        r#"{"url":"rules","page":{"id":7},"lang":null,"x":[1,2,3]}"#,
        r#"{"x":123456789012345678901234567890,"url":"rules"}"#,
        "\t\r\n { \"url\" : \"\\u0072ules\" } \n",
    ];
    for body in bodies {
        assert_eq!(ask(&store, Call::post("/pages/get").bytes(body)).await.json(), expected, "{body}");
    }
}

#[tokio::test]
async fn a_url_has_at_most_255_characters_as_sent() {
    let store = TestStore::open().await;
    for longest in ["a".repeat(255), "💎".repeat(255), format!("rules{}", " ".repeat(250))] {
        assert_eq!(ask(&store, call(&longest)).await.status, 200, "{longest}");
    }
    for overlong in ["a".repeat(256), "💎".repeat(256), format!("rules{}", " ".repeat(251))] {
        let text = assert_message(&ask(&store, call(&overlong)).await, 400);
        assert!(text.contains("url") && text.contains("255"), "{text}");
    }
}

#[tokio::test]
async fn the_content_type_does_not_matter_and_the_size_does() {
    let store = TestStore::open().await;
    let expected = page(&store, "rules").await;
    for content_type in
        ["text/plain", "application/x-www-form-urlencoded", "image/png", "application/json; charset=utf-8"]
    {
        let call = Call::post("/pages/get").header("content-type", content_type).bytes(r#"{"url":"rules"}"#);
        assert_eq!(ask(&store, call).await.json(), expected, "{content_type}");
    }
    let padded = |size: usize| Call::post("/pages/get").bytes(format!("{:size$}", r#"{"url":"rules"}"#));
    assert_eq!(ask(&store, padded(16 * 1024)).await.json(), expected);
    assert_message(&ask(&store, padded(16 * 1024 + 1)).await, 413);
}

#[tokio::test]
async fn the_token_comes_before_the_body() {
    let store = TestStore::open().await;
    for call in [call("rules"), Call::post("/pages/get"), Call::post("/pages/get").bytes("x".repeat(20_000))] {
        assert_unauthorized(&store.send(call.clone()).await);
        assert_unauthorized(&store.send(call.clone().header("authorization", "Bearer undefined")).await);
        assert_unauthorized(&store.send(call.token("a.b.c")).await);
    }
}

#[tokio::test]
async fn a_token_whose_user_is_unknown_or_revoked_reads_pages() {
    let store = TestStore::open().await;
    let expected = page(&store, "rules").await;
    for token in [store.token("Grimble"), store.token_of(UserId::new(999))] {
        let reply = store.send(call("rules").token(&token)).await;
        assert_eq!((reply.status.as_u16(), reply.json()), (200, expected.clone()));
    }
}

#[tokio::test]
async fn guest_mode_admits_callers_without_a_token_but_not_with_a_rejected_one() {
    let store = open_to_guests().await;
    let expected = page(&store, "rules").await;
    for logged_out in ["", "Bearer", "Bearer undefined", "Bearer null"] {
        let reply = store.send(call("rules").header("authorization", logged_out)).await;
        assert_eq!((reply.status.as_u16(), reply.json()), (200, expected.clone()), "{logged_out:?}");
    }
    assert_eq!(store.send(call("nowhere")).await.text, NOT_FOUND);
    assert_message(&store.send(Call::post("/pages/get")).await, 400);
    assert_unauthorized(&store.send(call("rules").token("a.b.c")).await);
    let settings = store.send(Call::get("/settings/get")).await.json();
    assert_eq!(settings["guest_mode_enabled"], true);
    republish(&store, |_| ()).await;
    assert_unauthorized(&store.send(call("rules")).await);
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
