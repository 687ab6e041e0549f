//! The lines of a cart.

use super::{ItemId, LineId, Money, PlayerName, ServerId};
use serde::{Deserialize, Serialize};

/// The most lines of a cart, and so of an order (rules.md, "Carts").
pub(super) const MAX_LINES: usize = 50;

/// How a line is bought (rules.md, "Carts").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaymentType {
    /// Once.
    #[default]
    OneOff,
    Subscription,
    /// Once, for another user.
    Gift,
}

impl PaymentType {
    /// Whether it is bought once, for the buyer.
    pub const fn is_one_off(&self) -> bool {
        matches!(self, Self::OneOff)
    }

    /// The number in JSON.
    pub const fn number(self) -> u8 {
        match self {
            Self::OneOff => 0,
            Self::Subscription => 1,
            Self::Gift => 2,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineVariable {
    /// The variable, see [`super::Variable`].
    pub id: u64,
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The line's id (`cid`), counted up inside the cart.
    pub id: LineId,
    pub item: ItemId,
    pub count: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<LineVariable>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerId>,
    /// The buyer's price for one unit of an any-price item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Money>,
    #[serde(default)]
    pub payment_type: PaymentType,
    /// Whether it was added from a promotion (rules.md, "Promotions").
    #[serde(default)]
    pub promoted: bool,
    /// The recipient of a gift, who may have no account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gift_to: Option<PlayerName>,
}

impl Line {
    /// The most units of a line (rules.md, "Carts").
    pub const MAX_COUNT: u32 = 1_000;

    /// A line that is bought once, with nothing chosen.
    pub const fn new(id: LineId, item: ItemId, count: u32) -> Self {
        Self {
            id,
            item,
            count,
            variables: Vec::new(),
            server: None,
            price: None,
            payment_type: PaymentType::OneOff,
            promoted: false,
            gift_to: None,
        }
    }
}
