//! Subscriptions to which something unusual happens. What the store does not expect changes nothing, waits for an operator, or
//! ends; the owner lets one last longer than what is paid, or moves it to another player.

use crate::shop::{DAY, Refused, Shop};
use crate::subscribers::{BUYER, GRACE, MONTHLY, MONTHLY_PRICE};
use crate::sums::assert_audit;
use shared::model::{
    InternalId, Money, OrderStatus, ProviderAccount, RunName, Subscription, SubscriptionStatus, User, UserId,
    UserSubscription,
};
use shared::rules::subscription::access_until;
use shared::shop::delivery::{redeliver, timed_ends};
use shared::shop::orders::{MoveError, Moved, NewPlayer, move_order};
use shared::shop::payments::{
    NotPaid, Provider as _, ProviderError, SettleError, WebhookEvent, paid_checkout, return_payment,
};
use shared::shop::subscriptions::{self, extend_subscription};
use shared::table::transaction::{Write, send};
use shared::table::{bulk, keys, read_live};
use shared::telemetry::payment_events;
use stripe_stand_in::Action;
use tests::Fault;

/// Stores a subscription otherwise than it was read.
async fn change(shop: &Shop, read: &Subscription, next: Subscription) {
    let writes: Vec<Write> = subscriptions::put(Some(read), next).unwrap();
    send(&shop.db, writes).await.unwrap();
}

#[tokio::test]
async fn an_invoice_of_another_account_changes_nothing() {
    let mut shop = Shop::open_subscriptions().await;
    shop.subscribe().await;
    let before = bulk::all::<Subscription>(&shop.db, keys::prefix::SUBSCRIPTION).await.unwrap();
    let event = WebhookEvent::Invoice("in_other".to_owned());
    let acted = shop.desk().act(&event).await;
    assert!(matches!(acted, Err(SettleError::Provider(ProviderError::NoCheckout(_)))), "{acted:?}");
    assert_eq!(bulk::all::<Subscription>(&shop.db, keys::prefix::SUBSCRIPTION).await.unwrap(), before);
    assert_eq!(shop.orders().await.len(), 1);
}

#[tokio::test]
async fn a_paid_invoice_that_is_neither_the_first_nor_a_renewal_gives_nothing_and_is_counted() {
    let (shop, first) = Shop::subscribed().await;
    let ((), events) = payment_events(shop.hear_from(0)).await;
    assert_eq!(events, [], "the first is its order's");
    let before = shop.stand_in.events().len();
    shop.act(&first, Action::ChargeChange);
    let ((), events) = payment_events(shop.hear_from(before)).await;
    assert_eq!(events, [("PaidWithoutOrder", 1)]);
    assert_eq!((shop.orders().await.len(), shop.subscription(&first).await.newest), (1, first));
    let invoice = shop.stand_in.invoices().pop().unwrap();
    shop.act(&invoice, Action::Refund(None));
    let ((), events) = payment_events(shop.hear_from(before)).await;
    assert!(!events.iter().any(|event| event.0 == "PaidWithoutOrder"), "{events:?}");
}

#[tokio::test]
async fn a_renewal_of_another_amount_needs_an_operator_who_may_accept_it() {
    let (mut shop, first) = Shop::subscribed().await;
    let before = shop.subscription(&first).await;
    change(&shop, &before, Subscription { price: Money::from_minor(MONTHLY_PRICE - 100), ..before.clone() }).await;
    shop.renew(&first).await;
    shop.hear_from(0).await;
    let order = InternalId::of_invoice(&shop.stand_in.invoices().pop().unwrap());
    let stored = shop.order(&order).await;
    assert_eq!((stored.order.status, stored.effects.review.is_some()), (OrderStatus::Pending, true));
    assert_eq!(shop.subscription(&first).await.paid_until, before.paid_until, "it does not pay for a period yet");
    let accepted = shop.desk().accept(&order).await.unwrap();
    assert_eq!(accepted.0.order.status, OrderStatus::Paid);
    let after = shop.subscription(&first).await;
    assert!(after.newest == order && after.paid_until > before.paid_until, "{after:?}");
    shop.run_after(31).await;
    assert!(shop.has_access(), "{:?}", shop.ran);
}

#[tokio::test]
async fn a_period_that_is_over_when_it_is_heard_of_counts_as_money_and_gives_nothing() {
    let (mut shop, first) = Shop::subscribed().await;
    shop.days(30);
    shop.act(&first, Action::Renew);
    shop.days(40);
    shop.act(&first, Action::CancelNow);
    shop.run().await;
    shop.hear_from(0).await;
    shop.sweep_and_run().await;
    assert_eq!(shop.ran, ["give user-1", "take user-1"]);
    let orders = shop.orders().await;
    assert!(orders.len() == 2 && orders.iter().all(|stored| stored.order.status == OrderStatus::Paid));
    assert!(shop.subscription(&first).await.due.is_none() && shop.entries().await.is_empty());
}

