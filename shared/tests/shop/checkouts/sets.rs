//! Checkouts of items that require and exclude others.

use crate::shop::{Instance, Refused, Shop, gift, item, line, paid, published_item};
use crate::sums::assert_books;
use futures_util::future::join_all;
use serde_json::json;
use shared::model::OrderStatus;
use shared::rules::checkout::CheckoutRefusal;
use shared::shop::orders::{record, set_status};
use shared::shop::payments::Desk;
use tests::{Prepared, TestClock};

/// A rank, and the next one, which requires it.
const SQUIRE: u64 = 500;
const KNIGHT: u64 = 501;
/// Of which a player has one.
const CLASSES: [u64; 2] = [502, 503];
/// Excludes the rank.
const STARTER: u64 = 504;
/// Three in all, and one for one user.
const PARTS: [u64; 2] = [505, 506];
/// Sold as these.
const BUNDLE: u64 = 507;

async fn open() -> Shop {
    static CONTENTS: Prepared = Prepared::new();
    let publish = |shop: Shop| async move {
        let squire = json!({ "id": SQUIRE, "name": "Squire" });
        let all = [
            item(SQUIRE, 9, &json!({ "name": "Squire", "gifting": true })),
            item(KNIGHT, 9, &json!({ "name": "Knight", "gifting": true, "conditions": { "requires": [[squire]] } })),
            item(CLASSES[0], 8, &json!({ "name": "Mage", "gifting": true, "conditions": { "one_of": CLASSES } })),
            item(CLASSES[1], 8, &json!({ "name": "Bard", "gifting": true, "conditions": { "one_of": CLASSES } })),
            item(STARTER, 9, &json!({ "name": "Starter", "conditions": { "excludes": [squire] } })),
        ];
        let parts = [
            item(PARTS[0], 7, &json!({ "name": "Sword", "price": 300, "global_limit": 3, "gifting": true })),
            item(PARTS[1], 7, &json!({ "name": "Shield", "price": 100, "user_limit": 1 })),
        ];
        let part = |of: &serde_json::Value| {
            let part = &of["item"];
            json!({ "item": part["id"], "name": part["name"], "price": part["price"], "included_in": [part["id"]],
                    "global_limit": part["global_limit"], "user_limit": part["user_limit"] })
        };
        let bundle = json!({ "parts": parts.each_ref().map(part) });
        let mut bundle = item(BUNDLE, 7, &json!({ "name": "Set", "price": 333, "gifting": true, "bundle": bundle }));
        bundle["parts"] = json!(parts);
        for item in all.iter().chain(&parts).chain([&bundle]) {
            shop.write_item(published_item(item)).await;
        }
        for user in [1, 3] {
            shop.name(user, &format!("user-{user}")).await;
        }
    };
    Shop::copy_of(&CONTENTS, publish).await
}

#[tokio::test]
async fn what_is_required_is_bought_first_and_may_be_lost_after_the_checkout_began() {
    let shop = open().await;
    shop.fill(1, &[(SQUIRE, 1), (KNIGHT, 1)], None).await;
    assert_eq!(shop.refusal(1).await, "\"Knight\" cannot be bought: buy \"Squire\" first.");
    let squire = shop.buy(1, &[(SQUIRE, 1)], None).await;
    shop.fill(1, &[(STARTER, 1)], None).await;
    let refused = "\"Starter\" cannot be bought: you own \"Squire\", and it cannot be had with that.";
    assert_eq!(shop.refusal(1).await, refused);
    let knight = shop.checkout(1, &[(KNIGHT, 1)], None).await;
    shop.set_status(squire.as_str(), OrderStatus::Refunded).await.unwrap();
    shop.pay(&knight).await;
    assert_eq!((shop.status(&knight).await, shop.held(1, KNIGHT).await), (OrderStatus::Paid, 1));
    // A new checkout sees the refund.
    shop.fill(1, &[(KNIGHT, 1)], None).await;
    assert_eq!(shop.refusal(1).await, "\"Knight\" cannot be bought: buy \"Squire\" first.");
    shop.checkout(1, &[(STARTER, 1)], None).await;
    assert_books(&shop).await;
}

