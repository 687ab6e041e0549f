//! Any order of what happens to a subscription ends with one order per paid invoice, with access exactly while it is paid or
//! in grace, with nothing renewed after the end, and with the money that the provider says.

use crate::notices::{assert_notices, tell};
use crate::shop::{DAY, Shop};
use crate::subscribers::{BUYER, GRACE};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use shared::model::{
    Entitlement, InternalId, Money, OrderStatus, Subscription, SubscriptionDetail, SubscriptionStatus,
};
use shared::rules::dispute::takes_back;
use shared::rules::subscription::access_until;
use shared::shop::orders::StoredOrder;
use shared::shop::payments::{Provider as _, WebhookEvent};
use shared::shop::upkeep::erase::erase_account;
use shared::table::{bulk, keys};
use std::collections::BTreeSet;
use stripe_stand_in::Action;
use tests::count;

const STEPS: usize = 10;

#[derive(Debug, Clone, Copy)]
enum Step {
    /// So many days pass.
    Wait(i64),
    /// An action at the provider, on the newest invoice.
    At(Action),
    /// The event of the last step is lost; otherwise it is heard.
    Lose,
    /// All events so far are heard again.
    Repeat,
    Sweep,
    Poll,
    /// The owner refunds the newest order.
    Refund,
    /// The buyer subscribes again, if nothing speaks against it.
    Subscribe,
    /// The buyer's account is erased; what the owner's tool cancels before is left out.
    Erase,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => prop_oneof![Just(1_i64), Just(2), Just(14), Just(29), Just(31)].prop_map(Step::Wait),
        3 => Just(Step::At(Action::Renew)),
        2 => Just(Step::At(Action::FailRenewal)),
        2 => Just(Step::At(Action::RenewLate)),
        2 => prop_oneof![Just(Action::Succeed), Just(Action::Fail)].prop_map(Step::At),
        2 => Just(Step::At(Action::Recover)),
        1 => Just(Step::At(Action::GiveUp)),
        2 => Just(Step::At(Action::CancelAtPeriodEnd)),
        1 => Just(Step::At(Action::Resume)),
        1 => Just(Step::At(Action::EndPeriod)),
        1 => Just(Step::At(Action::CancelNow)),
        1 => Just(Step::At(Action::MarkUnpaid)),
        1 => prop_oneof![Just(Action::Pause), Just(Action::Unpause), Just(Action::PauseTrial)].prop_map(Step::At),
        1 => prop_oneof![Just(5_i64), Just(40)].prop_map(|days| Step::At(Action::Trial(days))),
        1 => prop_oneof![Just(5_i64), Just(40)].prop_map(|days| Step::At(Action::CancelAt(days))),
        1 => Just(Step::At(Action::Refund(Some(100)))),
        1 => Just(Step::At(Action::Refund(None))),
        1 => Just(Step::At(Action::Inquire)),
        1 => Just(Step::At(Action::Dispute(None))),
        1 => Just(Step::At(Action::CloseDispute { won: true })),
        1 => Just(Step::At(Action::CloseDispute { won: false })),
        2 => Just(Step::Lose),
        1 => Just(Step::Repeat),
        1 => Just(Step::Sweep),
        1 => Just(Step::Poll),
        1 => Just(Step::Refund),
        2 => Just(Step::Subscribe),
        1 => prop::bool::weighted(0.2).prop_map(|erases| if erases { Step::Erase } else { Step::Sweep }),
    ]
}

#[test]
fn any_order_of_events_ends_as_the_provider_says() {
    let cases = count("PROPTEST_CASES", 64);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 60, ..Config::default() };
    let histories = proptest::collection::vec(step(), STEPS);
    TestRunner::new(config).run(&histories, |steps| crate::block_on(history(&steps))).unwrap();
}

