//! Any order of what happens to a subscription ends with one order per paid invoice, with access exactly while it is paid or
//! in grace, with nothing renewed after the end, and with the money that the provider says.

use crate::subscribers::{DAY, GRACE, Subscribers};
use local::stripe::Action;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use shared::model::{InternalId, Money, OrderStatus, Standing, SubscriptionStatus};
use shared::rules::dispute::takes_back;
use shared::rules::subscription::access_until;
use shared::usecases::checkouts::{Provider as _, act};
use std::collections::BTreeSet;

/// How many histories are tried; `SUBSCRIPTION_CASES` says otherwise.
const CASES: u32 = 64;
/// Steps of a history.
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
    /// The game server polls.
    Poll,
    /// The owner refunds the newest order.
    Refund,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => prop_oneof![Just(1_i64), Just(2), Just(14), Just(29), Just(31)].prop_map(Step::Wait),
        3 => Just(Step::At(Action::Renew)),
        2 => Just(Step::At(Action::FailRenewal)),
        2 => Just(Step::At(Action::Recover)),
        1 => Just(Step::At(Action::GiveUp)),
        2 => Just(Step::At(Action::CancelAtPeriodEnd)),
        1 => Just(Step::At(Action::Resume)),
        1 => Just(Step::At(Action::EndPeriod)),
        1 => Just(Step::At(Action::CancelNow)),
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
    ]
}

#[test]
fn any_order_of_events_ends_as_the_provider_says() {
    let cases = std::env::var("SUBSCRIPTION_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 60, ..Config::default() };
    let histories = proptest::collection::vec(step(), STEPS);
    TestRunner::new(config).run(&histories, |steps| runtime.block_on(history(&steps))).unwrap();
}

async fn history(steps: &[Step]) -> Result<(), TestCaseError> {
    let mut shop = Subscribers::open().await;
    // From the first sweep on no event is lost for good.
    shop.sweep().await;
    let (first, session) = shop.subscribe().await;
    let mut heard = shop.till.stand_in.events().len();
    let mut lose = false;
    for step in steps {
        match step {
            Step::Wait(days) => {
                // The hourly look at the provider's events finds those that were lost.
                shop.till.wait(std::time::Duration::from_mins(90));
                shop.sweep().await;
                shop.wait(*days);
            }
            Step::At(action) => {
                let id = shop.till.stand_in.invoices().pop().unwrap_or_else(|| session.clone());
                // What is not possible now does not happen.
                let _: Result<(), String> = shop.till.stand_in.act(&id, action);
            }
            Step::Lose => lose = true,
            Step::Repeat => shop.hear(0).await,
            Step::Sweep => shop.sweep().await,
            Step::Poll => shop.run().await,
            Step::Refund => {
                let newest = shop.subscription(&first).await.newest;
                let _: Result<_, _> = shop.till.refund(&newest, None).await;
            }
        }
        let all = shop.till.stand_in.events().len();
        if all > heard && !std::mem::take(&mut lose) {
            shop.hear(heard).await;
        }
        heard = all;
        shop.run().await;
        let subscription = shop.subscription(&first).await;
        if subscription.status == SubscriptionStatus::Ended {
            let known = shop.till.stripe.subscription(&subscription.id).await.unwrap();
            prop_assert_eq!(known.status, SubscriptionStatus::Ended, "it ends only with the provider's");
        }
    }
    // The sweep finds what was lost.
    for _ in 0..3 {
        shop.sweep().await;
        shop.till.wait(std::time::Duration::from_mins(90));
        shop.sweep().await;
    }
    agrees(&mut shop, &first).await
}

async fn agrees(shop: &mut Subscribers, first: &InternalId) -> Result<(), TestCaseError> {
    let id = shop.subscription(first).await.id;
    let event = shared::usecases::checkouts::WebhookEvent::Subscription(id.clone());
    act(shop.db(), &shop.till.market.clock, &shop.till.stripe, &event).await.unwrap();
    shop.sweep().await;
    shop.till.wait(std::time::Duration::from_mins(10));
    shop.sweep().await;
    let subscription = shop.subscription(first).await;
    let invoices = shop.invoices(&id).await;
    let orders = shop.orders().await;
    let paid: BTreeSet<InternalId> = invoices.iter().map(|invoice| invoice.order.clone().unwrap()).collect();
    let kept: BTreeSet<InternalId> = orders.iter().map(|stored| stored.order.internal_id.clone()).collect();
    prop_assert_eq!(&paid, &kept, "one order for each paid invoice");
    let at_provider: Money = invoices.iter().map(|invoice| invoice.amount.less(invoice.refunded)).sum();
    let own = orders.iter().filter(|stored| stored.order.status == OrderStatus::Paid);
    let own: Money = own.map(|stored| stored.order.price.less(stored.effects.refunded)).sum();
    prop_assert_eq!(own, at_provider, "the money that the provider says");
    let seen = shop.till.stripe.subscription(&id).await.unwrap();
    prop_assert_eq!(subscription.status, seen.status);
    // What was refunded before it was seen gives nothing.
    let is_given = |order: &InternalId| {
        let found = orders.iter().find(|stored| stored.order.internal_id == *order);
        found.is_some_and(|stored| stored.order.status != OrderStatus::Cancelled)
    };
    let given = invoices.iter().filter(|invoice| invoice.order.as_ref().is_some_and(is_given));
    let until = given.filter_map(|invoice| invoice.period.as_ref()).map(|period| period.until).max();
    prop_assert_eq!(Some(subscription.paid_until), until);
    prop_assert_eq!(subscription.scheduled, access_until(&subscription));
    let newest = shop.till.order(&subscription.newest).await;
    let is_taken_back = newest.order.status != OrderStatus::Paid
        || newest.effects.delivery.as_ref().is_some_and(|delivery| delivery.standing != Standing::default());
    prop_assert!(!is_taken_back || seen.status == SubscriptionStatus::Ended, "what is taken back does not renew");
    if orders.iter().any(|stored| stored.effects.dispute.as_deref().is_some_and(takes_back)) {
        prop_assert!(seen.cancelled || seen.status == SubscriptionStatus::Ended, "what is disputed does not renew");
    } else if !is_taken_back {
        // A dispute of an older order lets the owner take more than the subscription gives.
        let paid_until = subscription.paid_until;
        let is_awaited = !seen.cancelled && seen.ended_at.is_none_or(|ended| ended > paid_until);
        let until = if is_awaited { paid_until + GRACE } else { paid_until };
        prop_assert_eq!(shop.has_access(), shop.now() < until, "access while it is paid or in grace: {:?}", shop.ran);
    }
    if is_taken_back {
        prop_assert!(!shop.has_access(), "what is taken back gives nothing: {:?}", shop.ran);
    }
    // At its end it gives nothing, after every history.
    shop.wait(((access_until(&subscription) - shop.now()) / DAY).max(0) + 1);
    shop.run().await;
    prop_assert!(!shop.has_access(), "{:?}", shop.ran);
    Ok(())
}