#[tokio::test]
async fn the_recipient_of_a_gift_must_own_what_it_requires() {
    let shop = open().await;
    shop.buy(2, &[(SQUIRE, 1)], None).await;
    let refused = "\"Knight\" cannot be given: its recipient does not own \"Squire\".";
    for player in ["user-3", "Nobody-Yet"] {
        shop.fill_with(2, vec![gift(1, KNIGHT, player)], None).await;
        assert_eq!(shop.refusal(2).await, refused, "{player}");
    }
    shop.fill_with(4, vec![gift(1, SQUIRE, "user-3")], None).await;
    let given = shop.create(4).await.unwrap().order;
    shop.pay(&given).await;
    // The giver owns nothing.
    shop.fill_with(5, vec![gift(1, KNIGHT, "user-3")], None).await;
    let knight = shop.create(5).await.unwrap().order;
    shop.pay(&knight).await;
    assert_eq!((shop.held(3, KNIGHT).await, shop.held(5, KNIGHT).await), (1, 0));
    shop.fill_with(6, vec![gift(1, CLASSES[0], "user-3"), gift(2, CLASSES[1], "user-3"), line(3, CLASSES[1], 1)], None)
        .await;
    let refused = "\"Bard\" cannot be bought: it cannot be bought together with \"Mage\".";
    assert_eq!(shop.refusal(6).await, refused);
    shop.fill_with(6, vec![gift(1, CLASSES[0], "user-3"), line(3, CLASSES[1], 1)], None).await;
    let classes = shop.create(6).await.unwrap().order;
    shop.pay(&classes).await;
    assert_eq!((shop.held(3, CLASSES[0]).await, shop.held(6, CLASSES[1]).await), (1, 1));
    assert_books(&shop).await;
}

