//! Subscriptions: paid, renewed or not, and ended.

use crate::support::{NOW, ORDER, Store, client, key, refused, subscription_of};
use local::stripe::{Account as Known, Action, KEY, Options, start};
use std::sync::atomic::Ordering;
use stripe::{
    BillingReason, Charge, DisputeStatus, Event, EventKind, IntentStatus, Invoice, InvoiceStatus, Line,
    NewSubscription, ObjectId, PaymentStatus, RefusalKind, Session, Subscription, SubscriptionStatus,
};

const DAY: i64 = 24 * 60 * 60;
/// [`NOW`] is on 15 January, and February has 28 days.
const MONTH: [i64; 2] = [NOW + 31 * DAY, NOW + (31 + 28) * DAY];
const MONTHLY: NewSubscription<'_> = NewSubscription { interval: "month", count: 1, customer: None };

impl Store {
    /// A paid session of a monthly subscription.
    async fn subscribed(&self) -> Session {
        let session = self.client.send(&subscription_of("subscribe", MONTHLY)).await.unwrap();
        self.act(session.id.as_str(), &[Action::Pay]);
        self.fetch(&session).await
    }

    fn act(&self, id: &str, actions: &[Action]) {
        for action in actions {
            self.stand_in.act(id, action).unwrap();
        }
    }

    async fn subscription(&self, session: &Session) -> Subscription {
        self.client.send(&Subscription::retrieve(session.subscription.as_ref().unwrap())).await.unwrap()
    }

    async fn paid_invoices(&self, session: &Session) -> Vec<Invoice> {
        self.client.send(&Invoice::list_paid(session.subscription.as_ref().unwrap(), None)).await.unwrap().data
    }

    async fn newest_invoice(&self) -> Invoice {
        let id = ObjectId::parse(self.stand_in.invoices().last().unwrap()).unwrap();
        self.client.send(&Invoice::retrieve(&id)).await.unwrap()
    }
}

fn charge(invoice: &Invoice) -> &Charge {
    let intent = invoice.payment_intent.as_ref().unwrap().object().unwrap();
    intent.latest_charge.as_ref().unwrap().object().unwrap()
}

#[tokio::test]
async fn a_subscription_is_paid_with_its_session() {
    let store = Store::open().await;
    let session = store.client.send(&subscription_of("subscribe", MONTHLY)).await.unwrap();
    assert_eq!((&session.subscription, &session.invoice, &session.customer), (&None, &None, &None));
    store.act(session.id.as_str(), &[Action::Decline, Action::Pay]);
    let session = store.fetch(&session).await;
    assert_eq!((&session.payment_status, &session.payment_intent), (&PaymentStatus::Paid, &None));
    let invoice = session.invoice.as_ref().unwrap().object().unwrap();
    assert_eq!(
        (&invoice.status, &invoice.billing_reason),
        (&Some(InvoiceStatus::Paid), &Some(BillingReason::SubscriptionCreate))
    );
    assert_eq!((invoice.amount_due, invoice.amount_paid, &*invoice.currency), (1_998, 1_998, "eur"));
    assert_eq!((&invoice.subscription, &invoice.customer), (&session.subscription, &session.customer));
    assert_eq!((invoice.metadata.order.as_deref(), invoice.period_end()), (Some(ORDER), Some(MONTH[0])));
    let intent = invoice.payment_intent.as_ref().unwrap().object().unwrap();
    assert_eq!((&intent.status, intent.amount, &intent.metadata.order), (&IntentStatus::Succeeded, 1_998, &None));
    assert!(charge(invoice).refunds.as_ref().unwrap().data.is_empty());
    let subscription = store.subscription(&session).await;
    assert_eq!((subscription.status, subscription.current_period_end), (SubscriptionStatus::Active, MONTH[0]));
    assert_eq!((subscription.metadata.order.as_deref(), subscription.ended_at), (Some(ORDER), None));
    let wanted = [EventKind::InvoicePaid, EventKind::SubscriptionUpdated, EventKind::SessionCompleted];
    assert_eq!(store.kinds().await, wanted);
    let listed = store.client.send(&Session::list_complete(NOW, None)).await.unwrap().data.remove(0);
    assert_eq!(charge(listed.invoice.as_ref().unwrap().object().unwrap()).amount, 1_998);
}