#[tokio::test]
async fn a_period_that_the_provider_refuses_holds_nothing_back() {
    let mut shop = Shop::open_subscriptions().await;
    shop.publish_plan(4, "year").await;
    let refused = shop.begin_again().await;
    assert!(matches!(refused, Err(Refused::Provider(ProviderError::Refused(_)))), "{refused:?}");
    let orders = shop.orders().await;
    assert!(orders.iter().all(|stored| stored.order.status == OrderStatus::Cancelled) && orders.len() == 1);
    shop.publish_plan(3, "year").await;
    shop.subscribe().await;
    assert!(shop.has_access());
}

#[tokio::test]
async fn a_subscription_of_another_account_is_given_up_when_it_gives_nothing_any_more() {
    let (mut shop, first) = Shop::subscribed().await;
    let read = shop.subscription(&first).await;
    let account = ProviderAccount { id: Some("acct_former".to_owned()), ..read.account.clone() };
    change(&shop, &read, Subscription { account, ..read.clone() }).await;
    for (days, status) in [(31, SubscriptionStatus::Active), (5, SubscriptionStatus::Ended)] {
        shop.days(days);
        for _ in 0..2 {
            let swept = shop.sweep().await;
            assert_eq!(swept.failed, 0, "no key can ask about it");
        }
        assert_eq!(shop.subscription(&first).await.status, status, "after {days} days");
    }
    assert!(shop.subscription(&first).await.due.is_none() && shop.entries().await.is_empty());
    shop.run().await;
    assert!(!shop.has_access());
}

#[tokio::test]
async fn a_payment_whose_subscription_a_restore_has_lost_is_returned_and_not_charged_again() {
    let (shop, first) = Shop::subscribed().await;
    let read = shop.subscription(&first).await;
    let session = shop.says(&first).await.session;
    for lost in [keys::order(&first), keys::subscription(&read.id)] {
        shop.delete(&lost).await;
    }
    let recorded = paid_checkout(&shop.stripe, &session).await;
    assert!(matches!(recorded, Err(NotPaid::Subscription)), "{recorded:?}");
    let payment = shop.fetch(&session).await;
    for _ in 0..2 {
        let after = return_payment(&shop.stripe, &payment).await.unwrap();
        assert!(after.is_refunded());
    }
    assert_eq!(shop.stripe.subscription(&read.id).await.unwrap().status, SubscriptionStatus::Ended);
}

#[tokio::test]
async fn what_is_delivered_again_after_a_won_dispute_lasts_to_the_end_of_what_is_paid() {
    let (mut shop, first) = Shop::subscribed().await;
    shop.renew(&first).await;
    let paid = shop.subscription(&first).await;
    let invoice = shop.order(&paid.newest).await.effects.provider.unwrap().session.unwrap();
    shop.after(&invoice, Action::Dispute(None)).await;
    shop.sweep_after(1).await;
    assert!(!shop.has_access(), "{:?}", shop.ran);
    shop.after(&invoice, Action::CloseDispute { won: true }).await;
    redeliver(&shop.db, &shop.clock, &paid.newest).await.unwrap();
    shop.run().await;
    assert!(shop.has_access(), "{:?}", shop.ran);
    let after = shop.subscription(&first).await;
    assert_eq!((access_until(&after), after.status), (paid.paid_until, SubscriptionStatus::Ended));
    assert_eq!(shop.entries().await[0].until, paid.paid_until);
    shop.run_after((paid.paid_until - shop.now()) / DAY - 1).await;
    assert!(shop.has_access(), "{:?}", shop.ran);
    shop.run_after(GRACE / DAY).await;
    assert_eq!(shop.ran.last().unwrap(), "take user-1");
}

const THREE_DAYS: i64 = 3 * DAY;

fn run(name: &str) -> RunName {
    RunName::parse(name).unwrap()
}

#[tokio::test]
async fn an_outage_is_given_back_once_when_the_subscription_ends() {
    let (mut shop, first) = Shop::subscribed().await;
    let before = shop.subscription(&first).await;
    let outage = run("outage");
    let clock = &shop.clock;
    for fault in [Fault::Away, Fault::ResponseLost] {
        for nth in 0..6 {
            let instance = shop.failing(move |at, _| (at == nth).then_some(fault));
            drop(extend_subscription(&instance.db, clock, &before.id, (&outage, THREE_DAYS)).await);
        }
    }
    let again = extend_subscription(&shop.db, clock, &before.id, (&outage, THREE_DAYS)).await.unwrap();
    assert_eq!(again, None, "it was done before");
    let after = shop.subscription(&first).await;
    assert_eq!((access_until(&after), after.paid_until), (access_until(&before) + THREE_DAYS, before.paid_until));
    assert_eq!(shop.entries().await[0].access_until, Some(access_until(&after)));
    assert_eq!(timed_ends(&shop.db, &outage, shop.now()).await.unwrap(), [], "its end is that of its access");
    shop.sweep_and_run().await;
    assert_eq!(shop.subscription(&first).await.scheduled, access_until(&after));
    // A renewal is charged as before, and the days are still given.
    shop.days(31);
    shop.after(&first, Action::Renew).await;
    shop.after(&first, Action::CancelAtPeriodEnd).await;
    shop.sweep_and_run().await;
    let ends = shop.subscription(&first).await;
    assert_eq!(access_until(&ends), ends.paid_until + THREE_DAYS);
    shop.sweep_after((ends.paid_until - shop.now()) / DAY + 2).await;
    assert!(shop.has_access(), "{:?}", shop.ran);
    shop.sweep_after(2).await;
    assert!(!shop.has_access(), "{:?}", shop.ran);
}

