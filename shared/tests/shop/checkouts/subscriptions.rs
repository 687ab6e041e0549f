//! Subscriptions: what is paid gives access, what is not paid ends, and every paid invoice has one order.

use crate::shop::{DAY, Shop};
use crate::subscribers::{GRACE, MONTHLY, MONTHLY_PRICE};
use crate::sums::assert_audit;
use shared::model::{Cancellation, InternalId, ItemId, Money, OrderStatus, Owned, SubscriptionStatus, UserId};
use shared::rules::dispute::FRAUD_WARNING;
use shared::rules::subscription::access_until;
use shared::shop::payments::{Desk, Provider as _, WebhookEvent};
use shared::table::keys;
use std::time::Duration;
use stripe_stand_in::Action;

/// A subscription that was renewed after thirty days, and its first order.
async fn renewed() -> (Shop, InternalId) {
    let (mut shop, first) = Shop::subscribed().await;
    shop.renew(&first).await;
    (shop, first)
}

#[tokio::test]
async fn a_paid_checkout_begins_a_subscription_of_the_buyer() {
    let (shop, order) = Shop::subscribed().await;
    let subscription = shop.subscription(&order).await;
    assert_eq!(
        (subscription.price, subscription.status),
        (Money::from_minor(MONTHLY_PRICE), SubscriptionStatus::Active)
    );
    assert_eq!((&subscription.first, &subscription.newest), (&order, &order));
    assert_eq!(access_until(&subscription), subscription.paid_until + GRACE);
    assert!(subscription.paid_until >= shop.now() + 28 * DAY);
    let [entry] = &shop.entries().await[..] else { panic!("one subscription") };
    assert_eq!((entry.item, entry.until), (ItemId::new(MONTHLY), subscription.paid_until));
    assert_eq!(shop.buyer().await.customer.unwrap().id, subscription.customer);
    assert_eq!(shop.ran, ["give user-1"]);
    let intent = shop.says(&order).await.intent.unwrap();
    assert_eq!(shared::shop::orders::of_payment(&shop.db, &intent).await.unwrap(), Some(order));
    assert!(shop.begin_again().await.is_err(), "the buyer has it already");
}

#[tokio::test]
async fn a_subscriber_subscribes_also_after_the_stores_currency_has_changed() {
    let mut shop = Shop::open_subscriptions().await;
    shop.subscribe().await;
    let before = shop.buyer().await.customer.unwrap();
    shop.publish_other().await;
    let other = shop.begin_other().await;
    assert_eq!(shop.order(&other).await.effects.subscription.unwrap().customer, Some(before.id));
    shop.set_payments(|payments| payments.currency = "USD".to_owned()).await;
    let other = shop.begin_other().await;
    assert_eq!(shop.order(&other).await.effects.subscription.unwrap().customer, None);
}

#[tokio::test]
async fn a_renewal_is_an_order_of_its_own_that_counts_money_and_no_units() {
    let (mut shop, first) = Shop::subscribed().await;
    let before = shop.subscription(&first).await;
    shop.renew(&first).await;
    shop.hear_from(0).await;
    let after = shop.subscription(&first).await;
    assert!(after.paid_until > before.paid_until);
    let orders = shop.orders().await;
    assert_eq!(orders.len(), 2, "events are repeated, orders are not");
    let renewal = shop.order(&after.newest).await;
    assert_eq!((renewal.order.status, renewal.order.price), (OrderStatus::Paid, Money::from_minor(MONTHLY_PRICE)));
    assert_eq!(renewal.order.owner, Some(UserId::new(1)));
    assert_eq!(shop.held(1, MONTHLY).await, 1);
    assert_eq!(shop.sold(MONTHLY).await, 1);
    let paid = shop.paid_for(1, MONTHLY).await;
    assert_eq!(paid, 2 * MONTHLY_PRICE);
    assert_eq!(shop.ran, ["give user-1", "thank user-1"]);
    shop.run_after(31 + 2).await;
    assert!(shop.has_access(), "the grace is not over");
    shop.run_after(2).await;
    assert!(!shop.has_access());
}

