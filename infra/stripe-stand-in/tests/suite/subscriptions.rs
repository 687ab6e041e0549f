//! Subscriptions: time, limits, accounts and a restart. Every state is compared by Stripe's own package (`.ci/provider`).

use crate::{NOW, Store, client, key, refused, shown, subscription_of};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use stripe::{
    Invoice, InvoiceStatus, Line, NewSubscription, PaymentStatus, RefusalKind, Session, Subscription,
    SubscriptionStatus,
};
use stripe_stand_in::{Account as Known, Action, KEY, Options, start};

const DAY: i64 = 24 * 60 * 60;
/// [`NOW`] is on 15 January.
const MONTH: i64 = NOW + 31 * DAY;
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

    /// The end of the present period, which is that of its items.
    async fn period_end(&self, session: &Session) -> i64 {
        let path = format!("subscriptions/{}", session.subscription.as_ref().unwrap());
        shown(&self.stand_in, &path).await["items"]["data"][0]["current_period_end"].as_i64().unwrap()
    }

    async fn paid_invoices(&self, session: &Session) -> Vec<Invoice> {
        self.client
            .send(&Invoice::list(session.subscription.as_ref().unwrap(), &InvoiceStatus::Paid, None))
            .await
            .unwrap()
            .data
    }
}

#[tokio::test]
async fn a_cancelled_subscription_ends_when_its_time_comes() {
    let store = Store::open().await;
    let session = store.subscribed().await;
    store.act(session.id.as_str(), &[Action::CancelAtPeriodEnd]);
    store.clock.0.store(MONTH - 1, Ordering::SeqCst);
    assert_eq!(store.subscription(&session).await.status, SubscriptionStatus::Active);
    store.clock.0.store(MONTH + 5, Ordering::SeqCst);
    let ended = store.subscription(&session).await;
    assert_eq!((ended.status, ended.ended_at), (SubscriptionStatus::Canceled, Some(MONTH)));
}

#[tokio::test]
async fn a_subscription_that_is_cancelled_in_the_portal_ends_at_the_end_that_its_period_had_then() {
    let store = Store::open().await;
    let session = store.subscribed().await;
    store.act(session.id.as_str(), &[Action::CancelInPortal]);
    let found = store.subscription(&session).await;
    assert_eq!((found.cancel_at_period_end, found.cancel_at), (false, Some(MONTH)));
    store.act(session.id.as_str(), &[Action::Trial(60)]);
    let found = store.subscription(&session).await;
    assert_eq!((found.cancel_at, store.period_end(&session).await), (Some(MONTH), NOW + 60 * DAY));
    store.act(session.id.as_str(), &[Action::Resume]);
    assert_eq!(store.subscription(&session).await.cancel_at, None);
}

#[tokio::test]
async fn the_payment_of_an_invoice_is_found_by_either() {
    let store = Store::open().await;
    let session = store.subscribed().await;
    store.act(session.id.as_str(), &[Action::FailRenewal]);
    let all = shown(&store.stand_in, "invoice_payments").await["data"].clone();
    let [open, paid] = &all.as_array().unwrap()[..] else { panic!("{all}") };
    assert_eq!((&open["status"], &open["amount_paid"]), (&json!("open"), &Value::Null));
    assert_eq!((&paid["status"], &paid["amount_paid"]), (&json!("paid"), &json!(1_998)));
    let (invoice, intent) = (paid["invoice"].as_str().unwrap(), paid["payment"]["payment_intent"].as_str().unwrap());
    for (query, found) in [
        (format!("invoice={invoice}"), vec![paid]),
        ("status=open".to_owned(), vec![open]),
        ("status=canceled".to_owned(), vec![]),
        (format!("payment[type]=payment_intent&payment[payment_intent]={intent}"), vec![paid]),
        ("payment[type]=payment_intent&payment[payment_intent]=pi_none".to_owned(), vec![]),
        ("payment[type]=payment_record".to_owned(), vec![]),
        ("limit=1".to_owned(), vec![open]),
    ] {
        let listed = shown(&store.stand_in, &format!("invoice_payments?{query}")).await;
        assert_eq!(listed["data"], json!(found), "{query}");
    }
    let without = shown(&store.stand_in, &format!("invoices/{invoice}")).await;
    assert!(without.get("payments").is_none(), "only if they are asked for: {without}");
    let path = format!("checkout/sessions/{}?expand[]=invoice.payments&expand[]=invoice.customer", session.id);
    let expanded = shown(&store.stand_in, &path).await;
    assert_eq!(expanded["invoice"]["payments"]["data"], json!([paid]));
    let path = format!("invoices/{invoice}?expand[]=payments.data.payment.payment_intent");
    let payment = shown(&store.stand_in, &path).await["payments"]["data"][0]["payment"].clone();
    assert_eq!(
        (&payment["payment_intent"]["id"], &payment["payment_intent"]["status"]),
        (&json!(intent), &json!("succeeded"))
    );
}

#[tokio::test]
async fn only_an_invoice_that_waits_for_a_payment_is_voided_and_then_it_cannot_be_paid() {
    let store = Store::open().await;
    let session = store.subscribed().await;
    let first = store.paid_invoices(&session).await[0].id.clone();
    store.act(session.id.as_str(), &[Action::FailRenewal, Action::MarkUnpaid]);
    assert_eq!(store.subscription(&session).await.status, SubscriptionStatus::Unpaid);
    let id = session.subscription.as_ref().unwrap();
    let open = store.client.send(&Invoice::list(id, &InvoiceStatus::Open, None)).await.unwrap().data;
    let [open] = &open[..] else { panic!("{open:?}") };
    let void = store.client.send(&Invoice::void(&open.id)).await.unwrap();
    assert_eq!((void.status, void.amount_paid), (Some(InvoiceStatus::Void), 0));
    for id in [&open.id, &first] {
        refused(store.client.send(&Invoice::void(id)).await, RefusalKind::Request, None, None);
    }
    assert!(store.stand_in.act(session.id.as_str(), &Action::Recover).is_err());
}

