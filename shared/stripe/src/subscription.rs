//! Subscriptions and the invoices that they are paid by.

use crate::call::{Call, Form, path};
use crate::objects::{Address, Expandable, PaymentIntent};
use crate::values::{List, Metadata, ObjectId, names};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// The number of invoices on a page: their lines are in them, and a response has a largest size.
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
#[serde(from = "Sent")]
pub struct Invoice {
    /// Its id, `in_…`.
    pub id: ObjectId,
    pub status: Option<InvoiceStatus>,
    pub billing_reason: Option<BillingReason>,
    /// The amount in minor units, without what was paid to the account's owner in another way.
    pub amount_paid: i64,
    /// The currency's code in lower case.
    pub currency: String,
    /// Whether the money is real.
    pub livemode: bool,
    pub customer: Option<ObjectId>,
    pub subscription: Option<ObjectId>,
    /// The metadata of the subscription, as it was when the invoice became final.
    pub metadata: Metadata,
    /// The payment; `None` for an invoice of nothing, and for one that was paid in another way.
    pub payment_intent: Option<Expandable<PaymentIntent>>,
    pub lines: List<InvoiceLine>,
    /// The tax in minor units, in the amount.
    pub tax: i64,
    /// The buyer's country in two letters, as it was when the invoice became final.
    pub country: Option<String>,
    /// The address at which a buyer sees it, once it is final.
    pub hosted_invoice_url: Option<String>,
}

/// An invoice in the form in which Stripe sends it.
#[derive(Deserialize)]
struct Sent {
    id: ObjectId,
    status: Option<InvoiceStatus>,
    billing_reason: Option<BillingReason>,
    amount_paid: i64,
    amount_paid_off_stripe: Option<i64>,
    currency: String,
    livemode: bool,
    customer: Option<ObjectId>,
    parent: Option<Parent>,
    payments: Option<List<InvoicePayment>>,
    lines: List<InvoiceLine>,
    hosted_invoice_url: Option<String>,
    total_taxes: Option<Vec<TotalTax>>,
    customer_address: Option<Address>,
}

#[derive(Deserialize)]
struct TotalTax {
    amount: i64,
}

/// What an invoice was made for.
#[derive(Deserialize)]
struct Parent {
    subscription_details: Option<SubscriptionDetails>,
}

#[derive(Deserialize)]
struct SubscriptionDetails {
    subscription: ObjectId,
    metadata: Option<Metadata>,
}