#[tokio::test]
async fn a_first_payment_that_was_refunded_before_it_was_seen_is_not_charged_again() {
    let shop = Shop::open_subscriptions().await;
    let order = shop.begin().await;
    shop.act(&order, Action::Pay);
    shop.act(&order, Action::Refund(None));
    let id = shop.says(&order).await.period.unwrap().subscription;
    shop.hear_from(0).await;
    assert_eq!(shop.order(&order).await.order.status, OrderStatus::Cancelled);
    assert_eq!(shop.stripe.subscription(&id).await.unwrap().status, SubscriptionStatus::Ended);
}

#[tokio::test]
async fn a_renewal_that_was_refunded_before_it_was_seen_is_the_last() {
    let (mut shop, first) = Shop::subscribed().await;
    shop.days(30);
    let heard = shop.stand_in.events().len();
    shop.act(&first, Action::Renew);
    let invoice = shop.stand_in.invoices().pop().unwrap();
    shop.act(&invoice, Action::Refund(None));
    shop.hear_from(heard).await;
    shop.sweep_and_run().await;
    shop.run_after(2).await;
    let order = InternalId::of_invoice(&invoice);
    assert_eq!(shop.order(&order).await.order.status, OrderStatus::Cancelled);
    let subscription = shop.subscription(&first).await;
    assert!(shop.stripe.subscription(&subscription.id).await.unwrap().cancelled, "it is not charged again");
    assert!(!shop.has_access(), "{:?}", shop.ran);
}

#[tokio::test]
async fn a_refund_of_an_older_order_returns_money_and_takes_nothing() {
    let (mut shop, first) = renewed().await;
    shop.refund(&first, None).await.unwrap();
    shop.sweep_and_run().await;
    shop.sweep_after(1).await;
    assert!(shop.has_access(), "{:?}", shop.ran);
    assert_eq!(shop.subscription(&first).await.status, SubscriptionStatus::Active);
    assert_eq!(shop.order(&first).await.order.status, OrderStatus::Refunded);
    // The next renewal gives the unit, which no paid order has, and the one after that no second one.
    for _ in 0..2 {
        shop.days(29);
        shop.after(&first, Action::Renew).await;
        shop.hear_from(0).await;
        assert_eq!(shop.held(1, MONTHLY).await, 1);
        assert_audit(&shop.db).await;
    }
}

#[tokio::test]
async fn a_dispute_of_the_newest_order_ends_it_and_one_of_an_older_order_lets_it_run_out() {
    let (mut shop, first) = renewed().await;
    shop.after(&first, Action::Dispute(None)).await;
    shop.sweep_and_run().await;
    let subscription = shop.subscription(&first).await;
    assert!(subscription.cancelled && subscription.stopped_at.is_none(), "the period that is paid is not disputed");
    assert_eq!(shop.ran.last().unwrap(), "seize user-1", "what the owner does about a dispute is done");
    let invoice = shop.order(&subscription.newest).await.effects.provider.unwrap().session.unwrap();
    shop.after(&invoice, Action::Dispute(None)).await;
    shop.sweep_and_run().await;
    let subscription = shop.subscription(&first).await;
    assert_eq!(subscription.status, SubscriptionStatus::Ended);
    assert_eq!(access_until(&subscription), subscription.stopped_at.unwrap());
}

#[tokio::test]
async fn a_cancellation_that_is_written_after_it_was_taken_back_is_asked_about_once_more() {
    let (mut shop, first) = renewed().await;
    shop.after(&first, Action::CancelAtPeriodEnd).await;
    // Its event was heard before the cancellation was written, and changed nothing.
    shop.act(&first, Action::Resume);
    shop.clock.advance(Duration::from_secs(61));
    shop.sweep_and_run().await;
    let subscription = shop.subscription(&first).await;
    assert!(!subscription.cancelled, "{subscription:?}");
    assert_eq!(subscription.scheduled, subscription.paid_until + GRACE);
    shop.clock.advance(Duration::from_secs(61));
    shop.sweep_and_run().await;
    let subscription = shop.subscription(&first).await;
    assert!(subscription.due > Some(subscription.paid_until), "then it is left alone");
    shop.run_after(31 + 2).await;
    assert!(shop.has_access(), "the grace is not over");
}

