//! Payments, charges and disputes.

use crate::call::{Call, Form, path};
use crate::refund::Refund;
use crate::values::{IdempotencyKey, List, Metadata, ObjectId, names};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// Another object: by its id, or whole if the call asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expandable<T> {
    Id(ObjectId),
    Object(Box<T>),
}

impl<T> Expandable<T> {
    /// The object, if it was asked for.
    pub fn object(&self) -> Option<&T> {
        match self {
            Self::Id(_) => None,
            Self::Object(object) => Some(object),
        }
    }
}

impl Expandable<PaymentIntent> {
    pub fn id(&self) -> &ObjectId {
        match self {
            Self::Id(id) => id,
            Self::Object(intent) => &intent.id,
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Expandable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = Expandable<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an id or an object")
            }

            fn visit_str<E: Error>(self, id: &str) -> Result<Self::Value, E> {
                ObjectId::parse(id).map(Expandable::Id).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|object| Expandable::Object(Box::new(object)))
            }
        }

        deserializer.deserialize_any(Either(PhantomData))
    }
}

names! {
    IntentStatus {
        /// The money is there.
        Succeeded = "succeeded",
        /// The money is on its way, by a delayed method.
        Processing = "processing",
        /// The buyer's method failed, or none was chosen yet.
        RequiresPaymentMethod = "requires_payment_method",
        /// The buyer's method is known, and not yet charged.
        RequiresConfirmation = "requires_confirmation",
        /// The buyer must confirm, with the bank for instance.
        RequiresAction = "requires_action",
        /// The money is reserved.
        RequiresCapture = "requires_capture",
        /// It will never be paid.
        Canceled = "canceled",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PaymentIntent {
    /// Its id, `pi_…`.
    pub id: ObjectId,
    pub status: IntentStatus,
    /// The amount in minor units.
    pub amount: i64,
    /// The currency's code in lower case.
    pub currency: String,
    /// Whether the money is real.
    pub livemode: bool,
    /// When it was begun, seconds since 1970 UTC.
    #[serde(default)]
    pub created: i64,
    #[serde(default)]
    pub metadata: Metadata,
    /// The last attempt to charge: whole after [`PaymentIntent::retrieve`], an id within a session.
    pub latest_charge: Option<Expandable<Charge>>,
}

impl PaymentIntent {
    /// Fetches a payment with its last charge, the charge's newest refunds and its fee.
    pub fn retrieve(id: &ObjectId) -> Call<Self> {
        let form = Form::default().with("expand[]", "latest_charge.refunds");
        Call::get(path("payment_intents", id), form.with("expand[]", "latest_charge.balance_transaction"))
    }
}

/// A charge: where refunds and disputes are counted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Charge {
    /// Its id, `ch_…` or `py_…`.
    pub id: ObjectId,
    /// The amount in minor units.
    pub amount: i64,
    pub amount_refunded: i64,
    pub refunded: bool,
    pub disputed: bool,
    /// The currency's code in lower case.
    pub currency: String,
    /// Whether the money is real.
    pub livemode: bool,
    pub payment_intent: Option<ObjectId>,
    /// When it was made, seconds since 1970 UTC.
    #[serde(default)]
    pub created: i64,
    /// `succeeded`, `pending` or `failed`.
    #[serde(default)]
    pub status: String,
    /// That of its payment when it was made.
    #[serde(default)]
    pub metadata: Metadata,
    /// The number of the receipt, once Stripe has sent one to the buyer.
    #[serde(default)]
    pub receipt_number: Option<String>,
    /// The address of the receipt, which shows what is refunded as well.
    #[serde(default)]
    pub receipt_url: Option<String>,
    #[serde(default)]
    pub payment_method_details: Option<PaymentMethodDetails>,
    #[serde(default)]
    pub billing_details: Option<BillingDetails>,
    /// The change of the store's balance: `None` until Stripe knows the fee, which may be minutes after the payment.
    #[serde(default)]
    pub balance_transaction: Option<Expandable<BalanceTransaction>>,
    /// The newest refunds, if the call asked for them.
    pub refunds: Option<List<Refund>>,
}

impl Charge {
    /// The text by which the account knows the card again; `None` if it was not paid by card.
    pub fn fingerprint(&self) -> Option<&str> {
        self.payment_method_details.as_ref()?.card.as_ref()?.fingerprint.as_deref()
    }

    pub fn retrieve(id: &ObjectId) -> Call<Self> {
        Call::get(path("charges", id), Form::default())
    }
}

/// The way that a charge was paid.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PaymentMethodDetails {
    /// Its word, as in the parameters of a session.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub card: Option<CardDetails>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CardDetails {
    /// The country of the bank, as two letters.
    pub country: Option<String>,
    /// The text by which the account knows the card again.
    pub fingerprint: Option<String>,
}