#[tokio::test]
async fn free_time_and_an_end_on_a_day_are_the_subscriptions_own_times() {
    let store = Store::open().await;
    let session = store.subscribed().await;
    store.act(session.id.as_str(), &[Action::Trial(10), Action::CancelAt(50)]);
    let found = store.subscription(&session).await;
    assert_eq!((found.status, found.trial_end), (SubscriptionStatus::Trialing, Some(NOW + 10 * DAY)));
    assert_eq!((store.period_end(&session).await, found.cancel_at), (NOW + 10 * DAY, Some(NOW + 50 * DAY)));
    store.act(session.id.as_str(), &[Action::Renew, Action::Pause]);
    let found = store.subscription(&session).await;
    assert!(found.pause_collection.is_some() && found.status == SubscriptionStatus::Active, "{found:?}");
    store.clock.0.store(NOW + 50 * DAY, Ordering::SeqCst);
    let ended = store.subscription(&session).await;
    assert_eq!((ended.status, ended.ended_at), (SubscriptionStatus::Canceled, Some(NOW + 50 * DAY)));
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
    let lines = [Line { name: "Free", amount: 0, tax_code: None }];
    let call = crate::session_with(&lines, NOW + 3_600, "free", false, Some(MONTHLY));
    let session = store.client.send(&call).await.unwrap();
    store.act(session.id.as_str(), &[Action::Pay, Action::Renew]);
    assert!(store.stand_in.act(session.id.as_str(), &Action::FailRenewal).is_err());
    let session = store.fetch(&session).await;
    assert_eq!(session.payment_status, PaymentStatus::NoPaymentRequired);
    let paid = store.paid_invoices(&session).await;
    assert_eq!((paid.len(), paid[0].amount_paid), (2, 0));
    let payments = shown(&store.stand_in, "invoice_payments").await;
    assert_eq!(payments["data"], json!([]), "there was nothing to pay");
}

#[tokio::test]
async fn another_account_does_not_see_a_subscription() {
    let other = "rk_test_other";
    let stand_in =
        start(Options { others: vec![Known::new(other, "acct_other")], ..Options::default() }).await.unwrap();
    let (own, other) = (client(&stand_in, KEY), client(&stand_in, other));
    let now = shared::clock::Clock::seconds(&shared::clock::SystemClock);
    let lines = [Line { name: "Squire", amount: 1_998, tax_code: None }];
    let call = || crate::session_with(&lines, now + 3_600, "own", false, Some(MONTHLY));
    let session = own.send(&call()).await.unwrap();
    stand_in.act(session.id.as_str(), &Action::Pay).unwrap();
    let session = own.send(&Session::retrieve(&session.id)).await.unwrap();
    let (id, invoice) = (session.subscription.as_ref().unwrap(), session.invoice.as_ref().unwrap().id());
    let missing = Some("resource_missing");
    refused(other.send(&Subscription::retrieve(id)).await, RefusalKind::NotFound, missing, Some("id"));
    refused(other.send(&Subscription::cancel(id)).await, RefusalKind::NotFound, missing, Some("id"));
    refused(other.send(&Subscription::cancel_at_period_end(id)).await, RefusalKind::NotFound, missing, Some("id"));
    refused(other.send(&Invoice::retrieve(invoice)).await, RefusalKind::NotFound, missing, Some("id"));
    assert!(other.send(&Invoice::list(id, &InvoiceStatus::Paid, None)).await.unwrap().data.is_empty());
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
    let lines = [Line { name: "Squire", amount: 1_998, tax_code: None }];
    let stand_in = start(options()).await.unwrap();
    let call = crate::session_with(&lines, now + 3_600, "kept", false, Some(MONTHLY));
    let session = client(&stand_in, KEY).send(&call).await.unwrap();
    stand_in.act(session.id.as_str(), &Action::Pay).unwrap();
    // A call writes the file.
    let portal = stripe::PortalConfiguration::create(key("portal"));
    let configuration = client(&stand_in, KEY).send(&portal).await.unwrap().id;
    stand_in.stop().await;
    // A file from before the billing mode was kept: its subscriptions stay classic.
    let file = dir.path().join("stripe.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"flexible\":true,", "")).unwrap();
    let stand_in = start(options()).await.unwrap();
    stand_in.act(session.id.as_str(), &Action::Renew).unwrap();
    stand_in.act(session.id.as_str(), &Action::CancelInPortal).unwrap();
    let found = shown(&stand_in, "subscriptions").await["data"][0].clone();
    assert_eq!((&found["billing_mode"]["type"], &found["cancel_at_period_end"]), (&json!("classic"), &json!(true)));
    let client = client(&stand_in, KEY);
    let session = client.send(&Session::retrieve(&session.id)).await.unwrap();
    let paid =
        client.send(&Invoice::list(session.subscription.as_ref().unwrap(), &InvoiceStatus::Paid, None)).await.unwrap();
    assert_eq!(paid.data.len(), 2);
    let listed = client.send(&stripe::PortalConfiguration::list()).await.unwrap().data;
    assert!(listed.iter().any(|found| found.id == configuration));
}
