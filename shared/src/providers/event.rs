//! The subject of an event of Stripe.

use crate::shop::payments::WebhookEvent;
use stripe::{Event, EventKind, ObjectId};

/// What is to be asked about; `None` if it is nothing that concerns orders.
pub(super) fn webhook_event_of(event: &Event) -> Option<WebhookEvent> {
    let object = || event.object.as_ref().map(ObjectId::to_string);
    match event.kind {
        EventKind::SessionCompleted
        | EventKind::SessionPaymentSucceeded
        | EventKind::SessionPaymentFailed
        | EventKind::SessionExpired => object().map(WebhookEvent::Checkout),
        EventKind::ChargeFailed => object().map(WebhookEvent::Refused),
        // Each names the payment that it belongs to.
        EventKind::ChargeRefunded | EventKind::ChargeUpdated | EventKind::RefundUpdated | EventKind::RefundFailed => {
            event.payment_intent.as_ref().map(|intent| WebhookEvent::Payment(intent.to_string()))
        }
        EventKind::DisputeCreated | EventKind::DisputeUpdated | EventKind::DisputeClosed => {
            object().map(WebhookEvent::Dispute)
        }
        EventKind::EarlyFraudWarning => {
            event.payment_intent.as_ref().map(|intent| WebhookEvent::FraudWarning(intent.to_string()))
        }
        EventKind::InvoicePaid | EventKind::InvoicePaymentFailed => object().map(WebhookEvent::Invoice),
        EventKind::SubscriptionUpdated | EventKind::SubscriptionDeleted => object().map(WebhookEvent::Subscription),
        EventKind::Other(_) => None,
    }
}