fn is_refused(created: &Result<shared::shop::payments::Checkout, Refused>) -> bool {
    let Err(Refused::Refused(refusal)) = created else { return false };
    matches!(
        refusal,
        CheckoutRefusal::Hindered { .. }
            | CheckoutRefusal::RecipientLacks { .. }
            | CheckoutRefusal::Recipient { .. }
            | CheckoutRefusal::Unavailable { .. }
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_right_before_a_checkout_is_written_is_seen() {
    // Before the units are counted, and before the order is written.
    for nth in [1, 2] {
        let shop = open().await;
        for owner in [1, 3] {
            let own = paid(&format!("own-{owner}"), Some(owner), &[(SQUIRE, 1, 100)]);
            record(&shop.db, &TestClock::new(), own).await.unwrap();
        }
        shop.fill(1, &[(KNIGHT, 1)], None).await;
        shop.fill_with(2, vec![gift(1, KNIGHT, "user-3")], None).await;
        for (buyer, owner) in [(1, 1), (2, 3)] {
            let db = shop.interrupted(nth, move |db| async move {
                let order = format!("own-{owner}").as_str().into();
                set_status(&db, &TestClock::new(), &order, OrderStatus::Refunded).await.unwrap();
            });
            let created = shop.create_by(&Instance::new(db), buyer).await;
            assert!(is_refused(&created), "{owner} before {nth}: {created:?}");
        }
        shop.fill(4, &[(CLASSES[0], 1)], None).await;
        let db = shop.interrupted(nth, |db| async move {
            record(&db, &TestClock::new(), paid("class", Some(4), &[(CLASSES[1], 1, 100)])).await.unwrap();
        });
        let created = shop.create_by(&Instance::new(db), 4).await;
        assert!(is_refused(&created), "before {nth}: {created:?}");
        shop.sweep_later().await;
        assert_eq!((shop.sold(KNIGHT).await, shop.sold(CLASSES[0]).await), (0, 0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn of_racing_checkouts_of_one_player_one_class_is_bought() {
    let shop = open().await;
    shop.fill(1, &[(CLASSES[0], 3)], None).await;
    let instances = shop.instances(8);
    let all = join_all((0..16).zip(instances.iter().cycle()).map(|(_, by)| shop.create_by(by, 1))).await;
    let first = all.into_iter().next().unwrap().unwrap().order;
    shop.pay(&first).await;
    assert_eq!(shop.held(1, CLASSES[0]).await, 1, "one unit, whatever the cart says");
    for class in CLASSES {
        shop.fill(1, &[(class, 1)], None).await;
        let refused = shop.refusal(1).await;
        assert!(refused.ends_with("you have an item of this category, and can have only one."), "{refused}");
        shop.fill_with(2, vec![gift(1, class, "user-1")], None).await;
        assert!(is_refused(&shop.create(2).await));
    }
    assert_books(&shop).await;
}

/// Total and returned units of each line of an order.
async fn lines(shop: &Shop, order: &shared::model::InternalId) -> Vec<(u64, i64, u32)> {
    let order = shop.order(order).await.order;
    order.lines.iter().map(|line| (line.item.get(), line.total.minor(), line.returned)).collect()
}

#[tokio::test]
async fn a_bundle_is_its_parts_for_their_shares_and_each_is_refunded_by_itself() {
    let shop = open().await;
    let order = shop.buy(1, &[(BUNDLE, 1)], Some("free")).await;
    // 10 % off 3.33 is 3.00, shared as 3 to 1.
    assert_eq!(lines(&shop, &order).await, [(BUNDLE, 0, 0), (PARTS[0], 225, 0), (PARTS[1], 75, 0)]);
    let held = [BUNDLE, PARTS[0], PARTS[1]].map(|item| shop.held(1, item));
    assert_eq!(join_all(held).await, [1, 1, 1]);
    assert_eq!((shop.sold(BUNDLE).await, shop.sold(PARTS[0]).await, shop.paid_for(1, PARTS[0]).await), (1, 1, 225));
    assert!(shop.cart(1).await.lines.is_empty());
    assert_books(&shop).await;
    shop.fill(1, &[(BUNDLE, 1)], None).await;
    assert!(shop.refusal(1).await.contains("you own \"Sword\""));
    let part = shop.order(&order).await.order.lines[1].chosen.clone().unwrap().line;
    let desk = Desk::new(&shop.db, &shop.clock, Some(&shop.stripe));
    for _ in 0..2 {
        desk.refund_lines(&order, &[(part, 1)]).await.unwrap();
        assert_eq!(lines(&shop, &order).await, [(BUNDLE, 0, 0), (PARTS[0], 225, 1), (PARTS[1], 75, 0)]);
        assert_eq!((shop.held(1, PARTS[0]).await, shop.held(1, PARTS[1]).await, shop.sold(PARTS[0]).await), (0, 1, 0));
        assert_eq!(shop.says(&order).await.refunded.minor(), 225);
        assert_books(&shop).await;
    }
    let of_bundle = shop.order(&order).await.order.lines[0].chosen.clone().unwrap().line;
    desk.refund_lines(&order, &[(of_bundle, 1)]).await.unwrap();
    assert_eq!((shop.says(&order).await.refunded.minor(), shop.held(1, PARTS[1]).await), (300, 0));
    assert_books(&shop).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_part_is_sold_as_often_as_its_limit_allows_in_bundles_and_by_itself() {
    let shop = open().await;
    for buyer in 1..=12 {
        let item = if buyer % 2 == 0 { BUNDLE } else { PARTS[0] };
        shop.fill(buyer, &[(item, 1)], None).await;
    }
    let instances = shop.instances(8);
    let all = join_all((1..=12).zip(instances.iter().cycle()).map(|(buyer, by)| shop.create_by(by, buyer))).await;
    let begun = all.iter().filter(|created| created.is_ok()).count();
    assert_eq!((begun, shop.sold(PARTS[0]).await), (3, 3), "{all:?}");
    for created in all.into_iter().flatten() {
        shop.pay(&created.order).await;
    }
    assert_books(&shop).await;
    shop.fill(13, &[(BUNDLE, 1)], None).await;
    assert_eq!(shop.refusal(13).await, "\"Set\" cannot be bought: \"Sword\", which is part of it, is sold out.");
}

#[tokio::test]
async fn a_given_bundle_is_its_recipients() {
    let shop = open().await;
    shop.fill_with(2, vec![gift(1, BUNDLE, "user-3")], None).await;
    let order = shop.create(2).await.unwrap().order;
    shop.pay(&order).await;
    assert_eq!((shop.held(3, PARTS[0]).await, shop.held(3, PARTS[1]).await, shop.held(2, PARTS[0]).await), (1, 1, 0));
    shop.fill_with(4, vec![gift(1, BUNDLE, "user-3")], None).await;
    assert_eq!(
        shop.refusal(4).await,
        "\"Set\" cannot be given: its recipient owns it, or would have more than the limit."
    );
    assert_books(&shop).await;
}
