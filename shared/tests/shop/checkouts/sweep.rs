//! The scheduled sweep: what fails keeps nothing else waiting, and is never forgotten.

use crate::books::assert_quiet;
use crate::market::Market;
use crate::provider::{Fault, payment};
use crate::shop::{FIVE, PLAIN};
use futures_util::future::join_all;
use shared::clock::Clock as _;
use shared::deadline;
use shared::model::{InternalId, Money, OrderStatus, UserId};
use shared::rules::payment::{PaymentState, Progress};
use shared::shop::orders::unfinished::{self, DueRow};
use shared::shop::payments::webhook_events::EventCursor;
use shared::shop::payments::{Desk, OVERDUE, Swept, WebhookEvent};
use shared::table::codec::key_attributes;
use shared::table::keys;
use shared::table::transaction::sent;
use shared::telemetry::payment_events;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tests::Fault as DatabaseFault;

/// Checkouts of as many buyers.
async fn open(market: &Market, buyers: u64) -> Vec<InternalId> {
    let mut orders = Vec::new();
    for buyer in 1..=buyers {
        orders.push(market.checkout(buyer, &[(PLAIN, 1)], None).await);
    }
    orders
}

/// Paid orders of as many buyers.
async fn paid(market: &Market, buyers: u64) -> Vec<InternalId> {
    let orders = open(market, buyers).await;
    for order in &orders {
        market.pay(order).await;
    }
    orders
}

/// Paid orders, which the provider refunds without a webhook event that arrives. The sweep has noted since when it asks.
async fn refunded_unnoticed(market: &Market, buyers: u64) -> Vec<InternalId> {
    let orders = paid(market, buyers).await;
    market.sweep().await;
    for order in &orders {
        market.provider.set(order, |state| state.refunded = state.amount);
    }
    market.clock.advance(Duration::from_mins(61));
    orders
}

async fn mark(market: &Market) -> EventCursor {
    EventCursor::read(&market.db).await.unwrap().unwrap()
}

async fn overdue(market: &Market) -> Vec<DueRow> {
    unfinished::due(&market.db, market.clock.seconds() - OVERDUE).await.unwrap()
}

/// Lets the first `count` calls of a name fail, and counts all of them.
fn fail(market: &Market, name: &'static str, count: usize, fault: Fault) -> Arc<AtomicUsize> {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    market
        .provider
        .fail(move |_, called| (called == name && counted.fetch_add(1, Ordering::SeqCst) < count).then_some(fault));
    calls
}

#[tokio::test]
async fn an_order_that_always_fails_waits_longer_each_time_and_stays_overdue_from_its_first_due_time() {
    let market = Market::open().await;
    let order = open(&market, 1).await.remove(0);
    let due = market.order(&order).await.effects.due.unwrap();
    fail(&market, "fetch", usize::MAX, Fault::Away);
    // Every five minutes, as the schedule does.
    for _ in 0..12 * 12 {
        market.sweep().await;
        market.clock.advance(Duration::from_mins(5));
    }
    let row = overdue(&market).await.remove(0);
    assert_eq!(keys::due_second(&row.key), Some(due));
    assert!(row.reason.as_deref().unwrap().contains("away"), "{row:?}");
    // At once, and 5, 15, 35, 75, 155, 315 and 635 minutes later.
    assert_eq!(row.failed, 8);
    market.provider.recover();
    market.clock.advance(Duration::from_hours(6));
    market.sweep_later().await;
    assert_eq!(market.status(&order).await, OrderStatus::Cancelled);
    assert_quiet(&market).await;
}

#[tokio::test]
async fn a_row_that_cannot_be_read_keeps_nothing_else_waiting() {
    let market = Market::open().await;
    let orders = open(&market, 3).await;
    for order in &orders {
        market.provider.pay(order);
    }
    market.clock.advance(Duration::from_hours(1));
    let number = market.order(&orders[0]).await.order.id;
    for unreadable in [keys::unfinished_order(1_000, number), keys::order(&orders[1]), keys::webhook_events()] {
        market.write_item(key_attributes(&unreadable)).await;
    }
    let swept = market.sweep().await;
    assert_eq!((swept.due, swept.done, swept.failed), (4, 2, 3), "the row, the order and the place in the events");
    assert_eq!(market.status(&orders[0]).await, OrderStatus::Paid);
    assert_eq!(market.status(&orders[2]).await, OrderStatus::Paid);
    let rows = overdue(&market).await;
    assert_eq!(rows.iter().filter(|row| row.due.is_err()).count(), 1);
    assert!(rows.iter().any(|row| row.order() == Some(&orders[1]) && row.failed == 1), "{rows:?}");
}

