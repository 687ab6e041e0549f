//! A database that fails at each call in turn, and changes between reading and writing: what is run again completes, nothing
//! happens twice, and every condition guards what was read.

use crate::shop::{BALANCE, FIVE, PLAIN, Shop, TWO_EACH, code, id, paid};
use crate::sums::{assert_codes, shown};
use aws_sdk_dynamodb::types::AttributeValue;
use shared::clock::SystemClock;
use shared::model::{Donations, GiftCardPayment, Money, OrderStatus, UserId};
use shared::shop::orders::{NewOrder, OrderRefusal, RecordError, SetStatusError, get as show, record, set_status};
use shared::shop::statistics::{self, erase_names};
use shared::shop::upkeep::finish_statistics;
use shared::table::{Db, StoreError, codec, keys};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tests::{Fault, TestClock, writes};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Record,
    Pay,
    Refund,
}

fn order(status: OrderStatus) -> NewOrder {
    let mut order = NewOrder { status, ..paid("a", Some(1), &[(FIVE, 5, 950), (TWO_EACH, 2, 50), (PLAIN, 1, 10)]) };
    order.coupon = Some(code("once"));
    order.gift_card = Some(GiftCardPayment { code: code("card"), amount: Money::from_minor(BALANCE) });
    order
}

/// A shop with what has to be there before the step.
async fn prepared(step: Step) -> Shop {
    let shop = Shop::open().await;
    let before = match step {
        Step::Record => return shop,
        Step::Pay => OrderStatus::Pending,
        Step::Refund => OrderStatus::Paid,
    };
    shop.record(order(before)).await.unwrap();
    shop
}

/// Takes the step; returns whether it was taken with its statistics.
async fn take(shop: &Shop, db: &Db, step: Step) -> bool {
    let stored = match step {
        Step::Record => match record(db, &shop.clock, order(OrderStatus::Paid)).await {
            Ok(recorded) => Some(recorded.stored),
            Err(RecordError::Store(_)) => None,
            Err(error) => panic!("{error:?}"),
        },
        Step::Pay | Step::Refund => {
            let to = if step == Step::Pay { OrderStatus::Paid } else { OrderStatus::Refunded };
            match set_status(db, &shop.clock, &id("a"), to).await {
                Ok(changed) => Some(changed.stored),
                Err(SetStatusError::Store(_)) => None,
                Err(error) => panic!("{error:?}"),
            }
        }
    };
    stored.is_some_and(|stored| !stored.statistics_due())
}

async fn assert_taken_once(shop: &Shop, step: Step) {
    shop.assert_sums().await;
    let taken = i64::from(step != Step::Refund);
    assert_eq!((shop.sold(FIVE).await, shop.held(1, TWO_EACH).await), (5 * taken, 2 * taken), "{step:?}");
    assert_eq!((shop.uses("once").await, shop.balance().await), (taken, BALANCE * (1 - taken)), "{step:?}");
}

/// Fails the call at `place` and runs the step again.
async fn fail_at(step: Step, place: usize, fault: Fault, doctor: bool) {
    let shop = prepared(step).await;
    let failing = shop.with_faults(move |at, _| (at == place).then_some(fault));
    take(&shop, &failing, step).await;
    if doctor && show(&shop.db, &id("a")).await.unwrap().is_some_and(|stored| stored.statistics_due()) {
        assert_eq!(finish_statistics(&shop.db).await.unwrap().finished, 1);
    }
    assert!(take(&shop, &shop.db, step).await, "{step:?} at {place}");
    assert_taken_once(&shop, step).await;
}

/// A read that is lost was done or not, which is the same.
async fn fail_at_each_call(step: Step) {
    let shop = prepared(step).await;
    let (recorder, calls) = shop.recording();
    assert!(take(&shop, &recorder, step).await);
    let calls = calls();
    assert!(calls.len() >= 10 && calls.iter().any(|operation| writes(operation)), "{calls:?}");
    for (place, operation) in calls.iter().enumerate() {
        for doctor in [false, true] {
            fail_at(step, place, Fault::Internal, doctor).await;
            if writes(operation) {
                fail_at(step, place, Fault::ResponseLost, doctor).await;
            }
        }
    }
}

#[tokio::test]
async fn recording_completes_whichever_call_failed() {
    fail_at_each_call(Step::Record).await;
}

#[tokio::test]
async fn paying_completes_whichever_call_failed() {
    fail_at_each_call(Step::Pay).await;
}

#[tokio::test]
async fn refunding_completes_whichever_call_failed() {
    fail_at_each_call(Step::Refund).await;
}

/// A database where the first `conflicts` transactions collide, and how many were sent.
fn colliding(shop: &Shop, conflicts: usize) -> (Db, Arc<AtomicUsize>) {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let db = shop.failing_transactions(move |nth| {
        count.store(nth, Ordering::SeqCst);
        (nth <= conflicts).then_some(Fault::Cancelled)
    });
    (db, sent)
}

#[tokio::test]
async fn a_transaction_that_collides_is_tried_three_times_more() {
    for step in [Step::Record, Step::Pay, Step::Refund] {
        let shop = prepared(step).await;
        let (db, sent) = colliding(&shop, 3);
        assert!(take(&shop, &db, step).await, "{step:?}");
        assert_eq!(sent.load(Ordering::SeqCst), 5, "four for the order, one for its statistics");
        assert_taken_once(&shop, step).await;
    }
}

#[tokio::test]
async fn a_request_that_keeps_colliding_is_refused_and_nothing_is_written() {
    let shop = Shop::open().await;
    let (db, sent) = colliding(&shop, usize::MAX);
    let recorded = record(&db, &shop.clock, order(OrderStatus::Paid)).await;
    assert!(matches!(recorded, Err(RecordError::Store(StoreError::Contended))), "{recorded:?}");
    assert_eq!(sent.load(Ordering::SeqCst), 4);
    assert_eq!(show(&shop.db, &id("a")).await.unwrap(), None);
    shop.record(order(OrderStatus::Pending)).await.unwrap();
    let paid = set_status(&db, &shop.clock, &id("a"), OrderStatus::Paid).await;
    assert!(matches!(paid, Err(SetStatusError::Store(StoreError::Contended))), "{paid:?}");
    assert_eq!((shop.sold(FIVE).await, shop.balance().await), (0, BALANCE));
}

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
