//! Orders: what was paid, or was to be.

use super::{ItemId, Money, OrderNumber, UserId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The id by which buyers and gateways name an order; matched exactly (ruling 4).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InternalId(String);

impl InternalId {
    /// The longest id in characters (ruling 1).
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

impl fmt::Display for InternalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The state of an order (ruling 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Every status, in the order of the ruling.
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