#[tokio::test]
async fn the_next_sweep_continues_where_the_one_before_had_to_stop() {
    let market = Market::open().await;
    let orders = refunded_unnoticed(&market, 6).await;
    market.provider.set_page(2);
    let before = mark(&market).await.since;
    // The page after the first is asked for while the first is worked on.
    let looks = fail(&market, "fetch", 0, Fault::Away);
    let pages = AtomicUsize::new(0);
    market.provider.fail(move |_, name| {
        (name == "webhook_events" && pages.fetch_add(1, Ordering::SeqCst) == 1).then_some(Fault::Away)
    });
    drop(looks);
    assert_eq!(market.sweep().await.failed, 1);
    let stopped = mark(&market).await;
    assert_eq!(stopped.since, before);
    assert!(stopped.window.as_ref().is_some_and(|window| window.after.is_some()), "{stopped:?}");
    let looks = fail(&market, "fetch", 0, Fault::Away);
    assert_eq!(market.sweep().await.failed, 0);
    assert_eq!(looks.load(Ordering::SeqCst), 4, "the first page is not worked on again");
    let done = mark(&market).await;
    assert_eq!((done.since, done.window), (stopped.window.unwrap().until, None));
    for order in &orders {
        assert_eq!(market.status(order).await, OrderStatus::Refunded);
    }
}

#[tokio::test]
async fn a_webhook_event_that_fails_is_kept_and_the_others_go_on() {
    let market = Market::open().await;
    let orders = refunded_unnoticed(&market, 3).await;
    let now = market.clock.seconds();
    fail(&market, "fetch", 1, Fault::Away);
    assert_eq!(market.sweep().await.failed, 1);
    let kept = mark(&market).await;
    assert_eq!((kept.since, kept.failed.len()), (now, 1));
    let failed = &kept.failed[0];
    assert_eq!((failed.kind.as_str(), failed.since, failed.failed, failed.again_at), ("checkout", now, 1, now + 300));
    let mut statuses = Vec::new();
    for order in &orders {
        statuses.push(market.status(order).await);
    }
    assert_eq!(statuses.iter().filter(|status| **status == OrderStatus::Refunded).count(), 2);
    assert_eq!(market.sweep().await.failed, 0, "it is not its time yet");
    assert_eq!(mark(&market).await.failed.len(), 1);
    market.clock.advance(Duration::from_mins(5));
    market.sweep().await;
    assert_eq!(mark(&market).await.failed, []);
    for order in &orders {
        assert_eq!(market.status(order).await, OrderStatus::Refunded);
    }
}

#[tokio::test]
async fn what_the_provider_refuses_to_show_counts_as_done() {
    let market = Market::open().await;
    refunded_unnoticed(&market, 2).await;
    fail(&market, "fetch", 1, Fault::Refused);
    assert_eq!(market.sweep().await.failed, 0);
    let done = mark(&market).await;
    assert_eq!((done.since, done.failed.len()), (market.clock.seconds(), 0));
}

#[tokio::test]
async fn a_place_that_the_provider_has_forgotten_is_the_newest_event_again() {
    let market = Market::open().await;
    let orders = refunded_unnoticed(&market, 4).await;
    market.provider.set_page(2);
    let pages = AtomicUsize::new(0);
    market.provider.fail(move |_, name| match (name, pages.load(Ordering::SeqCst)) {
        ("webhook_events", page) => {
            pages.store(page + 1, Ordering::SeqCst);
            match page {
                1 => Some(Fault::Away),
                2 => Some(Fault::Refused),
                _ => None,
            }
        }
        _ => None,
    });
    for failed in [1, 0, 0] {
        assert_eq!(market.sweep().await.failed, failed);
    }
    assert_eq!(mark(&market).await.window, None);
    for order in &orders {
        assert_eq!(market.status(order).await, OrderStatus::Refunded);
    }
}