async fn history(steps: &[Step]) -> Result<(), TestCaseError> {
    let mut shop = Shop::open_subscriptions().await;
    tell(&shop.db).await;
    // From the first sweep on no event is lost for good.
    shop.sweep_and_run().await;
    let mut first = shop.subscribe().await;
    let mut heard = shop.stand_in.events().len();
    let mut lose = false;
    for step in steps {
        match step {
            Step::Wait(days) => {
                // The hourly look at the provider's events finds those that were lost.
                shop.clock.advance(std::time::Duration::from_mins(90));
                shop.sweep_and_run().await;
                shop.days(*days);
            }
            Step::At(action) => {
                let id = shop.stand_in.invoices().pop().unwrap_or_else(|| first.to_string());
                // What is not possible now does not happen.
                let _: Result<(), String> = shop.try_act(&id, *action);
            }
            Step::Lose => lose = true,
            Step::Repeat => shop.hear_from(0).await,
            Step::Sweep => shop.sweep_and_run().await,
            Step::Poll => shop.run().await,
            Step::Refund => {
                let newest = shop.subscription(&first).await.newest;
                let _: Result<_, _> = shop.refund(&newest, None).await;
            }
            Step::Subscribe => {
                let is_erased = shop.is_erased().await;
                if !is_erased && let Ok(again) = shop.begin_again().await {
                    let before = shop.stand_in.events().len();
                    shop.act(&again.order, Action::Pay);
                    shop.hear_from(before).await;
                    first = shop.newest_first().await;
                }
            }
            Step::Erase => erase_account(&shop.db, BUYER, None).await.unwrap(),
        }
        let all = shop.stand_in.events().len();
        if all > heard && !std::mem::take(&mut lose) {
            shop.hear_from(heard).await;
        }
        heard = all;
        shop.run().await;
        let subscription = shop.subscription(&first).await;
        if subscription.status == SubscriptionStatus::Ended {
            let known = shop.stripe.subscription(&subscription.id).await.unwrap();
            prop_assert_eq!(known.status, SubscriptionStatus::Ended, "it ends only with the provider's");
        }
    }
    all_agree(&mut shop, &first).await
}

/// Compares all subscriptions with the provider, of which the newest began with `first`.
async fn all_agree(shop: &mut Shop, first: &InternalId) -> Result<(), TestCaseError> {
    // The sweep finds what was lost.
    for _ in 0..3 {
        shop.sweep_and_run().await;
        shop.clock.advance(std::time::Duration::from_mins(90));
        shop.sweep_and_run().await;
    }
    let all = bulk::all::<Subscription>(&shop.db, keys::prefix::SUBSCRIPTION).await.unwrap();
    for (_, one) in &all {
        let event = WebhookEvent::Subscription(one.id.clone());
        shop.hear(&event).await;
    }
    shop.sweep_and_run().await;
    shop.clock.advance(std::time::Duration::from_mins(10));
    shop.sweep_and_run().await;
    let orders = shop.orders().await;
    assert_notices(&shop.db, "any order of events").await;
    // What concerns an older subscription takes what a later one gives, and of an erased account nothing is asked to run.
    let is_undisturbed =
        all.iter().all(|(_, one)| one.first == *first || own(&orders, &one.id).all(is_good)) && !shop.is_erased().await;
    let mut running = BTreeSet::new();
    for (_, one) in &all {
        agrees(shop, &one.first, &orders, is_undisturbed && one.first == *first).await?;
        let seen = shop.stripe.subscription(&one.id).await.unwrap();
        prop_assert!(one.replaced_by.is_none() || seen.status == SubscriptionStatus::Ended, "what is replaced is over");
        // One that ends with its period is not charged any more.
        let is_running = seen.status != SubscriptionStatus::Ended && !seen.cancelled;
        prop_assert!(!is_running || running.insert(one.item), "two of one item are charged");
    }
    // At its end it gives nothing, after every history.
    if !shop.is_erased().await {
        let until = access_until(&shop.subscription(first).await);
        shop.run_after(((until - shop.now()) / DAY).max(0) + 1).await;
        prop_assert!(!shop.has_access(), "{:?}", shop.ran);
    }
    Ok(())
}

/// The orders of a subscription.
fn own<'a>(orders: &'a [StoredOrder], id: &'a str) -> impl Iterator<Item = &'a StoredOrder> {
    let of = |stored: &&StoredOrder| stored.effects.subscription.as_ref().and_then(|own| own.id.as_deref()) == Some(id);
    orders.iter().filter(of)
}

/// Whether nothing of an order was taken back.
fn is_good(stored: &StoredOrder) -> bool {
    let entitlement = stored.effects.delivery.as_ref().map(|delivery| delivery.entitlement).unwrap_or_default();
    stored.order.status == OrderStatus::Paid && entitlement == Entitlement::default()
}