#[tokio::test]
async fn a_renewal_is_an_invoice_of_the_period_that_follows() {
    let store = Store::open().await;
    let session = store.subscribed().await;
    store.act(session.id.as_str(), &[Action::Renew]);
    let renewal = store.newest_invoice().await;
    assert_eq!(renewal.billing_reason, Some(BillingReason::SubscriptionCycle));
    assert_eq!((renewal.period_end(), renewal.metadata.order.as_deref()), (Some(MONTH[1]), Some(ORDER)));
    assert_eq!((renewal.lines.data[0].period.start, charge(&renewal).amount), (MONTH[0], 1_998));
    assert_eq!(store.subscription(&session).await.current_period_end, MONTH[1]);
    let first = session.invoice.as_ref().unwrap().id();
    let listed = store.paid_invoices(&session).await;
    assert_eq!(listed.iter().map(|invoice| &invoice.id).collect::<Vec<_>>(), [&renewal.id, first]);
    assert_eq!(charge(&listed[0]).id, charge(&renewal).id);
    let after = Invoice::list_paid(session.subscription.as_ref().unwrap(), Some(&renewal.id));
    assert_eq!(store.client.send(&after).await.unwrap().data.len(), 1);
    assert_eq!(store.kinds().await[3..], [EventKind::SubscriptionUpdated, EventKind::InvoicePaid]);
}

#[tokio::test]
async fn a_renewal_that_fails_moves_the_period_and_can_be_paid_later() {
    let store = Store::open().await;
    let session = store.subscribed().await;
    store.act(session.id.as_str(), &[Action::FailRenewal]);
    let open = store.newest_invoice().await;
    assert_eq!((&open.status, open.amount_due, open.amount_paid), (&Some(InvoiceStatus::Open), 1_998, 0));
    let intent = open.payment_intent.as_ref().unwrap().object().unwrap();
    assert_eq!(intent.status, IntentStatus::RequiresPaymentMethod);
    let subscription = store.subscription(&session).await;
    assert_eq!((subscription.status, subscription.current_period_end), (SubscriptionStatus::PastDue, MONTH[1]));
    assert_eq!(store.paid_invoices(&session).await.len(), 1);
    let failed = [EventKind::SubscriptionUpdated, EventKind::InvoicePaymentFailed, EventKind::SubscriptionUpdated];
    assert_eq!(store.kinds().await[3..], failed);
    assert!(store.stand_in.act(session.id.as_str(), &Action::Renew).is_err(), "it is past due");
    store.act(open.id.as_str(), &[Action::Recover]);
    let paid = store.newest_invoice().await;
    assert_eq!((&paid.id, &paid.status, paid.amount_paid), (&open.id, &Some(InvoiceStatus::Paid), 1_998));
    let subscription = store.subscription(&session).await;
    assert_eq!((subscription.status, subscription.current_period_end), (SubscriptionStatus::Active, MONTH[1]));
    assert_eq!(store.kinds().await[6..], [EventKind::InvoicePaid, EventKind::SubscriptionUpdated]);
    assert!(store.stand_in.act(session.id.as_str(), &Action::Recover).is_err(), "nothing is open");
}

#[tokio::test]
async fn a_subscription_that_is_not_paid_ends() {
    let store = Store::open().await;
    let session = store.subscribed().await;
    assert!(store.stand_in.act(session.id.as_str(), &Action::GiveUp).is_err(), "it is paid");
    store.act(session.id.as_str(), &[Action::FailRenewal, Action::GiveUp]);
    let subscription = store.subscription(&session).await;
    assert_eq!((subscription.status, subscription.ended_at), (SubscriptionStatus::Canceled, Some(NOW)));
    assert_eq!(store.newest_invoice().await.status, Some(InvoiceStatus::Open));
    assert_eq!(store.kinds().await.last(), Some(&EventKind::SubscriptionDeleted));
}

#[tokio::test]
async fn a_subscription_that_is_cancelled_lasts_until_its_period_ends() {
    let store = Store::open().await;
    let session = store.subscribed().await;
    let id = session.subscription.as_ref().unwrap();
    let cancelled = store.client.send(&Subscription::cancel_at_period_end(id)).await.unwrap();
    assert_eq!((&cancelled.status, cancelled.cancel_at_period_end), (&SubscriptionStatus::Active, true));
    assert!(store.stand_in.act(session.id.as_str(), &Action::Renew).is_err(), "it ends with its period");
    store.act(session.id.as_str(), &[Action::Resume]);
    assert!(!store.subscription(&session).await.cancel_at_period_end);
    assert!(store.stand_in.act(session.id.as_str(), &Action::EndPeriod).is_err(), "it is not cancelled");
    store.act(session.id.as_str(), &[Action::CancelAtPeriodEnd, Action::EndPeriod]);
    let ended = store.subscription(&session).await;
    assert_eq!((&ended.status, ended.ended_at), (&SubscriptionStatus::Canceled, Some(MONTH[0])));
    let updated = EventKind::SubscriptionUpdated;
    assert_eq!(store.kinds().await[3..], [updated.clone(), updated.clone(), updated, EventKind::SubscriptionDeleted]);
    refused(store.client.send(&Subscription::cancel_at_period_end(id)).await, RefusalKind::Request, None, None);
}

