//! POST /categories/get/{url}: the items and their prices. `get_category_lookup` tests how a category is found.

use crate::support::{STALE, all, by_id, fill_cart, item, open_to_guests, private_body, republish, subscribe};
use aws_sdk_dynamodb::types::AttributeValue;
use publish::files::{Decimal, IntervalFile, RequiresFile};
use serde_json::{Value, json};
use shared::clock::Clock;
use shared::model::ItemId;
use shared::model::SubscriptionStatus::{Active, Cancelled};
use shared::shop::stock::SOLD;
use std::time::Duration;
use tests::{Call, TestStore};

async fn detail(store: &TestStore, user: &str, url: &str) -> Value {
    private_body(store, Call::post(&format!("/categories/get/{url}")).token(&store.token(user))).await
}

const VISIBLE: [&str; 8] =
    ["ranks", "ranks/guild", "crates", "companions/mounts", "boosts", "embers/bazaar", "support", "companions"];

#[tokio::test]
async fn every_visible_category_is_shown_in_full() {
    let store = TestStore::open().await;
    for url in VISIBLE {
        insta::assert_json_snapshot!(
            format!("{}_for_thornwick", url.replace('/', "_")),
            detail(&store, "Thornwick", url).await
        );
    }
    insta::assert_json_snapshot!("ranks_for_a_new_user", detail(&store, "Pebble", "ranks").await);
}

fn offer(item: &Value) -> Value {
    json!([item["price"], item["discount"], item["original_price"], item["is_unavailable"]])
}

#[tokio::test]
async fn a_buyer_pays_the_difference_to_what_they_own_in_a_cumulative_category() {
    let store = TestStore::open().await;
    // Paid 4.99 for the first rank and 5.00 for the second.
    let owner = detail(&store, "Thornwick", "ranks/player").await;
    for (id, expected) in [
        (101, json!([4.99, 0, 4.99, true])),
        (102, json!([9.99, 0, 9.99, true])),
        (103, json!([10, 9.99, 19.99, false])),
        (104, json!([25, 14.99, 39.99, false])),
        (105, json!([60, 9.99, 69.99, false])),
    ] {
        assert_eq!(offer(by_id(&owner["items"], id)), expected, "{id}");
    }
    for other in ["Pebble", "Quillfeather"] {
        let other = detail(&store, other, "ranks/player").await;
        assert_eq!(offer(by_id(&other["items"], 101)), json!([4.99, 0, 4.99, false]));
        assert_eq!(offer(by_id(&other["items"], 104)), json!([34.99, 5, 39.99, false]));
    }
}

#[tokio::test]
async fn a_cumulative_category_counts_only_what_was_paid_in_it() {
    let store = TestStore::open().await;
    let owner = detail(&store, "Quillfeather", "ranks/guild").await;
    let offers: Vec<Value> = owner["items"].as_array().unwrap().iter().map(offer).collect();
    assert_eq!(offers, [json!([7.5, 0, 7.5, true]), json!([7, 7.5, 14.5, false]), json!([22, 7.5, 29.5, false])]);
    // The parent category has no effect on it, read alone or together.
    let above = detail(&store, "Thornwick", "ranks").await;
    assert_eq!(all(&above["subcategories"][1]["items"], "price"), [7.5, 14.5, 29.5]);
    assert_eq!(by_id(&detail(&store, "Quillfeather", "ranks/player").await["items"], 101)["price"], 4.99);
}

#[tokio::test]
async fn a_rank_below_one_that_is_owned_is_unavailable() {
    let store = TestStore::open().await;
    republish(&store, |files| item(files, 103).price = item(files, 101).price.clone()).await;
    // Owns a rank whose regular price is the same as this one's now.
    assert_eq!(by_id(&detail(&store, "Thornwick", "ranks/player").await["items"], 103)["is_unavailable"], true);
    assert_eq!(by_id(&detail(&store, "Pebble", "ranks/player").await["items"], 103)["is_unavailable"], false);
}

