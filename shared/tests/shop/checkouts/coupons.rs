//! Coupons that a user may use again after a time, and those for a first purchase.

use crate::shop::{
    DAY, FREE, GIFT, Instance, PLAIN, Refused, Shop, TWENTY, by_name, code, gift, item, line, paid, published_item,
};
use crate::sums::assert_books;
use serde_json::{Value, json};
use shared::model::{Line, LineVariable, OrderStatus, UserId};
use shared::rules::checkout::CheckoutRefusal;
use shared::rules::payment::Progress;
use shared::shop::codes::take_uses;
use shared::shop::orders::{NewOrder, record};
use shared::table::keys;
use std::time::Duration;

/// 10 % off everything, under these conditions.
async fn with_coupon(more: Value) -> Shop {
    let shop = Shop::open().await;
    let mut coupon =
        json!({ "kind": "coupon", "id": 9, "code": "shop", "active": true, "discount": { "percentage": 1_000 } });
    coupon.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    shop.put(&keys::code(&code("shop")), &coupon).await;
    shop
}

/// The price of a checkout of one unit with the coupon on the cart; `None` if it is removed.
async fn price(shop: &Shop, user: u64) -> Option<i64> {
    shop.fill(user, &[(PLAIN, 1)], Some("shop")).await;
    match shop.create(user).await {
        Ok(checkout) => Some(shop.order(&checkout.order).await.order.price.minor()),
        Err(Refused::Refused(CheckoutRefusal::CodeRemoved { .. })) => None,
        Err(other) => panic!("{other:?}"),
    }
}

/// When a user used the coupon last, in seconds before now.
async fn last(shop: &Shop, user: u64) -> Option<i64> {
    let (code, user) = (code("shop"), UserId::new(user));
    let mut rows = shop.db.batch_get(vec![keys::code_use(&code, user)]).await.unwrap();
    take_uses(&mut rows, &code, user).unwrap().last.map(|last| shop.now() - last)
}