#[tokio::test]
async fn a_cancelled_subscription_ends_when_its_time_comes() {
    let store = Store::open().await;
    let session = store.subscribed().await;
    store.act(session.id.as_str(), &[Action::CancelAtPeriodEnd]);
    store.clock.0.store(MONTH[0] - 1, Ordering::SeqCst);
    assert_eq!(store.subscription(&session).await.status, SubscriptionStatus::Active);
    store.clock.0.store(MONTH[0] + 5, Ordering::SeqCst);
    let ended = store.subscription(&session).await;
    assert_eq!((ended.status, ended.ended_at), (SubscriptionStatus::Canceled, Some(MONTH[0])));
}

#[tokio::test]
async fn a_subscription_is_cancelled_now_once() {
    let store = Store::open().await;
    let session = store.subscribed().await;
    let id = session.subscription.as_ref().unwrap();
    let ended = store.client.send(&Subscription::cancel(id)).await.unwrap();
    assert_eq!((&ended.status, ended.ended_at), (&SubscriptionStatus::Canceled, Some(NOW)));
    let missing = Some("resource_missing");
    refused(store.client.send(&Subscription::cancel(id)).await, RefusalKind::NotFound, missing, Some("id"));
    assert!(store.stand_in.act(session.id.as_str(), &Action::CancelNow).is_err());
    let deleted = Event::list(&[EventKind::SubscriptionDeleted], (NOW, i64::MAX), None);
    assert_eq!(store.client.send(&deleted).await.unwrap().events[0].object.as_ref(), Some(id));
}

#[tokio::test]
async fn a_renewal_is_refunded_and_disputed_by_the_id_of_its_invoice() {
    let store = Store::open().await;
    let session = store.subscribed().await;
    store.act(session.id.as_str(), &[Action::Renew]);
    let renewal = store.newest_invoice().await.id;
    store.act(renewal.as_str(), &[Action::Refund(Some(500)), Action::Dispute(None)]);
    let newest = store.newest_invoice().await;
    let refunded = charge(&newest);
    assert_eq!((refunded.amount_refunded, refunded.disputed), (500, true));
    assert_eq!(refunded.refunds.as_ref().unwrap().data[0].amount, 500);
    let intent = newest.payment_intent.as_ref().unwrap().id();
    let disputes = store.client.send(&stripe::Dispute::list(intent)).await.unwrap().data;
    assert_eq!((&disputes[0].status, disputes[0].amount), (&DisputeStatus::NeedsResponse, 1_498));
    let first = store.paid_invoices(&session).await.remove(1);
    assert_eq!((charge(&first).amount_refunded, charge(&first).disputed), (0, false));
    store.act(session.id.as_str(), &[Action::Refund(None)]);
    assert_eq!(charge(&store.paid_invoices(&session).await[1]).amount_refunded, 1_998, "a session's is its first");
    store.act(session.id.as_str(), &[Action::FailRenewal]);
    let unpaid = store.newest_invoice().await.id;
    let error = store.stand_in.act(unpaid.as_str(), &Action::Refund(None)).unwrap_err();
    assert_eq!(error, "This invoice is not paid.");
}

#[tokio::test]
async fn a_customer_subscribes_again() {
    let store = Store::open().await;
    let customer = store.subscribed().await.customer.unwrap();
    let new = |customer| NewSubscription { customer: Some(customer), ..MONTHLY };
    let again = store.client.send(&subscription_of("again", new(&customer))).await.unwrap();
    assert_eq!(again.customer.as_ref(), Some(&customer));
    store.act(again.id.as_str(), &[Action::Pay]);
    assert_eq!(store.subscription(&store.fetch(&again).await).await.customer, customer);
    let unknown = ObjectId::parse("cus_none").unwrap();
    let result = store.client.send(&subscription_of("unknown", new(&unknown))).await;
    refused(result, RefusalKind::Request, Some("resource_missing"), Some("customer"));
}

#[tokio::test]
async fn a_period_is_three_years_at_most() {
    let store = Store::open().await;
    for (interval, most) in [("day", 1_095), ("week", 156), ("month", 36), ("year", 3)] {
        for (count, is_allowed) in [(0, false), (most, true), (most + 1, false)] {
            let new = NewSubscription { interval, count, customer: None };
            let result = store.client.send(&subscription_of(&format!("{interval}-{count}"), new)).await;
            if is_allowed {
                result.unwrap();
            } else {
                let param = "line_items[0][price_data][recurring][interval_count]";
                refused(result, RefusalKind::Request, None, Some(param));
            }
        }
    }
}

