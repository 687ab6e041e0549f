//! Subscriptions in every state that the provider has: what each gives, what it is called, and what its buyer can do.

use crate::shop::{DAY, Shop};
use crate::subscribers::{BUYER, GRACE, MONTHLY, MONTHLY_PRICE, OTHER};
use serde_json::json;
use shared::model::{
    InternalId, ItemId, Money, OrderStatus, SubscriptionState, SubscriptionStatus, User, UserSubscription,
};
use shared::rules::subscription::access_until;
use shared::shop::accounts::bans;
use shared::shop::orders::unfinished;
use shared::shop::payments::Provider as _;
use shared::shop::subscriptions;
use shared::shop::upkeep::subscription_lists::DueRows;
use shared::table::keys;
use stripe_stand_in::Action;

/// A subscription whose renewal failed so many days ago, its first order and its session; it was asked about since.
async fn unpaid_for(days: i64) -> (Shop, InternalId) {
    let mut shop = Shop::open_subscriptions().await;
    shop.sweep_and_run().await;
    let first = shop.subscribe().await;
    shop.days(31);
    shop.after(&first, Action::FailRenewal).await;
    assert!(shop.begin_again().await.is_err(), "it lasts as long as its grace");
    shop.sweep_after(days).await;
    (shop, first)
}

/// The only entry of the buyer.
async fn entry(shop: &Shop) -> UserSubscription {
    let [entry] = &shop.entries().await[..] else { panic!("one subscription: {:?}", shop.entries().await) };
    entry.clone()
}

/// What the provider says of a subscription.
async fn at_provider(shop: &Shop, id: &str) -> SubscriptionStatus {
    shop.stripe.subscription(id).await.unwrap().status
}

#[tokio::test]
async fn who_did_not_pay_for_106_days_can_buy_again_and_the_old_one_is_ended_with_what_is_open() {
    for is_given_up in [false, true] {
        let (mut shop, first) = unpaid_for(75).await;
        if is_given_up {
            shop.after(&first, Action::MarkUnpaid).await;
        }
        let (old, now) = (shop.subscription(&first).await, shop.now());
        let shown = entry(&shop).await;
        let state = if is_given_up { SubscriptionState::Unpaid } else { SubscriptionState::PastDue };
        assert_eq!((shown.state(), shown.has_access(now), shop.has_access()), (state, false, false));
        let second = shop.begin().await;
        assert_ne!(at_provider(&shop, &old.id).await, SubscriptionStatus::Ended, "nothing ends before the payment");
        shop.after(&second, Action::Pay).await;
        assert_eq!(at_provider(&shop, &old.id).await, SubscriptionStatus::Ended);
        let refused = shop.try_act(&first, Action::Recover);
        assert_eq!(refused, Err("There is no open invoice.".to_owned()), "it is void");
        assert!(entry(&shop).await.has_access(shop.now()) && shop.has_access(), "{:?}", shop.ran);
        assert_eq!(shop.ran, ["give user-1", "take user-1", "give user-1"]);
        let old = shop.subscription(&first).await;
        assert_eq!((old.replaced_by, old.requested, old.due), (Some(second.clone()), None, None));
        assert!(shop.begin_again().await.is_err(), "the buyer has it");
    }
}

#[tokio::test]
async fn a_payment_of_what_was_replaced_is_refunded_by_itself_and_gives_nothing() {
    let (mut shop, first) = unpaid_for(5).await;
    let old = shop.subscription(&first).await;
    let second = shop.begin().await;
    // The card is tried again meanwhile, and no one hears of it.
    shop.act(&first, Action::Recover);
    let late = shop.stand_in.invoices().pop().unwrap();
    shop.after_alone(&second, Action::Pay).await;
    shop.hear_from(0).await;
    shop.run().await;
    assert!(shop.stripe.fetch(&late).await.unwrap().is_refunded(), "the old payment");
    assert_eq!(shop.order(&InternalId::of_invoice(&late)).await.order.status, OrderStatus::Cancelled);
    assert_eq!(shop.order(&second).await.order.status, OrderStatus::Paid);
    assert!(!shop.says(&second).await.is_refunded());
    assert_eq!(at_provider(&shop, &old.id).await, SubscriptionStatus::Ended);
    assert_eq!(shop.ran, ["give user-1", "take user-1", "give user-1"]);
    assert_eq!(entry(&shop).await.id, shop.subscription(&second).await.id);
}

