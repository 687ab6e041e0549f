//! Orders: what was paid, or was to be.

use super::{ItemId, Money, OrderNumber, PaymentType, UserId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The id by which buyers and gateways name an order; matched exactly (rules.md, "Who may see an order").
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InternalId(String);

impl InternalId {
    /// The longest id in characters (rules.md, "Request bodies").
    pub const LONGEST: usize = 255;

    /// Takes an id as it is.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The id as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for InternalId {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Display for InternalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The state of an order (rules.md, "Who may see an order").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum OrderStatus {
    /// The gateway has not answered yet.
    Pending,
    /// Paid.
    Paid,
    /// The payment failed.
    Failed,
    /// The buyer or the owner gave it up.
    Cancelled,
    /// Paid and given back.
    Refunded,
}

impl OrderStatus {
    /// Every status, in the order of rules.md, "Who may see an order".
    pub const ALL: [Self; 5] = [Self::Pending, Self::Paid, Self::Failed, Self::Cancelled, Self::Refunded];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Paid => "PAID",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
            Self::Refunded => "REFUNDED",
        }
    }
}

/// A line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderLine {
    /// The item.
    pub item: ItemId,
    /// Units.
    pub count: u32,
    /// The line's total after coupon, in the store's currency.
    pub total: Money,
    /// How it was bought.
    #[serde(default, skip_serializing_if = "PaymentType::is_one_off")]
    pub payment_type: PaymentType,
    /// The user a gift is for; `None` on every other line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipient: Option<UserId>,
}

impl OrderLine {
    /// A line that its buyer keeps, paid once.
    #[must_use]
    pub const fn new(item: ItemId, count: u32, total: Money) -> Self {
        Self { item, count, total, payment_type: PaymentType::OneOff, recipient: None }
    }

    /// The same line as a gift.
    #[must_use]
    pub const fn gift_for(self, recipient: UserId) -> Self {
        Self { payment_type: PaymentType::Gift, recipient: Some(recipient), ..self }
    }

    /// The user whose limits and ownership the line counts for: the recipient of a gift, otherwise the order's owner
    /// (rules.md, "Gifts"). A gift without a recipient counts for nobody.
    #[must_use]
    pub fn beneficiary(&self, owner: Option<UserId>) -> Option<UserId> {
        if self.payment_type == PaymentType::Gift { self.recipient } else { owner }
    }
}

/// An order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Its running number.
    pub id: OrderNumber,
    /// The id buyers use.
    pub internal_id: InternalId,
    /// What the gateway charged, in minor units of `currency`.
    pub price: Money,
    /// Currency code.
    pub currency: String,
    /// Digits of every amount in the order, as the store had them when it was recorded. Orders recorded before this
    /// was kept have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<u8>,
    /// Its state.
    pub status: OrderStatus,
    /// Name of the payment gateway.
    pub gateway: String,
    /// When it was made, seconds since 1970 UTC.
    pub created_at: i64,
    /// Whose it is; nobody's after a guest checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    /// What was bought.
    #[serde(default)]
    pub lines: Vec<OrderLine>,
}
