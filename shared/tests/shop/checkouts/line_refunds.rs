//! Refunds of units of single lines: every means of payment gives back its share, the other lines stay as they were, and a
//! repeated command finishes what was begun.

use crate::market::{PRICE, STEPS};
use crate::shop::PLAIN;
use crate::sums::assert_audit;
use crate::till::{Till, money};
use shared::model::{InternalId, LineId, OrderStatus, UserId};
use shared::rules::line_refund::LineRefusal;
use shared::shop::payments::{Desk, LinesRefunded, OperatorError, RefundKind};
use shared::shop::statistics::catch_up;
use shared::table::{Db, keys};
use std::time::Duration;
use stripe_stand_in::{Action, Fault, FaultKind};
use tests::Fault as DatabaseFault;

const DAY: Duration = Duration::from_hours(25);

/// A paid order of these items and units, with what is on the cart.
async fn paid(till: &Till, lines: &[(u64, u32)], on_cart: Option<&str>) -> InternalId {
    till.market.fill(1, lines, on_cart).await;
    let (order, session) = till.begin().await;
    till.stand_in.act(&session, &Action::Pay).unwrap();
    till.settle(&order).await;
    order
}

async fn refund_by(
    till: &Till,
    db: &Db,
    order: &InternalId,
    lines: &[(u64, u32)],
) -> Result<LinesRefunded, OperatorError> {
    let wanted: Vec<_> = lines.iter().map(|(line, units)| (LineId::new(*line), *units)).collect();
    Desk::new(db, &till.market.clock, Some(&till.stripe)).refund_lines(order, &wanted).await
}

async fn refund(till: &Till, order: &InternalId, lines: &[(u64, u32)]) -> Result<LinesRefunded, OperatorError> {
    refund_by(till, till.db(), order, lines).await
}

async fn paid_for(till: &Till, item: u64) -> i64 {
    till.market.number(&keys::ledger(UserId::new(1)), &format!("p{item}")).await
}

/// Fails unless so much is refunded at the provider, and the table is what its orders add up to.
async fn assert_refunded(till: &Till, order: &InternalId, total: i64, note: &str) {
    assert_eq!(till.says(order).await.refunded, money(total), "{note}");
    till.settle(order).await;
    catch_up(till.db(), order).await.unwrap();
    till.market.sweep().await;
    assert!(!till.order(order).await.statistics_due(), "{note}");
    assert_audit(till.db()).await;
}

#[tokio::test]
async fn units_of_a_line_come_back_and_what_was_paid_for_the_others_stays() {
    let till = Till::open().await;
    let order = paid(&till, &[(STEPS[0], 1), (PLAIN, 3)], None).await;
    let refunded = refund(&till, &order, &[(2, 2)]).await.unwrap();
    assert!(refunded.is_new);
    assert_eq!(refunded.payment.unwrap().amount, money(2 * PRICE));
    assert_eq!((till.market.sold(PLAIN).await, till.market.held(1, PLAIN).await), (1, 1));
    assert_eq!((paid_for(&till, STEPS[0]).await, paid_for(&till, PLAIN).await), (240, PRICE));
    assert_refunded(&till, &order, 2 * PRICE, "two units").await;
    assert_eq!(till.order(&order).await.order.status, OrderStatus::Paid);
    // The next step costs the difference to what was paid for the one before. Alone that is less than the provider takes.
    till.market.fill(1, &[(STEPS[1], 1), (PLAIN, 1)], None).await;
    let (next, _) = till.begin().await;
    let totals: Vec<_> = till.order(&next).await.order.lines.iter().map(|line| line.total).collect();
    assert_eq!(totals, [money(10), money(PRICE)]);
}

#[tokio::test]
async fn the_same_units_again_change_nothing_and_more_add_to_them() {
    let till = Till::open().await;
    let order = paid(&till, &[(PLAIN, 5)], None).await;
    for (units, is_new, total) in [(2, true, 200), (2, false, 200), (3, true, 300), (3, false, 300)] {
        let refunded = refund(&till, &order, &[(1, units)]).await.unwrap();
        assert_eq!((refunded.is_new, refunded.payment.unwrap().total), (is_new, money(total)));
        assert_eq!(till.market.sold(PLAIN).await, 5 - i64::from(units));
        assert_refunded(&till, &order, total, "again").await;
    }
    let last = refund(&till, &order, &[(1, 5)]).await.unwrap();
    assert_eq!(last.stored.order.status, OrderStatus::Refunded);
    assert_eq!((till.market.sold(PLAIN).await, till.market.held(1, PLAIN).await), (0, 0));
    assert_refunded(&till, &order, 500, "all of it").await;
    assert_eq!(refund(&till, &order, &[(1, 5)]).await.unwrap().payment.unwrap().kind, RefundKind::Already);
}