/// What a buyer gave with a payment.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BillingDetails {
    pub address: Option<Address>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Address {
    /// As two letters.
    pub country: Option<String>,
}

/// The most disputes on a page.
const DISPUTES_ON_A_PAGE: usize = 100;

names! {
    DisputeStatus {
        /// An inquiry: the bank asks, without taking the money back.
        WarningNeedsResponse = "warning_needs_response",
        /// The bank reviews the evidence.
        WarningUnderReview = "warning_under_review",
        /// The inquiry is closed.
        WarningClosed = "warning_closed",
        /// The money was taken back; evidence can be sent.
        NeedsResponse = "needs_response",
        UnderReview = "under_review",
        /// The money was given back to the store.
        Won = "won",
        /// The buyer keeps the money.
        Lost = "lost",
        /// It was settled before it began, mostly by giving the money to the buyer.
        Prevented = "prevented",
    }
}

/// A dispute: the buyer's bank asks for the money back.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Dispute {
    /// Its id, `dp_…` or `du_…`.
    pub id: ObjectId,
    pub status: DisputeStatus,
    /// The disputed amount in minor units.
    pub amount: i64,
    /// The currency's code in lower case.
    pub currency: String,
    pub payment_intent: Option<ObjectId>,
    pub charge: ObjectId,
    /// The changes of the store's balance that it made.
    #[serde(default)]
    pub balance_transactions: Vec<BalanceTransaction>,
    #[serde(default)]
    pub evidence_details: EvidenceDetails,
    /// Who is meant to submit evidence; `None` if the account, or the version of the API, does not know it.
    #[serde(default)]
    pub intended_submission_method: Option<String>,
}

/// What the bank waits for in a dispute.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct EvidenceDetails {
    #[serde(default)]
    due_by: Option<i64>,
    #[serde(default)]
    has_evidence: Option<bool>,
    #[serde(default)]
    submission_count: Option<i64>,
}

impl EvidenceDetails {
    /// Until when evidence can be sent, seconds since 1970 UTC; `None` if the time is over or none is asked for.
    pub fn due_by(&self) -> Option<i64> {
        // Stripe sends 0 if no answer is possible.
        self.due_by.filter(|at| *at > 0)
    }

    /// Whether evidence was written that may not be submitted yet.
    pub const fn has_evidence(&self) -> bool {
        matches!(self.has_evidence, Some(true))
    }

    /// Whether the bank has evidence.
    pub fn is_submitted(&self) -> bool {
        self.submission_count.is_some_and(|count| count > 0)
    }
}

/// A change of the store's balance, in minor units of the currency in which the store is paid out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BalanceTransaction {
    /// Without fees; negative if it was taken.
    pub amount: i64,
    #[serde(default)]
    pub fee: Option<i64>,
    /// The amount less the fee.
    #[serde(default)]
    pub net: Option<i64>,
    /// The currency's code in lower case. It need not be that of the payment.
    #[serde(default)]
    pub currency: Option<String>,
}

/// A change of the store's balance in the list of all of them, with what it is of.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ListedChange {
    pub id: ObjectId,
    /// In minor units, without fees; negative if it was taken.
    pub amount: i64,
    pub fee: i64,
    /// The amount less the fee.
    pub net: i64,
    /// The currency's code in lower case.
    pub currency: String,
    /// When it was made, seconds since 1970 UTC.
    pub created: i64,
    /// Stripe's word for it in its reports, such as `charge`, `refund`, `dispute` or `fee`.
    pub reporting_category: String,
    #[serde(default)]
    pub source: Option<Value>,
}

