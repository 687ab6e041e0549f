//! The scheduled sweep: what fails keeps nothing else waiting, and is never forgotten.

use crate::at_provider::{AWAY, REFUSED, SESSIONS};
use crate::shop::{FIVE, PLAIN, PRICE, Shop};
use crate::sums::assert_quiet;
use futures_util::future::join_all;
use shared::deadline;
use shared::model::{InternalId, OrderStatus, UserId};
use shared::rules::payment::Progress;
use shared::shop::orders::unfinished::{self, DueRow};
use shared::shop::payments::webhook_events::EventCursor;
use shared::shop::payments::{OVERDUE, Swept, WebhookEvent};
use shared::table::codec::key_attributes;
use shared::table::keys;
use shared::telemetry::payment_events;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use stripe_stand_in::Action;
use tests::Fault as DatabaseFault;

/// Checkouts of as many buyers.
async fn open(shop: &Shop, buyers: u64) -> Vec<InternalId> {
    let mut orders = Vec::new();
    for buyer in 1..=buyers {
        orders.push(shop.checkout(buyer, &[(PLAIN, 1)], None).await);
    }
    orders
}

/// Paid orders of as many buyers.
async fn paid(shop: &Shop, buyers: u64) -> Vec<InternalId> {
    let orders = open(shop, buyers).await;
    for order in &orders {
        shop.pay(order).await;
    }
    orders
}

/// Paid orders, which the provider refunds without a webhook event that arrives. The sweep has noted since when it asks.
async fn refunded_unnoticed(shop: &Shop, buyers: u64) -> Vec<InternalId> {
    let orders = paid(shop, buyers).await;
    // What is asked for begins some minutes before.
    shop.clock.advance(Duration::from_mins(6));
    shop.sweep().await;
    for order in &orders {
        shop.act(order, Action::Refund(None));
    }
    shop.clock.advance(Duration::from_mins(61));
    orders
}

async fn mark(shop: &Shop) -> EventCursor {
    EventCursor::read(&shop.db).await.unwrap().unwrap()
}

async fn overdue(shop: &Shop) -> Vec<DueRow> {
    unfinished::due(&shop.db, shop.now() - OVERDUE).await.unwrap()
}