#[tokio::test]
async fn what_there_is_no_time_for_is_left_to_the_next_sweep_and_does_not_count_as_failed() {
    let market = Market::open().await;
    let orders = open(&market, 3).await;
    market.clock.advance(Duration::from_hours(1));
    // As much as is kept for counting and for what has begun.
    let swept = deadline::scope(Duration::from_secs(4), market.sweep()).await;
    assert_eq!(swept, Swept { due: 3, left: 3, ..Swept::default() });
    // Or if reading what is due has taken it.
    let instance = market.failing(|place, _| {
        std::thread::sleep(Duration::from_secs(u64::from(place == 0)));
        None
    });
    let swept = Desk::new(&instance.db, &market.clock, Some(&market.provider)).sweep();
    let swept = deadline::scope(Duration::from_secs(5), swept).await.unwrap();
    assert_eq!(swept, Swept { due: 3, left: 3, ..Swept::default() });
    assert!(overdue(&market).await.iter().all(|row| row.failed == 0));
    market.sweep_later().await;
    for order in &orders {
        assert_eq!(market.status(order).await, OrderStatus::Cancelled);
    }
    assert_quiet(&market).await;
}

#[tokio::test]
async fn an_order_that_waits_for_days_is_looked_at_ever_more_rarely() {
    let market = Market::open().await;
    let order = open(&market, 1).await.remove(0);
    market.provider.end(&order, Progress::Processing);
    let mut looks = Vec::new();
    for hour in [1, 2, 24, 96] {
        let now = market.clock.seconds();
        market.clock.advance(Duration::from_hours(hour));
        market.sweep().await;
        let later = market.order(&order).await.effects.due.unwrap() - market.clock.seconds();
        looks.push((market.clock.seconds() - now, later));
    }
    let later: Vec<i64> = looks.iter().map(|(_, later)| *later / 60).collect();
    assert_eq!(later, [15, 45, 360, 360], "a quarter of its age, from 15 minutes to 6 hours: {looks:?}");
}

/// Another program's checkout of the same account that names an order, paid with the right amount.
fn foreign(order: &InternalId, amount: i64) -> PaymentState {
    let (session, intent) = ("foreign".to_owned(), Some("foreign-intent".to_owned()));
    PaymentState { session, progress: Progress::Paid, intent, ..payment(order, Money::from_minor(amount)) }
}

#[tokio::test]
async fn a_checkout_that_is_not_the_orders_own_changes_nothing() {
    let market = Market::open().await;
    let order = market.checkout(1, &[(FIVE, 2)], None).await;
    let event = WebhookEvent::Checkout("foreign".to_owned());
    for (progress, refunded) in [(Progress::Paid, 0), (Progress::Paid, 200), (Progress::Expired, 0)] {
        let state = PaymentState { progress, refunded: Money::from_minor(refunded), ..foreign(&order, 200) };
        market.provider.add(state);
        market.desk().act(&event).await.unwrap();
        let stored = market.order(&order).await;
        assert_eq!((stored.order.status, stored.effects.review), (OrderStatus::Pending, None), "{progress:?}");
    }
    market.pay(&order).await;
    market.provider.add(PaymentState { refunded: Money::from_minor(200), ..foreign(&order, 200) });
    market.desk().act(&event).await.unwrap();
    assert_eq!(market.status(&order).await, OrderStatus::Paid);
    assert_quiet(&market).await;
}

#[tokio::test]
async fn a_paid_checkout_of_ours_without_an_order_is_counted_until_it_is_refunded() {
    let market = Market::open().await;
    let missing = InternalId::new("missing");
    let event = WebhookEvent::Checkout("foreign".to_owned());
    let seen = async |state: PaymentState| {
        market.provider.add(state);
        let (acted, events) = Box::pin(payment_events(market.desk().act(&event))).await;
        acted.unwrap();
        events
    };
    assert_eq!(seen(foreign(&missing, 200)).await, [("PaidWithoutOrder", 1)]);
    for not_counted in [
        PaymentState { order: None, ..foreign(&missing, 200) },
        PaymentState { progress: Progress::Open, ..foreign(&missing, 200) },
        PaymentState { refunded: Money::from_minor(200), ..foreign(&missing, 200) },
    ] {
        assert_eq!(seen(not_counted).await, []);
    }
    market.sweep().await;
    market.clock.advance(Duration::from_hours(1));
    market.provider.add(foreign(&missing, 200));
    let (_, events) = payment_events(market.sweep()).await;
    assert_eq!(events, [("OverdueOrders", 0), ("PaidWithoutOrder", 1)], "the sweep finds it without a webhook event");
}