/// The most changes on a page.
const CHANGES_ON_A_PAGE: usize = 100;

impl ListedChange {
    /// Lists the changes that were made in a time, seconds since 1970 UTC and its end included, newest first.
    pub fn list((from, until): (i64, i64), after: Option<&ObjectId>) -> Call<List<Self>> {
        let form = Form::default().with("created[gte]", &from).with("created[lte]", &until);
        let form = form.with("limit", &CHANGES_ON_A_PAGE).with_some("starting_after", after);
        Call::get("/v1/balance_transactions", form.with("expand[]", "data.source"))
    }

    /// The payment that it is of, `pi_…`; `None` if it is not of one. There are over twenty kinds of sources, of which any may
    /// lack any field.
    pub fn payment_intent(&self) -> Option<&str> {
        let payment = self.source.as_ref()?.get("payment_intent")?;
        payment.as_str().or_else(|| payment.get("id")?.as_str())
    }

    /// The amount of what it is of, in the currency of the payment.
    pub fn amount_of_source(&self) -> Option<i64> {
        self.source.as_ref()?.get("amount")?.as_i64()
    }
}

impl Dispute {
    /// Its status; [`DisputeStatus::Lost`] if it was prevented by giving the money to the buyer.
    pub fn outcome(&self) -> &DisputeStatus {
        let taken = self.balance_transactions.iter().fold(0, |sum: i64, one| sum.saturating_add(one.amount)) < 0;
        if self.status == DisputeStatus::Prevented && taken { &DisputeStatus::Lost } else { &self.status }
    }

    pub fn retrieve(id: &ObjectId) -> Call<Self> {
        Call::get(path("disputes", id), Form::default())
    }

    /// Submits evidence, by the names of Stripe's fields, for good.
    pub fn submit(id: &ObjectId, evidence: &BTreeMap<String, String>, key: IdempotencyKey) -> Call<Self> {
        let fields = evidence.iter().map(|(field, text)| (format!("evidence[{field}]"), text));
        let form = fields.fold(Form::default(), |form, (name, text)| form.with(name, text));
        Call::post(path("disputes", id), form.with("submit", &true), Some(key))
    }

    /// Whether Stripe answers by itself (Smart Disputes), whatever the store sends.
    pub fn is_answered_by_stripe(&self) -> bool {
        matches!(self.intended_submission_method.as_deref(), Some("smart_disputes" | "prefer_smart_disputes"))
    }

