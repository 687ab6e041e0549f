//! Refunds: money that goes back to the buyer.

use crate::call::{Call, Form};
use crate::values::{IdempotencyKey, List, Metadata, ObjectId, names};
use serde::Deserialize;

const REFUNDS: &str = "/v1/refunds";
/// The most refunds on a page.
const REFUNDS_ON_A_PAGE: usize = 100;

#[derive(Debug, Clone, Copy)]
pub struct NewRefund<'a> {
    pub payment_intent: &'a ObjectId,
    /// The amount in minor units; `None` for all that is left.
    pub amount: Option<i64>,
    /// The order's id, for the refund's metadata.
    pub order: &'a str,
    /// The number of the attempt, for the refund's metadata: Stripe keeps it longer than an idempotency key.
    pub attempt: u32,
}

names! {
    RefundStatus {
        /// The money is on its way back.
        Succeeded = "succeeded",
        /// It is being processed.
        Pending = "pending",
        /// The buyer must do something.
        RequiresAction = "requires_action",
        /// The money could not be returned.
        Failed = "failed",
        /// It was withdrawn.
        Canceled = "canceled",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Refund {
    /// Its id, `re_…`.
    pub id: ObjectId,
    pub status: Option<RefundStatus>,
    /// The amount in minor units.
    pub amount: i64,
    /// The currency's code in lower case.
    pub currency: String,
    pub payment_intent: Option<ObjectId>,
    pub charge: Option<ObjectId>,
    /// When it was made, seconds since 1970 UTC.
    #[serde(default)]
    pub created: i64,
    /// Its metadata; empty for a refund that was made in the dashboard.
    #[serde(default)]
    pub metadata: Metadata,
}

impl Refund {
    /// Creates a refund. The same refund with the same key is made once.
    pub fn create(new: &NewRefund<'_>, key: IdempotencyKey) -> Call<Self> {
        let form = Form::default()
            .with("payment_intent", new.payment_intent)
            .with_some("amount", new.amount.as_ref())
            .with("metadata[order]", new.order)
            .with("metadata[attempt]", &new.attempt);
        Call::post(REFUNDS, form, Some(key))
    }

    /// Lists the refunds of a payment, newest first, those that failed among them; the next page begins after the last
    /// refund of this one.
    pub fn list(payment_intent: &ObjectId, after: Option<&ObjectId>) -> Call<List<Self>> {
        let form = Form::default().with("payment_intent", payment_intent).with("limit", &REFUNDS_ON_A_PAGE);
        Call::get(REFUNDS, form.with_some("starting_after", after))
    }

    /// Whether the money was not returned, or will not be.
    pub const fn has_failed(&self) -> bool {
        matches!(self.status, Some(RefundStatus::Failed | RefundStatus::Canceled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refund_without_an_amount_is_one_of_all_that_is_left() {
        let payment_intent = &ObjectId::parse("pi_1").unwrap();
        let form = |amount| {
            let new = NewRefund { payment_intent, amount, order: "a", attempt: 2 };
            Refund::create(&new, IdempotencyKey::parse("k").unwrap()).parameters().to_vec()
        };
        let names = |amount| form(amount).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(None), ["payment_intent", "metadata[order]", "metadata[attempt]"]);
        assert_eq!(names(Some(5)), ["payment_intent", "amount", "metadata[order]", "metadata[attempt]"]);
    }

    #[test]
    fn a_refund_has_failed_if_the_money_stays_with_the_store() {
        let refund = |status: &str, metadata: &str| -> Refund {
            let text = format!(
                r#"{{"id": "re_1", "status": {status}, "amount": 5, "currency": "eur", "payment_intent": "pi_1",
                    "charge": null, "metadata": {metadata}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        for (status, has_failed) in [
            ("\"succeeded\"", false),
            ("\"pending\"", false),
            ("\"requires_action\"", false),
            ("\"new\"", false),
            ("null", false),
            ("\"failed\"", true),
            ("\"canceled\"", true),
        ] {
            assert_eq!(refund(status, "{}").has_failed(), has_failed, "{status}");
        }
        let ours = refund("null", r#"{"order": "a", "attempt": "2"}"#).metadata;
        assert_eq!((ours.order.as_deref(), ours.attempt.as_deref()), (Some("a"), Some("2")));
    }
}