#[tokio::test]
async fn a_subscription_is_never_cumulative() {
    let store = TestStore::open().await;
    republish(&store, |files| item(files, 105).subscription = Some(IntervalFile::default())).await;
    let ranks = detail(&store, "Thornwick", "ranks/player").await;
    let phoenix = by_id(&ranks["items"], 105);
    assert_eq!(phoenix["is_subs"], true);
    assert_eq!(offer(phoenix), json!([69.99, 0, 69.99, false]));
}

#[tokio::test]
async fn a_subscription_that_the_caller_has_is_unavailable_until_it_is_over() {
    let store = open_to_guests().await;
    let unavailable = async |user: &str| {
        let passes = detail(&store, user, "ranks/passes").await;
        by_id(&passes["items"], 106)["is_unavailable"].clone()
    };
    assert_eq!(unavailable("Pebble").await, false);
    subscribe(&store, "Pebble", &[(602, Active, 0), (106, Cancelled, store.clock.seconds() + 1)]).await;
    assert_eq!(unavailable("Pebble").await, true);
    assert_eq!(unavailable("Thornwick").await, false, "the page of others");
    let guest = store.send(Call::post("/categories/get/ranks/passes")).await.json();
    assert_eq!(by_id(&guest["items"], 106)["is_unavailable"], false);
    let call = Call::post("/items/get/106").token(&store.token("Pebble"));
    assert_eq!(store.send(call).await.json()["is_unavailable"], true);
    store.clock.advance(Duration::from_secs(1));
    assert_eq!(unavailable("Pebble").await, false);
}

fn limits(item: &Value) -> Value {
    json!([
        item["quantityGlobalLimit"],
        item["quantityGlobalCurrentLimit"],
        item["quantityUserLimit"],
        item["quantityUserCurrentLimit"],
        item["is_unavailable"]
    ])
}

#[tokio::test]
async fn a_guest_sees_regular_prices_and_no_limits_of_users() {
    let store = open_to_guests().await;
    let guest = |url: &'static str| store.send(Call::post(&format!("/categories/get/{url}")));
    let ranks = guest("ranks/player").await.json();
    assert_eq!(offer(by_id(&ranks["items"], 104)), json!([34.99, 5, 39.99, false]));
    let crates = guest("crates").await.json();
    assert_eq!(limits(by_id(&crates["subcategories"][0]["items"], 203)), json!([null, null, null, null, false]));
    assert_eq!(limits(by_id(&crates["subcategories"][0]["items"], 204)), json!([5, 5, null, null, true]));
    insta::assert_json_snapshot!("crates_for_a_guest", crates);
    // A user still sees their own.
    assert_eq!(by_id(&detail(&store, "Thornwick", "ranks/player").await["items"], 104)["price"], 25);
}

#[tokio::test]
async fn inactive_items_are_not_listed() {
    let store = TestStore::open().await;
    assert_eq!(all(&detail(&store, "Thornwick", "crates/keys").await["items"], "id"), [201, 202, 203, 204]);
    republish(&store, |files| item(files, 202).active = false).await;
    let crates = detail(&store, "Thornwick", "crates").await;
    assert_eq!(all(&crates["subcategories"][0]["items"], "id"), [201, 203, 204]);
    assert!(all(&crates["subcategories"][0]["items"], "active").iter().all(|active| **active == true));
}

#[tokio::test]
async fn a_rank_that_is_no_longer_on_sale_still_counts_in_its_cumulative_category() {
    let store = TestStore::open().await;
    republish(&store, |files| item(files, 102).active = false).await;
    let ranks = detail(&store, "Thornwick", "ranks/player").await;
    assert_eq!(all(&ranks["items"], "id"), [101, 103, 104, 105]);
    assert_eq!(by_id(&ranks["items"], 103)["price"], 10);
}