#[tokio::test]
async fn an_open_invoice_of_what_has_ended_is_refunded_if_it_is_paid_after_all() {
    let (mut shop, first) = unpaid_for(5).await;
    let again = shop.begin().await;
    // The provider ends it by itself, and leaves the invoice in the buyer's e-mail.
    shop.act(&first, Action::GiveUp);
    shop.after(&again, Action::Pay).await;
    let invoice = shop.stand_in.invoices();
    shop.after(&first, Action::Recover).await;
    shop.sweep_and_run().await;
    let paid = &invoice[invoice.len() - 2];
    assert!(shop.stripe.fetch(paid).await.unwrap().is_refunded(), "{invoice:?}");
    let old = shop.subscription(&first).await;
    assert_eq!((old.status, shop.entries().await.len()), (SubscriptionStatus::Ended, 1));
}

#[tokio::test]
async fn of_two_payments_for_the_same_item_the_one_that_is_heard_first_is_kept() {
    let (mut shop, first) = unpaid_for(5).await;
    let second = shop.begin().await;
    shop.after(&first, Action::Recover).await;
    assert!(shop.has_access(), "{:?}", shop.ran);
    shop.after(&second, Action::Pay).await;
    assert_eq!(shop.order(&second).await.order.status, OrderStatus::Cancelled);
    let says = shop.says(&second).await;
    assert!(says.is_refunded());
    assert_eq!(at_provider(&shop, &says.period.unwrap().subscription).await, SubscriptionStatus::Ended);
    let old = shop.subscription(&first).await;
    assert_eq!((at_provider(&shop, &old.id).await, old.replaced_by), (SubscriptionStatus::Active, None));
    assert!(shop.has_access() && entry(&shop).await.id == old.id);
}

#[tokio::test]
async fn another_rank_of_the_category_begins_at_full_price_and_the_old_one_ends_when_it_is_paid() {
    let mut shop = Shop::open_subscriptions().await;
    shop.publish_ranks().await;
    let first = shop.subscribe().await;
    shop.days(10);
    let second = shop.begin_other().await;
    assert_eq!(shop.order(&second).await.order.price, Money::from_minor(MONTHLY_PRICE));
    let old = shop.subscription(&first).await;
    shop.sweep_and_run().await;
    assert_eq!(at_provider(&shop, &old.id).await, SubscriptionStatus::Active, "it runs until the other is paid");
    shop.after(&second, Action::Pay).await;
    assert_eq!(at_provider(&shop, &old.id).await, SubscriptionStatus::Ended);
    assert_eq!(access_until(&shop.subscription(&first).await), shop.now());
    shop.sweep_and_run().await;
    let mut ran = shop.ran.clone();
    ran.sort();
    assert_eq!(ran, ["give user-1", "promote user-1", "take user-1"]);
    assert_eq!(entry(&shop).await.item, ItemId::new(OTHER));
    assert_eq!(shop.order(&first).await.order.status, OrderStatus::Paid, "nothing is refunded");
    assert_eq!(shop.subscription(&second).await.replaces, [old.id]);
}

#[tokio::test]
async fn subscriptions_that_are_no_ranks_of_one_category_run_side_by_side() {
    let mut shop = Shop::open_subscriptions().await;
    shop.publish_other().await;
    let first = shop.subscribe().await;
    let other = shop.begin_other().await;
    shop.after(&other, Action::Pay).await;
    let items: Vec<ItemId> = shop.entries().await.iter().map(|entry| entry.item).collect();
    assert_eq!(items, [ItemId::new(MONTHLY), ItemId::new(OTHER)]);
    assert_eq!(shop.subscription(&first).await.status, SubscriptionStatus::Active);
}