#[tokio::test]
async fn what_waits_for_a_player_is_given_exactly_while_the_subscription_gives_access() {
    for is_renewed in [true, false] {
        let mut shop = Shop::open_subscriptions().await;
        shop.publish_online().await;
        let first = shop.subscribe().await;
        if is_renewed {
            shop.renew(&first).await;
            shop.days(5);
        } else {
            // Without the grace it ends with its period.
            shop.after(&first, Action::CancelAtPeriodEnd).await;
            shop.days(32);
        }
        assert_eq!(shop.may_run(&first, "give user-1").await, is_renewed);
    }
}

#[tokio::test]
async fn the_sweep_asks_about_a_subscription_whose_period_has_ended_without_a_word() {
    let (mut shop, first) = Shop::subscribed().await;
    shop.sweep_and_run().await;
    shop.days(30);
    shop.act(&first, Action::Renew);
    let before = shop.subscription(&first).await;
    let (late, mut calls) = (before.paid_until + 3 * 3_600 - shop.now(), 0);
    for (wait, expected) in [(late - 60, 0), (120, 1)] {
        shop.clock.advance(std::time::Duration::from_secs(u64::try_from(wait).unwrap()));
        // Its hourly look at events is not what finds it.
        let seen = shop.received("GET /v1/subscriptions/");
        shop.sweep().await;
        calls += (shop.received("GET /v1/subscriptions/") - seen).min(1);
        assert!(calls >= expected, "{wait}");
    }
    assert_eq!(shop.orders().await.len(), 2);
}

#[tokio::test]
async fn a_renewal_that_is_heard_of_before_the_first_payment_waits_for_it() {
    let shop = Shop::open_subscriptions().await;
    let first = shop.begin().await;
    shop.act(&first, Action::Pay);
    shop.days(30);
    shop.act(&first, Action::Renew);
    let invoice = shop.stand_in.invoices().pop().unwrap();
    let event = WebhookEvent::Invoice(invoice);
    shop.hear(&event).await;
    assert_eq!(shop.order(&first).await.order.status, OrderStatus::Paid);
    assert_eq!(shop.orders().await.len(), 2);
}

#[tokio::test]
async fn the_subscription_of_an_erased_account_is_cancelled() {
    let (mut shop, first) = Shop::subscribed().await;
    shop.delete(&keys::user(UserId::new(1))).await;
    shop.renew(&first).await;
    let subscription = shop.subscription(&first).await;
    assert_eq!((subscription.status, subscription.requested), (SubscriptionStatus::Ended, None));
    assert_eq!(shop.orders().await.len(), 2, "the money is known");
}

