//! Refunds, disputes, events, endpoints, and what does not exist.

use crate::support::{NOW, ORDER, Store, intent, key, new_session, refused};
use local::stripe::{Action, TEST_MODE};
use std::time::Duration;
use stripe::{
    Account, Balance, Charge, Dispute, DisputeStatus, EndpointStatus, Event, EventKind, NewRefund, NewWebhookEndpoint,
    ObjectId, PaymentIntent, Refund, RefundStatus, RefusalKind, Session, WebhookEndpoint, WebhookSecret, webhook,
};

#[tokio::test]
async fn refunds_add_up_to_the_price() {
    let store = Store::open().await;
    let session = store.after(false, &[Action::Pay]).await;
    let first = store.refund(&session, Some(1_000), "refund-0").await.unwrap();
    assert_eq!((first.status, first.amount, &*first.currency), (Some(RefundStatus::Succeeded), 1_000, "eur"));
    assert_eq!(
        store.refund(&session, Some(1_000), "refund-0").await.unwrap().id,
        first.id,
        "the same key refunds once"
    );
    assert_eq!(store.charge(&session).await.amount_refunded, 1_000);
    refused(store.refund(&session, Some(1_501), "more").await, RefusalKind::Request, None, Some("amount"));
    refused(
        store.refund(&session, Some(0), "zero").await,
        RefusalKind::Request,
        Some("parameter_invalid_integer"),
        Some("amount"),
    );
    assert_eq!(store.refund(&session, None, "refund-1000").await.unwrap().amount, 1_500);
    let charge = store.charge(&session).await;
    assert_eq!((charge.amount_refunded, charge.refunded), (2_500, true));
    refused(store.refund(&session, None, "again").await, RefusalKind::Request, Some("charge_already_refunded"), None);
    let wanted = [EventKind::SessionCompleted, EventKind::ChargeRefunded, EventKind::ChargeRefunded];
    assert_eq!(store.kinds().await, wanted);
}

#[tokio::test]
async fn a_refund_that_fails_is_listed_and_no_longer_counts() {
    let store = Store::open().await;
    let session = store.after(false, &[Action::Pay]).await;
    let none = Action::FailRefund;
    assert!(store.stand_in.act(session.id.as_str(), &none).is_err(), "there is no refund");
    let first = store.refund(&session, Some(1_000), "refund-1").await.unwrap();
    let second = store.refund(&session, Some(500), "refund-2").await.unwrap();
    assert_eq!((first.metadata.order.as_deref(), first.metadata.attempt.as_deref()), (Some(ORDER), Some("1")));
    store.stand_in.act(session.id.as_str(), &Action::FailRefund).unwrap();
    assert_eq!(store.charge(&session).await.amount_refunded, 1_000);
    let listed = store.client.send(&Refund::list(&intent(&session).id, None)).await.unwrap();
    let found: Vec<_> = listed.data.iter().map(|refund| (&refund.id, refund.has_failed())).collect();
    assert_eq!((found, listed.has_more), (vec![(&second.id, true), (&first.id, false)], false));
    let rest = store.client.send(&Refund::list(&intent(&session).id, Some(&second.id))).await.unwrap();
    assert_eq!(rest.data, [first]);
    // A session has the ten newest of them.
    for n in 0..9 {
        store.refund(&session, Some(1), &format!("more-{n}")).await.unwrap();
    }
    let fetched = store.fetch(&session).await;
    let charge = intent(&fetched).latest_charge.as_ref().unwrap().object().unwrap();
    let refunds = charge.refunds.as_ref().unwrap();
    assert_eq!((refunds.data.len(), refunds.has_more), (10, true));
    let kinds = store.kinds().await;
    assert!(kinds.contains(&EventKind::RefundUpdated) && kinds.contains(&EventKind::RefundFailed), "{kinds:?}");
    let failed = store
        .client
        .send(&Event::list(&[EventKind::RefundFailed], (NOW, i64::MAX), None))
        .await
        .unwrap()
        .events
        .remove(0);
    assert_eq!((failed.object, failed.payment_intent.as_ref()), (Some(second.id), Some(&intent(&session).id)));
}

#[tokio::test]
async fn a_payment_that_did_not_succeed_cannot_be_refunded() {
    let store = Store::open().await;
    for actions in [&[Action::Decline][..], &[Action::PayDelayed]] {
        let session = store.after(true, actions).await;
        refused(store.refund(&session, None, "refund").await, RefusalKind::Request, None, None);
    }
}

