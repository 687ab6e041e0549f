//! Subscriptions and the invoices that they are paid by.

use crate::call::{Call, path};
use crate::form::Form;
use crate::list::{List, Metadata};
use crate::names::names;
use crate::objects::{Expandable, PaymentIntent};
use crate::values::ObjectId;
use serde::{Deserialize, Deserializer};

/// The number of invoices on a page: whole payments are in them, and a response has a largest size.
const INVOICES_ON_A_PAGE: usize = 20;

names! {
    InvoiceStatus {
        /// It is not final yet.
        Draft = "draft",
        /// It is to be paid.
        Open = "open",
        Paid = "paid",
        /// The account's owner does not expect the money any more.
        Uncollectible = "uncollectible",
        /// It will never be paid.
        Void = "void",
    }
}

names! {
    /// The reason why an invoice was made.
    BillingReason {
        /// The first period of a subscription.
        SubscriptionCreate = "subscription_create",
        /// A further period.
        SubscriptionCycle = "subscription_cycle",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Invoice {
    /// Its id, `in_…`.
    pub id: ObjectId,
    pub status: Option<InvoiceStatus>,
    pub billing_reason: Option<BillingReason>,
    /// The amount in minor units.
    pub amount_paid: i64,
    /// The currency's code in lower case.
    pub currency: String,
    /// Whether the money is real.
    pub livemode: bool,
    pub customer: Option<ObjectId>,
    pub subscription: Option<ObjectId>,
    /// The metadata of the subscription, as it was when the invoice became final.
    #[serde(default, rename = "subscription_details", deserialize_with = "metadata")]
    pub metadata: Metadata,
    /// The payment; `None` for an invoice of nothing.
    pub payment_intent: Option<Expandable<PaymentIntent>>,
    pub lines: List<InvoiceLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct InvoiceLine {
    pub period: Period,
}

/// A time from its first second to its last, in seconds since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Period {
    pub start: i64,
    pub end: i64,
}

fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Metadata, D::Error> {
    #[derive(Deserialize)]
    struct Details {
        metadata: Option<Metadata>,
    }

    let details: Option<Details> = Option::deserialize(deserializer)?;
    Ok(details.and_then(|details| details.metadata).unwrap_or_default())
}

impl Invoice {
    /// Fetches an invoice with its payment, the payment's charge and the charge's newest refunds.
    pub fn retrieve(id: &ObjectId) -> Call<Self> {
        Call::get(path("invoices", id), Form::default().with("expand[]", "payment_intent.latest_charge.refunds"))
    }

    /// Lets an open invoice never be paid.
    pub fn void(id: &ObjectId) -> Call<Self> {
        Call::post(format!("{}/void", path("invoices", id)), Form::default(), None)
    }

    /// Lists the invoices of a subscription in one state, newest first, with their payments and the payments' charges; the
    /// next page begins after the last invoice of this one.
    pub fn list(subscription: &ObjectId, status: &InvoiceStatus, after: Option<&ObjectId>) -> Call<List<Self>> {
        let form = Form::default().with("subscription", subscription).with("status", status.as_str());
        let form = form.with("limit", &INVOICES_ON_A_PAGE);
        let form = form.with_some("starting_after", after).with("expand[]", "data.payment_intent.latest_charge");
        Call::get("/v1/invoices", form)
    }

    /// The end of the time that the invoice pays for, in seconds since 1970 UTC; `None` without lines.
    pub fn period_end(&self) -> Option<i64> {
        self.lines.data.iter().map(|line| line.period.end).max()
    }
}

names! {
    SubscriptionStatus {
        /// The first invoice is not paid yet.
        Incomplete = "incomplete",
        /// The first invoice was not paid in time.
        IncompleteExpired = "incomplete_expired",
        Trialing = "trialing",
        Active = "active",
        /// A renewal failed, and is tried again.
        PastDue = "past_due",
        /// It has ended.
        Canceled = "canceled",
        /// A renewal failed, and is not tried again.
        Unpaid = "unpaid",
        Paused = "paused",
    }
}

/// What is done with the invoices of a subscription while no payment is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PauseCollection {
    /// When payments are asked for again, in seconds since 1970 UTC.
    pub resumes_at: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Subscription {
    /// Its id, `sub_…`.
    pub id: ObjectId,
    pub status: SubscriptionStatus,
    /// Whether it ends with the present period.
    pub cancel_at_period_end: bool,
    /// When it ends, in seconds since 1970 UTC: with the present period, or at another time that the account's owner has set.
    pub cancel_at: Option<i64>,
    /// The end of its trial, also of one that is over, in seconds since 1970 UTC.
    pub trial_end: Option<i64>,
    /// Set while no payment is asked for. The status says nothing of it.
    pub pause_collection: Option<PauseCollection>,
    /// The end of the present period, whether it is paid or not, in seconds since 1970 UTC.
    pub current_period_end: i64,
    /// When it ended, in seconds since 1970 UTC.
    pub ended_at: Option<i64>,
    pub customer: ObjectId,
    #[serde(default)]
    pub metadata: Metadata,
    /// Whether the money is real.
    pub livemode: bool,
}

impl Subscription {
    pub fn retrieve(id: &ObjectId) -> Call<Self> {
        Call::get(path("subscriptions", id), Form::default())
    }

    /// Ends a subscription now. Nothing is returned to the buyer.
    pub fn cancel(id: &ObjectId) -> Call<Self> {
        Call::delete(path("subscriptions", id))
    }

    /// Lets a subscription end with the present period.
    pub fn cancel_at_period_end(id: &ObjectId) -> Call<Self> {
        Call::post(path("subscriptions", id), Form::default().with("cancel_at_period_end", &true), None)
    }
}

impl Expandable<Invoice> {
    pub fn id(&self) -> &ObjectId {
        match self {
            Self::Id(id) => id,
            Self::Object(invoice) => &invoice.id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invoice(details: &str, lines: &str) -> Invoice {
        let text = format!(
            r#"{{"id": "in_1", "status": "paid", "billing_reason": "subscription_cycle", "amount_paid": 5,
                "amount_due": 5, "currency": "eur", "livemode": false, "customer": "cus_1", "subscription": "sub_1",
                {details} "payment_intent": "pi_1", "lines": {{"data": [{lines}], "has_more": false}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn an_invoice_has_the_metadata_of_its_subscription() {
        for (details, order) in [
            (r#""subscription_details": {"metadata": {"order": "a", "other": "b"}},"#, Some("a")),
            (r#""subscription_details": {"metadata": {}},"#, None),
            (r#""subscription_details": {"metadata": null},"#, None),
            (r#""subscription_details": null,"#, None),
            (r#""metadata": {"order": "another"},"#, None),
        ] {
            assert_eq!(invoice(details, "").metadata.order.as_deref(), order, "{details}");
        }
    }

    #[test]
    fn an_invoice_pays_until_the_last_end_of_its_lines() {
        let line = |end: i64| format!(r#"{{"period": {{"start": 1, "end": {end}}}}}"#);
        assert_eq!(invoice("", &[line(7), line(9), line(8)].join(", ")).period_end(), Some(9));
        assert_eq!(invoice("", "").period_end(), None);
    }

    #[test]
    fn a_subscription_is_read_past_words_that_are_new() {
        let text = r#"{"id": "sub_1", "status": "resting", "cancel_at_period_end": false, "cancel_at": 12,
            "trial_end": null, "pause_collection": {"behavior": "void", "resumes_at": null}, "current_period_end": 9,
            "ended_at": null, "customer": "cus_1", "metadata": {"order": "a"}, "livemode": true, "items": {}}"#;
        let subscription: Subscription = serde_json::from_str(text).unwrap();
        assert_eq!((subscription.status.as_str(), subscription.ended_at), ("resting", None));
        assert_eq!(subscription.metadata.order.as_deref(), Some("a"));
        assert_eq!((subscription.cancel_at, subscription.trial_end), (Some(12), None));
        assert_eq!(subscription.pause_collection, Some(PauseCollection { resumes_at: None }));
    }
}
