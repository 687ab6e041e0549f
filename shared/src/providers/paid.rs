//! A payment at Stripe: a session, or an invoice of a subscription.

use crate::model::{InternalId, Money, Tax};
use crate::rules::payment::{PaidPeriod, Progress};
use stripe::{
    BillingReason, Expandable, IntentStatus, Invoice, InvoiceStatus, ObjectId, PaymentIntent, PaymentStatus, Session,
    SessionStatus,
};

/// The object that says how far a payment is.
pub(super) enum Paid<'a> {
    Session(&'a Session),
    Invoice(&'a Invoice),
}

impl Paid<'_> {
    pub(super) fn id(&self) -> &ObjectId {
        match self {
            Self::Session(session) => &session.id,
            Self::Invoice(invoice) => &invoice.id,
        }
    }

    /// The first invoice of a session, or the invoice.
    fn invoice(&self) -> Option<&Invoice> {
        match self {
            Self::Session(session) => session.invoice.as_ref().and_then(Expandable::object),
            Self::Invoice(invoice) => Some(invoice),
        }
    }

    /// The order that it is for, by metadata that only the account's owner can set: the buyer's browser can set the
    /// reference of a payment link. An invoice that renews a subscription has an order of its own.
    pub(super) fn order(&self) -> Option<InternalId> {
        match self {
            Self::Session(session) => session.metadata.order.as_deref().map(InternalId::new),
            Self::Invoice(invoice) => {
                let began_with = invoice.metadata.order.as_deref()?;
                Some(if renews(invoice) { InternalId::of_invoice(invoice.id.as_str()) } else { began_with.into() })
            }
        }
    }

    pub(super) fn intent(&self) -> Option<&Expandable<PaymentIntent>> {
        let own = match self {
            Self::Session(session) => session.payment_intent.as_ref(),
            Self::Invoice(_) => None,
        };
        own.or_else(|| self.invoice()?.payment_intent.as_ref())
    }

    /// The amount in minor units. Of a paid invoice, also of a session's, what was charged: a balance of the customer changes it.
    pub(super) fn amount(&self) -> i64 {
        match self {
            Self::Session(session) => {
                let paid = self.invoice().filter(|invoice| invoice.status == Some(InvoiceStatus::Paid));
                paid.map_or_else(|| session.amount_total.unwrap_or_default(), |invoice| invoice.amount_paid)
            }
            Self::Invoice(invoice) => invoice.amount_paid,
        }
    }

    /// The tax of that amount.
    pub(super) fn tax(&self) -> Tax {
        let (amount, country) = match self {
            Self::Session(session) => {
                let address = session.customer_details.as_ref().and_then(|buyer| buyer.address.as_ref());
                let country = address.and_then(|address| address.country.clone());
                let tax = session.total_details.as_ref().and_then(|details| details.amount_tax);
                let paid = self.invoice().filter(|invoice| invoice.status == Some(InvoiceStatus::Paid));
                (paid.map_or_else(|| tax.unwrap_or_default(), |invoice| invoice.tax), country)
            }
            Self::Invoice(invoice) => (invoice.tax, invoice.country.clone()),
        };
        Tax { amount: Money::from_minor(amount), country, ..Tax::default() }
    }

    pub(super) fn currency(&self) -> String {
        match self {
            Self::Session(session) => session.currency.clone().unwrap_or_default(),
            Self::Invoice(invoice) => invoice.currency.clone(),
        }
    }

    pub(super) fn livemode(&self) -> bool {
        match self {
            Self::Session(session) => session.livemode,
            Self::Invoice(invoice) => invoice.livemode,
        }
    }

    /// How far it is. `intent` is its payment, if there is one.
    pub(super) fn progress(&self, intent: Option<&PaymentIntent>) -> Progress {
        let has_paid_invoice = || self.invoice().is_some_and(|invoice| invoice.status == Some(InvoiceStatus::Paid));
        match self {
            Self::Session(session) if session.subscription.is_some() && self.period().is_none() => Progress::Processing,
            // What a debit has paid days later, the invoice says.
            Self::Session(session) if session.status == Some(SessionStatus::Complete) && has_paid_invoice() => {
                Progress::Paid
            }
            Self::Session(session) => of_session(session, intent),
            Self::Invoice(invoice) => match invoice.status {
                Some(InvoiceStatus::Paid) => Progress::Paid,
                Some(InvoiceStatus::Void | InvoiceStatus::Uncollectible) => Progress::Expired,
                _ => Progress::Processing,
            },
        }
    }

    /// The period of a subscription that it is for.
    pub(super) fn period(&self) -> Option<PaidPeriod> {
        let invoice = self.invoice()?;
        Some(PaidPeriod {
            subscription: invoice.subscription.as_ref()?.to_string(),
            customer: invoice.customer.as_ref()?.to_string(),
            began_with: invoice.metadata.order.as_deref().map(InternalId::new),
            until: invoice.period_end()?,
            renewal: renews(invoice),
        })
    }
}

fn renews(invoice: &Invoice) -> bool {
    invoice.billing_reason == Some(BillingReason::SubscriptionCycle)
}

fn of_session(session: &Session, intent: Option<&PaymentIntent>) -> Progress {
    match (session.status.as_ref(), &session.payment_status) {
        (Some(SessionStatus::Complete), PaymentStatus::Paid | PaymentStatus::NoPaymentRequired) => Progress::Paid,
        (Some(SessionStatus::Complete), _) => match intent.map(|intent| &intent.status) {
            Some(IntentStatus::RequiresPaymentMethod | IntentStatus::Canceled) => Progress::Failed,
            _ => Progress::Processing,
        },
        (Some(SessionStatus::Expired), _) => Progress::Expired,
        _ => Progress::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_subscriptions_first_payment_is_what_was_charged_and_not_the_sessions_total() {
        let amount = |status: &str| {
            let invoice = json!({
                "id": "in_1", "livemode": false, "created": 1, "currency": "eur", "status": status,
                "amount_paid": 998, "amount_due": 998, "billing_reason": "subscription_create",
                "lines": { "data": [], "has_more": false },
            });
            let session: Session = serde_json::from_value(json!({
                "id": "cs_1", "livemode": false, "created": 1, "expires_at": 2, "status": "complete",
                "payment_status": "paid", "amount_total": 1_998, "currency": "eur", "metadata": {}, "invoice": invoice,
            }))
            .unwrap();
            Paid::Session(&session).amount()
        };
        assert_eq!((amount("paid"), amount("open")), (998, 1_998));
    }
}