#[tokio::test]
async fn a_user_uses_a_coupon_once_in_a_time_and_what_ends_or_is_refunded_gives_it_back() {
    let shop = with_coupon(json!({ "once_per": 30 * DAY })).await;
    let order = shop.checkout(1, &[(PLAIN, 1)], Some("shop")).await;
    assert_eq!(price(&shop, 1).await, Some(90), "its own open checkout does not count");
    assert_eq!((shop.status(&order).await, last(&shop, 1).await), (OrderStatus::Cancelled, Some(0)));
    let second = shop.cart(1).await.checkout.unwrap().order;
    shop.end(&second, Progress::Expired);
    shop.settle(&second).await;
    assert_eq!((last(&shop, 1).await, shop.uses("shop").await), (None, 0), "what ended keeps nothing");
    let bought = shop.buy(1, &[(PLAIN, 1)], Some("shop")).await;
    assert_eq!((price(&shop, 1).await, price(&shop, 2).await), (None, Some(90)), "each user by themselves");
    shop.refund(&bought, None).await.unwrap();
    let bought = shop.buy(1, &[(PLAIN, 1)], Some("shop")).await;
    shop.clock.advance(Duration::from_secs(30 * 86_400 - 1));
    assert_eq!(price(&shop, 1).await, None, "a second too early");
    shop.clock.advance(Duration::from_secs(1));
    assert_eq!(price(&shop, 1).await, Some(90));
    // The refund of an older use does not give the newer one back.
    let newer = shop.cart(1).await.checkout.unwrap().order;
    shop.pay(&newer).await;
    shop.refund(&bought, None).await.unwrap();
    assert_eq!((last(&shop, 1).await, price(&shop, 1).await), (Some(0), None));
    assert_books(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_use_or_a_first_purchase_between_reading_and_writing_is_seen_by_the_write() {
    for more in [
        json!({ "once_per": DAY }),
        json!({ "first_purchase": true }),
        json!({ "max_uses_per_user": 1, "once_per": 1 }),
    ] {
        let shop = with_coupon(more.clone()).await;
        shop.fill(1, &[(PLAIN, 1)], Some("shop")).await;
        let db = shop.interrupted(2, |db| async move {
            let order = NewOrder { coupon: Some(code("shop")), ..paid("between", Some(1), &[(PLAIN, 1, 90)]) };
            record(&db, &tests::TestClock::new(), order).await.unwrap();
        });
        let refused = shop.create_by(&Instance::new(db), 1).await;
        let removed = matches!(refused, Err(Refused::Refused(CheckoutRefusal::CodeRemoved { .. })));
        assert!(removed, "{more}: {refused:?}");
        assert_eq!((shop.uses("shop").await, shop.unfinished().await), (1, 0), "{more}");
        assert_books(&shop).await;
    }
}

#[tokio::test]
async fn a_coupon_for_a_first_purchase_is_for_who_never_paid_nor_got_anything() {
    let shop = with_coupon(json!({ "first_purchase": true })).await;
    // Two browsers: the second ends the checkout of the first, and one is paid with the coupon.
    assert_eq!((price(&shop, 1).await, price(&shop, 1).await), (Some(90), Some(90)));
    let order = shop.cart(1).await.checkout.unwrap().order;
    shop.pay(&order).await;
    assert_eq!(shop.orders().await.iter().filter(|stored| stored.order.status == OrderStatus::Paid).count(), 1);
    assert_eq!(price(&shop, 1).await, None);
    shop.refund(&order, None).await.unwrap();
    assert_eq!(price(&shop, 1).await, None, "it was a purchase, also if it is refunded");
    assert_books(&shop).await;
}

#[tokio::test]
async fn a_coupon_that_takes_nothing_off_is_not_used_and_stays_on_the_cart() {
    let shop = Shop::open().await;
    let order = shop.checkout(1, &[(FREE, 1)], Some("once")).await;
    assert_eq!((shop.order(&order).await.effects.coupon, shop.uses("once").await), (None, 0));
    assert!(shop.cart(1).await.coupon.is_some());
    let order = shop.checkout(1, &[(FREE, 1), (PLAIN, 1)], Some("once")).await;
    assert_eq!((shop.order(&order).await.effects.coupon, shop.uses("once").await), (Some(code("once")), 1));
    assert_books(&shop).await;
}

#[tokio::test]
async fn an_order_has_the_surcharges_that_were_shown_when_it_was_created() {
    let shop = Shop::open().await;
    let publish = async |surcharge: i64| {
        let variable = json!({ "id": 1, "name": "Colour", "options": ["gold"], "surcharges": { "gold": surcharge } });
        let more = json!({ "variables": [variable], "price_from": [{ "from": 2, "price": 90 }] });
        shop.write_item(published_item(&item(PLAIN, 1, &more))).await;
    };
    publish(20).await;
    let gold = LineVariable { id: 1, value: "gold".to_owned() };
    let lines = || vec![Line { variables: vec![gold.clone()], ..line(1, PLAIN, 3) }];
    shop.fill_with(1, lines(), None).await;
    let order = shop.create(1).await.unwrap().order;
    publish(50).await;
    shop.pay(&order).await;
    let paid = shop.order(&order).await.order;
    assert_eq!((paid.status, paid.price.minor(), shop.paid_for(1, PLAIN).await), (OrderStatus::Paid, 330, 330));
    shop.fill_with(2, lines(), None).await;
    let next = shop.create(2).await.unwrap().order;
    assert_eq!(shop.order(&next).await.order.price.minor(), 420, "who begins later pays what is published then");
    assert_books(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gift_is_the_first_purchase_of_its_recipient_and_needs_a_proven_login() {
    let shop = with_coupon(json!({ "first_purchase": true })).await;
    shop.name(3, "Bramble").await;
    // Who gives has bought before.
    shop.buy(1, &[(PLAIN, 1)], None).await;
    let of_gift = |item| vec![line(1, PLAIN, 1), gift(2, item, "Bramble")];
    shop.fill_with(1, of_gift(GIFT), Some("shop")).await;
    let refused = shop.create_as(&shop.instance(), 1, by_name("0000000000000001", None)).await;
    assert!(matches!(refused, Err(Refused::Refused(CheckoutRefusal::CodeRemoved { .. }))), "{refused:?}");
    shop.fill_with(1, of_gift(GIFT), Some("shop")).await;
    let order = shop.create(1).await.unwrap().order;
    let totals: Vec<i64> = shop.order(&order).await.order.lines.iter().map(|line| line.total.minor()).collect();
    assert_eq!(totals, [100, 90], "the buyer's own line is not a first purchase");
    shop.pay(&order).await;
    shop.fill_with(2, vec![gift(1, TWENTY, "Bramble")], Some("shop")).await;
    let text = "Your coupon is for a first purchase, and the player who gets \"item 22\" has bought before. Remove the coupon, or the gift.";
    assert_eq!(shop.refusal(2).await, text, "the recipient has got something");
    // For the own name too, and one ledger is checked once.
    shop.name(2, "Wren").await;
    shop.fill_with(2, vec![line(1, PLAIN, 1), gift(2, TWENTY, "Wren")], Some("shop")).await;
    assert_eq!(shop.refusal(2).await, text);
    shop.fill_with(2, vec![gift(2, TWENTY, "Wren")], Some("shop")).await;
    shop.create(2).await.unwrap();
    assert_books(&shop).await;
}