async fn agrees(
    shop: &Shop,
    first: &InternalId,
    orders: &[StoredOrder],
    shows_access: bool,
) -> Result<(), TestCaseError> {
    let subscription = shop.subscription(first).await;
    let id = subscription.id.clone();
    let invoices = shop.invoices(&id).await;
    let orders: Vec<&StoredOrder> = own(orders, &id).collect();
    let paid: BTreeSet<InternalId> = invoices.iter().map(|invoice| invoice.order.clone().unwrap()).collect();
    let kept: BTreeSet<InternalId> = orders.iter().map(|stored| stored.order.internal_id.clone()).collect();
    prop_assert_eq!(&paid, &kept, "one order for each paid invoice");
    let at_provider: Money = invoices.iter().map(|invoice| invoice.amount.less(invoice.refunded)).sum();
    let kept = orders.iter().filter(|stored| stored.order.status == OrderStatus::Paid);
    let kept: Money = kept.map(|stored| stored.order.price.less(stored.effects.refunded)).sum();
    prop_assert_eq!(kept, at_provider, "the money that the provider says");
    for invoice in &invoices {
        let stored = orders.iter().find(|stored| Some(&stored.order.internal_id) == invoice.order.as_ref()).unwrap();
        let disputes: Vec<(String, String)> = stored.effects.disputes.clone().into_iter().collect();
        prop_assert!(invoice.disputes.iter().all(|dispute| disputes.contains(dispute)), "every dispute is noted");
    }
    let seen = shop.stripe.subscription(&id).await.unwrap();
    prop_assert_eq!((subscription.status, subscription.detail), (seen.status, seen.detail));
    // What was refunded before it was seen gives nothing.
    let is_given = |order: &InternalId| {
        let found = orders.iter().find(|stored| stored.order.internal_id == *order);
        found.is_some_and(|stored| stored.order.status != OrderStatus::Cancelled)
    };
    // The invoice of a trial is one of nothing, and pays for no period.
    let given = invoices.iter().filter(|invoice| invoice.amount > Money::ZERO);
    let given = given.filter(|invoice| invoice.order.as_ref().is_some_and(is_given));
    let until = given.filter_map(|invoice| invoice.period.as_ref()).map(|period| period.until).max();
    prop_assert_eq!(Some(subscription.paid_until), until);
    prop_assert_eq!(subscription.scheduled, access_until(&subscription));
    let is_taken_back = !is_good(&shop.order(&subscription.newest).await);
    let is_erased = shop.is_erased().await;
    prop_assert!(!is_erased || seen.status == SubscriptionStatus::Ended, "who is erased is not charged again");
    prop_assert!(!is_taken_back || seen.status == SubscriptionStatus::Ended, "what is taken back does not renew");
    if orders.iter().any(|stored| stored.effects.dispute.as_deref().is_some_and(takes_back)) {
        prop_assert!(seen.cancelled || seen.status == SubscriptionStatus::Ended, "what is disputed does not renew");
    } else if !is_taken_back && shows_access {
        // A dispute of an older order lets the owner take more than the subscription gives.
        let free = seen.free_until.map_or(0, |free| seen.ended_at.map_or(free, |ended| free.min(ended)));
        let paid_until = subscription.paid_until.max(free);
        let is_asked_for = !matches!(seen.detail, Some(SubscriptionDetail::Paused | SubscriptionDetail::Incomplete));
        let is_awaited = is_asked_for && !seen.cancelled && seen.ended_at.is_none_or(|ended| ended > paid_until);
        let until = if is_awaited { paid_until + GRACE } else { paid_until };
        // Once nothing was paid for, a state that would give more gives nothing.
        let until = subscription.lapsed_at.map_or(until, |lapsed| lapsed.min(until));
        prop_assert_eq!(shop.has_access(), shop.now() < until, "access while it is paid or in grace: {:?}", shop.ran);
    }
    if is_taken_back && shows_access {
        prop_assert!(!shop.has_access(), "what is taken back gives nothing: {:?}", shop.ran);
    }
    Ok(())
}

/// It is not in the buyer's list any more when the next one begins, and nothing has to end it.
#[tokio::test]
async fn one_that_was_cancelled_and_not_paid_ends_by_itself_beside_the_next() {
    let unpaid = [Step::At(Action::FailRenewal), Step::Wait(1), Step::At(Action::CancelAtPeriodEnd), Step::Wait(29)];
    let next = [Step::At(Action::MarkUnpaid), Step::At(Action::CancelAtPeriodEnd), Step::Subscribe, Step::Wait(1)];
    history(&[unpaid, next].concat()).await.unwrap();
}
