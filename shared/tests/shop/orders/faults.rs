//! A database that fails at each call in turn: what is run again completes, and nothing happens twice.

use crate::shop::{BALANCE, FIVE, PLAIN, Shop, TWO_EACH, code, id, paid};
use shared::model::{GiftCardPayment, Money, OrderStatus};
use shared::shop::orders::{NewOrder, RecordError, SetStatusError, get as show, record, set_status};
use shared::shop::upkeep::finish_statistics;
use shared::table::{Db, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tests::{Fault, writes};

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
