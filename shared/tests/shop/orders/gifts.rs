//! Lines that are gifts: they count for the recipient, never for the buyer.

use crate::shop::{BOTH, PLAIN, Shop, TWO_EACH, paid};
use shared::model::{ItemId, OrderStatus, UserId};
use shared::shop::orders::{NewOrder, OrderRefusal, RecordError};
use shared::table::keys;

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
