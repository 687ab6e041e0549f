//! Stripe's subscriptions (rules.md, "States of a subscription"), events, disputes, refunds and failures in the store's
//! words.

use crate::model::{BalanceChange, Money};
use crate::rules::dispute::ConfirmedRefund;
use crate::rules::subscription::{ProviderState, ProviderSubscription};
use crate::shop::payments::{AwaitedEvidence, ProviderError, WebhookEvent};
use crate::telemetry::{PaymentEvent, payment_event};
use outgoing::OutgoingError;
use stripe::{
    Dispute, Error, Event, EventKind, ListedChange, ObjectId, Refund, RefundStatus, RefusalKind, Subscription,
    SubscriptionStatus,
};

pub(super) fn described(found: &Subscription) -> ProviderSubscription {
    let (status, detail) = state_of(found).stored();
    let ends_with_period = |at: &i64| *at <= found.current_period_end;
    ProviderSubscription {
        status,
        detail,
        cancelled: found.cancel_at_period_end || found.cancel_at.as_ref().is_some_and(ends_with_period),
        period_end: found.current_period_end,
        free_until: found.trial_end,
        ends_at: found.cancel_at.filter(|at| !ends_with_period(at)),
        ended_at: found.ended_at,
    }
}

/// The state. That no payment is asked for is in a field of its own, beside a status that says nothing of it.
fn state_of(found: &Subscription) -> ProviderState {
    match &found.status {
        SubscriptionStatus::Canceled => ProviderState::Ended,
        SubscriptionStatus::IncompleteExpired => ProviderState::IncompleteExpired,
        SubscriptionStatus::Incomplete => ProviderState::Incomplete,
        _ if found.pause_collection.is_some() => ProviderState::Paused,
        SubscriptionStatus::Paused => ProviderState::Paused,
        SubscriptionStatus::Trialing => ProviderState::Trialing,
        SubscriptionStatus::Active => ProviderState::Active,
        SubscriptionStatus::Unpaid => ProviderState::Unpaid,
        // A state that is new gives what is paid, with its grace.
        SubscriptionStatus::PastDue | SubscriptionStatus::Other(_) => ProviderState::PastDue,
    }
}

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

pub(super) fn awaited_of(dispute: &Dispute) -> AwaitedEvidence {
    let details = &dispute.evidence_details;
    AwaitedEvidence {
        state: dispute.outcome().as_str().to_owned(),
        due_by: details.due_by(),
        is_submitted: details.is_submitted(),
        has_others: details.has_evidence() || dispute.is_answered_by_stripe(),
    }
}

/// A refund whose money has gone back; `None` if it has not.
pub(super) fn confirmed(refund: &Refund) -> Option<ConfirmedRefund> {
    let (id, amount) = (refund.id.to_string(), Money::from_minor(refund.amount));
    (refund.status == Some(RefundStatus::Succeeded)).then_some(ConfirmedRefund { id, amount, at: refund.created })
}

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

/// A change of the balance in our words.
pub(super) fn balance_change_of(listed: &ListedChange) -> BalanceChange {
    BalanceChange {
        id: listed.id.to_string(),
        category: listed.reporting_category.clone(),
        amount: Money::from_minor(listed.amount),
        fee: Money::from_minor(listed.fee),
        net: Money::from_minor(listed.net),
        currency: listed.currency.to_ascii_uppercase(),
        intent: listed.payment_intent().map(str::to_owned),
        of: Money::from_minor(listed.amount_of_source().unwrap_or_default()),
        created: listed.created,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SubscriptionState;

    const END: i64 = 1_800_000_000;

    fn found(status: &str, more: &serde_json::Value) -> ProviderSubscription {
        let mut object = serde_json::json!({
            "id": "sub_1", "status": status, "cancel_at_period_end": false, "cancel_at": null,
            "ended_at": null, "customer": "cus_1", "metadata": {}, "livemode": false, "trial_end": null,
            "pause_collection": null,
            "items": { "data": [{ "id": "si_1", "current_period_end": END }], "has_more": false },
        });
        for (name, value) in more.as_object().unwrap() {
            object[name] = value.clone();
        }
        described(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn each_word_of_stripe_has_one_state() {
        let paused = serde_json::json!({ "pause_collection": { "behavior": "void", "resumes_at": END + 5 } });
        for (word, shown, while_paused) in [
            ("incomplete", "incomplete", "incomplete"),
            ("incomplete_expired", "ended", "ended"),
            ("trialing", "trialing", "paused"),
            ("active", "active", "paused"),
            ("past_due", "past_due", "paused"),
            ("canceled", "ended", "ended"),
            ("unpaid", "unpaid", "paused"),
            ("paused", "paused", "paused"),
            ("resting", "past_due", "paused"),
        ] {
            let of = |found: ProviderSubscription| SubscriptionState::of(found.status, found.detail).as_str();
            assert_eq!(of(found(word, &serde_json::json!({}))), shown, "{word}");
            assert_eq!(of(found(word, &paused)), while_paused, "{word}");
        }
    }

    #[test]
    fn an_end_within_the_period_is_a_cancellation_and_a_later_one_is_a_date() {
        let of = |at: i64| {
            let seen = found("active", &serde_json::json!({ "cancel_at": at }));
            (seen.cancelled, seen.ends_at)
        };
        assert_eq!((of(END - 1), of(END), of(END + 1)), ((true, None), (true, None), (false, Some(END + 1))));
        let trial = found("trialing", &serde_json::json!({ "trial_end": END }));
        assert_eq!((trial.free_until, trial.cancelled), (Some(END), false));
    }
}
