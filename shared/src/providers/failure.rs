//! A failed call to Stripe, as checkouts see it.

use crate::shop::payments::ProviderError;
use crate::telemetry::{PaymentEvent, payment_event};
use outgoing::OutgoingError;
use stripe::{Error, RefusalKind};

/// The failure of a call about an object: [`ProviderError::NoCheckout`] if there is no such object.
pub(super) fn about(error: &Error) -> ProviderError {
    match error.refusal() {
        Some(refusal) if refusal.kind == RefusalKind::NotFound => ProviderError::NoCheckout(error.to_string()),
        _ => failed(error),
    }
}

/// The reason why a session was not created.
pub(super) enum NotCreated {
    /// There is no such customer.
    Customer,
    /// A way to pay cannot be offered: Stripe's words for it.
    Methods(String),
    Other(ProviderError),
}

impl From<ProviderError> for NotCreated {
    fn from(error: ProviderError) -> Self {
        Self::Other(error)
    }
}

pub(super) fn not_created(error: &Error) -> NotCreated {
    let Some(refusal) = error.refusal() else { return NotCreated::Other(failed(error)) };
    let (param, message) = (refusal.param.as_deref(), &refusal.message);
    if param == Some("customer") && refusal.code.as_deref() == Some("resource_missing") {
        return NotCreated::Customer;
    }
    let is_of_methods = match param {
        Some(param) => param.starts_with("allowed_payment_method_types"),
        // An account without a way to pay that is left has no parameter that is wrong.
        None => message.contains("payment method") || message.contains("payment_method"),
    };
    match refusal.kind {
        RefusalKind::Request if is_of_methods => NotCreated::Methods(message.clone()),
        _ => NotCreated::Other(failed(error)),
    }
}

/// The ways to pay that a refusal does not name; none if it names none.
pub(super) fn without_named(methods: &[String], refusal: &str) -> Vec<String> {
    let words: Vec<&str> = refusal.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
    let left: Vec<String> = methods.iter().filter(|method| !words.contains(&method.as_str())).cloned().collect();
    if left.len() < methods.len() { left } else { Vec::new() }
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

/// The reason why evidence was not submitted, as far as is known.
pub(super) enum NotSubmitted {
    /// Stripe failed, and repeats that under the same key.
    Failed,
    Other(ProviderError),
}

impl From<ProviderError> for NotSubmitted {
    fn from(error: ProviderError) -> Self {
        Self::Other(error)
    }
}

pub(super) fn not_submitted(error: &Error) -> NotSubmitted {
    if matches!(error, Error::Failed(_)) { NotSubmitted::Failed } else { NotSubmitted::Other(failed(error)) }
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
