//! Every call of a subscription's life that fails, and the process killed at every call: what is repeated or swept completes it.

use super::faults::Database;
use crate::shop::{Instance, Shop};
use crate::subscribers::MONTHLY;
use shared::model::{Cancellation, InternalId, OrderStatus, SubscriptionStatus};
use shared::rules::subscription::access_until;
use shared::shop::payments::{Provider as _, WebhookEvent};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use stripe_stand_in::{Action, Fault, FaultKind};
use tests::by_turns;

/// A part of a subscription's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The checkout begins, is paid, and its events are heard.
    Subscribe,
    /// A renewal's events are heard.
    Renew,
    /// The owner cancels it at the end of what is paid.
    Cancel,
    /// The events of a cancellation at the provider are heard.
    CancelThere,
    /// The owner refunds its newest payment.
    Refund,
    /// The events of a dispute of the newest payment are heard.
    Dispute,
    /// It is not paid until its grace is over, its buyer buys it again, and its card is charged at the same time: all is heard.
    Replace,
}

/// A shop before the part, with the order that the subscription began with, and the events that are heard.
struct Before {
    shop: Shop,
    first: Option<InternalId>,
    events: Vec<WebhookEvent>,
}

impl Before {
    async fn copy(&self) -> Self {
        Self { shop: self.shop.copy().await, first: self.first.clone(), events: self.events.clone() }
    }
}

async fn before(part: Part) -> Before {
    let mut shop = Shop::open_subscriptions().await;
    // From the first sweep on no event is lost for good.
    shop.sweep_and_run().await;
    if part == Part::Subscribe {
        return Before { shop, first: None, events: Vec::new() };
    }
    let first = shop.subscribe().await;
    if part == Part::Replace {
        return before_replacing(shop, first).await;
    }
    shop.days(29);
    let known = shop.events().await.len();
    let action = match part {
        Part::Renew => Some(Action::Renew),
        Part::CancelThere => Some(Action::CancelAtPeriodEnd),
        Part::Dispute => Some(Action::Dispute(None)),
        _ => None,
    };
    if let Some(action) = action {
        shop.act(&first, action);
    }
    let events = shop.events_after(known).await;
    Before { shop, first: Some(first), events }
}

async fn before_replacing(mut shop: Shop, first: InternalId) -> Before {
    shop.days(31);
    shop.after(&first, Action::FailRenewal).await;
    shop.sweep_after(5).await;
    let known = shop.events().await.len();
    let again = shop.begin().await;
    shop.act(&again, Action::Pay);
    let mut events = shop.events_after(known).await;
    // It is heard last.
    shop.act(&first, Action::Recover);
    let invoices = shop.stand_in.invoices();
    events.push(WebhookEvent::Invoice(invoices[invoices.len() - 2].clone()));
    Before { shop, first: Some(first), events }
}

/// Takes the part through an instance; stops at the first step that fails.
async fn walk(before: &Before, by: &Instance, part: Part) -> Option<()> {
    let Before { shop, first, events } = before;
    match part {
        Part::Subscribe => {
            shop.subscribe_by(by, MONTHLY).await.ok()?;
            let session = shop.stand_in.sessions().pop()?;
            shop.try_act(&session, Action::Pay).ok()?;
            shop.desk_of(&by.db).act(&WebhookEvent::Checkout(session)).await.ok()?;
            let invoice = shop.stand_in.invoices().pop()?;
            shop.desk_of(&by.db).act(&WebhookEvent::Invoice(invoice)).await.ok()
        }
        Part::Renew | Part::CancelThere | Part::Dispute | Part::Replace => {
            for event in events {
                shop.desk_of(&by.db).act(event).await.ok()?;
            }
            Some(())
        }
        Part::Cancel => {
            let id = shop.subscription(first.as_ref()?).await.id;
            shop.desk_of(&by.db).cancel_subscription(&id, Cancellation::AtPeriodEnd).await.ok().map(drop)
        }
        Part::Refund => shop.refund_by(&by.db, first.as_ref()?, None).await.ok().map(drop),
    }
}

/// Repeats what an owner or a buyer repeats, lets the sweep do the rest, and looks at the outcome.
async fn assert_finished(before: Before, part: Part, note: &str) {
    let is_paid = before.shop.orders().await.iter().any(|stored| stored.order.status == OrderStatus::Paid);
    if matches!(part, Part::Cancel | Part::Refund) || (part == Part::Subscribe && !is_paid) {
        // What is being settled, or is paid at the provider already, is refused.
        let instance = before.shop.instance();
        if walk(&before, &instance, part).await.is_none() && part == Part::Refund {
            // The provider repeats a failure of its own under the same key; ten minutes later the attempt is another one.
            before.shop.clock.advance(Duration::from_mins(11));
            walk(&before, &instance, part).await;
        }
    }
    let Before { mut shop, .. } = before;
    for _ in 0..3 {
        shop.clock.advance(Duration::from_mins(90));
        shop.sweep_and_run().await;
    }
    if part == Part::Replace {
        return assert_replaced(&shop, note).await;
    }
    let orders = shop.orders().await;
    let paid = orders.iter().filter(|stored| stored.order.status == OrderStatus::Paid).count();
    let first = orders
        .iter()
        .find(|stored| stored.effects.subscription.as_ref().is_some_and(|own| !own.renewal && own.id.is_some()));
    let first = first.unwrap_or_else(|| panic!("{note}: {orders:?}")).order.internal_id.clone();
    let subscription = shop.subscription(&first).await;
    let seen = shop.stripe.subscription(&subscription.id).await.unwrap();
    assert_eq!((subscription.scheduled, subscription.requested), (access_until(&subscription), None), "{note}");
    let ran: &[&str] = match part {
        Part::Subscribe | Part::Cancel | Part::CancelThere => &["give user-1"],
        Part::Renew => &["give user-1", "thank user-1"],
        Part::Refund => &["give user-1", "take user-1"],
        Part::Dispute => &["give user-1", "seize user-1"],
        Part::Replace => unreachable!("it has an outcome of its own"),
    };
    assert_eq!(shop.ran, ran, "{note}");
    let ends = matches!(part, Part::Cancel | Part::CancelThere);
    let is_over = matches!(part, Part::Refund | Part::Dispute);
    assert_eq!((seen.cancelled, seen.status == SubscriptionStatus::Ended), (ends, is_over), "{note}");
    assert_eq!(subscription.status, seen.status, "{note}");
    let expected = usize::from(part == Part::Renew) + usize::from(part != Part::Refund);
    assert_eq!(paid, expected, "{note}");
    assert_eq!(shop.invoices(&subscription.id).await.len(), 1 + usize::from(part == Part::Renew), "{note}");
    assert_eq!(shop.held(1, MONTHLY).await, i64::from(part != Part::Refund), "{note}");
    assert_eq!(shop.entries().await.len(), usize::from(!is_over), "{note}");
}

