//! Disputes: what the buyer's bank says of a payment is followed on its order, whichever event is lost or repeated.

use crate::at_provider::TOTAL;
use crate::shop::{PLAIN, Shop, VIRTUAL, money, user};
use crate::sums::assert_audit;
use shared::model::{InternalId, OrderStatus, Refunds, User, UserId, UserName};
use shared::rules::dispute::FRAUD_WARNING;
use shared::shop::orders::StoredOrder;
use shared::shop::payments::{DisputeState, SettleError, Settled, WebhookEvent, note_dispute};
use shared::table::transaction::{Write, sent};
use shared::table::{Db, keys};
use std::collections::BTreeMap;
use std::time::Duration;
use stripe_stand_in::Action;
use tests::{NOW, configure};

/// Acts on the provider's newest event.
async fn hear(shop: &Shop) -> WebhookEvent {
    let event = newest(shop).await;
    shop.hear(&event).await;
    event
}

async fn newest(shop: &Shop) -> WebhookEvent {
    shop.events().await.remove(0)
}

/// An action at the provider whose event is heard. The state of the order's dispute after it.
async fn after(shop: &Shop, order: &InternalId, action: Action) -> String {
    shop.act(order, action);
    hear(shop).await;
    shop.order(order).await.effects.dispute.unwrap_or_default()
}

/// The store bans the buyers of disputed payments; the buyer has a name.
async fn ban_on_dispute(shop: &Shop) -> UserName {
    configure(&shop.db, |config| config.ban_on_dispute = true).await;
    shop.name(1, "Thornwick").await;
    shop.put(&keys::user(UserId::new(1)), &User { username: "Thornwick".to_owned(), ..user(1) }).await;
    UserName::parse("Thornwick").unwrap()
}

async fn is_banned(db: &Db, name: &UserName) -> bool {
    db.get(&keys::ban(name), true).await.unwrap().is_some()
}

#[tokio::test]
async fn a_lost_dispute_counts_as_refunded_by_its_amount_and_once() {
    let shop = Shop::open().await;
    let paid = shop.paid().await;
    assert_eq!(after(&shop, &paid, Action::Dispute(Some(200))).await, "needs_response");
    assert_eq!(shop.order(&paid).await.effects.refunded, money(0), "it is not decided");
    assert_eq!(after(&shop, &paid, Action::CloseDispute { won: false }).await, "lost");
    hear(&shop).await;
    let stored = shop.order(&paid).await;
    assert_eq!((stored.order.status, stored.effects.refunded), (OrderStatus::Paid, money(200)));
    assert_eq!(shop.settle(&paid).await, Settled::Unchanged);
    let all = shop.paid().await;
    shop.act(&all, Action::Refund(Some(100)));
    after(&shop, &all, Action::Dispute(None)).await;
    after(&shop, &all, Action::CloseDispute { won: false }).await;
    assert_eq!(shop.order(&all).await.order.status, OrderStatus::Refunded, "nothing of it is left");
    assert_eq!(shop.says(&all).await.refunded, money(TOTAL));
}

#[tokio::test]
async fn a_dispute_that_is_prevented_with_the_stores_money_is_lost() {
    let shop = Shop::open().await;
    let paid = shop.paid().await;
    assert_eq!(after(&shop, &paid, Action::PreventDispute(Some(200))).await, "lost");
    let stored = shop.order(&paid).await;
    assert_eq!((stored.order.status, stored.effects.refunded), (OrderStatus::Paid, money(200)));
    assert_eq!(after(&shop, &paid, Action::PreventDispute(None)).await, "lost");
    assert_eq!(shop.order(&paid).await.order.status, OrderStatus::Refunded);
}

#[tokio::test]
async fn a_lost_dispute_gives_no_gift_card_and_no_virtual_currency_back() {
    for hears in [true, false] {
        let shop = Shop::open().await;
        shop.set_virtual_balance(1, 80).await;
        let order = shop.buy(1, &[(PLAIN, 12), (VIRTUAL, 1)], Some("card")).await;
        for action in [Action::Dispute(None), Action::CloseDispute { won: false }] {
            shop.act(&order, action);
            if hears {
                hear(&shop).await;
            }
        }
        shop.settle(&order).await;
        assert_eq!(shop.order(&order).await.order.status, OrderStatus::Refunded);
        let left = (shop.balance().await, shop.virtual_balance(1).await, shop.sold(PLAIN).await);
        assert_eq!(left, (0, 30, 0), "{hears}");
    }
}