#[tokio::test]
async fn a_subscription_of_nothing_is_renewed_without_a_payment() {
    let store = Store::open().await;
    let lines = [Line { name: "Free", amount: 0 }];
    let call = crate::support::session_with(&lines, NOW + 3_600, "free", false, Some(MONTHLY));
    let session = store.client.send(&call).await.unwrap();
    store.act(session.id.as_str(), &[Action::Pay, Action::Renew]);
    assert!(store.stand_in.act(session.id.as_str(), &Action::FailRenewal).is_err());
    let session = store.fetch(&session).await;
    assert_eq!(session.payment_status, PaymentStatus::NoPaymentRequired);
    let paid = store.paid_invoices(&session).await;
    assert_eq!((paid.len(), &paid[0].payment_intent, paid[0].amount_paid), (2, &None, 0));
}

#[tokio::test]
async fn a_repeated_session_creates_one_subscription() {
    let store = Store::open().await;
    let session = store.subscribed().await;
    let repeated = store.client.send(&subscription_of("subscribe", MONTHLY)).await.unwrap();
    assert_eq!(repeated.id, session.id);
    assert_eq!((store.stand_in.sessions().len(), store.stand_in.invoices().len()), (1, 1));
}

#[tokio::test]
async fn another_account_does_not_see_a_subscription() {
    let other = "rk_test_other";
    let stand_in =
        start(Options { others: vec![Known::new(other, "acct_other")], ..Options::default() }).await.unwrap();
    let (own, other) = (client(&stand_in, KEY), client(&stand_in, other));
    let now = shared::clock::Clock::seconds(&shared::clock::SystemClock);
    let lines = [Line { name: "Squire", amount: 1_998 }];
    let call = || crate::support::session_with(&lines, now + 3_600, "own", false, Some(MONTHLY));
    let session = own.send(&call()).await.unwrap();
    stand_in.act(session.id.as_str(), &Action::Pay).unwrap();
    let session = own.send(&Session::retrieve(&session.id)).await.unwrap();
    let (id, invoice) = (session.subscription.as_ref().unwrap(), session.invoice.as_ref().unwrap().id());
    let missing = Some("resource_missing");
    refused(other.send(&Subscription::retrieve(id)).await, RefusalKind::NotFound, missing, Some("id"));
    refused(other.send(&Subscription::cancel(id)).await, RefusalKind::NotFound, missing, Some("id"));
    refused(other.send(&Subscription::cancel_at_period_end(id)).await, RefusalKind::NotFound, missing, Some("id"));
    refused(other.send(&Invoice::retrieve(invoice)).await, RefusalKind::NotFound, missing, Some("id"));
    assert!(other.send(&Invoice::list_paid(id, None)).await.unwrap().data.is_empty());
    assert!(other.send(&Session::list_complete(0, None)).await.unwrap().data.is_empty());
    let customer = session.customer.as_ref().unwrap();
    let portal = stripe::PortalSession::create(customer, "http://127.0.0.1:1/account");
    refused(other.send(&portal).await, RefusalKind::Request, missing, Some("customer"));
    let configurations = own.send(&stripe::PortalConfiguration::list()).await.unwrap().data;
    let theirs = other.send(&stripe::PortalConfiguration::list()).await.unwrap().data;
    assert!(configurations[0].is_default && theirs[0].is_default && configurations[0].id != theirs[0].id);
}

#[tokio::test]
async fn a_subscription_is_kept_across_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let options = || Options { kept: Some(dir.path().join("stripe.json")), ..Options::default() };
    let now = shared::clock::Clock::seconds(&shared::clock::SystemClock);
    let lines = [Line { name: "Squire", amount: 1_998 }];
    let stand_in = start(options()).await.unwrap();
    let call = crate::support::session_with(&lines, now + 3_600, "kept", false, Some(MONTHLY));
    let session = client(&stand_in, KEY).send(&call).await.unwrap();
    stand_in.act(session.id.as_str(), &Action::Pay).unwrap();
    // A call writes the file.
    let portal = stripe::PortalConfiguration::create(key("portal"));
    let configuration = client(&stand_in, KEY).send(&portal).await.unwrap().id;
    stand_in.stop().await;
    let stand_in = start(options()).await.unwrap();
    stand_in.act(session.id.as_str(), &Action::Renew).unwrap();
    let client = client(&stand_in, KEY);
    let session = client.send(&Session::retrieve(&session.id)).await.unwrap();
    let paid = client.send(&Invoice::list_paid(session.subscription.as_ref().unwrap(), None)).await.unwrap();
    assert_eq!(paid.data.len(), 2);
    let listed = client.send(&stripe::PortalConfiguration::list()).await.unwrap().data;
    assert!(listed.iter().any(|found| found.id == configuration));
}