    /// Lists the disputes of a payment, newest first. There are few: each is of a part of the payment.
    pub fn list(payment_intent: &ObjectId) -> Call<List<Self>> {
        let form = Form::default().with("payment_intent", payment_intent).with("limit", &DISPUTES_ON_A_PAGE);
        Call::get("/v1/disputes", form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTENT: &str = r#"{"id": "pi_1", "status": "succeeded", "amount": 5, "currency": "eur",
        "livemode": true, "metadata": {"order": "a", "other": "b"}, "latest_charge": "ch_1"}"#;

    #[test]
    fn an_object_is_read_by_its_id_or_whole() {
        let by_id: Expandable<PaymentIntent> = serde_json::from_str("\"pi_1\"").unwrap();
        let whole: Expandable<PaymentIntent> = serde_json::from_str(INTENT).unwrap();
        assert_eq!(by_id.id(), whole.id());
        assert_eq!(by_id.object(), None);
        let intent = whole.object().unwrap();
        assert_eq!((intent.amount, intent.metadata.order.as_deref()), (5, Some("a")));
        assert_eq!(intent.latest_charge, Some(Expandable::Id(ObjectId::parse("ch_1").unwrap())));
        for text in ["\"a/b\"", "5", "[]", "{}", "null"] {
            assert!(serde_json::from_str::<Expandable<PaymentIntent>>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_prevented_dispute_is_lost_if_the_store_paid_for_it() {
        let outcome = |status: &str, changes: &str| {
            let text = format!(
                r#"{{"id": "du_1", "status": "{status}", "amount": 5, "currency": "eur", "payment_intent": "pi_1",
                    "charge": "ch_1", "balance_transactions": [{changes}]}}"#
            );
            serde_json::from_str::<Dispute>(&text).unwrap().outcome().clone()
        };
        let (taken, given) = (r#"{"amount": -5, "fee": 0}"#, r#"{"amount": 5, "fee": 0}"#);
        assert_eq!(outcome("prevented", taken), DisputeStatus::Lost);
        assert_eq!(outcome("prevented", &format!("{taken}, {given}")), DisputeStatus::Prevented);
        assert_eq!(outcome("prevented", ""), DisputeStatus::Prevented);
        assert_eq!(outcome("under_review", taken), DisputeStatus::UnderReview);
    }

    #[test]
    fn a_charge_is_read_whatever_it_says_of_its_method_and_fee() {
        let fee = |more: &str| {
            let text = format!(
                r#"{{"id": "ch_1", "amount": 5, "amount_refunded": 0, "refunded": false, "disputed": false, "currency": "eur",
                    "livemode": true, "payment_intent": "pi_1", "refunds": null {more}}}"#
            );
            let charge: Charge = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{more}: {error}"));
            charge.balance_transaction.as_ref().and_then(Expandable::object).and_then(|change| change.fee)
        };
        for more in [
            "",
            r#", "payment_method_details": null, "billing_details": null, "balance_transaction": null"#,
            r#", "payment_method_details": {}, "billing_details": {}, "balance_transaction": "txn_1""#,
            r#", "payment_method_details": {"type": "new", "new": {"country": 5}}, "billing_details": {"address": null}"#,
            r#", "payment_method_details": {"type": null, "card": null}, "billing_details": {"address": {"country": null}}"#,
            r#", "balance_transaction": {"amount": 5, "fee": null, "net": null, "currency": null}"#,
        ] {
            assert_eq!(fee(more), None, "{more}");
        }
        assert_eq!(fee(r#", "balance_transaction": {"amount": 5, "fee": 7, "net": -2, "currency": "usd"}"#), Some(7));
    }

    #[test]
    fn a_change_of_the_balance_is_read_whatever_it_is_of() {
        let source = |source: &str| {
            let text = format!(
                r#"{{"id": "txn_1", "amount": -5, "fee": 0, "net": -5, "currency": "eur", "created": 1, "available_on": 2,
                    "reporting_category": "new", "type": "new", "source": {source}}}"#
            );
            let listed: ListedChange = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{source}: {error}"));
            assert_eq!(listed.amount, -5);
            format!("{:?}", (listed.payment_intent(), listed.amount_of_source()))
        };
        for (of, known) in [
            ("null", "(None, None)"),
            ("\"po_1\"", "(None, None)"),
            (r#"{"id": "re_1", "amount": 5, "payment_intent": "pi_1", "new": [1]}"#, r#"(Some("pi_1"), Some(5))"#),
            (r#"{"id": "ch_1", "payment_intent": {"id": "pi_2"}}"#, r#"(Some("pi_2"), None)"#),
            (r#"{"id": 5, "amount": "5", "payment_intent": null}"#, "(None, None)"),
        ] {
            assert_eq!(source(of), known, "{of}");
        }
    }

    #[test]
    fn fields_that_are_missing_or_null_are_no_evidence() {
        let dispute = |details: &str| {
            let text = format!(
                r#"{{"id": "du_1", "status": "needs_response", "amount": 5, "currency": "eur", "payment_intent": "pi_1",
                    "charge": "ch_1", "evidence_details": {details}}}"#
            );
            let details = serde_json::from_str::<Dispute>(&text).unwrap().evidence_details;
            (details.due_by(), details.has_evidence(), details.is_submitted())
        };
        assert_eq!(dispute("{}"), (None, false, false));
        assert_eq!(
            dispute(r#"{"due_by": null, "has_evidence": null, "submission_count": null}"#),
            (None, false, false)
        );
        assert_eq!(dispute(r#"{"due_by": 0, "has_evidence": true, "submission_count": 0}"#), (None, true, false));
        assert_eq!(dispute(r#"{"due_by": 9, "has_evidence": true, "submission_count": 1}"#), (Some(9), true, true));
    }
}
