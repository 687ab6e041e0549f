//! Disputes: what the buyer's bank says of a payment is followed on its order, whichever event is lost or repeated.

use crate::market::VIRTUAL;
use crate::shop::PLAIN;
use crate::sums::assert_audit;
use crate::till::{PRICE, Till, money};
use shared::model::{ActiveVersion, InternalId, OrderStatus, Refunds, StoreConfig, User, UserId, UserName};
use shared::rules::dispute::FRAUD_WARNING;
use shared::shop::orders::StoredOrder;
use shared::shop::payments::{Desk, DisputeState, Provider as _, SettleError, Settled, WebhookEvent, note_dispute};
use shared::table::published::read_active_version;
use shared::table::transaction::{Write, sent};
use shared::table::{Db, keys};
use std::collections::BTreeMap;
use std::time::Duration;
use stripe_stand_in::Action;
use tests::NOW;

/// Acts on the provider's newest event.
async fn hear(till: &Till) -> WebhookEvent {
    let event = newest(till).await;
    till.desk().act(&event).await.unwrap();
    event
}

async fn newest(till: &Till) -> WebhookEvent {
    till.stripe.webhook_events((0, i64::from(i32::MAX)), None).await.unwrap().events.remove(0)
}

/// An action at the provider whose event is heard. The state of the order's dispute after it.
async fn after(till: &Till, (order, session): &(InternalId, String), action: Action) -> String {
    till.stand_in.act(session, &action).unwrap();
    hear(till).await;
    till.order(order).await.effects.dispute.unwrap_or_default()
}

/// The store bans the buyers of disputed payments; the buyer has a name.
async fn ban_on_dispute(till: &Till) -> UserName {
    let active = read_active_version(till.db()).await.unwrap().unwrap();
    let config = StoreConfig { ban_on_dispute: true, ..active.config };
    till.market.put(&keys::active_version(), &ActiveVersion { config, ..active }).await;
    till.market.name(1, "Thornwick").await;
    let key = keys::user(UserId::new(1));
    let user: User = shared::table::read_live(till.db(), &key).await.unwrap().unwrap();
    till.market.put(&key, &User { username: "Thornwick".to_owned(), ..user }).await;
    UserName::parse("Thornwick").unwrap()
}

async fn is_banned(db: &Db, name: &UserName) -> bool {
    db.get(&keys::ban(name), true).await.unwrap().is_some()
}

#[tokio::test]
async fn a_lost_dispute_counts_as_refunded_by_its_amount_and_once() {
    let till = Till::open().await;
    let paid = till.paid().await;
    assert_eq!(after(&till, &paid, Action::Dispute(Some(200))).await, "needs_response");
    assert_eq!(till.order(&paid.0).await.effects.refunded, money(0), "it is not decided");
    assert_eq!(after(&till, &paid, Action::CloseDispute { won: false }).await, "lost");
    hear(&till).await;
    let stored = till.order(&paid.0).await;
    assert_eq!((stored.order.status, stored.effects.refunded), (OrderStatus::Paid, money(200)));
    assert_eq!(till.settle(&paid.0).await, Settled::Unchanged);
    let all = till.paid().await;
    till.stand_in.act(&all.1, &Action::Refund(Some(100))).unwrap();
    after(&till, &all, Action::Dispute(None)).await;
    after(&till, &all, Action::CloseDispute { won: false }).await;
    assert_eq!(till.order(&all.0).await.order.status, OrderStatus::Refunded, "nothing of it is left");
    assert_eq!(till.says(&all.0).await.refunded, money(PRICE));
}

#[tokio::test]
async fn a_dispute_that_is_prevented_with_the_stores_money_is_lost() {
    let till = Till::open().await;
    let paid = till.paid().await;
    assert_eq!(after(&till, &paid, Action::PreventDispute(Some(200))).await, "lost");
    let stored = till.order(&paid.0).await;
    assert_eq!((stored.order.status, stored.effects.refunded), (OrderStatus::Paid, money(200)));
    assert_eq!(after(&till, &paid, Action::PreventDispute(None)).await, "lost");
    assert_eq!(till.order(&paid.0).await.order.status, OrderStatus::Refunded);
}