/// The sum that the buyer's ledger calls paid. Fails unless it agrees with the orders.
async fn credit(shop: &Shop) -> i64 {
    assert_audit(&shop.db).await;
    shop.paid_for(1, PLAIN).await
}

#[tokio::test]
async fn what_is_disputed_counts_as_paid_again_only_when_it_is_won() {
    let shop = Shop::open().await;
    let paid = shop.paid().await;
    shop.refund_there(&paid, 100).await;
    after(&shop, &paid, Action::Inquire).await;
    assert_eq!(credit(&shop).await, TOTAL - 100, "an inquiry takes nothing back");
    after(&shop, &paid, Action::Escalate).await;
    assert_eq!(credit(&shop).await, 0, "it would reduce the price of an upgrade");
    after(&shop, &paid, Action::CloseDispute { won: true }).await;
    assert_eq!(credit(&shop).await, TOTAL - 100);
    shop.refund(&paid, None).await.unwrap();
    assert_eq!(credit(&shop).await, 0);
}

#[tokio::test]
async fn a_dispute_and_a_refund_at_the_same_time_take_a_payment_off_once() {
    for is_dispute_first in [false, true] {
        let shop = Shop::open().await;
        let paid = shop.paid().await;
        let read = shop.order(&paid).await;
        let refunds = Refunds { refunded: money(100), failed: money(0), unreturned: money(0) };
        let dispute = BTreeMap::from([("du_1".to_owned(), "needs_response".to_owned())]);
        let noted = || note(&shop, &paid);
        if is_dispute_first {
            noted().await.unwrap();
        }
        // Planned before the other was written.
        let stale = [read.set_refunded(&refunds, NOW).unwrap().remove(0), read.set_disputes(&dispute, "lost", None)];
        if !is_dispute_first {
            shop.refund_there(&paid, 100).await;
        }
        for write in stale {
            assert!(!sent(&shop.db, vec![write]).await.unwrap());
        }
        noted().await.unwrap();
        assert_eq!(credit(&shop).await, 0);
    }
}

async fn note(shop: &Shop, order: &InternalId) -> Result<Option<StoredOrder>, SettleError> {
    let dispute = DisputeState { id: "du_1".to_owned(), intent: None, state: "needs_response".to_owned() };
    note_dispute(&shop.db, &shop.clock, order, &dispute).await
}

#[tokio::test]
async fn a_lost_dispute_whose_events_are_lost_is_found_by_the_sweep() {
    let shop = Shop::open().await;
    let order = shop.paid().await;
    shop.sweep().await;
    shop.act(&order, Action::Dispute(None));
    shop.act(&order, Action::CloseDispute { won: false });
    shop.clock.advance(Duration::from_hours(2));
    shop.sweep().await;
    let stored = shop.order(&order).await;
    assert_eq!((stored.order.status, stored.effects.dispute.as_deref()), (OrderStatus::Refunded, Some("lost")));
}

#[tokio::test]
async fn a_warning_and_an_inquiry_only_mark_and_a_dispute_bans_if_the_store_says_so() {
    let shop = Shop::open().await;
    let paid = shop.paid().await;
    let name = ban_on_dispute(&shop).await;
    assert_eq!(after(&shop, &paid, Action::WarnOfFraud).await, FRAUD_WARNING);
    assert_eq!(after(&shop, &paid, Action::Inquire).await, "warning_needs_response");
    assert_eq!(after(&shop, &paid, Action::WarnOfFraud).await, "warning_needs_response", "it says more");
    assert!(!is_banned(&shop.db, &name).await);
    assert_eq!(after(&shop, &paid, Action::Escalate).await, "needs_response");
    assert!(is_banned(&shop.db, &name).await);
    shared::shop::accounts::bans::unban(&shop.db, &name).await.unwrap();
    assert_eq!(after(&shop, &paid, Action::CloseDispute { won: true }).await, "won");
    assert!(!is_banned(&shop.db, &name).await, "the owner has lifted it");
    let stored = shop.order(&paid).await;
    assert_eq!((stored.order.status, stored.effects.refunded), (OrderStatus::Paid, money(0)));
}

