//! A failed call to Stripe, as checkouts see it.

use crate::shop::payments::ProviderError;
use crate::telemetry::{PaymentEvent, payment_event};
use outgoing::OutgoingError;
use stripe::{Error, Refusal, RefusalKind};

/// The failure of a call about an object: [`ProviderError::NoCheckout`] if there is no such object.
pub(super) fn about(error: &Error) -> ProviderError {
    match error.refusal() {
        Some(refusal) if refusal.kind == RefusalKind::NotFound => ProviderError::NoCheckout(error.to_string()),
        _ => failed(error),
    }
}

/// The failure of a call that names a customer: [`ProviderError::NoCheckout`] if there is no such customer.
pub(super) fn with_customer(error: &Error) -> ProviderError {
    let is_missing = |refusal: &Refusal| {
        refusal.code.as_deref() == Some("resource_missing") && refusal.param.as_deref() == Some("customer")
    };
    if error.refusal().is_some_and(is_missing) {
        return ProviderError::NoCheckout(error.to_string());
    }
    failed(error)
}

/// The failure of an attempt to refund. A server error ends nothing, also if Stripe repeats it from its memory: the next
/// attempt has another key.
pub(super) fn of_attempt(error: &Error) -> ProviderError {
    match error {
        Error::Failed(_) => {
            payment_event(PaymentEvent::ProviderError, 1);
            ProviderError::Unavailable(error.to_string())
        }
        _ => failed(error),
    }
}

pub(super) fn failed(error: &Error) -> ProviderError {
    let text = match error {
        Error::NoResponse(OutgoingError::Connect(source) | OutgoingError::Broken(source)) => {
            format!("{error}: {source}")
        }
        _ => error.to_string(),
    };
    if error.refusal().is_some_and(|refusal| matches!(refusal.kind, RefusalKind::Key | RefusalKind::Permission)) {
        payment_event(PaymentEvent::ProviderError, 1);
        return ProviderError::Key(text);
    }
    if error.is_final() {
        return ProviderError::Refused(text);
    }
    payment_event(PaymentEvent::ProviderError, 1);
    ProviderError::Unavailable(text)
}
