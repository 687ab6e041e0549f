//! What a sale reduces, from its second until its second, and for whom (rules.md, "Sales").

use crate::support::{at, body, by_id, item, republish, sale};
use publish::files::{Choice, Decimal, ItemFile, WhoFile};
use serde_json::{Value, json};
use tests::{Call, Reply, TestStore};

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

async fn ask(store: &TestStore, user: &str, path: &str) -> Value {
    body(store, Call::post(path).token(&store.token(user))).await
}

async fn shown(store: &TestStore, path: &str) -> Reply {
    store.send(Call::get(&format!("/shop/{path}"))).await
}

/// An item of a category as its page, the deals and its own page show it, which is the same.
async fn offer(store: &TestStore, user: &str, category: &str, id: u64) -> Value {
    let of = |item: &Value| json!([item["price"], item["discount"], item["original_price"], item["sale"]]);
    let page = of(by_id(&ask(store, user, &format!("/categories/get/{category}")).await["items"], id));
    assert_eq!(of(by_id(&ask(store, user, "/items/getFeaturedDeals").await, id)), page);
    assert_eq!(of(&ask(store, user, &format!("/items/get/{id}")).await), page);
    page
}

#[tokio::test]
async fn a_sale_reduces_every_price_from_its_second_until_its_second() {
    let store = with_sale().await;
    ask(&store, "Thornwick", "/cart/add/203").await;
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
        let line = ask(&store, "Thornwick", "/cart/get").await["items"].clone();
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
        let item = ask(&store, "Pebble", &format!("/items/get/{id}")).await;
        assert_eq!((item["price"].as_f64(), &item["sale"]["name"]), (Some(price), &sale), "{id}: {item}");
    }
    // A line that was added from a promotion keeps its price.
    let token = store.token("Pebble");
    let add = Call::post("/cart/add/302").token(&token).json(&json!({ "promoted": 1 }));
    assert_eq!(store.send(add).await.status, 200);
    assert_eq!(by_id(&ask(&store, "Pebble", "/cart/get").await["items"], 302)["price"], 2);
}