impl From<Sent> for Invoice {
    fn from(sent: Sent) -> Self {
        let details = sent.parent.and_then(|parent| parent.subscription_details);
        let (subscription, metadata) = details.map(|details| (details.subscription, details.metadata)).unzip();
        let payments = sent.payments.map(|payments| payments.data).unwrap_or_default();
        let with_intent = || payments.iter().filter(|payment| payment.payment.payment_intent.is_some());
        let paid = with_intent().find(|payment| payment.status == InvoicePaymentStatus::Paid);
        let the_one = paid.or_else(|| with_intent().find(|payment| payment.is_default));
        Self {
            id: sent.id,
            status: sent.status,
            billing_reason: sent.billing_reason,
            amount_paid: sent.amount_paid - sent.amount_paid_off_stripe.unwrap_or_default(),
            currency: sent.currency,
            livemode: sent.livemode,
            customer: sent.customer,
            subscription,
            metadata: metadata.flatten().unwrap_or_default(),
            payment_intent: the_one.and_then(|payment| payment.payment.payment_intent.clone()).map(Expandable::Id),
            lines: sent.lines,
            tax: sent.total_taxes.unwrap_or_default().iter().map(|tax| tax.amount).sum(),
            country: sent.customer_address.and_then(|address| address.country),
            hosted_invoice_url: sent.hosted_invoice_url,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum InvoicePaymentStatus {
    Paid,
    #[serde(other)]
    Unpaid,
}

/// A payment of an invoice. One with a method that fails has several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct InvoicePayment {
    pub invoice: ObjectId,
    status: InvoicePaymentStatus,
    /// Whether it is the payment that Stripe made with the invoice.
    is_default: bool,
    payment: PaidBy,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct PaidBy {
    /// `None` if it was not paid by an intent: in another way, for example.
    payment_intent: Option<ObjectId>,
}

impl InvoicePayment {
    /// Lists what an intent pays: at most one invoice.
    pub fn list(payment_intent: &ObjectId) -> Call<List<Self>> {
        let form = Form::default().with("payment[type]", "payment_intent");
        Call::get("/v1/invoice_payments", form.with("payment[payment_intent]", payment_intent))
    }
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

impl Invoice {
    /// Fetches an invoice with the id of its payment.
    pub fn retrieve(id: &ObjectId) -> Call<Self> {
        Call::get(path("invoices", id), Form::default().with("expand[]", "payments"))
    }

    /// Lets an open invoice never be paid.
    pub fn void(id: &ObjectId) -> Call<Self> {
        Call::post(format!("{}/void", path("invoices", id)), Form::default(), None)
    }

    /// Lists the invoices of a subscription in one state, newest first, with the ids of their payments; the next
    /// page begins after the last invoice of this one.
    pub fn list(subscription: &ObjectId, status: &InvoiceStatus, after: Option<&ObjectId>) -> Call<List<Self>> {
        let form = Form::default().with("subscription", subscription).with("status", status.as_str());
        let form = form.with("limit", &INVOICES_ON_A_PAGE);
        let form = form.with_some("starting_after", after).with("expand[]", "data.payments");
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
    #[serde(rename = "items", deserialize_with = "period_end")]
    pub current_period_end: i64,
    /// When it ended, in seconds since 1970 UTC.
    pub ended_at: Option<i64>,
    pub customer: ObjectId,
    #[serde(default)]
    pub metadata: Metadata,
    /// Whether the money is real.
    pub livemode: bool,
}

/// The last end of the items' periods. Those of one subscription end at one time, unless its owner has added others.
fn period_end<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    #[derive(Deserialize)]
    struct Item {
        current_period_end: i64,
    }

    let items: List<Item> = List::deserialize(deserializer)?;
    items.data.iter().map(|item| item.current_period_end).max().ok_or_else(|| D::Error::custom("items: there is none"))
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

    fn invoice(parent: &str, more: &str, lines: &str) -> Invoice {
        let text = format!(
            r#"{{"id": "in_1", "status": "paid", "billing_reason": "subscription_cycle", "amount_paid": 5,
                "amount_due": 5, "currency": "eur", "livemode": false, "customer": "cus_1", "parent": {parent},
                {more} "lines": {{"data": [{lines}], "has_more": false}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn an_invoice_has_the_metadata_of_its_subscription() {
        let details = |metadata: &str| {
            format!(r#"{{"subscription_details": {{"subscription": "sub_1", "metadata": {metadata}}}}}"#)
        };
        for (parent, more, subscription, order) in [
            (details(r#"{"order": "a", "other": "b"}"#), "", Some("sub_1"), Some("a")),
            (details("{}"), "", Some("sub_1"), None),
            (details("null"), "", Some("sub_1"), None),
            (r#"{"subscription_details": null}"#.to_owned(), "", None, None),
            ("null".to_owned(), r#""metadata": {"order": "another"},"#, None, None),
        ] {
            let read = invoice(&parent, more, "");
            assert_eq!(read.metadata.order.as_deref(), order, "{parent}");
            assert_eq!(read.subscription.map(|id| id.to_string()).as_deref(), subscription, "{parent}");
        }
    }

    #[test]
    fn the_payment_of_an_invoice_is_the_one_that_succeeded_or_the_first() {
        let payment = |status: &str, is_default: bool, payment: &str| {
            format!(
                r#"{{"id": "inpay_1", "invoice": "in_1", "status": "{status}", "is_default": {is_default},
                    "payment": {{{payment}}}}}"#
            )
        };
        let (first, second) = (r#""type": "payment_intent", "payment_intent": "pi_1""#, r#""payment_intent": "pi_2""#);
        let elsewhere = r#""type": "payment_record", "payment_record": "pr_1""#;
        for (payments, expected) in [
            (vec![payment("open", true, first)], Some("pi_1")),
            (vec![payment("canceled", true, first), payment("paid", false, second)], Some("pi_2")),
            (vec![payment("canceled", true, first), payment("open", false, second)], Some("pi_1")),
            (vec![payment("paid", true, elsewhere)], None),
            (vec![], None),
        ] {
            let list = format!(r#""payments": {{"data": [{}], "has_more": false}},"#, payments.join(", "));
            let found = invoice("null", &list, "").payment_intent.map(|intent| intent.id().to_string());
            assert_eq!(found.as_deref(), expected, "{list}");
        }
        let of = |more: &str| invoice("null", more, "").amount_paid;
        assert_eq!((of(""), of(r#""amount_paid_off_stripe": 2,"#)), (5, 3));
    }

    #[test]
    fn an_invoice_pays_until_the_last_end_of_its_lines() {
        let line = |end: i64| format!(r#"{{"period": {{"start": 1, "end": {end}}}}}"#);
        assert_eq!(invoice("null", "", &[line(7), line(9), line(8)].join(", ")).period_end(), Some(9));
        assert_eq!(invoice("null", "", "").period_end(), None);
    }

    #[test]
    fn a_subscription_is_read_past_words_that_are_new() {
        let text = |items: &str| {
            format!(
                r#"{{"id": "sub_1", "status": "resting", "cancel_at_period_end": false, "cancel_at": 12, "trial_end": null,
                    "pause_collection": {{"behavior": "void", "resumes_at": null}}, "ended_at": null, "customer": "cus_1",
                    "metadata": {{"order": "a"}}, "livemode": true, "items": {{"data": [{items}], "has_more": false}}}}"#
            )
        };
        let items = r#"{"id": "si_1", "current_period_end": 7}, {"id": "si_2", "current_period_end": 9}"#;
        let subscription: Subscription = serde_json::from_str(&text(items)).unwrap();
        assert_eq!((subscription.status.as_str(), subscription.ended_at), ("resting", None));
        assert_eq!(subscription.metadata.order.as_deref(), Some("a"));
        assert_eq!((subscription.cancel_at, subscription.trial_end), (Some(12), None));
        assert_eq!(subscription.pause_collection, Some(PauseCollection { resumes_at: None }));
        assert_eq!(subscription.current_period_end, 9);
        let error = serde_json::from_str::<Subscription>(&text("")).unwrap_err().to_string();
        assert!(error.contains("items: there is none"), "{error}");
    }
}
