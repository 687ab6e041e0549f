//! Refusals to pay a cart. None of them leaves anything behind.

use crate::shop::{
    BOTH, CHAT, FIVE, FREE, GIFT, GONE, Instance, PLAIN, Refused, STEPS, Shop, TWENTY, TWO_EACH, VIRTUAL, by_name,
    code, gift, line, money, paid,
};
use crate::sums::{assert_books, assert_quiet};
use serde_json::json;
use shared::model::{Line, Money, PaymentType, PlayerName, User, UserId};
use shared::rules::checkout::CheckoutRefusal;
use shared::shop::orders::{NewOrder, record};
use shared::table::keys;

async fn assert_refused(shop: &Shop, text: &str) {
    assert_eq!(shop.refusal(1).await, text);
    assert_books(shop).await;
    assert_eq!((shop.received(""), shop.unfinished().await), (0, 0), "{text}");
}

#[tokio::test]
async fn every_refusal_of_a_line_names_it() {
    let shop = Shop::open_with(|payments| payments.hold_units = 4).await;
    assert_refused(&shop, "Your cart is empty.").await;
    shop.fill(1, &[(GONE, 1)], None).await;
    assert_refused(&shop, "Your cart is empty.").await;
    let was_subscription = Line { payment_type: PaymentType::Subscription, ..line(1, PLAIN, 1) };
    shop.fill_with(1, vec![was_subscription], None).await;
    assert_refused(&shop, "\"item 1\" cannot be bought now. Remove it from your cart.").await;
    let unknown = Line { gift_to: None, ..gift(1, GIFT, "Somebody") };
    shop.fill_with(1, vec![unknown], None).await;
    assert_refused(&shop, "\"item 21\" is not complete: The player who receives the gift is missing.").await;
    shop.fill(1, &[(FIVE, 6)], None).await;
    assert_refused(&shop, "Only 5 of \"item 2\" can still be bought.").await;
    shop.fill(1, &[(TWENTY, 5)], None).await;
    assert_refused(&shop, "At most 4 of \"item 22\" can be bought at once.").await;
    shop.fill(1, &[(TWO_EACH, 1), (TWO_EACH, 2)], None).await;
    assert_refused(&shop, "Only 2 of \"item 3\" can still be bought.").await;
    shop.fill(1, &[(CHAT, 1)], None).await;
    assert_refused(&shop, "\"item 26\" needs a linked chat account. Log in to the chat first.").await;
    shop.fill(1, &[(VIRTUAL, 1)], None).await;
    assert_refused(&shop, "You do not have enough virtual currency.").await;
    let refused = shop.create_as(&shop.instance(), 1, by_name("00c0ffee00c0ffee", None)).await.unwrap_err();
    assert_eq!(refused.to_string(), "Virtual currency needs a login proven in the game.");
    shop.set_payments(|payments| payments.least = money(150)).await;
    shop.fill(1, &[(PLAIN, 1)], None).await;
    assert_refused(&shop, "The amount is below the least that can be paid.").await;
    shop.fill(1, &[(FREE, 1)], None).await;
    assert_eq!(shop.create(1).await.unwrap().url, None, "nothing is not below the least");
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn what_was_sold_since_it_was_last_read_is_sold_out() {
    let shop = Shop::open().await;
    let instance = shop.instance();
    shop.fill(1, &[(FIVE, 3)], None).await;
    shop.fill(2, &[(FIVE, 3)], None).await;
    // The instance remembers that all five are left.
    shop.create_by(&instance, 1).await.unwrap();
    let refused = shop.create_by(&instance, 2).await.unwrap_err();
    assert_eq!(refused.to_string(), "\"item 2\" is sold out.");
    assert_eq!((shop.sold(FIVE).await, shop.unfinished().await, shop.stand_in.sessions().len()), (3, 1, 1));
    assert_books(&shop).await;
}

#[tokio::test]
async fn a_gift_for_the_buyers_own_name_beside_the_same_item_is_refused() {
    let shop = Shop::open().await;
    shop.name(1, "Receiver").await;
    shop.fill_with(1, vec![gift(1, GIFT, "receiver"), line(2, GIFT, 1)], None).await;
    assert_refused(&shop, "\"item 21\" cannot be given: its recipient owns it, or would have more than the limit.")
        .await;
}

#[tokio::test]
async fn the_recipient_of_a_gift_must_be_able_to_own_it() {
    let shop = Shop::open().await;
    shop.name(2, "Receiver").await;
    // More at once than anyone may own, for who owns nothing: with an account, without one, and in two lines.
    for name in ["receiver", "Nobody_yet"] {
        for lines in [vec![Line { count: 2, ..gift(1, GIFT, name) }], vec![gift(1, GIFT, name), gift(2, GIFT, name)]] {
            shop.fill_with(1, lines, None).await;
            assert_refused(
                &shop,
                "\"item 21\" cannot be given: its recipient owns it, or would have more than the limit.",
            )
            .await;
        }
    }
    shop.fill_with(1, vec![gift(1, GIFT, "receiver"), line(2, PLAIN, 1)], None).await;
    let mut owned = paid("owned", Some(3), &[(GIFT, 1, 10)]);
    owned.lines = owned.lines.into_iter().map(|line| line.gift_for(UserId::new(2))).collect();
    shop.record(owned).await.unwrap();
    let text = "\"item 21\" cannot be given: its recipient owns it, or would have more than the limit.";
    assert_refused(&shop, text).await;
    let [low, high] = STEPS;
    shop.record(paid("high", Some(2), &[(high, 1, 10)])).await.unwrap();
    shop.fill_with(1, vec![gift(1, low, "Receiver")], None).await;
    assert_refused(&shop, "\"item 24\" cannot be given: its recipient owns it, or would have more than the limit.")
        .await;
    let banned = PlayerName::parse("Villain").unwrap();
    shop.put(&keys::ban(banned.key()), &json!({})).await;
    shop.fill_with(1, vec![gift(1, GIFT, "VILLAIN")], None).await;
    assert_refused(&shop, "A player that a gift is for is banned.").await;
    // Who is banned under another name than this former one.
    shop.name(4, "Former").await;
    let renamed = UserId::new(4);
    shop.put(&keys::user(renamed), &User { banned: true, ..crate::shop::user(4) }).await;
    shop.fill_with(1, vec![gift(1, GIFT, "Former")], None).await;
    assert_refused(&shop, "A player that a gift is for is banned.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_bought_between_reading_and_writing_is_refused_by_the_write() {
    let shop = Shop::open().await;
    shop.fill(1, &[(BOTH, 1)], None).await;
    // Right before the transaction that writes the order, the second.
    let db = shop.interrupted(2, |db| async move {
        record(&db, &tests::TestClock::new(), paid("between", Some(1), &[(BOTH, 1, 10)])).await.unwrap();
    });
    let refused = shop.create_by(&Instance::new(db), 1).await.unwrap_err();
    assert_eq!(refused.to_string(), "\"item 4\" cannot be bought now. Remove it from your cart.");
    assert_eq!((shop.sold(BOTH).await, shop.unfinished().await), (1, 0));
    assert_books(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_no_longer_applies_is_removed_and_the_total_said() {
    let shop = Shop::open().await;
    shop.fill(1, &[(PLAIN, 3)], Some("once")).await;
    shop.delete(&keys::code(&code("once"))).await;
    let refused = shop.create(1).await.unwrap_err();
    assert!(
        matches!(refused, Refused::Refused(CheckoutRefusal::CodeRemoved { total }) if total == Money::from_minor(300)),
        "{refused:?}"
    );
    assert_eq!(shop.cart(1).await.coupon, None);
    assert_eq!(shop.received(""), 0);
    let checkout = shop.create(1).await.unwrap();
    assert_eq!(shop.order(&checkout.order).await.order.price, Money::from_minor(300));
    // One that is used up between reading and writing is checked again.
    shop.fill(2, &[(PLAIN, 3)], Some("few")).await;
    let db = shop.interrupted(2, |db| async move {
        for number in 0..3 {
            let order = paid(&format!("between-{number}"), Some(3 + number), &[(PLAIN, 1, 10)]);
            let order = NewOrder { coupon: Some(code("few")), ..order };
            record(&db, &tests::TestClock::new(), order).await.unwrap();
        }
    });
    let refused = shop.create_by(&Instance::new(db), 2).await.unwrap_err();
    assert!(
        matches!(refused, Refused::Refused(CheckoutRefusal::CodeRemoved { total }) if total == Money::from_minor(300)),
        "{refused:?}"
    );
    assert_eq!(shop.unfinished().await, 1, "only the first buyer's");
    assert_eq!(shop.sold(PLAIN).await, 6);
}