#[tokio::test]
async fn what_the_owner_makes_free_at_the_provider_gives_access_until_then() {
    let (mut shop, first) = Shop::subscribed().await;
    shop.days(10);
    let free = shop.now() + 60 * DAY;
    shop.after(&first, Action::Trial(60)).await;
    assert_eq!(access_until(&shop.subscription(&first).await), free + GRACE);
    let shown = entry(&shop).await;
    assert_eq!((shown.state(), shown.until), (SubscriptionState::Trialing, free));
    shop.sweep_after(59).await;
    assert!(shop.has_access(), "{:?}", shop.ran);
    shop.days(1);
    shop.after(&first, Action::Renew).await;
    assert_eq!(entry(&shop).await.state(), SubscriptionState::Active);
    shop.sweep_after(27).await;
    assert!(shop.has_access() && shop.orders().await.len() == 2, "{:?}", shop.ran);
    // Free time that the owner ends with the subscription is not given any more.
    shop.after(&first, Action::Trial(60)).await;
    shop.days(40);
    shop.after(&first, Action::CancelNow).await;
    shop.sweep_after(1).await;
    assert!(!shop.has_access(), "{:?}", shop.ran);
}

#[tokio::test]
async fn what_is_paused_gives_what_is_paid_and_then_blocks_no_purchase() {
    for is_trial in [false, true] {
        let (mut shop, first) = Shop::subscribed().await;
        if is_trial {
            shop.after(&first, Action::Trial(20)).await;
            shop.after(&first, Action::PauseTrial).await;
        } else {
            shop.after(&first, Action::Pause).await;
        }
        let paid_until = shop.subscription(&first).await.paid_until;
        let shown = entry(&shop).await;
        assert_eq!((shown.state(), shown.until), (SubscriptionState::Paused, paid_until));
        shop.run_after(27).await;
        assert!(shop.has_access() && shop.begin_again().await.is_err(), "it is paid");
        shop.run_after((paid_until - shop.now()) / DAY + 1).await;
        assert!(!shop.has_access(), "no payment is awaited, so that there is no grace");
        let again = shop.begin().await;
        shop.after(&again, Action::Pay).await;
        let old = shop.subscription(&first).await;
        assert_eq!(at_provider(&shop, &old.id).await, SubscriptionStatus::Ended);
        assert!(shop.has_access());
    }
}

#[tokio::test]
async fn payments_that_are_asked_for_again_give_it_again() {
    let (mut shop, first) = Shop::subscribed().await;
    shop.after(&first, Action::Pause).await;
    shop.days(40);
    shop.after(&first, Action::Renew).await;
    assert!(!shop.has_access() && shop.orders().await.len() == 1, "nothing is paid while it is paused");
    shop.after(&first, Action::Unpause).await;
    shop.after(&first, Action::Renew).await;
    assert!(shop.has_access(), "{:?}", shop.ran);
    assert_eq!(entry(&shop).await.state(), SubscriptionState::Active);
}

#[tokio::test]
async fn an_end_that_the_owner_sets_is_shown_and_within_the_period_it_is_a_cancellation() {
    let (mut shop, first) = Shop::subscribed().await;
    let paid_until = shop.subscription(&first).await.paid_until;
    let ends_at = shop.now() + 45 * DAY;
    shop.after(&first, Action::CancelAt(45)).await;
    let shown = entry(&shop).await;
    assert_eq!((shown.state(), shown.until, shown.ends_at), (SubscriptionState::Active, paid_until, Some(ends_at)));
    shop.after(&first, Action::CancelAt(10)).await;
    let shown = entry(&shop).await;
    assert_eq!((shown.state(), shown.until, shown.ends_at), (SubscriptionState::Cancelled, paid_until, None));
    shop.after(&first, Action::Resume).await;
    assert_eq!(entry(&shop).await.state(), SubscriptionState::Active);
    shop.after(&first, Action::CancelAt(10)).await;
    shop.days(11);
    shop.hear_from(0).await;
    shop.run().await;
    assert!(shop.has_access(), "what is paid is given: {:?}", shop.ran);
    assert_eq!(shop.subscription(&first).await.status, SubscriptionStatus::Ended);
}