#[tokio::test]
async fn a_dispute_is_opened_and_closed() {
    for (won, status) in [(true, DisputeStatus::Won), (false, DisputeStatus::Lost)] {
        let store = Store::open().await;
        let session = store.after(false, &[Action::Pay, Action::Dispute(None)]).await;
        let event = store
            .client
            .send(&Event::list(&[EventKind::DisputeCreated], (NOW, i64::MAX), None))
            .await
            .unwrap()
            .events
            .remove(0);
        assert_eq!(event.payment_intent.as_ref(), Some(&intent(&session).id));
        let id = event.object.unwrap();
        let dispute = store.client.send(&Dispute::retrieve(&id)).await.unwrap();
        assert_eq!(
            (dispute.status, dispute.amount, Some(dispute.charge)),
            (DisputeStatus::NeedsResponse, 2_500, event.charge)
        );
        assert!(store.charge(&session).await.disputed);
        refused(store.refund(&session, None, "refund").await, RefusalKind::Request, Some("charge_disputed"), None);
        store.stand_in.act(session.id.as_str(), &Action::CloseDispute { won }).unwrap();
        assert_eq!(store.client.send(&Dispute::retrieve(&id)).await.unwrap().status, status);
        assert_eq!(store.kinds().await.last(), Some(&EventKind::DisputeClosed));
    }
}

#[tokio::test]
async fn events_are_listed_page_by_page() {
    let store = Store::open().await;
    for n in 0..25 {
        let session = store.session(&format!("order-{n}"), false).await;
        store.client.send(&Session::expire(&session.id)).await.unwrap();
    }
    let kinds = [EventKind::SessionExpired];
    let first = store.client.send(&Event::list(&kinds, (NOW, i64::MAX), None)).await.unwrap();
    assert_eq!((first.events.len(), first.unreadable), (20, 0));
    let last = &first.last.unwrap();
    assert_eq!(*last, first.events.last().unwrap().id);
    let second = store.client.send(&Event::list(&kinds, (NOW, i64::MAX), Some(last))).await.unwrap();
    assert_eq!((second.events.len(), second.last), (5, None));
    let listed: Vec<&str> = first.events.iter().chain(&second.events).rev().map(|event| event.id.as_str()).collect();
    assert_eq!(listed, store.stand_in.events());
    for (kind, times) in [
        (EventKind::SessionExpired, (NOW + 1, i64::MAX)),
        (EventKind::SessionExpired, (0, NOW - 1)),
        (EventKind::ChargeRefunded, (NOW, i64::MAX)),
    ] {
        assert!(store.client.send(&Event::list(&[kind], times, None)).await.unwrap().events.is_empty());
    }
}

#[tokio::test]
async fn completed_sessions_are_listed_with_their_payments() {
    let store = Store::open().await;
    let mut paid = Vec::new();
    for n in 0..25 {
        let session = store.session(&format!("order-{n}"), false).await;
        if n % 5 == 0 {
            store.client.send(&Session::expire(&session.id)).await.unwrap();
        } else {
            store.stand_in.act(session.id.as_str(), &Action::Pay).unwrap();
            paid.push(session.id);
        }
    }
    let first = store.client.send(&Session::list_complete(NOW, None)).await.unwrap();
    assert_eq!((first.data.len(), first.has_more), (20, false));
    let listed: Vec<_> = first.data.iter().rev().map(|session| session.id.clone()).collect();
    assert_eq!(listed, paid);
    for session in &first.data {
        assert_eq!(session.metadata.order.as_deref(), Some(ORDER));
        assert!(store.charge(session).await.amount == 2_500, "the charge is whole");
        assert!(
            session
                .payment_intent
                .as_ref()
                .unwrap()
                .object()
                .unwrap()
                .latest_charge
                .as_ref()
                .unwrap()
                .object()
                .is_some()
        );
    }
    let rest = store.client.send(&Session::list_complete(NOW, Some(&first.data[17].id))).await.unwrap();
    assert_eq!((rest.data.len(), rest.has_more), (2, false));
    assert!(store.client.send(&Session::list_complete(NOW + 1, None)).await.unwrap().data.is_empty());
}

#[tokio::test]
async fn above_the_limit_of_test_mode_calls_are_refused_for_the_rest_of_the_second() {
    let store = Store::open().await;
    store.stand_in.slow_down(Some(TEST_MODE), Duration::from_millis(5));
    let mut refused = 0;
    for _ in 0..TEST_MODE {
        store.client.send(&Balance::retrieve()).await.unwrap();
    }
    while let Err(error) = store.client.send(&Balance::retrieve()).await {
        assert!(error.is_rate_limited(), "{error}");
        refused += 1;
    }
    assert_eq!(store.stand_in.rate_limited(), refused);
    assert!(refused > 0);
}