#[tokio::test]
async fn a_lost_dispute_gives_no_gift_card_and_no_virtual_currency_back() {
    for hears in [true, false] {
        let till = Till::open().await;
        till.market.set_virtual_balance(1, 80).await;
        till.market.fill(1, &[(PLAIN, 12), (VIRTUAL, 1)], Some("card")).await;
        let (order, session) = till.begin().await;
        till.stand_in.act(&session, &Action::Pay).unwrap();
        till.settle(&order).await;
        for action in [Action::Dispute(None), Action::CloseDispute { won: false }] {
            till.stand_in.act(&session, &action).unwrap();
            if hears {
                hear(&till).await;
            }
        }
        till.settle(&order).await;
        assert_eq!(till.order(&order).await.order.status, OrderStatus::Refunded);
        let left = (till.market.balance().await, till.market.virtual_balance(1).await, till.market.sold(PLAIN).await);
        assert_eq!(left, (0, 30, 0), "{hears}");
    }
}

/// The sum that the buyer's ledger calls paid. Fails unless it agrees with the orders.
async fn credit(till: &Till) -> i64 {
    assert_audit(till.db()).await;
    till.market.number(&keys::ledger(UserId::new(1)), &format!("p{PLAIN}")).await
}

#[tokio::test]
async fn what_is_disputed_counts_as_paid_again_only_when_it_is_won() {
    let till = Till::open().await;
    let paid = till.paid().await;
    till.stand_in.act(&paid.1, &Action::Refund(Some(100))).unwrap();
    till.settle(&paid.0).await;
    after(&till, &paid, Action::Inquire).await;
    assert_eq!(credit(&till).await, PRICE - 100, "an inquiry takes nothing back");
    after(&till, &paid, Action::Escalate).await;
    assert_eq!(credit(&till).await, 0, "it would reduce the price of an upgrade");
    after(&till, &paid, Action::CloseDispute { won: true }).await;
    assert_eq!(credit(&till).await, PRICE - 100);
    till.refund(&paid.0, None).await.unwrap();
    assert_eq!(credit(&till).await, 0);
}

#[tokio::test]
async fn a_dispute_and_a_refund_at_the_same_time_take_a_payment_off_once() {
    for is_dispute_first in [false, true] {
        let till = Till::open().await;
        let paid = till.paid().await;
        let read = till.order(&paid.0).await;
        let refunds = Refunds { refunded: money(100), failed: money(0), unreturned: money(0) };
        let dispute = BTreeMap::from([("du_1".to_owned(), "needs_response".to_owned())]);
        let noted = || note(&till, &paid.0);
        if is_dispute_first {
            noted().await.unwrap();
        }
        // Planned before the other was written.
        let stale = [read.set_refunded(&refunds, NOW).unwrap().remove(0), read.set_disputes(&dispute, "lost", None)];
        if !is_dispute_first {
            till.stand_in.act(&paid.1, &Action::Refund(Some(100))).unwrap();
            till.settle(&paid.0).await;
        }
        for write in stale {
            assert!(!sent(till.db(), vec![write]).await.unwrap());
        }
        noted().await.unwrap();
        assert_eq!(credit(&till).await, 0);
    }
}

async fn note(till: &Till, order: &InternalId) -> Result<Option<StoredOrder>, SettleError> {
    let dispute = DisputeState { id: "du_1".to_owned(), intent: None, state: "needs_response".to_owned() };
    note_dispute(till.db(), &till.market.clock, order, &dispute).await
}

#[tokio::test]
async fn a_lost_dispute_whose_events_are_lost_is_found_by_the_sweep() {
    let till = Till::open().await;
    let (order, session) = till.paid().await;
    let swept = || async { till.sweep().await };
    swept().await;
    till.stand_in.act(&session, &Action::Dispute(None)).unwrap();
    till.stand_in.act(&session, &Action::CloseDispute { won: false }).unwrap();
    till.wait(Duration::from_hours(2));
    swept().await;
    let stored = till.order(&order).await;
    assert_eq!((stored.order.status, stored.effects.dispute.as_deref()), (OrderStatus::Refunded, Some("lost")));
}