#[tokio::test]
async fn comparison_rows_are_in_the_order_of_their_sorting_and_cells_name_them() {
    let store = TestStore::open().await;
    let ranks = detail(&store, "Pebble", "ranks/player").await;
    let rows = &ranks["category"]["comparison"];
    assert_eq!(all(rows, "id"), [1, 2, 3, 4]);
    assert_eq!(all(rows, "type"), ["text", "text", "boolean", "text"]);
    let knight = &by_id(&ranks["items"], 102)["comparison"];
    assert_eq!(all(knight, "comparison_id"), [1, 2, 3, 4]);
    assert_eq!(all(knight, "value"), ["4", "25", "✓", "By the window"]);
    let passes = detail(&store, "Pebble", "ranks/passes").await;
    assert_eq!(by_id(&passes["items"], 106)["comparison"], json!([]));
    assert_eq!(detail(&store, "Pebble", "crates").await["category"]["comparison"], json!([]));
}

/// Prices are the same, to the cent (rules.md, "Cumulative categories").
#[tokio::test]
async fn category_deals_and_cart_agree_on_every_price() {
    const FEATURED: [(u64, &str); 6] = [
        (104, "ranks/player"),
        (112, "ranks/guild"),
        (202, "crates/keys"),
        (204, "crates/keys"),
        (312, "companions/mounts"),
        (503, "embers/purses"),
    ];
    let store = TestStore::open().await;
    republish(&store, |files| {
        for id in [112, 204] {
            item(files, id).featured = true;
        }
    })
    .await;
    for (id, user) in [(1, "Thornwick"), (2, "Quillfeather"), (3, "Pebble")] {
        fill_cart(&store, id, &FEATURED.map(|(item, _)| item)).await;
        let token = store.token(user);
        let cart = store.send(Call::post("/cart/get").token(&token)).await.json();
        let deals = store.send(Call::post("/items/getFeaturedDeals").token(&token)).await.json();
        for (item, url) in FEATURED {
            let page = detail(&store, user, url).await;
            let (shown, deal, line) = (by_id(&page["items"], item), by_id(&deals, item), by_id(&cart["items"], item));
            assert_eq!(offer(shown), offer(deal), "{user}, {item}");
            assert_eq!(limits(shown), limits(deal), "{user}, {item}");
            assert_eq!(limits(shown), limits(line), "{user}, {item}");
            assert_eq!(shown["price"], line["price"], "{user}, {item}");
        }
    }
}

/// Limits do not matter: what cannot be bought costs what it costs a player who owns nothing.
#[tokio::test]
async fn an_owned_rank_has_its_sale_price_everywhere() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        for id in [101, 102] {
            item(files, id).featured = true;
        }
        item(files, 102).discount = Some(Decimal("1.00".to_owned().into()));
    })
    .await;
    fill_cart(&store, 1, &[101, 102, 104]).await;
    let token = store.token("Thornwick");
    let cart = store.send(Call::post("/cart/get").token(&token)).await.json();
    let deals = store.send(Call::post("/items/getFeaturedDeals").token(&token)).await.json();
    let page = detail(&store, "Thornwick", "ranks/player").await;
    for (id, price, discount, regular, is_owned) in
        [(101, 4.99, 0.0, 4.99, true), (102, 8.99, 1.0, 9.99, true), (104, 25.0, 14.99, 39.99, false)]
    {
        let item = store.send(Call::post(&format!("/items/get/{id}")).token(&token)).await.json();
        for shown in [by_id(&page["items"], id), by_id(&deals, id), &item] {
            let [shown_price, off, original] = ["price", "discount", "original_price"].map(|name| shown[name].as_f64());
            assert_eq!((shown_price, off, original), (Some(price), Some(discount), Some(regular)), "{shown}");
            assert_eq!(shown["is_unavailable"], is_owned);
        }
        let line = by_id(&cart["items"], id);
        assert_eq!((line["price"].as_f64(), &line["is_unavailable"]), (Some(price), &json!(is_owned)));
    }
    assert_eq!([&cart["cart"]["clear_price"], &cart["cart"]["items"]], [&json!(25), &json!(1)]);
}

