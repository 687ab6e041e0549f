//! The payment of an order, as the order keeps it: the checkout that is open, the provider's account, attempts to refund it, how an
//! operator's look at it ended, its tax, and the store's answers to its disputes.

use super::{CodeText, GiftCardPayment, InternalId, ItemId, Money, Order, Place, is_default};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Units of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Units {
    pub item: ItemId,
    pub count: u64,
}

/// The items, uses and amounts that a checkout holds until it is paid or ends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Held {
    /// Units of items, each item once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<Units>,
    /// The places in which they count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
    /// The coupon of which it holds one use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coupon: Option<CodeText>,
    /// The gift card, and how much of its balance is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gift_card: Option<GiftCardPayment>,
    /// The amount of virtual currency that is held.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub virtual_currency: Money,
}

/// A checkout that is neither paid nor ended. A buyer has at most one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCheckout {
    pub order: InternalId,
    /// The version of the cart that it sells.
    pub version: u64,
    /// When the provider ends it, seconds since 1970 UTC.
    pub until: i64,
    /// The items, uses and amounts that it holds; none if the store holds nothing.
    #[serde(default)]
    pub held: Held,
}

/// An account at a payment provider, in one of its modes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderAccount {
    /// Its id; `None` if the keys were stored before the id was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether its money is real.
    pub live: bool,
}

/// An attempt to refund an order's payment, in full or in part. It is written before the provider is called, with the
/// totals before and after, so that a call whose response was lost is recognized and never made as another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundAttempt {
    /// Its number, from 1. The provider stores it with the refund.
    #[serde(rename = "attempt")]
    pub number: u32,
    /// The amount refunded before, in the payment's minor units.
    pub before: Money,
    pub after: Money,
    /// When it was last about to be sent, seconds since 1970 UTC.
    #[serde(rename = "sent_at")]
    pub at: i64,
    /// How it ended; `None` while that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RefundOutcome>,
    /// The provider's words, if it refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl RefundAttempt {
    #[must_use]
    pub fn amount(&self) -> Money {
        self.after.less(self.before)
    }

    /// Whether it is not known how it ended. An order has one such attempt at most.
    pub const fn is_open(&self) -> bool {
        self.outcome.is_none()
    }

    /// The idempotency key of its call.
    pub fn key(&self, order: &InternalId) -> String {
        format!("refund-{order}-{}", self.number)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefundOutcome {
    /// The provider has the refund.
    Refunded,
    /// The provider had the refund, and it failed later.
    Failed,
    /// The provider refuses it, now and later.
    Refused,
    /// It was never sent, and what is refunded has changed by other means.
    Abandoned,
}

impl RefundOutcome {
    /// The outcome as stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refunded => "refunded",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Abandoned => "abandoned",
        }
    }
}

/// How an operator's look at an order ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    pub reason: String,
    pub outcome: ReviewOutcome,
    /// Seconds since 1970 UTC.
    pub at: i64,
}

/// The decision about an order that needed an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewOutcome {
    /// The order is PAID although the payment does not agree with it.
    Accepted,
    /// The payment was refunded in full.
    Refunded,
}

/// The refunds of an order, in the order's currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refunds {
    pub refunded: Money,
    pub failed: Money,
    /// The part of them that was not refunded again.
    pub unreturned: Money,
}

/// What reports need to know of a payment, as far as the provider has said it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PaymentFacts {
    /// The way that it was paid, by the provider's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The country of the card, or else of the buyer's address, as two letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// What the store has of it; known up to some minutes later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proceeds: Option<Proceeds>,
}

/// What a store has of a payment, in minor units of the currency in which the provider pays it out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proceeds {
    pub fee: Money,
    /// Negative if the fee is more than was paid.
    pub net: Money,
    /// The currency's code in upper case. It need not be that of the order.
    pub currency: String,
}

impl PaymentFacts {
    /// These facts, with those of another look that are missing here. What is known stays: however looks differ, each fact
    /// is written once.
    #[must_use]
    pub fn with(&self, later: &Self) -> Self {
        Self {
            method: self.method.clone().or_else(|| later.method.clone()),
            country: self.country.clone().or_else(|| later.country.clone()),
            proceeds: self.proceeds.clone().or_else(|| later.proceeds.clone()),
        }
    }
}

/// Who works out the tax of a payment, and who sells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaxMode {
    /// The owner, by other means.
    #[default]
    None,
    /// Stripe works it out, and the owner pays it to the tax offices.
    Stripe,
    /// Stripe sells in its own name, and pays it to the tax offices.
    Managed,
}

/// Whether tax is in the prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaxPrices {
    /// It is: what is shown is what is paid.
    #[default]
    Inclusive,
    /// It comes on top of them.
    Exclusive,
}

/// The tax of a payment, as the provider says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tax {
    /// In minor units of the payment's currency.
    pub amount: Money,
    /// Whether it came on top of what the lines cost. Then it is in the order's price, and not in its lines.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub on_top: bool,
    /// The buyer's country, in two letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// The rate in hundredths of a percent, if the whole of it is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
}

impl Order {
    /// The tax that is in the price and not in the lines.
    pub fn tax_on_top(&self) -> Money {
        self.tax.as_ref().filter(|tax| tax.on_top).map_or(Money::ZERO, |tax| tax.amount)
    }

    /// The tax that is returned with so much of the price, half up. The parts of a refund return the whole tax.
    #[must_use]
    pub fn tax_of(&self, charged: Money) -> Money {
        let tax = self.tax.as_ref().map_or(Money::ZERO, |tax| tax.amount);
        tax.portion(charged.min(self.price), self.price)
    }

    /// So much of the price, without the tax that came on top: what it is of the lines.
    #[must_use]
    pub fn before_tax(&self, charged: Money) -> Money {
        if self.tax_on_top() > Money::ZERO { charged.less(self.tax_of(charged)) } else { charged }
    }
}

/// The store's answer to a dispute of a payment. Times are seconds since 1970 UTC.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DisputeAnswer {
    /// When the sweep looks at the dispute; `None` if it does not again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<i64>,
    /// Until when the bank takes evidence; `None` if that is not known yet, or it takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_by: Option<i64>,
    /// When evidence was about to be sent: noted before it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<i64>,
    /// The evidence, by the provider's fields, until it is known what came of it: what is repeated is the same.
    #[serde(default, skip_serializing_if = "is_default")]
    pub evidence: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<AnswerOutcome>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOutcome {
    /// The bank has the evidence.
    Submitted,
    /// The provider did not take it.
    Refused,
    /// The provider had evidence that the store did not send: the owner's, or its own.
    Others,
}