#[tokio::test]
async fn a_warning_and_an_inquiry_only_mark_and_a_dispute_bans_if_the_store_says_so() {
    let till = Till::open().await;
    let paid = till.paid().await;
    let name = ban_on_dispute(&till).await;
    assert_eq!(after(&till, &paid, Action::WarnOfFraud).await, FRAUD_WARNING);
    assert_eq!(after(&till, &paid, Action::Inquire).await, "warning_needs_response");
    assert_eq!(after(&till, &paid, Action::WarnOfFraud).await, "warning_needs_response", "it says more");
    assert!(!is_banned(till.db(), &name).await);
    assert_eq!(after(&till, &paid, Action::Escalate).await, "needs_response");
    assert!(is_banned(till.db(), &name).await);
    shared::shop::accounts::bans::unban(till.db(), &name).await.unwrap();
    assert_eq!(after(&till, &paid, Action::CloseDispute { won: true }).await, "won");
    assert!(!is_banned(till.db(), &name).await, "the owner has lifted it");
    let stored = till.order(&paid.0).await;
    assert_eq!((stored.order.status, stored.effects.refunded), (OrderStatus::Paid, money(0)));
}

#[tokio::test]
async fn a_dispute_of_a_payment_by_a_login_by_name_bans_nobody() {
    let till = Till::open().await;
    let paid = till.paid().await;
    let name = ban_on_dispute(&till).await;
    let by_name = Write::update(keys::order(&paid.0), "SET via = :name").text(":name", "name");
    sent(till.db(), vec![by_name]).await.unwrap();
    assert_eq!(after(&till, &paid, Action::Dispute(None)).await, "needs_response");
    assert!(!is_banned(till.db(), &name).await, "anybody can log in under a name");
}

#[tokio::test]
async fn every_dispute_of_a_payment_is_followed_and_the_one_that_decides_is_shown() {
    let till = Till::open().await;
    let paid = till.paid().await;
    after(&till, &paid, Action::Dispute(Some(100))).await;
    after(&till, &paid, Action::CloseDispute { won: true }).await;
    let first = newest(&till).await;
    let WebhookEvent::Dispute(id) = &first else { panic!("it is a dispute") };
    let older = DisputeState { id: id.clone(), intent: None, state: "under_review".to_owned() };
    note_dispute(till.db(), &till.market.clock, &paid.0, &older).await.unwrap();
    assert_eq!(till.order(&paid.0).await.effects.dispute.as_deref(), Some("won"), "it is decided");
    assert_eq!(after(&till, &paid, Action::Dispute(Some(200))).await, "needs_response");
    till.desk().act(&first).await.unwrap();
    assert_eq!(till.order(&paid.0).await.effects.dispute.as_deref(), Some("needs_response"), "the other is open");
    assert_eq!(after(&till, &paid, Action::CloseDispute { won: false }).await, "lost");
    let stored = till.order(&paid.0).await;
    assert_eq!((stored.effects.disputes.len(), stored.effects.refunded), (2, money(200)));
}

#[tokio::test]
async fn a_dispute_that_is_heard_of_before_its_order_is_paid_is_noted_with_the_payment() {
    let till = Till::open().await;
    let (order, session) = till.checkout().await;
    till.stand_in.act(&session, &Action::Pay).unwrap();
    till.stand_in.act(&session, &Action::Dispute(None)).unwrap();
    hear(&till).await;
    till.settle(&order).await;
    let stored = till.order(&order).await;
    assert_eq!((stored.order.status, stored.effects.dispute.as_deref()), (OrderStatus::Paid, Some("needs_response")));
}

#[tokio::test]
async fn a_dispute_is_followed_whenever_the_process_is_killed() {
    for nth in 1..=3 {
        for is_written in [false, true] {
            let till = Till::open().await;
            let paid = till.paid().await;
            let name = ban_on_dispute(&till).await;
            till.stand_in.act(&paid.1, &Action::Dispute(None)).unwrap();
            till.stand_in.act(&paid.1, &Action::CloseDispute { won: false }).unwrap();
            let event = newest(&till).await;
            let killed = till.market.killed_at_transaction(nth, is_written);
            let acted: Result<(), SettleError> =
                Desk::new(&killed.db, &till.market.clock, &till.stripe).act(&event).await;
            assert!(acted.is_err() || nth == 3, "{nth}");
            hear(&till).await;
            assert!(is_banned(till.db(), &name).await, "{nth}, {is_written}");
            assert_eq!(till.order(&paid.0).await.order.status, OrderStatus::Refunded, "{nth}, {is_written}");
        }
    }
}
