//! What begins and ends at its second: what the calendar puts on sale and takes off (rules.md,
//! "On sale by the calendar"), with what lists leave out; and what a sale reduces, and for whom (rules.md, "Sales").

use crate::support::{at, body, by_id, category, item, republish, sale};
use publish::files::{Choice, Decimal, ItemFile, WhoFile};
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

/// Sale 1 takes 20 % off everything between the seconds 100 and 200.
async fn with_sale() -> TestStore {
    let store = TestStore::open().await;
    republish(&store, |files| {
        files.sales.content.0 = vec![sale(1, 20, (100, 200))];
        for id in [103, 203] {
            item(files, id).featured = true;
        }
    })
    .await;
    store
}

async fn ask_as(store: &TestStore, user: &str, path: &str) -> Value {
    body(store, Call::post(path).token(&store.token(user))).await
}

/// An item of a category as its page, the deals and its own page show it, which is the same.
async fn offer(store: &TestStore, user: &str, category: &str, id: u64) -> Value {
    let of = |item: &Value| json!([item["price"], item["discount"], item["original_price"], item["sale"]]);
    let page = of(by_id(&ask_as(store, user, &format!("/categories/get/{category}")).await["items"], id));
    assert_eq!(of(by_id(&ask_as(store, user, "/items/getFeaturedDeals").await, id)), page);
    assert_eq!(of(&ask_as(store, user, &format!("/items/get/{id}")).await), page);
    page
}

#[tokio::test]
async fn a_sale_reduces_every_price_from_its_second_until_its_second() {
    let store = with_sale().await;
    ask_as(&store, "Thornwick", "/cart/add/203").await;
    let sale = json!({ "name": "Sale 1", "until": "2026-06-15 12:03:20" });
    let none = Value::Null;
    for (seconds, key, step, cart) in [
        (99, json!([4.49, 0, 4.49, none]), json!([10, 9.99, 19.99, none]), 4.49),
        (100, json!([3.59, 0.9, 4.49, sale]), json!([8, 11.99, 19.99, sale]), 3.59),
        (199, json!([3.59, 0.9, 4.49, sale]), json!([8, 11.99, 19.99, sale]), 3.59),
        (200, json!([4.49, 0, 4.49, none]), json!([10, 9.99, 19.99, none]), 4.49),
    ] {
        at(&store, seconds);
        for user in ["Thornwick", "Pebble"] {
            assert_eq!(offer(&store, user, "crates/keys", 203).await, key, "{user}, {seconds}");
        }
        // A rank, of which 9.99 of 19.99 are paid: 20 % off what is left.
        assert_eq!(offer(&store, "Thornwick", "ranks/player", 103).await, step, "{seconds}");
        let line = ask_as(&store, "Thornwick", "/cart/get").await["items"].clone();
        assert_eq!(by_id(&line, 203)["price"], cart, "{seconds}");
        let text = shown(&store, "item/203").await.text;
        let ends =
            "Sale 1 · until <time datetime=\"2026-06-15T12:03:20Z\" data-countdown>2026-06-15 12:03:20 UTC</time>";
        let is_running = sale == key[3];
        assert_eq!((text.contains(ends), text.contains("−20 %")), (is_running, is_running), "{seconds}: {text}");
    }
}

#[tokio::test]
async fn a_page_is_cached_no_longer_than_until_a_sale_begins_or_ends() {
    let store = with_sale().await;
    for (seconds, lasts) in [(80, "public, max-age=20"), (150, "public, max-age=30"), (199, "public, max-age=1")] {
        at(&store, seconds);
        for path in ["index", "item/203", "category/crates/keys"] {
            assert!(shown(&store, path).await.header("cache-control").starts_with(lasts), "{path}, {seconds}");
        }
    }
}

/// The rendering of a page that most callers share is not for who owns something elsewhere that a sale asks for.
#[tokio::test]
async fn a_sale_for_owners_is_for_them_and_pages_tell_others_of_it() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        let mut own = sale(1, 50, (0, 200));
        own.who = Choice::Fields(WhoFile { owners_of: vec![102.into(), 105.into()] });
        files.sales.content.0 = vec![own];
        item(files, 203).featured = true;
        item(files, 103).featured = true;
    })
    .await;
    for seconds in [50, 51] {
        at(&store, seconds);
        for _ in 0..2 {
            let other = offer(&store, "Pebble", "crates/keys", 203).await;
            assert_eq!(other, json!([4.49, 0, 4.49, null]), "owns neither");
            let owner = offer(&store, "Thornwick", "crates/keys", 203).await;
            assert_eq!((owner[0].as_f64(), owner[1].as_f64()), (Some(2.24), Some(2.25)), "owns rank 102");
        }
        let page = shown(&store, "item/203").await.text;
        assert!(page.contains("For owners of Knight or Phoenix:"), "{page}");
        assert!(page.contains("data-money=\"2.24\"") && page.contains("<strong data-money=\"4.49\""), "{page}");
        let step = shown(&store, "item/103").await.text;
        assert!(step.contains("−50 %") && step.contains("<strong data-money=\"19.99\""), "{step}");
    }
    at(&store, 200);
    assert!(!shown(&store, "item/203").await.text.contains("For owners"));
    assert_eq!(offer(&store, "Thornwick", "crates/keys", 203).await[0], 4.49);
}

#[tokio::test]
async fn what_a_sale_does_not_cover_and_what_has_none_keeps_its_price() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        let mut one = sale(1, 50, (0, 200));
        one.except.categories = vec![22.into()];
        one.except.items.push(302.into());
        files.sales.content.0 = vec![one, sale(2, 10, (0, 200))];
        let own = |item: &mut ItemFile| item.discount = Some(Decimal("60 %".to_owned().into()));
        own(item(files, 301));
    })
    .await;
    for (id, price, sale) in [
        (203, 4.04, json!("Sale 2")),
        (302, 2.7, json!("Sale 2")),
        (303, 6.0, json!("Sale 1")),
        // The item's own 60 % are better.
        (301, 2.0, Value::Null),
        // A subscription, a price that the buyer chooses, and one in virtual currency.
        (106, 3.99, Value::Null),
        (601, 5.0, Value::Null),
        (511, 0.0, Value::Null),
    ] {
        let item = ask_as(&store, "Pebble", &format!("/items/get/{id}")).await;
        assert_eq!((item["price"].as_f64(), &item["sale"]["name"]), (Some(price), &sale), "{id}: {item}");
    }
    // A line that was added from a promotion keeps its price.
    let token = store.token("Pebble");
    let add = Call::post("/cart/add/302").token(&token).json(&json!({ "promoted": 1 }));
    assert_eq!(store.send(add).await.status, 200);
    assert_eq!(by_id(&ask_as(&store, "Pebble", "/cart/get").await["items"], 302)["price"], 2);
}
