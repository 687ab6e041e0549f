//! Changes between reading and writing: every condition that guards what was read.

use crate::shop::{FIVE, PLAIN, Shop, code, id, paid};
use crate::sums::{assert_codes, shown};
use aws_sdk_dynamodb::types::AttributeValue;
use shared::clock::SystemClock;
use shared::model::{Donations, Money, OrderStatus, UserId};
use shared::shop::orders::{NewOrder, OrderRefusal, RecordError, get as show, record, set_status};
use shared::shop::statistics;
use shared::shop::statistics::erase_names;
use shared::table::{Db, codec, keys};
use tests::TestClock;

const BUYER: UserId = UserId::new(1);

async fn erase(db: Db) {
    for key in [keys::user(BUYER), keys::ledger(BUYER)] {
        tests::delete(&db, &key).await;
    }
    erase_names(&db, BUYER).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_is_erased_in_between_gets_no_new_ledger() {
    for status in [OrderStatus::Paid, OrderStatus::Pending] {
        let shop = Shop::open().await;
        let db = shop.interrupted(1, erase);
        let order = NewOrder { status, ..paid("a", Some(1), &[(FIVE, 1, 100)]) };
        let recorded = record(&db, &shop.clock, order).await;
        assert!(matches!(recorded, Err(RecordError::UnknownUser(BUYER))), "{recorded:?}");
        assert_eq!(shop.db.get(&keys::ledger(BUYER), true).await.unwrap(), None);
        assert_eq!((shop.sold(FIVE).await, show(&shop.db, &id("a")).await.unwrap()), (0, None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_is_erased_before_the_statistics_follow_counts_for_the_goals_alone() {
    let shop = Shop::open().await;
    let db = shop.interrupted(2, erase);
    let recorded = record(&db, &shop.clock, paid("a", Some(1), &[(PLAIN, 1, 100)])).await.unwrap();
    assert!(!recorded.stored.statistics_due());
    let shown = shown(&shop.db).await;
    assert_eq!(shown.goals["1"], Money::from_minor(100));
    assert!(shown.top.is_empty() && shown.recent.is_empty());
    assert!(statistics::patrons(&shop.db).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_that_others_wrote_in_between_are_not_lost() {
    let shop = Shop::open().await;
    shop.record(paid("before", Some(1), &[(PLAIN, 1, 5)])).await.unwrap();
    let db = shop.interrupted(2, |db| async move {
        record(&db, &TestClock::new(), paid("b", Some(1), &[(PLAIN, 1, 30)])).await.unwrap();
    });
    let recorded = record(&db, &shop.clock, paid("a", Some(1), &[(PLAIN, 1, 100)])).await.unwrap();
    assert!(!recorded.stored.statistics_due());
    shop.assert_sums().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_statistics_of_a_store_are_not_lost_either() {
    let shop = Shop::open().await;
    let db = shop.interrupted(2, |db| async move {
        record(&db, &TestClock::new(), paid("b", None, &[(PLAIN, 1, 30)])).await.unwrap();
    });
    record(&db, &shop.clock, paid("a", None, &[(PLAIN, 1, 100)])).await.unwrap();
    shop.assert_sums().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_is_refunded_while_it_is_counted_does_not_stay_counted() {
    let shop = Shop::open().await;
    let db = shop.interrupted(2, |db| async move {
        set_status(&db, &SystemClock, &id("a"), OrderStatus::Refunded).await.unwrap();
    });
    record(&db, &shop.clock, paid("a", Some(1), &[(PLAIN, 1, 100)])).await.unwrap();
    assert_eq!(shown(&shop.db).await, Donations::default());
    shop.assert_sums().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coupons_limit_per_user_that_changes_in_between_holds() {
    let shop = Shop::open().await;
    let order = |text: &str| NewOrder { coupon: Some(code("few")), ..paid(text, Some(1), &[(PLAIN, 1, 10)]) };
    shop.record(order("a")).await.unwrap();
    let db = shop.interrupted(1, |db| async move {
        let update = db.client().update_item().table_name(db.table());
        let update = update.set_key(Some(codec::key_attributes(&keys::code(&code("few")))));
        let update = update.update_expression("SET max_uses_per_user = :one");
        update.expression_attribute_values(":one", AttributeValue::N("1".to_owned())).send().await.unwrap();
    });
    let recorded = record(&db, &shop.clock, order("b")).await;
    assert!(matches!(recorded, Err(RecordError::Refused(OrderRefusal::CouponUsedUpByUser))), "{recorded:?}");
    assert_codes(&shop.db, &shop.orders().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_is_erased_during_a_refund_stays_erased() {
    let shop = Shop::open().await;
    shop.record(paid("a", Some(1), &[(FIVE, 2, 100)])).await.unwrap();
    let db = shop.interrupted(1, erase);
    set_status(&db, &shop.clock, &id("a"), OrderStatus::Refunded).await.unwrap();
    assert_eq!(shop.db.get(&keys::ledger(BUYER), true).await.unwrap(), None);
    assert_eq!(shop.sold(FIVE).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_was_given_up_in_between_is_judged_by_what_it_is_now() {
    let shop = Shop::open().await;
    let order = NewOrder { status: OrderStatus::Pending, ..paid("a", Some(1), &[(FIVE, 2, 100)]) };
    shop.record(order).await.unwrap();
    let db = shop.interrupted(1, |db| async move {
        set_status(&db, &SystemClock, &id("a"), OrderStatus::Paid).await.unwrap();
        set_status(&db, &SystemClock, &id("a"), OrderStatus::Refunded).await.unwrap();
    });
    set_status(&db, &shop.clock, &id("a"), OrderStatus::Cancelled).await.unwrap_err();
    assert_eq!(show(&shop.db, &id("a")).await.unwrap().unwrap().order.status, OrderStatus::Refunded);
    shop.assert_sums().await;
}
