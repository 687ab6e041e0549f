//! Recording an order: what it takes, what it is refused for, and every limit under twenty callers at once. Lines that are
//! gifts count for the recipient, never for the buyer.

use crate::shop::{BALANCE, BOTH, DAY, FIVE, GONE, PLAIN, Shop, TWO_EACH, code, id, paid, published_item};
use futures_util::future::join_all;
use shared::model::{GiftCardPayment, ItemId, Money, OrderLine, OrderStatus, PaymentType, UserId};
use shared::shop::orders::{NewOrder, OrderRefusal, RecordError, Recorded, get as show, record};
use shared::shop::upkeep::finish_statistics;
use shared::table::keys;
use tests::NOW;

async fn recorded(shop: &Shop, order: NewOrder) -> Recorded {
    shop.record(order).await.unwrap()
}

async fn refused(shop: &Shop, order: NewOrder) -> OrderRefusal {
    match shop.record(order).await {
        Err(RecordError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

/// Records all of them at once and says how many were new; the others must be refused or there already.
async fn race(shop: &Shop, orders: Vec<NewOrder>) -> (usize, usize) {
    let outcomes = join_all(orders.into_iter().map(|order| shop.record(order))).await;
    let (mut new, mut already) = (0, 0);
    for outcome in outcomes {
        match outcome {
            Ok(recorded) if recorded.already => already += 1,
            Ok(_) => new += 1,
            Err(RecordError::Refused(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    finish_statistics(&shop.db).await.unwrap();
    shop.assert_sums().await;
    (new, already)
}

fn twenty(order: impl Fn(u64) -> NewOrder) -> Vec<NewOrder> {
    (1..=20).map(order).collect()
}

#[tokio::test]
async fn a_paid_order_takes_everything_at_once() {
    let shop = Shop::open().await;
    let mut order = paid("a", Some(1), &[(PLAIN, 2, 180), (FIVE, 1, 90), (FIVE, 2, 200), (TWO_EACH, 1, 50)]);
    order.coupon = Some(code("few"));
    order.gift_card = Some(GiftCardPayment { code: code("card"), amount: Money::from_minor(400) });
    let done = recorded(&shop, order).await;
    assert!(!done.already && done.unguarded.is_empty());
    assert!(!done.stored.statistics_due());
    assert_eq!((shop.sold(FIVE).await, shop.sold(PLAIN).await), (3, 2));
    assert_eq!((shop.held(1, PLAIN).await, shop.held(1, FIVE).await), (2, 3));
    assert_eq!((shop.uses("few").await, shop.balance().await), (1, BALANCE - 400));
    assert_eq!(show(&shop.db, &id("a")).await.unwrap(), Some(done.stored));
    shop.assert_sums().await;
}

#[tokio::test]
async fn an_order_that_moved_on_is_still_the_same_order() {
    let shop = Shop::open().await;
    let order = NewOrder { status: OrderStatus::Pending, ..paid("a", Some(1), &[(FIVE, 1, 100)]) };
    recorded(&shop, order.clone()).await;
    shop.set_status("a", OrderStatus::Paid).await.unwrap();
    let again = recorded(&shop, order.clone()).await;
    assert!(again.already);
    assert_eq!(again.stored.order.status, OrderStatus::Paid);
    assert!(recorded(&shop, NewOrder { status: OrderStatus::Paid, ..order }).await.already);
}

#[tokio::test]
async fn other_content_under_the_same_id_is_an_error_that_names_the_field() {
    let shop = Shop::open().await;
    let order = paid("a", Some(1), &[(PLAIN, 1, 100)]);
    recorded(&shop, order.clone()).await;
    let others = [
        ("status", NewOrder { status: OrderStatus::Pending, ..order.clone() }),
        ("price", NewOrder { price: Money::from_minor(1), ..order.clone() }),
        ("currency", NewOrder { currency: "USD".to_owned(), ..order.clone() }),
        ("gateway", NewOrder { gateway: "cash".to_owned(), ..order.clone() }),
        ("owner", NewOrder { owner: None, ..order.clone() }),
        ("coupon", NewOrder { coupon: Some(code("free")), ..order.clone() }),
        ("created_at", NewOrder { created_at: Some(NOW - 1), ..order.clone() }),
        ("lines", NewOrder { lines: paid("a", None, &[(PLAIN, 2, 100)]).lines, ..order.clone() }),
    ];
    for (expected, other) in others {
        match shop.record(other).await {
            Err(RecordError::Differs { field, .. }) => assert_eq!(field, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
    let undated = NewOrder { created_at: None, ..order };
    assert!(recorded(&shop, undated).await.already, "a date that was not given cannot differ");
}

#[tokio::test]
async fn every_refusal_names_its_reason_and_leaves_nothing_behind() {
    let shop = Shop::open().await;
    let global = |item, limit| OrderRefusal::GlobalLimit { item: ItemId::new(item), limit };
    let user = |item, limit| OrderRefusal::UserLimit { item: ItemId::new(item), limit };
    let coupon = |text: &str, owner| NewOrder { coupon: Some(code(text)), ..paid("x", owner, &[(PLAIN, 1, 10)]) };
    let gift = |text: &str, amount| {
        let part = GiftCardPayment { code: code(text), amount: Money::from_minor(amount) };
        NewOrder { gift_card: Some(part), ..paid("x", None, &[(PLAIN, 1, amount)]) }
    };
    assert_eq!(refused(&shop, paid("x", None, &[(FIVE, 6, 10)])).await, global(FIVE, 5));
    assert_eq!(refused(&shop, paid("x", None, &[(FIVE, 3, 10), (FIVE, 3, 10)])).await, global(FIVE, 5));
    assert_eq!(refused(&shop, paid("x", Some(1), &[(TWO_EACH, 3, 10)])).await, user(TWO_EACH, 2));
    assert_eq!(refused(&shop, coupon("nothing", None)).await, OrderRefusal::UnknownCoupon);
    assert_eq!(refused(&shop, coupon("card", None)).await, OrderRefusal::UnknownCoupon);
    assert_eq!(refused(&shop, gift("free", 1)).await, OrderRefusal::UnknownGiftCard);
    assert_eq!(refused(&shop, gift("card", BALANCE + 1)).await, OrderRefusal::GiftCardBalance);
    let mut all = paid("a", Some(1), &[(FIVE, 4, 10), (TWO_EACH, 1, 10), (BOTH, 1, 10)]);
    all.coupon = Some(code("once"));
    recorded(&shop, all).await;
    recorded(&shop, NewOrder { internal_id: Some(id("b")), ..coupon("each", Some(1)) }).await;
    assert_eq!(refused(&shop, paid("x", Some(2), &[(FIVE, 2, 10)])).await, global(FIVE, 5));
    assert_eq!(refused(&shop, paid("x", Some(1), &[(PLAIN, 1, 1), (TWO_EACH, 2, 10)])).await, user(TWO_EACH, 2));
    assert_eq!(refused(&shop, paid("x", Some(1), &[(BOTH, 1, 10)])).await, user(BOTH, 1));
    assert_eq!(refused(&shop, coupon("once", Some(2))).await, OrderRefusal::CouponUsedUp);
    assert_eq!(refused(&shop, coupon("each", Some(1))).await, OrderRefusal::CouponUsedUpByUser);
    assert_eq!(show(&shop.db, &id("x")).await.unwrap(), None);
    shop.assert_sums().await;
}

#[tokio::test]
async fn nonsense_is_refused_before_the_table_is_touched() {
    let shop = Shop::open().await;
    let order = || paid("x", Some(1), &[(PLAIN, 1, 10)]);
    let line = || OrderLine::new(ItemId::new(PLAIN), 1, Money::from_minor(10));
    let part = |text, amount| Some(GiftCardPayment { code: code(text), amount: Money::from_minor(amount) });
    let cases = [
        ("internal id", NewOrder { internal_id: Some(id("  ")), ..order() }),
        ("internal id", NewOrder { internal_id: Some(id(&"x".repeat(256))), ..order() }),
        ("lines", paid("x", Some(1), &[(PLAIN, 1, 1); 51])),
        ("count", paid("x", Some(1), &[(PLAIN, 0, 1)])),
        ("total", NewOrder { price: Money::ZERO, ..paid("x", Some(1), &[(PLAIN, 1, -1)]) }),
        ("price", NewOrder { price: Money::from_minor(-1), ..order() }),
        ("currency", NewOrder { currency: " ".to_owned(), ..order() }),
        ("recipient", NewOrder { lines: vec![OrderLine { payment_type: PaymentType::Gift, ..line() }], ..order() }),
        ("recipient", NewOrder { lines: vec![OrderLine { recipient: Some(UserId::new(2)), ..line() }], ..order() }),
        ("recipient", NewOrder { lines: (1..22).map(|user| line().gift_for(UserId::new(user))).collect(), ..order() }),
        ("gift card", NewOrder { gift_card: part("card", 0), ..order() }),
        ("gift card", NewOrder { gift_card: part("card", 11), ..order() }),
        ("gift card", NewOrder { coupon: Some(code("card")), gift_card: part("card", 1), ..order() }),
        ("created_at", NewOrder { created_at: Some(NOW + DAY), ..order() }),
        ("created_at", NewOrder { created_at: Some(-1), ..order() }),
    ];
    let untouched = shop.with_faults(|_, operation| panic!("{operation} was called"));
    for (expected, order) in cases {
        match record(&untouched, &shop.clock, order).await {
            Err(RecordError::Invalid { field, .. }) => assert_eq!(field, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
    let stranger = shop.record(paid("x", Some(999), &[(PLAIN, 1, 10)])).await;
    assert!(matches!(stranger, Err(RecordError::UnknownUser(user)) if user == UserId::new(999)));
}

#[tokio::test]
async fn an_item_that_is_no_longer_published_is_recorded_without_a_guard_and_named() {
    let shop = Shop::open().await;
    let done = recorded(&shop, paid("a", Some(1), &[(GONE, 500, 10), (PLAIN, 1, 1)])).await;
    assert_eq!(done.unguarded, [ItemId::new(GONE)]);
    assert_eq!(shop.sold(GONE).await, 500);
    shop.assert_sums().await;
}

#[tokio::test]
async fn limits_are_those_published_at_the_moment() {
    let shop = Shop::open().await;
    recorded(&shop, paid("a", None, &[(FIVE, 5, 10)])).await;
    shop.publish("v2", &[1, 2]).await;
    assert_eq!(recorded(&shop, paid("b", None, &[(FIVE, 1, 10)])).await.unguarded, [ItemId::new(FIVE)]);
    shop.publish("v1", &[1, 2]).await;
    refused(&shop, paid("c", None, &[(FIVE, 1, 10)])).await;
}

#[tokio::test]
async fn fifty_lines_with_both_limits_fit_into_one_transaction() {
    let shop = Shop::open().await;
    let ids: Vec<u64> = (9_007_199_254_740_000..9_007_199_254_740_050).collect();
    for id in &ids {
        let item = serde_json::json!({
            "item": {
                "id": id, "name": "x", "price": 1, "active": true, "global_limit": 9, "user_limit": 9,
            },
            "category": 1,
        });
        shop.write_item(published_item(&item)).await;
    }
    let lines: Vec<(u64, u32, i64)> = ids.iter().map(|id| (*id, 9, 1_000_000_000)).collect();
    let mut order = paid("a", Some(1), &lines);
    order.coupon = Some(code("few"));
    order.gift_card = Some(GiftCardPayment { code: code("card"), amount: Money::from_minor(1) });
    recorded(&shop, order).await;
    assert_eq!(shop.held(1, ids[49]).await, 9);
    assert_eq!(shop.sold(ids[0]).await, 9);
    shop.set_status("a", OrderStatus::Refunded).await.unwrap();
    assert_eq!((shop.held(1, ids[49]).await, shop.sold(ids[0]).await), (0, 0));
}

#[tokio::test]
async fn ids_that_are_made_are_long_and_numbers_count_up() {
    let shop = Shop::open().await;
    let order = NewOrder { internal_id: None, created_at: None, ..paid("", None, &[(PLAIN, 1, 1)]) };
    let (first, second) = (recorded(&shop, order.clone()).await.stored, recorded(&shop, order).await.stored);
    assert_ne!(first.order.internal_id, second.order.internal_id);
    let text = first.order.internal_id.as_str();
    assert!(text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7')), "{text}");
    assert_eq!((first.order.id.get(), second.order.id.get()), (1, 2));
    assert_eq!(first.order.created_at, NOW);
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_callers_buy_the_last_five_of_an_item() {
    let shop = Shop::open().await;
    let orders = twenty(|n| paid(&format!("o{n}"), Some(n), &[(FIVE, 1, 100), (PLAIN, 1, 1)]));
    assert_eq!(race(&shop, orders).await, (5, 0));
    assert_eq!(shop.sold(FIVE).await, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_user_twenty_times_at_once_stays_within_the_users_limit() {
    let shop = Shop::open().await;
    let orders = twenty(|n| paid(&format!("o{n}"), Some(1), &[(TWO_EACH, 1, 100)]));
    assert_eq!(race(&shop, orders).await, (2, 0));
    assert_eq!(shop.held(1, TWO_EACH).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coupon_with_one_use_has_one_winner_among_twenty() {
    let shop = Shop::open().await;
    let order = |n: u64| NewOrder { coupon: Some(code("once")), ..paid(&format!("o{n}"), Some(n), &[(PLAIN, 1, 9)]) };
    assert_eq!(race(&shop, twenty(order)).await, (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coupon_with_one_use_per_user_is_used_once_by_a_user_who_tries_twenty_times() {
    let shop = Shop::open().await;
    let order = |n: u64| NewOrder { coupon: Some(code("each")), ..paid(&format!("o{n}"), Some(1), &[(PLAIN, 1, 9)]) };
    assert_eq!(race(&shop, twenty(order)).await, (1, 0));
}

#[tokio::test]
async fn a_gift_cards_balance_never_falls_below_nothing() {
    let shop = Shop::open().await;
    let part = || Some(GiftCardPayment { code: code("card"), amount: Money::from_minor(300) });
    let order = |n: u64| NewOrder { gift_card: part(), ..paid(&format!("o{n}"), Some(n), &[(PLAIN, 1, 300)]) };
    assert_eq!(race(&shop, twenty(order)).await, (3, 0));
    assert_eq!(shop.balance().await, 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_order_recorded_twenty_times_at_once_is_recorded_once() {
    let shop = Shop::open().await;
    let mut order = paid("a", Some(1), &[(FIVE, 5, BALANCE), (TWO_EACH, 2, 1)]);
    order.coupon = Some(code("once"));
    order.gift_card = Some(GiftCardPayment { code: code("card"), amount: Money::from_minor(BALANCE) });
    assert_eq!(race(&shop, twenty(|_| order.clone())).await, (1, 19));
}

/// A paid order of user 1 in which every line is a gift for `recipient`.
fn given(text: &str, recipient: u64, lines: &[(u64, u32, i64)]) -> NewOrder {
    let order = paid(text, Some(1), lines);
    let lines = order.lines.iter().map(|line| line.clone().gift_for(UserId::new(recipient))).collect();
    NewOrder { lines, ..order }
}

#[tokio::test]
async fn a_gift_is_owned_by_its_recipient_until_it_is_refunded() {
    let shop = Shop::open().await;
    let mut order = given("a", 2, &[(TWO_EACH, 2, 180)]);
    order.lines.extend(paid("", None, &[(PLAIN, 1, 100)]).lines);
    shop.record(order).await.unwrap();
    assert_eq!((shop.held(1, TWO_EACH).await, shop.held(2, TWO_EACH).await), (0, 2));
    assert_eq!((shop.held(1, PLAIN).await, shop.held(2, PLAIN).await), (1, 0));
    assert_eq!(shop.paid_for(2, TWO_EACH).await, 180);
    shop.assert_sums().await;
    shop.set_status("a", OrderStatus::Refunded).await.unwrap();
    assert_eq!((shop.held(2, TWO_EACH).await, shop.sold(TWO_EACH).await), (0, 0));
    shop.assert_sums().await;
}

#[tokio::test]
async fn a_gift_counts_against_the_recipients_limit_and_not_the_buyers() {
    let shop = Shop::open().await;
    shop.record(paid("own", Some(1), &[(BOTH, 1, 10)])).await.unwrap();
    shop.record(given("first", 2, &[(BOTH, 1, 10)])).await.unwrap();
    let again = shop.record(given("again", 2, &[(BOTH, 1, 10)])).await;
    let limit = OrderRefusal::UserLimit { item: ItemId::new(BOTH), limit: 1 };
    assert!(matches!(again, Err(RecordError::Refused(refusal)) if refusal == limit), "{again:?}");
    shop.record(given("other", 3, &[(BOTH, 1, 10)])).await.unwrap();
    assert_eq!(shop.sold(BOTH).await, 3, "gifts are sold units too");
}

#[tokio::test]
async fn a_gift_for_nobody_is_refused_and_one_for_an_erased_user_brings_nothing_back() {
    let shop = Shop::open().await;
    let unknown = shop.record(given("x", 999, &[(PLAIN, 1, 10)])).await;
    assert!(matches!(unknown, Err(RecordError::UnknownUser(user)) if user == UserId::new(999)), "{unknown:?}");
    let pending = NewOrder { status: OrderStatus::Pending, ..given("a", 2, &[(PLAIN, 1, 10)]) };
    shop.record(pending).await.unwrap();
    shop.delete(&keys::user(UserId::new(2))).await;
    shop.set_status("a", OrderStatus::Paid).await.unwrap();
    assert_eq!(shop.db.get(&keys::ledger(UserId::new(2)), true).await.unwrap(), None);
    assert_eq!(shop.sold(PLAIN).await, 1);
}

#[tokio::test]
async fn the_same_order_for_another_recipient_is_another_order() {
    let shop = Shop::open().await;
    shop.record(given("a", 2, &[(PLAIN, 1, 10)])).await.unwrap();
    assert!(shop.record(given("a", 2, &[(PLAIN, 1, 10)])).await.unwrap().already);
    let other = shop.record(given("a", 3, &[(PLAIN, 1, 10)])).await;
    assert!(matches!(other, Err(RecordError::Differs { field: "lines", .. })), "{other:?}");
}