#[tokio::test]
async fn a_buyer_sees_their_own_purchase_at_once() {
    let store = TestStore::open().await;
    assert_eq!(by_id(&detail(&store, "Pebble", "ranks/player").await["items"], 101)["is_unavailable"], false);
    let ledger = shared::table::keys::ledger(shared::model::UserId::new(3));
    let thornwick = shared::table::keys::ledger(shared::model::UserId::new(1));
    let mut bought = store.db.get(&thornwick, true).await.unwrap().unwrap();
    bought.extend(shared::table::codec::key_attributes(&ledger));
    crate::support::put(&store, bought).await;
    let ranks = detail(&store, "Pebble", "ranks/player").await;
    assert_eq!(offer(by_id(&ranks["items"], 103)), json!([10, 9.99, 19.99, false]));
    store.clock.advance(STALE);
    assert_eq!(detail(&store, "Pebble", "ranks/player").await, ranks);
}

#[tokio::test]
async fn no_caller_is_shown_a_page_that_was_rendered_for_another() {
    let store = open_to_guests().await;
    let on_a_fresh_store = |user: &'static str| async move { detail(&TestStore::open().await, user, "crates").await };
    let guest = || async { store.send(Call::post("/categories/get/crates")).await.json() };
    let first = guest().await;
    for user in ["Pebble", "Thornwick", "Quillfeather", "Pebble"] {
        assert_eq!(detail(&store, user, "crates").await, on_a_fresh_store(user).await, "{user}");
        assert_eq!(guest().await, first, "after {user}");
    }
}

#[tokio::test]
async fn a_rendered_page_shows_later_sales() {
    let store = TestStore::open().await;
    let shown = || async { limits(by_id(&detail(&store, "Pebble", "crates").await["subcategories"][1]["items"], 211)) };
    assert_eq!(shown().await, json!([200, 4, 20, 0, false]));
    let key = shared::table::keys::count(ItemId::new(211));
    let mut count = store.db.get(&key, true).await.unwrap().unwrap();
    count.insert(SOLD.to_owned(), AttributeValue::N("200".to_owned()));
    crate::support::put(&store, count).await;
    store.clock.advance(STALE);
    assert_eq!(shown().await, json!([200, 200, 20, 0, true]));
}

#[tokio::test]
async fn who_owns_what_an_item_elsewhere_requires_does_not_share_the_page_of_others() {
    let store = open_to_guests().await;
    republish(&store, |files| {
        files.store.content.guest_mode = true;
        item(files, 511).requires = Some(RequiresFile::All(vec![101.into()]));
        item(files, 511).excludes = vec![401.into()];
    })
    .await;
    // Thornwick owns the rank; caches are warm from the second round on.
    for _ in 0..3 {
        for (user, is_unavailable) in [("Thornwick", false), ("Pebble", true)] {
            let embers = detail(&store, user, "embers/bazaar").await;
            let seen = by_id(&embers["items"], 511);
            assert_eq!(seen["is_unavailable"], is_unavailable, "{user}");
            assert_eq!(seen["unavailable_because"].is_string(), is_unavailable, "{user}");
        }
        let guest = store.send(Call::post("/categories/get/embers/bazaar")).await.json();
        assert_eq!(by_id(&guest["items"], 511)["is_unavailable"], false, "who is not known may own it");
    }
    let call = Call::post("/items/get/511").token(&store.token("Pebble"));
    let seen = store.send(call).await.json();
    assert!(seen["unavailable_because"].as_str().unwrap().contains("first"), "{seen}");
    assert_eq!(seen["requires"][0][0]["id"], 101);
}
