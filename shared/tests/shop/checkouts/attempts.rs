//! Refunds in attempts: whichever call is lost, whenever the process is killed and however many run at once, the repeated
//! command refunds once, also when the provider has forgotten the idempotency key.

use crate::at_provider::TOTAL;
use crate::shop::{Shop, money};
use futures_util::future::join_all;
use shared::model::{InternalId, OrderStatus, RefundOutcome};
use shared::rules::refund::RefundRefusal;
use shared::shop::payments::{OperatorError, RefundKind, Settled};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use stripe_stand_in::{Action, Fault, FaultKind};
use tests::{Fault as DatabaseFault, writes};

/// Longer than the provider remembers an idempotency key.
const DAY: Duration = Duration::from_hours(25);
/// To which total the tests refund first, and how much the following refunds of the same order add.
const TO: i64 = 60;

/// Fault of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// The database never gets it, or its response is lost.
    Database(DatabaseFault),
    /// The provider never gets it, or its response is lost.
    Provider { after: bool },
    /// The process is killed as soon as the provider has responded.
    Killed,
}

/// The calls that a refund makes to the database and to the provider, in their order: whether each writes.
async fn calls(shop: &Shop) -> (Vec<bool>, Vec<bool>) {
    let order = shop.paid().await;
    let (recorder, database) = shop.recording();
    let before = shop.stand_in.received().len();
    shop.refund_by(&recorder, &order, Some(TO)).await.unwrap();
    let provider = shop.stand_in.received().iter().skip(before).map(|sent| !sent.route.starts_with("GET ")).collect();
    (database().iter().map(|operation| writes(operation)).collect(), provider)
}

/// How the calls can be lost, and how much later the command is repeated: a write before and after it was done, soon and
/// late. A read that is lost was done or not, which is the same; soon and late take turns.
fn faults(calls: &[bool]) -> Vec<(usize, DatabaseFault, Duration)> {
    let of = |(place, is_write): (usize, &bool)| {
        let all = [DatabaseFault::Internal, DatabaseFault::ResponseLost]
            .into_iter()
            .flat_map(|lost| [(lost, Duration::ZERO), (lost, DAY)]);
        let (skipped, taken) = if *is_write { (0, 4) } else { (place / 2 % 2, 1) };
        all.skip(skipped).take(taken).map(move |(lost, later)| (place, lost, later)).collect::<Vec<_>>()
    };
    calls.iter().enumerate().flat_map(of).collect()
}

/// Refunds an order for the `number`th time with a fault at the call in a place, and then again.
async fn refund_with(shop: &Shop, order: &InternalId, number: u32, place: usize, lost: Lost, later: Duration) {
    let total = TO * i64::from(number);
    let instance = match lost {
        Lost::Database(fault) => shop.failing(move |at, _| (at == place).then_some(fault)),
        Lost::Provider { after } => {
            let fault = if after { Fault::after(FaultKind::Cut) } else { Fault::before(FaultKind::Cut) };
            shop.fail_request(place, fault);
            shop.instance()
        }
        Lost::Killed => {
            let requests = shop.requests();
            shop.failing(move |_, _| (requests() > place).then_some(DatabaseFault::Internal))
        }
    };
    _ = shop.refund_by(&instance.db, order, Some(total)).await;
    shop.clock.advance(later);
    let note = format!("{lost:?} at {place}, {later:?} later, refund {number}");
    // The webhook of the refund may come first.
    if place.is_multiple_of(2) {
        shop.webhook_event(order).await;
    }
    let again = shop.refund(order, Some(total)).await;
    assert_eq!(again.as_ref().map(|refunded| refunded.total).ok(), Some(money(total)), "{note}: {again:?}");
    assert_refunded(shop, order, total, number, &note).await;
}

/// Once more the same, which is done already.
async fn repeat(shop: &Shop, order: &InternalId, number: u32) {
    let total = TO * i64::from(number);
    let twice = shop.refund(order, Some(total)).await.unwrap();
    assert_eq!((twice.kind, twice.amount), (RefundKind::Already, money(0)));
    assert_refunded(shop, order, total, number, "once more").await;
}

async fn assert_refunded_once(shop: &Shop, order: &InternalId, total: i64, note: &str) {
    assert_refunded(shop, order, total, 1, note).await;
}

/// Fails unless the provider has made so many attempts. One that it had not made after ten minutes it never makes.
async fn assert_refunded(shop: &Shop, order: &InternalId, total: i64, made: u32, note: &str) {
    let (mut said, stored) = (shop.says(order).await, shop.order(order).await);
    said.attempts.sort_by_key(|(attempt, _)| *attempt);
    let count = u32::try_from(said.attempts.len()).unwrap();
    assert_eq!((said.refunded, count), (money(total), made), "{note}");
    let attempt = stored.effects.refund.unwrap();
    assert_eq!(said.attempts.last(), Some(&(attempt.number, RefundOutcome::Refunded)), "{note}");
    assert_eq!(attempt.outcome, Some(RefundOutcome::Refunded), "{note}");
    let refunded = if stored.order.status == OrderStatus::Refunded { money(total) } else { stored.effects.refunded };
    assert_eq!(refunded, money(total), "{note}");
}

