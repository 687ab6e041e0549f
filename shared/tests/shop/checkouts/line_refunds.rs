//! Refunds of units of single lines: every means of payment gives back its share, the other lines stay as they were, and a
//! repeated command finishes what was begun.

use crate::shop::{PLAIN, PRICE, STEPS, Shop, money};
use crate::sums::assert_audit;
use shared::model::{InternalId, LineId, OrderStatus};
use shared::rules::refund::LineRefusal;
use shared::shop::payments::{Desk, LinesRefunded, OperatorError, RefundKind};
use shared::shop::statistics::catch_up;
use shared::table::Db;
use std::time::Duration;
use stripe_stand_in::{Action, Fault, FaultKind};
use tests::Fault as DatabaseFault;

const DAY: Duration = Duration::from_hours(25);

async fn refund_by(
    shop: &Shop,
    db: &Db,
    order: &InternalId,
    lines: &[(u64, u32)],
) -> Result<LinesRefunded, OperatorError> {
    let wanted: Vec<_> = lines.iter().map(|(line, units)| (LineId::new(*line), *units)).collect();
    Desk::new(db, &shop.clock, Some(&shop.stripe)).refund_lines(order, &wanted).await
}

async fn refund(shop: &Shop, order: &InternalId, lines: &[(u64, u32)]) -> Result<LinesRefunded, OperatorError> {
    refund_by(shop, &shop.db, order, lines).await
}