#[tokio::test]
async fn a_store_is_connected() {
    let store = Store::open().await;
    assert!(store.client.send(&Account::retrieve()).await.unwrap().charges_enabled);
    assert!(!store.client.send(&Balance::retrieve()).await.unwrap().livemode);
    let new = NewWebhookEndpoint {
        url: "https://api.example/payments/webhook",
        kinds: &EventKind::ALL,
        description: "Store",
    };
    let made = store.client.send(&WebhookEndpoint::create(&new, key("connect"))).await.unwrap();
    assert!(made.secret.as_ref().unwrap().expose().starts_with("whsec_"));
    let listed = store.client.send(&WebhookEndpoint::list()).await.unwrap().data;
    assert_eq!(listed, [WebhookEndpoint { secret: None, ..made.clone() }], "the secret is returned once");
    assert_eq!((&made.status, made.enabled_events.as_slice()), (&EndpointStatus::Enabled, &EventKind::ALL[..]));
    assert_eq!((made.api_version.as_deref(), made.url.as_str()), (Some(stripe::API_VERSION), new.url));
    let fewer = [EventKind::RefundFailed];
    let updated = store.client.send(&WebhookEndpoint::update(&made.id, &fewer)).await.unwrap();
    assert_eq!((updated.enabled_events.as_slice(), updated.secret), (&fewer[..], None));
    assert!(store.client.send(&WebhookEndpoint::delete(&made.id)).await.unwrap().deleted);
    assert!(store.client.send(&WebhookEndpoint::list()).await.unwrap().data.is_empty());
    let url = NewWebhookEndpoint { url: "api.example", ..new };
    refused(
        store.client.send(&WebhookEndpoint::create(&url, key("url"))).await,
        RefusalKind::Request,
        None,
        Some("url"),
    );
}

#[tokio::test]
async fn the_signature_of_a_webhook_is_accepted_and_its_event_read() {
    let store = Store::open().await;
    let session = store.after(false, &[Action::Pay]).await;
    let completed =
        store.client.send(&Event::list(&EventKind::ALL, (NOW, i64::MAX), None)).await.unwrap().events.remove(0);
    let signed = store.stand_in.signed(completed.id.as_str()).unwrap();
    let secrets = [WebhookSecret::parse(local::stripe::WEBHOOK_SECRET).unwrap()];
    assert_eq!(webhook::verify(Some(&signed.header), signed.body.as_bytes(), &secrets, NOW), Ok(()));
    let event: Event = serde_json::from_str(&signed.body).unwrap();
    assert_eq!((&event, event.object.as_ref()), (&completed, Some(&session.id)));
    let foreign = [WebhookSecret::parse("whsec_other").unwrap()];
    let refused = webhook::verify(Some(&signed.header), signed.body.as_bytes(), &foreign, NOW);
    assert_eq!(refused, Err(webhook::SignatureError::Mismatch));
}

#[tokio::test]
async fn a_repeated_call_creates_one_session() {
    let store = Store::open().await;
    let first = store.session("order-1", false).await;
    assert_eq!(store.session("order-1", false).await.id, first.id);
    assert_eq!(store.stand_in.sessions().len(), 1);
    refused(store.client.send(&new_session("order-1", true)).await, RefusalKind::Idempotency, None, None);
    let other = store.after(false, &[Action::Pay]).await;
    refused(store.refund(&other, None, "order-1").await, RefusalKind::Idempotency, None, None);
}

#[tokio::test]
async fn what_does_not_exist_is_not_found() {
    let store = Store::open().await;
    let id = &ObjectId::parse("cs_test_none").unwrap();
    let missing = Some("resource_missing");
    let client = &store.client;
    refused(client.send(&Session::retrieve(id)).await, RefusalKind::NotFound, missing, Some("session"));
    refused(client.send(&Session::expire(id)).await, RefusalKind::NotFound, missing, Some("session"));
    refused(client.send(&PaymentIntent::retrieve(id)).await, RefusalKind::NotFound, missing, Some("intent"));
    refused(client.send(&Charge::retrieve(id)).await, RefusalKind::NotFound, missing, Some("id"));
    refused(client.send(&Dispute::retrieve(id)).await, RefusalKind::NotFound, missing, Some("dispute"));
    refused(client.send(&WebhookEndpoint::delete(id)).await, RefusalKind::NotFound, missing, Some("id"));
    let new = NewRefund { payment_intent: id, amount: None, order: ORDER, attempt: 1 };
    refused(client.send(&Refund::create(&new, key("k"))).await, RefusalKind::NotFound, missing, Some("payment_intent"));
}