/// One subscription is left, and one of the two payments.
async fn assert_replaced(shop: &Shop, note: &str) {
    let orders = shop.orders().await;
    let of = |status| orders.iter().filter(|stored| stored.order.status == status).collect::<Vec<_>>();
    let (paid, cancelled) = (of(OrderStatus::Paid), of(OrderStatus::Cancelled));
    assert_eq!((paid.len(), cancelled.len(), orders.len()), (2, 1, 3), "{note}");
    let refunded = shop.says(&cancelled[0].order.internal_id).await;
    assert_eq!(refunded.refunded, refunded.amount, "{note}");
    let [entry] = &shop.entries().await[..] else { panic!("{note}: {:?}", shop.entries().await) };
    let (mut running, mut ended) = (0, 0);
    for stored in &paid {
        let subscription = shop.subscription(&stored.order.internal_id).await;
        let seen = shop.stripe.subscription(&subscription.id).await.unwrap();
        let is_over = seen.status == SubscriptionStatus::Ended;
        (running, ended) = (running + usize::from(!is_over), ended + usize::from(is_over));
        assert_eq!((subscription.requested, entry.id == subscription.id), (None, !is_over), "{note}");
        assert_eq!(subscription.replaced_by.is_some(), is_over, "{note}");
    }
    assert_eq!((running, ended), (1, 1), "{note}");
    assert_eq!(shop.ran, ["give user-1", "take user-1", "give user-1"], "{note}");
}

async fn fail_each_call(part: Part) {
    let before = before(part).await;
    let healthy = before.copy().await;
    let (recorder, sent) = healthy.shop.recording();
    let requests = healthy.shop.requests();
    walk(&healthy, &Instance::new(recorder), part).await.unwrap();
    let (sent, requests) = (sent(), requests());
    assert_finished(healthy, part, "nothing fails").await;
    assert!(sent.len() >= 4 && requests > 0, "{sent:?}, {requests}");
    for (place, operation) in sent.iter().enumerate() {
        for fault in by_turns(&Database::of(operation), place, 1) {
            let (shop, fired) = (before.copy().await, Arc::new(AtomicBool::new(false)));
            let instance = shop.shop.failing(fault.rule(place, &fired));
            walk(&shop, &instance, part).await;
            let note = format!("{part:?} {fault:?} at {place}");
            assert!(fired.load(Ordering::SeqCst), "no such call: {note}");
            assert_finished(shop, part, &note).await;
        }
    }
    for place in 0..requests {
        let faults = [
            Fault::before(FaultKind::Cut),
            Fault::after(FaultKind::Cut),
            Fault::before(FaultKind::Status(500)),
            Fault::after(FaultKind::Status(500)),
        ];
        for fault in by_turns(&faults, place, 1) {
            let shop = before.copy().await;
            let note = format!("{part:?} {fault:?} at {place} of the provider");
            shop.shop.fail_request(place, fault);
            let instance = shop.shop.instance();
            walk(&shop, &instance, part).await;
            assert_finished(shop, part, &note).await;
        }
    }
}

#[tokio::test]
async fn a_subscription_begins_whichever_call_fails_and_whenever_the_process_is_killed() {
    fail_each_call(Part::Subscribe).await;
}

#[tokio::test]
async fn a_renewal_completes_whichever_call_fails_and_whenever_the_process_is_killed() {
    fail_each_call(Part::Renew).await;
}

#[tokio::test]
async fn a_cancellation_completes_whichever_call_fails_and_whenever_the_process_is_killed() {
    fail_each_call(Part::Cancel).await;
}

#[tokio::test]
async fn a_cancellation_at_the_provider_is_heard_whichever_call_fails_and_whenever_the_process_is_killed() {
    fail_each_call(Part::CancelThere).await;
}

#[tokio::test]
async fn a_refund_of_a_subscription_completes_whichever_call_fails_and_whenever_the_process_is_killed() {
    fail_each_call(Part::Refund).await;
}

#[tokio::test]
async fn a_dispute_of_a_subscription_completes_whichever_call_fails_and_whenever_the_process_is_killed() {
    fail_each_call(Part::Dispute).await;
}

#[tokio::test]
async fn a_replacement_completes_and_charges_once_whichever_call_fails_and_whenever_the_process_is_killed() {
    fail_each_call(Part::Replace).await;
}