/// Fails unless so much is refunded at the provider, and the table is what its orders add up to.
async fn assert_refunded(shop: &Shop, order: &InternalId, total: i64, note: &str) {
    assert_eq!(shop.says(order).await.refunded, money(total), "{note}");
    shop.settle(order).await;
    catch_up(&shop.db, order).await.unwrap();
    shop.sweep().await;
    assert!(!shop.order(order).await.statistics_due(), "{note}");
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn units_of_a_line_come_back_and_what_was_paid_for_the_others_stays() {
    let shop = Shop::open().await;
    let order = shop.buy(1, &[(STEPS[0], 1), (PLAIN, 3)], None).await;
    let refunded = refund(&shop, &order, &[(2, 2)]).await.unwrap();
    assert!(refunded.is_new);
    assert_eq!(refunded.payment.unwrap().amount, money(2 * PRICE));
    assert_eq!((shop.sold(PLAIN).await, shop.held(1, PLAIN).await), (1, 1));
    assert_eq!((shop.paid_for(1, STEPS[0]).await, shop.paid_for(1, PLAIN).await), (240, PRICE));
    assert_refunded(&shop, &order, 2 * PRICE, "two units").await;
    assert_eq!(shop.order(&order).await.order.status, OrderStatus::Paid);
    // The next step costs the difference to what was paid for the one before. Alone that is less than the provider takes.
    let next = shop.checkout(1, &[(STEPS[1], 1), (PLAIN, 1)], None).await;
    let totals: Vec<_> = shop.order(&next).await.order.lines.iter().map(|line| line.total).collect();
    assert_eq!(totals, [money(10), money(PRICE)]);
}

#[tokio::test]
async fn the_same_units_again_change_nothing_and_more_add_to_them() {
    let shop = Shop::open().await;
    let order = shop.buy(1, &[(PLAIN, 5)], None).await;
    for (units, is_new, total) in [(2, true, 200), (2, false, 200), (3, true, 300), (3, false, 300)] {
        let refunded = refund(&shop, &order, &[(1, units)]).await.unwrap();
        assert_eq!((refunded.is_new, refunded.payment.unwrap().total), (is_new, money(total)));
        assert_eq!(shop.sold(PLAIN).await, 5 - i64::from(units));
        assert_refunded(&shop, &order, total, "again").await;
    }
    let last = refund(&shop, &order, &[(1, 5)]).await.unwrap();
    assert_eq!(last.stored.order.status, OrderStatus::Refunded);
    assert_eq!((shop.sold(PLAIN).await, shop.held(1, PLAIN).await), (0, 0));
    assert_refunded(&shop, &order, 500, "all of it").await;
    assert_eq!(refund(&shop, &order, &[(1, 5)]).await.unwrap().payment.unwrap().kind, RefundKind::Already);
}

#[tokio::test]
async fn every_means_of_payment_gives_back_its_share_and_they_add_up() {
    let shop = Shop::open().await;
    let order = shop.buy(1, &[(PLAIN, 11)], Some("card")).await;
    let (price, balance) = (shop.order(&order).await.order.price.minor(), shop.balance().await);
    assert_eq!((price, balance), (100, 0));
    // A unit is 100, of which the card paid ten parts of eleven.
    for (units, charged) in [(1, 9), (2, 18), (6, 55), (10, 91), (11, 100)] {
        refund(&shop, &order, &[(1, units)]).await.unwrap();
        assert_eq!(shop.says(&order).await.refunded, money(charged));
        assert_eq!(shop.balance().await, 100 * i64::from(units) - charged, "{units}");
        assert_refunded(&shop, &order, charged, "shares").await;
    }
    assert_eq!(shop.order(&order).await.order.status, OrderStatus::Refunded);
}

#[tokio::test]
async fn a_refund_of_another_amount_before_stays_and_counts_for_all_lines() {
    let shop = Shop::open().await;
    let order = shop.buy(1, &[(PLAIN, 5)], None).await;
    shop.refund(&order, Some(60)).await.unwrap();
    refund(&shop, &order, &[(1, 1)]).await.unwrap();
    assert_refunded(&shop, &order, 160, "both").await;
    assert_eq!(shop.paid_for(1, PLAIN).await, 340);
    let whole = shop.refund(&order, None).await.unwrap();
    assert_eq!(whole.stored.order.status, OrderStatus::Refunded);
    assert_eq!((shop.sold(PLAIN).await, shop.held(1, PLAIN).await), (0, 0));
    assert_refunded(&shop, &order, 500, "the rest").await;
}

#[tokio::test]
async fn what_cannot_be_refunded_is_refused_and_nothing_is_written() {
    let shop = Shop::open().await;
    let order = shop.buy(1, &[(PLAIN, 5)], None).await;
    refund(&shop, &order, &[(1, 2)]).await.unwrap();
    let before = shop.order(&order).await;
    let line = LineId::new(1);
    for (wanted, expected) in [
        (vec![(7, 1)], LineRefusal::Unknown { line: LineId::new(7) }),
        (vec![(1, 6)], LineRefusal::TooMany { line, count: 5 }),
        (vec![(1, 1)], LineRefusal::Less { line, returned: 2 }),
        (vec![(1, 3), (1, 4)], LineRefusal::Twice { line }),
    ] {
        let refused = refund(&shop, &order, &wanted).await;
        assert!(matches!(&refused, Err(OperatorError::Line(refusal)) if *refusal == expected), "{refused:?}");
    }
    assert_eq!(shop.order(&order).await.order, before.order);
    shop.act(&order, Action::Dispute(None));
    let disputed = refund(&shop, &order, &[(1, 3)]).await;
    assert!(matches!(disputed, Err(OperatorError::Disputed(_))), "{disputed:?}");
    assert_eq!(shop.order(&order).await.order.lines, before.order.lines);
}

#[tokio::test]
async fn whenever_it_is_killed_the_repeated_command_finishes_it_and_pays_once() {
    let bought = Shop::open().await;
    let order = bought.buy(1, &[(PLAIN, 5)], None).await;
    for later in [Duration::ZERO, DAY] {
        for place in 0..60 {
            let shop = bought.copy().await;
            let fault = if place % 2 == 0 { DatabaseFault::Internal } else { DatabaseFault::ResponseLost };
            let killed = shop.failing(move |at, _| (at >= place).then_some(fault));
            let first = refund_by(&shop, &killed.db, &order, &[(1, 2)]).await;
            shop.clock.advance(later);
            refund(&shop, &order, &[(1, 2)]).await.unwrap();
            let note = format!("killed at {place}, {later:?} later");
            assert_eq!(shop.sold(PLAIN).await, 3, "{note}");
            assert_refunded(&shop, &order, 200, &note).await;
            if first.is_ok() {
                assert!(place > 10, "{place}");
                break;
            }
        }
    }
}

#[tokio::test]
async fn whichever_request_to_the_provider_is_lost_the_repeated_command_pays_once() {
    let shop = Shop::open().await;
    let order = shop.buy(1, &[(PLAIN, 5)], None).await;
    let requests = shop.requests();
    refund(&shop, &order, &[(1, 2)]).await.unwrap();
    let count = requests();
    assert!(count >= 4, "{count}");
    // A fault after the last request would fail the repeated command in place of the first.
    for place in 0..count {
        for fault in [Fault::before(FaultKind::Cut), Fault::after(FaultKind::Cut)] {
            let order = shop.buy(1, &[(PLAIN, 5)], None).await;
            let sold = shop.sold(PLAIN).await;
            let note = format!("{fault:?} at {place}");
            shop.fail_request(place, fault);
            _ = refund(&shop, &order, &[(1, 2)]).await;
            shop.clock.advance(DAY);
            refund(&shop, &order, &[(1, 2)]).await.unwrap();
            assert_refunded(&shop, &order, 200, &note).await;
            assert_eq!(shop.says(&order).await.attempts.len(), 1, "{note}");
            assert_eq!(shop.sold(PLAIN).await, sold - 2, "{note}");
        }
    }
}