#[tokio::test]
async fn what_gives_no_access_is_not_extended() {
    let (mut shop, first) = Shop::subscribed().await;
    let id = shop.subscription(&first).await.id;
    shop.after(&first, Action::CancelNow).await;
    shop.sweep_after(31 + GRACE / DAY).await;
    let clock = &shop.clock;
    assert_eq!(extend_subscription(&shop.db, clock, &id, (&run("late"), THREE_DAYS)).await.unwrap(), None);
    assert_eq!(extend_subscription(&shop.db, clock, "sub_none", (&run("late"), THREE_DAYS)).await.unwrap(), None);
}

const FRIEND: UserId = UserId::new(2);

async fn move_to(shop: &Shop, order: &InternalId, to: UserId) -> Result<Moved, MoveError> {
    let to = NewPlayer { user: Some(to), name: None };
    move_order(&shop.db, &shop.clock, order, None, &to, false).await
}

async fn entries(shop: &Shop, user: UserId) -> Vec<UserSubscription> {
    let user: Option<User> = read_live(&shop.db, &keys::user(user)).await.unwrap();
    user.unwrap().subscriptions
}

#[tokio::test]
async fn access_and_later_payments_are_the_new_players_and_who_paid_stays() {
    let (mut shop, first) = Shop::subscribed().await;
    assert!(move_to(&shop, &first, FRIEND).await.unwrap().is_new);
    shop.run().await;
    assert_eq!(shop.ran, ["give user-1", "take user-1", "give user-2"]);
    assert_eq!((entries(&shop, BUYER).await.len(), entries(&shop, FRIEND).await.len()), (0, 1));
    assert_eq!((shop.held(1, MONTHLY).await, shop.held(2, MONTHLY).await), (0, 1));
    assert_audit(&shop.db).await;
    shop.renew(&first).await;
    let subscription = shop.subscription(&first).await;
    let renewal = shop.order(&subscription.newest).await.order;
    assert_eq!((subscription.user, renewal.owner, renewal.moved_to), (FRIEND, Some(BUYER), Some(FRIEND)));
    assert_eq!(shop.ran[3..], ["thank user-2"]);
    assert_audit(&shop.db).await;
    shop.begin_again().await.unwrap();
    shop.sweep_after(36).await;
    assert_eq!(shop.ran[4..], ["take user-2"], "it was not paid again");
}

#[tokio::test]
async fn a_renewed_one_is_moved_by_its_newest_order_and_gives_all_of_it() {
    let (mut shop, first) = Shop::subscribed().await;
    shop.renew(&first).await;
    let newest = shop.subscription(&first).await.newest;
    let refused = move_to(&shop, &first, FRIEND).await;
    assert!(matches!(&refused, Err(MoveError::Older(id)) if *id == newest), "{refused:?}");
    move_to(&shop, &newest, FRIEND).await.unwrap();
    shop.run().await;
    assert_eq!(shop.ran[2..], ["take user-1", "give user-2"]);
    assert_eq!(shop.held(2, MONTHLY).await, 1);
    assert_audit(&shop.db).await;
    move_to(&shop, &newest, BUYER).await.unwrap();
    shop.run().await;
    assert_eq!(shop.ran[4..], ["take user-2", "give user-1"]);
    assert_eq!((entries(&shop, BUYER).await.len(), entries(&shop, FRIEND).await.len()), (1, 0));
    assert_audit(&shop.db).await;
    shop.refund(&newest, None).await.unwrap();
    shop.sweep_and_run().await;
    assert_eq!(shop.ran[6..], ["take user-1"]);
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn a_player_who_has_it_already_gets_no_second_one() {
    let (mut shop, first) = Shop::subscribed().await;
    move_to(&shop, &first, FRIEND).await.unwrap();
    let second = shop.subscribe().await;
    let refused = move_to(&shop, &second, FRIEND).await;
    assert!(matches!(refused, Err(MoveError::Subscribed)), "{refused:?}");
    assert_eq!((entries(&shop, BUYER).await.len(), entries(&shop, FRIEND).await.len()), (1, 1));
}