#[tokio::test]
async fn whichever_call_of_a_refund_is_lost_the_repeated_command_refunds_once() {
    let shop = Shop::open().await;
    let (database, provider) = calls(&shop).await;
    let writes = |calls: &[bool]| calls.iter().filter(|is_write| **is_write).count();
    assert!(database.len() >= 10 && provider.len() >= 4, "{database:?} {provider:?}");
    assert!(writes(&database) >= 3 && writes(&provider) == 1, "{database:?} {provider:?}");
    let of_database = faults(&database).into_iter().map(|(place, lost, later)| (place, Lost::Database(lost), later));
    let of_provider = faults(&provider).into_iter();
    let of_provider = of_provider
        .map(|(place, lost, later)| (place, Lost::Provider { after: lost == DatabaseFault::ResponseLost }, later));
    let faults: Vec<_> = of_database.chain(of_provider).collect();
    // Several refunds of each order, so that few have to be bought: the first has none before it.
    for faults in faults.chunks(8) {
        let order = shop.paid().await;
        for (number, (place, lost, later)) in (1..).zip(faults) {
            refund_with(&shop, &order, number, *place, *lost, *later).await;
        }
        repeat(&shop, &order, u32::try_from(faults.len()).unwrap()).await;
    }
}

#[tokio::test]
async fn whenever_a_refund_is_killed_the_repeated_command_finishes_it() {
    let shop = Shop::open().await;
    let (_, provider) = calls(&shop).await;
    for later in [Duration::ZERO, DAY] {
        for place in 0..=provider.len() {
            let order = shop.paid().await;
            refund_with(&shop, &order, 1, place, Lost::Killed, later).await;
            repeat(&shop, &order, 1).await;
        }
    }
    // Killed between the refund and everything after it: the repeated command says that it has finished it.
    let order = shop.paid().await;
    let requests = shop.requests();
    let killed = shop.failing(move |_, _| (requests() > 1).then_some(DatabaseFault::Internal));
    shop.refund_by(&killed.db, &order, Some(TO)).await.unwrap_err();
    assert!(shop.order(&order).await.effects.refund.unwrap().is_open());
    shop.clock.advance(DAY);
    let finished = shop.refund(&order, Some(TO)).await.unwrap();
    assert_eq!((finished.kind, finished.amount), (RefundKind::Finished, money(TO)));
    assert_refunded_once(&shop, &order, TO, "finished").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_at_once_refund_once() {
    let shop = Shop::open().await;
    for (total, refunded, status) in [(Some(TO), TO, OrderStatus::Paid), (None, TOTAL, OrderStatus::Refunded)] {
        let order = shop.paid().await;
        let instances = shop.instances(20);
        let all = join_all(instances.iter().map(|by| shop.refund_by(&by.db, &order, total))).await;
        let done = all.iter().filter(|refund| refund.is_ok()).count();
        // The others have lost too often against one another, and say that the command may be repeated.
        assert!(done > 0, "{all:?}");
        for refund in all.iter().filter_map(|refund| refund.as_ref().err()) {
            assert!(matches!(refund, OperatorError::Settle(_)), "{refund:?}");
        }
        assert_refunded_once(&shop, &order, refunded, &format!("{total:?}")).await;
        assert_eq!(shop.order(&order).await.order.status, status);
        let again = shop.refund(&order, total).await.unwrap();
        assert_eq!(again.kind, RefundKind::Already, "a repeated refund succeeds");
    }
    shop.assert_sums().await;
}

/// A refund to [`TO`] that was written and never sent.
async fn begun(shop: &Shop) -> InternalId {
    let order = shop.paid().await;
    let killed = shop.failing_transactions(|_| Some(DatabaseFault::ResponseLost));
    shop.refund_by(&killed, &order, Some(TO)).await.unwrap_err();
    assert!(shop.order(&order).await.effects.refund.unwrap().is_open());
    order
}

#[tokio::test]
async fn another_total_is_refused_until_the_refund_that_was_begun_is_finished() {
    let shop = Shop::open().await;
    let order = begun(&shop).await;
    for other in [Some(TO + 1), Some(TO - 1), None] {
        let refused = shop.refund(&order, other).await.unwrap_err();
        let total = money(TO);
        assert!(
            matches!(refused, OperatorError::Refund(RefundRefusal::Unfinished { total: begun }) if begun == total),
            "{refused:?}"
        );
    }
    assert_eq!(shop.says(&order).await.refunded, money(0));
    assert_eq!(shop.refund(&order, Some(TO)).await.unwrap().kind, RefundKind::Finished);
    assert_refunded_once(&shop, &order, TO, "the total that was begun").await;
    let rest = shop.refund(&order, None).await.unwrap();
    assert_eq!((rest.kind, rest.amount, rest.total), (RefundKind::Made, money(TOTAL - TO), money(TOTAL)));
    assert_eq!(rest.stored.order.status, OrderStatus::Refunded);
}

#[tokio::test]
async fn a_refund_in_the_dashboard_meanwhile_counts_towards_the_total() {
    let shop = Shop::open().await;
    let order = begun(&shop).await;
    shop.act(&order, Action::Refund(Some(50)));
    let unclear = shop.refund(&order, Some(TO)).await.unwrap_err();
    assert!(matches!(unclear, OperatorError::Refund(RefundRefusal::Unclear { .. })), "{unclear:?}");
    assert_eq!(shop.says(&order).await.refunded, money(50));
    shop.clock.advance(Duration::from_mins(10));
    let refunded = shop.refund(&order, Some(TO)).await.unwrap();
    assert_eq!((refunded.amount, refunded.total), (money(TO - 50), money(TO)));
    let attempt = refunded.stored.effects.refund.unwrap();
    assert_eq!((attempt.number, attempt.before), (2, money(50)));
}

#[tokio::test]
async fn a_refund_that_the_provider_has_failed_is_made_by_the_next_attempt() {
    let shop = Shop::open().await;
    for refund_is_late in [false, true] {
        let order = if refund_is_late { shop.late().await } else { shop.paid().await };
        shop.stand_in.inject(Fault::before(FaultKind::Status(500)).on("/v1/refunds"));
        let failed =
            |shop: &Shop| shop.stand_in.received().iter().filter(|sent| sent.route == "POST /v1/refunds").count();
        let before = failed(&shop);
        for _ in 0..2 {
            let stored = shop.order(&order).await;
            let tried = if refund_is_late {
                shop.desk().settle(&stored).await.map(|_| ()).map_err(OperatorError::from)
            } else {
                shop.refund(&order, Some(TO)).await.map(|_| ())
            };
            // The provider repeats the error for the same key.
            assert!(matches!(tried, Err(OperatorError::Settle(_))), "{tried:?}");
            let attempt = shop.order(&order).await.effects.refund.unwrap();
            assert_eq!((attempt.number, attempt.outcome), (1, None));
        }
        assert!(failed(&shop) > before + 1);
        shop.clock.advance(Duration::from_mins(10));
        if refund_is_late {
            shop.settle(&order).await;
        } else {
            shop.refund(&order, Some(TO)).await.unwrap();
        }
        let said = shop.says(&order).await;
        assert_eq!(said.attempts, [(2, RefundOutcome::Refunded)]);
        assert_eq!(said.refunded, if refund_is_late { said.amount } else { money(TO) });
    }
}

#[tokio::test]
async fn an_attempt_that_is_refused_for_good_is_closed_and_the_next_has_another_key() {
    let shop = Shop::open().await;
    let order = shop.paid().await;
    shop.act(&order, Action::Dispute(None));
    let refused = shop.refund(&order, Some(TO)).await.unwrap_err();
    assert!(refused.to_string().contains("charged back"), "{refused}");
    let attempt = shop.order(&order).await.effects.refund.unwrap();
    assert_eq!((attempt.number, attempt.outcome), (1, Some(RefundOutcome::Refused)));
    assert!(attempt.reason.unwrap().contains("charged back"));
    shop.refund(&order, None).await.unwrap_err();
    let keys: Vec<Option<String>> = shop
        .stand_in
        .received()
        .into_iter()
        .filter(|sent| sent.route == "POST /v1/refunds")
        .map(|sent| sent.key)
        .collect();
    assert_eq!(keys, [1, 2].map(|number| Some(format!("refund-{order}-{number}"))));
}

#[tokio::test]
async fn an_automatic_refund_is_made_once_whenever_it_is_interrupted() {
    for later in [Duration::ZERO, DAY] {
        for place in 0..40 {
            let shop = Shop::open().await;
            let order = shop.late().await;
            let fired = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&fired);
            let killed = shop.failing(move |at, _| {
                let dead = at >= place;
                counted.fetch_add(usize::from(dead), Ordering::SeqCst);
                dead.then_some(DatabaseFault::Internal)
            });
            let stored = shop.order(&order).await;
            _ = shop.desk_of(&killed.db).settle(&stored).await;
            shop.clock.advance(later);
            shop.settle(&order).await;
            assert_eq!(shop.settle(&order).await, Settled::Unchanged);
            let note = format!("killed at {place}, {later:?} later");
            let said = shop.says(&order).await;
            assert_eq!((said.refunded, said.attempts.len()), (said.amount, 1), "{note}");
            let stored = shop.order(&order).await;
            assert_eq!(stored.order.status, OrderStatus::Cancelled, "{note}");
            assert_eq!(stored.effects.refund.unwrap().outcome, Some(RefundOutcome::Refunded), "{note}");
            assert!(shop.webhook_event(&order).await, "{note}: the payment's row");
            if fired.load(Ordering::SeqCst) == 0 {
                assert!(place > 5, "{place}");
                break;
            }
        }
    }
}