#[tokio::test]
async fn an_order_that_always_fails_waits_longer_each_time_and_stays_overdue_from_its_first_due_time() {
    let shop = Shop::open().await;
    let order = open(&shop, 1).await.remove(0);
    let due = shop.order(&order).await.effects.due.unwrap();
    shop.stand_in.inject(AWAY.on(SESSIONS).for_ever());
    // Every five minutes, as the schedule does.
    for _ in 0..12 * 12 {
        shop.sweep().await;
        shop.clock.advance(Duration::from_mins(5));
    }
    let row = overdue(&shop).await.remove(0);
    assert_eq!(keys::due_second(&row.key), Some(due));
    assert!(row.reason.as_deref().unwrap().contains("not available"), "{row:?}");
    // At once, and 5, 15, 35, 75, 155, 315 and 635 minutes later.
    assert_eq!(row.failed, 8);
    shop.stand_in.clear_faults();
    shop.clock.advance(Duration::from_hours(6));
    shop.sweep_later().await;
    assert_eq!(shop.status(&order).await, OrderStatus::Cancelled);
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn a_row_that_cannot_be_read_keeps_nothing_else_waiting() {
    let shop = Shop::open().await;
    let orders = open(&shop, 3).await;
    for order in &orders {
        shop.act(order, Action::Pay);
    }
    shop.clock.advance(Duration::from_hours(1));
    let number = shop.order(&orders[0]).await.order.id;
    for unreadable in [keys::unfinished_order(1_000, number), keys::order(&orders[1]), keys::webhook_events()] {
        shop.write_item(key_attributes(&unreadable)).await;
    }
    let swept = shop.sweep().await;
    assert_eq!((swept.due, swept.done, swept.failed), (4, 2, 3), "the row, the order and the place in the events");
    assert_eq!(shop.status(&orders[0]).await, OrderStatus::Paid);
    assert_eq!(shop.status(&orders[2]).await, OrderStatus::Paid);
    let rows = overdue(&shop).await;
    assert_eq!(rows.iter().filter(|row| row.due.is_err()).count(), 1);
    assert!(rows.iter().any(|row| row.order() == Some(&orders[1]) && row.failed == 1), "{rows:?}");
}

#[tokio::test]
async fn the_next_sweep_continues_where_the_one_before_had_to_stop() {
    let shop = Shop::open().await;
    let orders = refunded_unnoticed(&shop, 6).await;
    shop.stand_in.shorten_pages(2);
    let before = mark(&shop).await.since;
    // The page after the first is asked for while the first is worked on.
    shop.fail_request(1, AWAY.on("/v1/events"));
    assert_eq!(shop.sweep().await.failed, 1);
    let stopped = mark(&shop).await;
    assert_eq!(stopped.since, before);
    assert!(stopped.window.as_ref().is_some_and(|window| window.after.is_some()), "{stopped:?}");
    let looks = || shop.received(&format!("GET {SESSIONS}/"));
    let before = looks();
    assert_eq!(shop.sweep().await.failed, 0);
    assert_eq!(looks() - before, 4, "the first page is not worked on again");
    let done = mark(&shop).await;
    assert_eq!((done.since, done.window), (stopped.window.unwrap().until, None));
    for order in &orders {
        assert_eq!(shop.status(order).await, OrderStatus::Refunded);
    }
}

#[tokio::test]
async fn a_webhook_event_that_fails_is_kept_and_the_others_go_on() {
    let shop = Shop::open().await;
    let orders = refunded_unnoticed(&shop, 3).await;
    let now = shop.now();
    shop.stand_in.inject(AWAY.on(SESSIONS));
    assert_eq!(shop.sweep().await.failed, 1);
    let kept = mark(&shop).await;
    assert_eq!((kept.since, kept.failed.len()), (now, 1));
    let failed = &kept.failed[0];
    assert_eq!((failed.kind.as_str(), failed.since, failed.failed, failed.again_at), ("payment", now, 1, now + 300));
    let mut statuses = Vec::new();
    for order in &orders {
        statuses.push(shop.status(order).await);
    }
    assert_eq!(statuses.iter().filter(|status| **status == OrderStatus::Refunded).count(), 2);
    assert_eq!(shop.sweep().await.failed, 0, "it is not its time yet");
    assert_eq!(mark(&shop).await.failed.len(), 1);
    shop.clock.advance(Duration::from_mins(5));
    shop.sweep().await;
    assert_eq!(mark(&shop).await.failed, []);
    for order in &orders {
        assert_eq!(shop.status(order).await, OrderStatus::Refunded);
    }
}

#[tokio::test]
async fn what_the_provider_refuses_to_show_counts_as_done() {
    let shop = Shop::open().await;
    refunded_unnoticed(&shop, 2).await;
    shop.stand_in.inject(REFUSED.on(SESSIONS));
    assert_eq!(shop.sweep().await.failed, 0);
    let done = mark(&shop).await;
    assert_eq!((done.since, done.failed.len()), (shop.now(), 0));
}

#[tokio::test]
async fn a_place_that_the_provider_has_forgotten_is_the_newest_event_again() {
    let shop = Shop::open().await;
    let orders = refunded_unnoticed(&shop, 4).await;
    shop.stand_in.shorten_pages(2);
    shop.fail_request(1, AWAY.on("/v1/events"));
    assert_eq!(shop.sweep().await.failed, 1);
    let mut stopped = mark(&shop).await;
    stopped.window.as_mut().unwrap().after = Some("evt_forgotten".to_owned());
    shop.put(&keys::webhook_events(), &stopped).await;
    for _ in 0..2 {
        assert_eq!(shop.sweep().await.failed, 0);
    }
    assert_eq!(mark(&shop).await.window, None);
    for order in &orders {
        assert_eq!(shop.status(order).await, OrderStatus::Refunded);
    }
}

#[tokio::test]
async fn what_there_is_no_time_for_is_left_to_the_next_sweep_and_does_not_count_as_failed() {
    let shop = Shop::open().await;
    let orders = open(&shop, 3).await;
    shop.clock.advance(Duration::from_hours(1));
    // As much as is kept for counting and for what has begun.
    let swept = deadline::scope(Duration::from_secs(4), shop.sweep()).await;
    assert_eq!(swept, Swept { due: 3, left: 3, ..Swept::default() });
    // Or if reading what is due has taken it.
    let instance = shop.failing(|place, _| {
        std::thread::sleep(Duration::from_secs(u64::from(place == 0)));
        None
    });
    let swept = shop.sweep_by(&instance.db);
    let swept = deadline::scope(Duration::from_secs(5), swept).await.unwrap();
    assert_eq!(swept, Swept { due: 3, left: 3, ..Swept::default() });
    assert!(overdue(&shop).await.iter().all(|row| row.failed == 0));
    shop.sweep_later().await;
    for order in &orders {
        assert_eq!(shop.status(order).await, OrderStatus::Cancelled);
    }
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn an_order_that_waits_for_days_is_looked_at_ever_more_rarely() {
    let shop = Shop::open_with(|payments| payments.delayed = true).await;
    let order = open(&shop, 1).await.remove(0);
    shop.end(&order, Progress::Processing);
    let mut looks = Vec::new();
    for hour in [1, 2, 24, 96] {
        let now = shop.now();
        shop.clock.advance(Duration::from_hours(hour));
        shop.sweep().await;
        let later = shop.order(&order).await.effects.due.unwrap() - shop.now();
        looks.push((shop.now() - now, later));
    }
    let later: Vec<i64> = looks.iter().map(|(_, later)| *later / 60).collect();
    assert_eq!(later, [15, 45, 360, 360], "a quarter of its age, from 15 minutes to 6 hours: {looks:?}");
}

#[tokio::test]
async fn a_checkout_that_is_not_the_orders_own_changes_nothing() {
    let shop = Shop::open().await;
    let order = shop.checkout(1, &[(FIVE, 2)], None).await;
    let own = shop.says(&order).await.session;
    for actions in [vec![Action::Pay, Action::Refund(None)], vec![Action::Expire]] {
        // Another program's checkout of the same account, which names the order and has the right amount.
        let foreign = shop.foreign(Some(order.as_str()), 200, "eur").await;
        for action in actions {
            shop.act(&foreign, action);
            shop.hear(&WebhookEvent::Checkout(foreign.clone())).await;
            let stored = shop.order(&order).await;
            assert_eq!((stored.order.status, stored.effects.review), (OrderStatus::Pending, None), "{action:?}");
        }
    }
    shop.act(&own, Action::Pay);
    shop.settle(&order).await;
    let foreign = shop.foreign(Some(order.as_str()), 200, "eur").await;
    for action in [Action::Pay, Action::Refund(None)] {
        shop.act(&foreign, action);
    }
    shop.hear(&WebhookEvent::Checkout(foreign)).await;
    assert_eq!(shop.status(&order).await, OrderStatus::Paid);
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn a_paid_checkout_of_ours_without_an_order_is_counted_until_it_is_refunded() {
    let shop = Shop::open().await;
    let seen = async |session: &str| {
        let event = WebhookEvent::Checkout(session.to_owned());
        let (acted, events) = Box::pin(payment_events(shop.desk().act(&event))).await;
        acted.unwrap();
        events
    };
    // One of another program has no order.
    let other = shop.foreign(None, 200, "eur").await;
    shop.act(&other, Action::Pay);
    assert_eq!(seen(&other).await, []);
    // One names an order that is missing, the other one an order whose checkout is another.
    for named in [InternalId::new("missing"), shop.checkout(1, &[(FIVE, 2)], None).await] {
        let session = shop.foreign(Some(named.as_str()), 200, "eur").await;
        for (action, counted) in
            [(None, None), (Some(Action::Pay), Some(("PaidWithoutOrder", 1))), (Some(Action::Refund(None)), None)]
        {
            if let Some(action) = action {
                shop.act(&session, action);
            }
            assert_eq!(seen(&session).await, Vec::from_iter(counted), "{action:?}");
        }
    }
    shop.sweep().await;
    shop.clock.advance(Duration::from_hours(1));
    let late = shop.foreign(Some("missing"), 200, "eur").await;
    shop.act(&late, Action::Pay);
    let (_, events) = payment_events(shop.sweep()).await;
    assert_eq!(events, [("OverdueOrders", 0), ("PaidWithoutOrder", 1)], "the sweep finds it without a webhook event");
}

#[tokio::test]
async fn what_is_overdue_is_counted_whatever_fails_and_even_without_time() {
    let shop = Shop::open().await;
    open(&shop, 2).await;
    shop.sweep().await;
    shop.clock.advance(Duration::from_hours(2));
    shop.stand_in.inject(AWAY.for_ever());
    // Without the database at the end, what was overdue before counts.
    let cut = shop.failing(|place, operation| (operation == "Query" && place > 0).then_some(DatabaseFault::Internal));
    for (by, millis) in [(&shop.db, 9_000), (&shop.db, 9_000), (&shop.db, 500), (&cut.db, 9_000)] {
        let swept = deadline::scope(Duration::from_millis(millis), shop.sweep_by(by));
        let (swept, events) = payment_events(swept).await;
        swept.unwrap();
        assert!(events.contains(&("OverdueOrders", 2)), "{events:?}");
    }
}

#[tokio::test]
async fn a_checkout_whose_id_was_never_stored_is_known_by_the_order_that_it_names() {
    let shop = Shop::open().await;
    let order = open(&shop, 1).await.remove(0);
    let session = shop.says(&order).await.session;
    shop.rewrite(&order, |stored| {
        let checkout = stored.effects.provider.as_mut().unwrap();
        (checkout.session, checkout.url) = (None, None);
    })
    .await;
    let another = shop.foreign(Some("another"), PRICE, "eur").await;
    for paid in [&another, &session] {
        assert_eq!(shop.status(&order).await, OrderStatus::Pending);
        shop.act(paid, Action::Pay);
        shop.hear(&WebhookEvent::Checkout(paid.clone())).await;
    }
    assert_eq!(shop.status(&order).await, OrderStatus::Paid);
}

#[tokio::test]
async fn a_sweep_counts_fifteen_orders_in_one_transaction() {
    let shop = Shop::open().await;
    paid(&shop, 23).await;
    let transactions = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&transactions);
    let by = shop.failing(move |_, operation| {
        counted.fetch_add(usize::from(operation == "TransactWriteItems"), Ordering::SeqCst);
        None
    });
    let swept = shop.sweep_by(&by.db).await.unwrap();
    assert_eq!(swept, Swept { due: 23, done: 23, ..Swept::default() });
    // Two more write since when the sweep asks for the provider's events and its balance.
    assert_eq!(transactions.load(Ordering::SeqCst), 4);
    shop.assert_sums().await;
    assert_quiet(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sweeps_that_run_at_once_count_every_order_once() {
    let shop = Shop::open().await;
    paid(&shop, 20).await;
    let instances = shop.instances(4);
    join_all(instances.iter().map(|by| shop.sweep_by(&by.db))).await;
    shop.sweep_later().await;
    shop.assert_sums().await;
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn an_order_that_cannot_be_counted_keeps_no_other_waiting() {
    let shop = Shop::open().await;
    let orders = paid(&shop, 4).await;
    let user = UserId::new(1);
    let before = shop.db.get(&keys::user(user), true).await.unwrap().unwrap();
    let broken = before.iter().filter(|(name, _)| *name != "username").map(|(name, it)| (name.clone(), it.clone()));
    shop.write_item(broken.collect()).await;
    assert_eq!(shop.sweep().await, Swept { due: 4, done: 3, failed: 1, left: 0 });
    let behind = async |order| shop.order(order).await.statistics_due();
    assert!(behind(&orders[0]).await && !behind(&orders[1]).await && !behind(&orders[3]).await);
    shop.write_item(before).await;
    shop.sweep_later().await;
    shop.assert_sums().await;
    assert_quiet(&shop).await;
}