#[tokio::test]
async fn every_means_of_payment_gives_back_its_share_and_they_add_up() {
    let till = Till::open().await;
    let order = paid(&till, &[(PLAIN, 11)], Some("card")).await;
    let (price, balance) = (till.order(&order).await.order.price.minor(), till.market.balance().await);
    assert_eq!((price, balance), (100, 0));
    // A unit is 100, of which the card paid ten parts of eleven.
    for (units, charged) in [(1, 9), (2, 18), (6, 55), (10, 91), (11, 100)] {
        refund(&till, &order, &[(1, units)]).await.unwrap();
        assert_eq!(till.says(&order).await.refunded, money(charged));
        assert_eq!(till.market.balance().await, 100 * i64::from(units) - charged, "{units}");
        assert_refunded(&till, &order, charged, "shares").await;
    }
    assert_eq!(till.order(&order).await.order.status, OrderStatus::Refunded);
}

#[tokio::test]
async fn a_refund_of_another_amount_before_stays_and_counts_for_all_lines() {
    let till = Till::open().await;
    let order = paid(&till, &[(PLAIN, 5)], None).await;
    till.refund(&order, Some(60)).await.unwrap();
    refund(&till, &order, &[(1, 1)]).await.unwrap();
    assert_refunded(&till, &order, 160, "both").await;
    assert_eq!(paid_for(&till, PLAIN).await, 340);
    let whole = till.refund(&order, None).await.unwrap();
    assert_eq!(whole.stored.order.status, OrderStatus::Refunded);
    assert_eq!((till.market.sold(PLAIN).await, till.market.held(1, PLAIN).await), (0, 0));
    assert_refunded(&till, &order, 500, "the rest").await;
}

#[tokio::test]
async fn what_cannot_be_refunded_is_refused_and_nothing_is_written() {
    let till = Till::open().await;
    let order = paid(&till, &[(PLAIN, 5)], None).await;
    refund(&till, &order, &[(1, 2)]).await.unwrap();
    let before = till.order(&order).await;
    let line = LineId::new(1);
    for (wanted, expected) in [
        (vec![(7, 1)], LineRefusal::Unknown { line: LineId::new(7) }),
        (vec![(1, 6)], LineRefusal::TooMany { line, count: 5 }),
        (vec![(1, 1)], LineRefusal::Less { line, returned: 2 }),
        (vec![(1, 3), (1, 4)], LineRefusal::Twice { line }),
    ] {
        let refused = refund(&till, &order, &wanted).await;
        assert!(matches!(&refused, Err(OperatorError::Line(refusal)) if *refusal == expected), "{refused:?}");
    }
    assert_eq!(till.order(&order).await.order, before.order);
    let session = before.effects.provider.unwrap().session.unwrap();
    till.stand_in.act(&session, &Action::Dispute(None)).unwrap();
    let disputed = refund(&till, &order, &[(1, 3)]).await;
    assert!(matches!(disputed, Err(OperatorError::Disputed(_))), "{disputed:?}");
    assert_eq!(till.order(&order).await.order.lines, before.order.lines);
}

#[tokio::test]
async fn whenever_it_is_killed_the_repeated_command_finishes_it_and_pays_once() {
    let till = Till::open().await;
    for later in [Duration::ZERO, DAY] {
        for place in 0..60 {
            let order = paid(&till, &[(PLAIN, 5)], None).await;
            let sold = till.market.sold(PLAIN).await;
            let killed = till.market.failing(move |at, _| {
                (at >= place).then_some(if place % 2 == 0 {
                    DatabaseFault::Internal
                } else {
                    DatabaseFault::ResponseLost
                })
            });
            let first = refund_by(&till, &killed.db, &order, &[(1, 2)]).await;
            till.wait(later);
            refund(&till, &order, &[(1, 2)]).await.unwrap();
            let note = format!("killed at {place}, {later:?} later");
            assert_eq!(till.market.sold(PLAIN).await, sold - 2, "{note}");
            assert_refunded(&till, &order, 200, &note).await;
            if first.is_ok() {
                assert!(place > 10, "{place}");
                break;
            }
        }
    }
}

#[tokio::test]
async fn whichever_request_to_the_provider_is_lost_the_repeated_command_pays_once() {
    let till = Till::open().await;
    let order = paid(&till, &[(PLAIN, 5)], None).await;
    let requests = till.requests();
    refund(&till, &order, &[(1, 2)]).await.unwrap();
    let count = requests();
    assert!(count >= 4, "{count}");
    // A fault after the last request would fail the repeated command in place of the first.
    for place in 0..count {
        for fault in [Fault::before(FaultKind::Cut), Fault::after(FaultKind::Cut)] {
            let order = paid(&till, &[(PLAIN, 5)], None).await;
            let sold = till.market.sold(PLAIN).await;
            let note = format!("{fault:?} at {place}");
            till.fail_request(place, fault);
            _ = refund(&till, &order, &[(1, 2)]).await;
            till.wait(DAY);
            refund(&till, &order, &[(1, 2)]).await.unwrap();
            assert_refunded(&till, &order, 200, &note).await;
            assert_eq!(till.says(&order).await.attempts.len(), 1, "{note}");
            assert_eq!(till.market.sold(PLAIN).await, sold - 2, "{note}");
        }
    }
}
