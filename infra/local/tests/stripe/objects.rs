//! Refunds, disputes, events, endpoints, and what does not exist.

use crate::support::{NOW, ORDER, Store, intent, key, new_session, refused};
use local::stripe::Action;
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
        let session = store.after(false, &[Action::Pay, Action::Dispute]).await;
        let event =
            store.client.send(&Event::list(&[EventKind::DisputeCreated], NOW, None)).await.unwrap().data.remove(0);
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
    let first = store.client.send(&Event::list(&kinds, NOW, None)).await.unwrap();
    assert_eq!((first.data.len(), first.has_more), (20, true));
    let last = &first.data.last().unwrap().id;
    let second = store.client.send(&Event::list(&kinds, NOW, Some(last))).await.unwrap();
    assert_eq!((second.data.len(), second.has_more), (5, false));
    let listed: Vec<&str> = first.data.iter().chain(&second.data).rev().map(|event| event.id.as_str()).collect();
    assert_eq!(listed, store.stand_in.events());
    assert!(store.client.send(&Event::list(&kinds, NOW + 1, None)).await.unwrap().data.is_empty());
    assert!(store.client.send(&Event::list(&[EventKind::ChargeRefunded], NOW, None)).await.unwrap().data.is_empty());
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
    let completed = store.client.send(&Event::list(&EventKind::ALL, NOW, None)).await.unwrap().data.remove(0);
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
    let new = NewRefund { payment_intent: id, amount: None, order: ORDER };
    refused(client.send(&Refund::create(&new, key("k"))).await, RefusalKind::NotFound, missing, Some("payment_intent"));
}