#[tokio::test]
async fn a_warning_of_a_payment_without_an_invoice_is_heard_again_until_the_payment_is_old() {
    let shop = Shop::open().await;
    // As that of a subscription is, until its invoice follows.
    let session = shop.foreign(None, 500, "eur").await;
    shop.act(&session, Action::Pay);
    shop.act(&session, Action::WarnOfFraud);
    let warning = newest(&shop).await;
    assert!(shop.desk().act(&warning).await.is_err(), "Stripe sends it again");
    shop.clock.advance(Duration::from_mins(16));
    shop.hear(&warning).await;
}

#[tokio::test]
async fn a_dispute_of_a_payment_by_a_login_by_name_bans_nobody() {
    let shop = Shop::open().await;
    let paid = shop.paid().await;
    let name = ban_on_dispute(&shop).await;
    let by_name = Write::update(keys::order(&paid), "SET via = :name").text(":name", "name");
    sent(&shop.db, vec![by_name]).await.unwrap();
    assert_eq!(after(&shop, &paid, Action::Dispute(None)).await, "needs_response");
    assert!(!is_banned(&shop.db, &name).await, "anyone can log in under a name");
}

#[tokio::test]
async fn every_dispute_of_a_payment_is_followed_and_the_one_that_decides_is_shown() {
    let shop = Shop::open().await;
    let paid = shop.paid().await;
    after(&shop, &paid, Action::Dispute(Some(100))).await;
    after(&shop, &paid, Action::CloseDispute { won: true }).await;
    let first = newest(&shop).await;
    let WebhookEvent::Dispute(id) = &first else { panic!("it is a dispute") };
    let older = DisputeState { id: id.clone(), intent: None, state: "under_review".to_owned() };
    note_dispute(&shop.db, &shop.clock, &paid, &older).await.unwrap();
    assert_eq!(shop.order(&paid).await.effects.dispute.as_deref(), Some("won"), "it is decided");
    assert_eq!(after(&shop, &paid, Action::Dispute(Some(200))).await, "needs_response");
    shop.hear(&first).await;
    assert_eq!(shop.order(&paid).await.effects.dispute.as_deref(), Some("needs_response"), "the other is open");
    assert_eq!(after(&shop, &paid, Action::CloseDispute { won: false }).await, "lost");
    let stored = shop.order(&paid).await;
    assert_eq!((stored.effects.disputes.len(), stored.effects.refunded), (2, money(200)));
}

#[tokio::test]
async fn a_dispute_that_is_heard_of_before_its_order_is_paid_is_noted_with_the_payment() {
    let shop = Shop::open().await;
    let order = shop.checkout(1, &[(PLAIN, 5)], None).await;
    shop.act(&order, Action::Pay);
    shop.act(&order, Action::Dispute(None));
    hear(&shop).await;
    shop.settle(&order).await;
    let stored = shop.order(&order).await;
    assert_eq!((stored.order.status, stored.effects.dispute.as_deref()), (OrderStatus::Paid, Some("needs_response")));
}

#[tokio::test]
async fn a_dispute_is_followed_whenever_the_process_is_killed() {
    for nth in 1..=3 {
        for is_written in [false, true] {
            let shop = Shop::open().await;
            let paid = shop.paid().await;
            let name = ban_on_dispute(&shop).await;
            shop.act(&paid, Action::Dispute(None));
            shop.act(&paid, Action::CloseDispute { won: false });
            let event = newest(&shop).await;
            let killed = shop.killed_at_transaction(nth, is_written);
            let acted: Result<(), SettleError> = shop.desk_of(&killed.db).act(&event).await;
            assert!(acted.is_err() || nth == 3, "{nth}");
            hear(&shop).await;
            assert!(is_banned(&shop.db, &name).await, "{nth}, {is_written}");
            assert_eq!(shop.order(&paid).await.order.status, OrderStatus::Refunded, "{nth}, {is_written}");
        }
    }
}