#[tokio::test]
async fn what_is_overdue_is_counted_whatever_fails_and_even_without_time() {
    let market = Market::open().await;
    open(&market, 2).await;
    market.sweep().await;
    market.clock.advance(Duration::from_hours(2));
    market.provider.fail(|_, _| Some(Fault::Away));
    for _ in 0..2 {
        let (_, events) = payment_events(market.sweep()).await;
        assert_eq!(events, [("OverdueOrders", 2)]);
    }
    let (_, events) = payment_events(deadline::scope(Duration::from_millis(500), market.sweep())).await;
    assert_eq!(events, [("OverdueOrders", 2)]);
    // Without the database at the end, what was overdue before counts.
    let instance =
        market.failing(|place, operation| (operation == "Query" && place > 0).then_some(DatabaseFault::Internal));
    let swept = Desk::new(&instance.db, &market.clock, Some(&market.provider)).sweep();
    let (swept, events) = payment_events(swept).await;
    swept.unwrap();
    assert_eq!(events, [("OverdueOrders", 2)]);
}

#[tokio::test]
async fn a_checkout_whose_id_was_never_stored_is_known_by_the_order_that_it_names() {
    let market = Market::open().await;
    let order = open(&market, 1).await.remove(0);
    let mut stored = market.order(&order).await;
    let checkout = stored.effects.provider.as_mut().unwrap();
    (checkout.session, checkout.url) = (None, None);
    market.delete(&stored.key()).await;
    let write: shared::table::transaction::Write = stored.put_new().unwrap();
    sent(&market.db, vec![write]).await.unwrap();
    let another = InternalId::new("another");
    market.provider.pay(&order);
    market.provider.set(&order, |state| state.order = Some(another));
    let event = WebhookEvent::Checkout(order.to_string());
    market.desk().act(&event).await.unwrap();
    assert_eq!(market.status(&order).await, OrderStatus::Pending);
    market.provider.set(&order, |state| state.order = Some(order.clone()));
    market.desk().act(&event).await.unwrap();
    assert_eq!(market.status(&order).await, OrderStatus::Paid);
}

#[tokio::test]
async fn a_sweep_counts_fifteen_orders_in_one_transaction() {
    let market = Market::open().await;
    paid(&market, 23).await;
    let transactions = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&transactions);
    let by = market.failing(move |_, operation| {
        counted.fetch_add(usize::from(operation == "TransactWriteItems"), Ordering::SeqCst);
        None
    });
    let swept = Desk::new(&by.db, &market.clock, Some(&market.provider)).sweep().await.unwrap();
    assert_eq!(swept, Swept { due: 23, done: 23, ..Swept::default() });
    // One more writes since when the sweep asks for the provider's events.
    assert_eq!(transactions.load(Ordering::SeqCst), 3);
    market.assert_sums().await;
    assert_quiet(&market).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sweeps_that_run_at_once_count_every_order_once() {
    let market = Market::open().await;
    paid(&market, 20).await;
    let instances = market.instances(4);
    join_all(instances.iter().map(|by| Desk::new(&by.db, &market.clock, Some(&market.provider)).sweep())).await;
    market.sweep_later().await;
    market.assert_sums().await;
    assert_quiet(&market).await;
}

#[tokio::test]
async fn an_order_that_cannot_be_counted_keeps_no_other_waiting() {
    let market = Market::open().await;
    let orders = paid(&market, 4).await;
    let user = UserId::new(1);
    let before = market.db.get(&keys::user(user), true).await.unwrap().unwrap();
    let broken = before.iter().filter(|(name, _)| *name != "username").map(|(name, it)| (name.clone(), it.clone()));
    market.write_item(broken.collect()).await;
    assert_eq!(market.sweep().await, Swept { due: 4, done: 3, failed: 1, left: 0 });
    let behind = async |order| market.order(order).await.statistics_due();
    assert!(behind(&orders[0]).await && !behind(&orders[1]).await && !behind(&orders[3]).await);
    market.write_item(before).await;
    market.sweep_later().await;
    market.assert_sums().await;
    assert_quiet(&market).await;
}
