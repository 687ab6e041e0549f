//! What the calendar puts on sale and takes off (rules.md, "On sale by the calendar"), and what lists leave out.

use crate::support::{at, by_id, category, item, republish};
use serde_json::{Value, json};
use tests::{Call, Reply, TestStore};

/// The key 201 is on sale for 100 seconds, the category with it from before until after that, and the wardrobe ends within it.
async fn with_calendar() -> TestStore {
    let store = TestStore::open().await;
    republish(&store, |files| {
        files.store.content.time_zone = Some("Europe/Berlin".to_owned().into());
        let key = item(files, 201);
        key.featured = true;
        key.from = Some("2026-06-15T14:01:40".to_owned().into());
        key.until = Some("2026-06-15T14:03:20".to_owned().into());
        category(files, 9).until = Some("2026-06-15 12:02:30 UTC".to_owned().into());
    })
    .await;
    store
}

async fn ask(store: &TestStore, path: &str) -> Reply {
    store.send(Call::post(path).token(&store.token("Thornwick"))).await
}

/// The key as its category, the deals and its own page show it: whether it can be bought, and when; null if it is not listed.
async fn key(store: &TestStore) -> [Value; 3] {
    let of = |item: &Value| json!([item["is_unavailable"], item["available_again_at"]]);
    let listed = |list: &Value| list.as_array().unwrap().iter().find(|item| item["id"] == 201).map_or(Value::Null, of);
    let page = ask(store, "/categories/get/crates/keys").await.json();
    let deals = ask(store, "/items/getFeaturedDeals").await.json();
    [listed(&page["items"]), listed(&deals), of(&ask(store, "/items/get/201").await.json())]
}

async fn shown(store: &TestStore, path: &str) -> Reply {
    store.send(Call::get(&format!("/shop/{path}"))).await
}

#[tokio::test]
async fn an_item_is_on_sale_from_its_second_until_its_second() {
    let store = with_calendar().await;
    let begins = json!([true, "2026-06-15 12:01:40"]);
    for seconds in [50, 99] {
        at(&store, seconds);
        assert_eq!(key(&store).await, [begins.clone(), begins.clone(), begins.clone()], "{seconds}");
        let refused = ask(&store, "/cart/add/201").await;
        assert_eq!(
            (refused.status.as_u16(), refused.json()["message"].as_str()),
            (422, Some("This item is on sale from 2026-06-15 12:01:40 UTC."))
        );
        let page = shown(&store, "item/201").await.text;
        assert!(
            page.contains("On sale from <time datetime=\"2026-06-15T12:01:40Z\">2026-06-15 12:01:40 UTC</time>."),
            "{page}"
        );
    }
    let can_be_bought = json!([false, null]);
    for seconds in [100, 199] {
        at(&store, seconds);
        assert_eq!(
            key(&store).await,
            [can_be_bought.clone(), can_be_bought.clone(), can_be_bought.clone()],
            "{seconds}"
        );
        assert_eq!(ask(&store, "/cart/add/201").await.status, 200);
        assert!(!shown(&store, "item/201").await.text.contains("On sale from"));
        assert!(shown(&store, "category/crates/keys").await.text.contains("data-id=\"201\""));
    }
    at(&store, 200);
    assert_eq!(key(&store).await, [Value::Null, Value::Null, json!([true, null])]);
    assert_eq!(ask(&store, "/items/get/201").await.json()["active"], false);
    let refused = ask(&store, "/cart/add/201").await;
    assert_eq!((refused.status.as_u16(), refused.json()["message"].as_str()), (422, Some("This item is not on sale.")));
    let cart = ask(&store, "/cart/get").await.json();
    assert_eq!(by_id(&cart["items"], 201)["is_unavailable"], true, "{cart}");
    assert!(!shown(&store, "category/crates/keys").await.text.contains("data-id=\"201\""));
    assert!(shown(&store, "item/201").await.text.contains("Not on sale now."));
}

#[tokio::test]
async fn a_category_is_gone_at_its_second_and_so_is_all_that_is_in_it() {
    let store = with_calendar().await;
    let list = async || store.send(Call::get("/categories/get")).await;
    for (seconds, cached) in [
        (59, "public, max-age=30, stale-while-revalidate=60"),
        (61, "public, max-age=30"),
        (130, "public, max-age=20"),
        (149, "public, max-age=1"),
    ] {
        at(&store, seconds);
        let reply = list().await;
        assert_eq!(reply.header("cache-control"), cached, "{seconds}");
        assert!(reply.text.contains("/wardrobe"), "{seconds}");
        assert_eq!(ask(&store, "/categories/get/wardrobe/hats").await.status, 200);
        let page = shown(&store, "index").await;
        assert!(page.text.contains("href=\"/category/wardrobe\""), "{seconds}");
    }
    at(&store, 150);
    let reply = list().await;
    assert_eq!(reply.header("cache-control"), "public, max-age=30, stale-while-revalidate=60");
    assert!(!reply.text.contains("/wardrobe"));
    for path in ["wardrobe", "wardrobe/hats", "9"] {
        assert_eq!(ask(&store, &format!("/categories/get/{path}")).await.status, 404, "{path}");
    }
    assert!(!shown(&store, "index").await.text.contains("/category/wardrobe"));
    assert_eq!(shown(&store, "category/wardrobe").await.status, 404);
    let hat = ask(&store, "/items/get/901").await.json();
    assert_eq!((&hat["is_unavailable"], &hat["active"]), (&json!(true), &json!(false)), "{hat}");
}

#[tokio::test]
async fn a_page_is_cached_no_longer_than_until_the_calendar_changes_it() {
    let store = with_calendar().await;
    at(&store, 80);
    assert_eq!(shown(&store, "item/201").await.header("cache-control"), "public, max-age=20");
    assert_eq!(shown(&store, "category/crates/keys").await.header("cache-control"), "public, max-age=20");
    assert_eq!(shown(&store, "index").await.header("cache-control"), "public, max-age=20", "the deal");
    assert_eq!(shown(&store, "staff").await.header("cache-control"), "public, max-age=30", "the menu");
}

#[tokio::test]
async fn a_hidden_item_is_in_no_list_and_can_be_bought_by_who_has_its_address() {
    let store = TestStore::open().await;
    republish(&store, |files| item(files, 202).hidden = true).await;
    let page = ask(&store, "/categories/get/crates/keys").await.json();
    assert!(page["items"].as_array().unwrap().iter().all(|item| item["id"] != 202));
    assert!(!shown(&store, "category/crates/keys").await.text.contains("data-id=\"202\""));
    assert_eq!(ask(&store, "/items/get/202").await.json()["is_unavailable"], false);
    assert_eq!(ask(&store, "/cart/add/202").await.status, 200);
    let page = shown(&store, "item/202").await;
    assert!(page.status == 200 && page.text.contains("noindex"), "{}", page.text);
}