#[tokio::test]
async fn what_no_game_server_took_is_given_by_the_renewal_and_not_twice() {
    let mut shop = Shop::open_subscriptions().await;
    let first = shop.begin().await;
    shop.act(&first, Action::Pay);
    shop.hear_from(0).await;
    shop.days(30);
    shop.act(&first, Action::Renew);
    shop.hear_from(0).await;
    shop.run().await;
    shop.run_after(5).await;
    assert_eq!(shop.ran, ["give user-1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn renewal_cancellation_refund_and_dispute_at_once_end_as_the_provider_says() {
    for _ in 0..4 {
        let (mut shop, first) = Shop::subscribed().await;
        shop.days(30);
        let heard = shop.stand_in.events().len();
        for action in [Action::Renew, Action::Dispute(Some(100))] {
            shop.act(&first, action);
        }
        let invoice = shop.stand_in.invoices().pop().unwrap();
        let (id, renewal) = (shop.subscription(&first).await.id, InternalId::of_invoice(&invoice));
        let events = shop.events().await;
        let count = shop.stand_in.events().len() - heard;
        let instances = shop.instances(18);
        let (clock, stripe) = (&shop.clock, &shop.stripe);
        let racing = instances[2..]
            .iter()
            .zip(events.iter().take(count).cycle())
            .map(|(instance, event)| async { Desk::new(&instance.db, clock, stripe).act(event).await });
        // The buyer cancels at the provider, and the owner cancels and refunds.
        shop.act(&first, Action::CancelAtPeriodEnd);
        let desk = Desk::new(&instances[0].db, clock, stripe);
        let _: (Vec<_>, _, _) = tokio::join!(
            futures_util::future::join_all(racing),
            desk.cancel_subscription(&id, Cancellation::AtPeriodEnd),
            shop.refund_by(&instances[1].db, &renewal, None),
        );
        shop.hear_from(heard).await;
        // What came too early for the order, or was left to the next command.
        shop.refund(&renewal, None).await.unwrap();
        shop.sweep_and_run().await;
        shop.sweep_after(2).await;
        let subscription = shop.subscription(&first).await;
        assert!(shop.stripe.subscription(&subscription.id).await.unwrap().cancelled || subscription.ended_at.is_some());
        assert_eq!(shop.orders().await.len(), 2);
        let newest = shop.order(&renewal).await.order.status;
        assert!(matches!(newest, OrderStatus::Refunded | OrderStatus::Cancelled), "{newest:?}");
        assert!(!shop.has_access(), "{:?}", shop.ran);
    }
}

#[tokio::test]
async fn a_request_to_cancel_is_repeated_until_the_provider_has_done_it() {
    let (mut shop, first) = Shop::subscribed().await;
    let read = shop.subscription(&first).await;
    let next = shared::rules::subscription::cancelled(&read, Cancellation::Now, shop.now());
    let writes = shared::shop::subscriptions::put(Some(&read), next).unwrap();
    shared::table::transaction::send(&shop.db, writes).await.unwrap();
    shop.sweep_and_run().await;
    shop.sweep_after(1).await;
    assert_eq!(shop.subscription(&first).await.status, SubscriptionStatus::Ended);
    assert_eq!(shop.stripe.subscription(&read.id).await.unwrap().status, SubscriptionStatus::Ended);
    assert_eq!(shop.ran, ["give user-1", "take user-1"]);
    assert!(shop.entries().await.is_empty());
}

#[tokio::test]
async fn a_fraud_warning_of_a_subscriptions_payment_is_noted_also_before_its_order_is_paid() {
    let mut shop = Shop::open_subscriptions().await;
    let warning = |events: Vec<WebhookEvent>| {
        events.into_iter().find(|event| matches!(event, WebhookEvent::FraudWarning(_))).unwrap()
    };
    let first = shop.begin().await;
    shop.act(&first, Action::Pay);
    shop.act(&first, Action::WarnOfFraud);
    shop.desk().act(&warning(shop.events().await)).await.unwrap();
    shop.days(30);
    shop.act(&first, Action::Renew);
    let invoice = shop.stand_in.invoices().pop().unwrap();
    shop.act(&invoice, Action::WarnOfFraud);
    shop.desk().act(&warning(shop.events().await)).await.unwrap();
    for order in [first, InternalId::of_invoice(&invoice)] {
        let stored = shop.order(&order).await;
        assert_eq!((stored.order.status, stored.effects.dispute.as_deref()), (OrderStatus::Paid, Some(FRAUD_WARNING)));
    }
    shop.run().await;
    assert!(shop.has_access());
}

#[tokio::test]
async fn a_subscription_that_is_over_counts_for_no_limit_and_a_renewal_keeps_it_owned() {
    let (mut shop, first) = renewed().await;
    let owned = async |shop: &Shop| shop.ledger(1).await.of(ItemId::new(MONTHLY)).at(shop.now());
    let both = Owned { units: 1, paid: Money::from_minor(2 * MONTHLY_PRICE) };
    assert_eq!(owned(&shop).await, both);
    cancel(&mut shop, &first).await;
    shop.sweep_after(40).await;
    assert_eq!(owned(&shop).await, Owned::default());
    let again = shop.subscribe().await;
    assert_ne!(again, first);
    assert_eq!(owned(&shop).await, Owned { units: 1, paid: Money::from_minor(MONTHLY_PRICE) });
    assert_eq!(shop.sold(MONTHLY).await, 2);
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn what_a_renewal_publishes_runs_when_access_ends_and_nothing_else() {
    for runs in [&["take", "drop"][..], &["drop"]] {
        let (mut shop, first) = Shop::subscribed().await;
        shop.publish_ended_by(runs).await;
        shop.renew(&first).await;
        shop.run().await;
        assert_eq!(shop.ran, ["give user-1"], "what waits for the end has moved along");
        cancel(&mut shop, &first).await;
        shop.sweep_after(40).await;
        shop.run().await;
        let ended: Vec<String> = runs.iter().map(|run| format!("{run} user-1")).collect();
        assert_eq!(shop.ran[1..], ended);
    }
}

async fn cancel(shop: &mut Shop, order: &InternalId) {
    let subscription = shop.subscription(order).await.id;
    let (db, clock) = (&shop.db, &shop.clock);
    Desk::new(db, clock, &shop.stripe).cancel_subscription(&subscription, Cancellation::AtPeriodEnd).await.unwrap();
}

/// A subscription that its buyer pays by a debit, whose money is not there yet.
async fn debited() -> (Shop, InternalId) {
    let mut shop = Shop::open_subscriptions().await;
    shop.set_payments(|payments| payments.delayed = true).await;
    let order = shop.begin().await;
    shop.after(&order, Action::PayDelayed).await;
    (shop, order)
}

#[tokio::test]
async fn a_subscription_by_debit_begins_once_its_first_invoice_is_paid() {
    let (mut shop, order) = debited().await;
    for _ in 0..5 {
        shop.days(1);
        shop.sweep_later().await;
        assert_eq!((shop.status(&order).await, shop.has_access()), (OrderStatus::Pending, false));
        assert!(shop.entries().await.is_empty());
    }
    shop.after(&order, Action::Succeed).await;
    assert_eq!((shop.status(&order).await, shop.has_access()), (OrderStatus::Paid, true));
    assert_eq!(shop.subscription(&order).await.status, SubscriptionStatus::Active);
    assert_eq!(shop.order(&order).await.effects.facts.unwrap().method.as_deref(), Some("sepa_debit"));
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn a_debit_that_fails_ends_the_order_and_the_subscription_and_the_buyer_may_subscribe_again() {
    for is_heard in [true, false] {
        let (mut shop, order) = debited().await;
        shop.days(6);
        if is_heard {
            shop.after(&order, Action::Fail).await;
        } else {
            shop.act(&order, Action::Fail);
            shop.sweep_later().await;
        }
        assert_eq!((shop.status(&order).await, shop.has_access()), (OrderStatus::Failed, false), "{is_heard}");
        let left = shop.try_act(&order, Action::Recover);
        assert!(left.is_err(), "its invoice is void: nothing is charged any more");
        let again = shop.subscribe().await;
        assert_eq!((shop.status(&again).await, shop.has_access()), (OrderStatus::Paid, true));
        assert_audit(&shop.db).await;
    }
}

#[tokio::test]
async fn a_renewal_by_debit_is_an_order_once_it_is_paid() {
    for succeeds in [true, false] {
        let (mut shop, first) = debited().await;
        shop.after(&first, Action::Succeed).await;
        shop.days(30);
        shop.after(&first, Action::RenewLate).await;
        assert_eq!((shop.orders().await.len(), shop.has_access()), (1, true), "in grace");
        let invoice = shop.stand_in.invoices().pop().unwrap();
        shop.after(&invoice, if succeeds { Action::Succeed } else { Action::Fail }).await;
        let orders = shop.orders().await;
        assert_eq!((orders.len(), shop.has_access()), (if succeeds { 2 } else { 1 }, true));
        assert!(orders.iter().all(|stored| stored.order.status == OrderStatus::Paid && stored.effects.facts.is_some()));
        let status = shop.subscription(&first).await.status;
        assert_eq!(status, if succeeds { SubscriptionStatus::Active } else { SubscriptionStatus::PastDue });
        assert_audit(&shop.db).await;
    }
}