#[tokio::test]
async fn a_first_payment_that_is_not_confirmed_gives_nothing_and_one_that_is_confirmed_later_counts_once() {
    let mut shop = Shop::open_subscriptions().await;
    let order = shop.begin().await;
    shop.after(&order, Action::LeaveUnconfirmed).await;
    assert_eq!(shop.order(&order).await.order.status, OrderStatus::Pending);
    assert!(shop.entries().await.is_empty() && shop.ran.is_empty());
    shop.after(&order, Action::Pay).await;
    assert_eq!(entry(&shop).await.state(), SubscriptionState::Active);
    assert!(shop.has_access() && shop.orders().await.len() == 1);
    let mut shop = Shop::open_subscriptions().await;
    let order = shop.begin().await;
    shop.after(&order, Action::LeaveUnconfirmed).await;
    shop.sweep_after(2).await;
    shop.hear_from(0).await;
    assert_eq!(shop.order(&order).await.order.status, OrderStatus::Cancelled);
    assert!(shop.entries().await.is_empty() && shop.ran.is_empty());
}

#[tokio::test]
async fn a_ban_cancels_what_the_player_has_at_its_end_and_it_stays_so() {
    let (mut shop, first) = Shop::subscribed().await;
    let user = User { banned: true, ..shop.buyer().await };
    shop.put(&keys::user(BUYER), &user).await;
    let cancelled = bans::cancel_subscriptions(&shop.db, BUYER, shop.now()).await.unwrap();
    assert_eq!(cancelled.iter().map(|one| &one.first).collect::<Vec<_>>(), [&first]);
    assert!(bans::cancel_subscriptions(&shop.db, BUYER, shop.now()).await.unwrap().is_empty(), "once");
    shop.sweep_after(1).await;
    let id = shop.subscription(&first).await.id;
    let seen = shop.stripe.subscription(&id).await.unwrap();
    assert!(seen.cancelled && seen.status == SubscriptionStatus::Active, "what is paid is left to the player");
    // In the portal, it is taken back.
    shop.after(&first, Action::Resume).await;
    shop.sweep_after(1).await;
    assert!(shop.stripe.subscription(&id).await.unwrap().cancelled);
}

#[tokio::test]
async fn a_checkout_that_is_paid_after_a_ban_is_not_renewed() {
    let mut shop = Shop::open_subscriptions().await;
    let order = shop.begin().await;
    let user = User { banned: true, ..shop.buyer().await };
    shop.put(&keys::user(BUYER), &user).await;
    shop.after(&order, Action::Pay).await;
    let subscription = shop.subscription(&order).await;
    assert!(shop.stripe.subscription(&subscription.id).await.unwrap().cancelled);
}

#[tokio::test]
async fn a_row_that_is_not_a_subscriptions_own_is_swept_once_and_one_that_is_missing_is_made() {
    let (shop, first) = Shop::subscribed().await;
    let (subscription, now) = (shop.subscription(&first).await, shop.now());
    for (id, due) in [("sub_gone", now - 7_200), (subscription.id.as_str(), now - 7_200)] {
        shop.put(&keys::unfinished_subscription(due, id), &json!({ "subscription": id })).await;
    }
    assert_eq!(DueRows::differing(&shop.db).await.unwrap().ids().len(), 2);
    let swept = shop.sweep().await;
    assert_eq!(swept.failed, 0);
    assert!(DueRows::differing(&shop.db).await.unwrap().is_empty());
    shop.delete(&subscriptions::due_key(&subscription).unwrap()).await;
    shop.put(&keys::unfinished_subscription(now, "sub_gone"), &json!({ "subscription": "sub_gone" })).await;
    let differing = DueRows::differing(&shop.db).await.unwrap();
    assert_eq!(differing.ids().into_iter().collect::<Vec<_>>(), [subscription.id.as_str(), "sub_gone"]);
    assert_eq!(differing.repair(&shop.db).await.unwrap(), 0);
    assert!(DueRows::differing(&shop.db).await.unwrap().is_empty());
    let all = unfinished::due(&shop.db, now + 60 * DAY).await.unwrap();
    assert!(all.iter().any(|row| Some(&row.key) == subscriptions::due_key(&subscription).as_ref()), "{all:?}");
}
