//! A user's stored cart: what was chosen, never its price.

use super::{Code, CodeId, CodeKind, CodeText, ItemId, LineId, Money, OpenCheckout, PlayerName, ServerId, UserId};
use serde::{Deserialize, Serialize};

/// How a line is bought (rules.md, "Carts").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaymentType {
    /// Once.
    #[default]
    OneOff,
    /// As a subscription.
    Subscription,
    /// Once, for another user.
    Gift,
}

impl PaymentType {
    /// Whether it is bought once, for the buyer.
    #[must_use]
    pub const fn is_one_off(&self) -> bool {
        matches!(self, Self::OneOff)
    }

    /// The number on the wire.
    #[must_use]
    pub const fn wire(self) -> u8 {
        match self {
            Self::OneOff => 0,
            Self::Subscription => 1,
            Self::Gift => 2,
        }
    }
}

/// What the buyer chose for a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineVariable {
    /// The variable, see [`super::Variable`].
    pub id: u64,
    /// The chosen value.
    pub value: String,
}

/// A line of a cart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The line's id (`cid`), counted up inside the cart.
    pub id: LineId,
    /// The catalog item.
    pub item: ItemId,
    /// Units.
    pub count: u32,
    /// Chosen variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<LineVariable>,
    /// Selected server, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerId>,
    /// The buyer's price for one unit of an any-price item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Money>,
    /// How it is bought.
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
    #[must_use]
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

/// The code on a cart: one coupon or one gift card (rules.md, "Carts").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedCode {
    /// The code's text.
    pub code: CodeText,
    /// The code's id when it was applied. A code that was issued again under the same text has another id.
    pub id: CodeId,
    /// Coupon or gift card.
    pub kind: CodeKind,
}

impl From<&Code> for AppliedCode {
    fn from(code: &Code) -> Self {
        Self { code: code.text().clone(), id: code.id(), kind: code.kind() }
    }
}

/// A user's cart. Every user has exactly one; before the first write it is [`Cart::empty`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cart {
    /// The owner, whose id is also the cart's id.
    pub user: UserId,
    /// The number of writes. Every write is conditional on it (rules.md, "Writing a cart").
    pub version: u64,
    /// The id of the next line.
    pub next_line: u64,
    /// Its lines, at most [`Cart::MAX_LINES`].
    #[serde(default)]
    pub lines: Vec<Line>,
    /// The coupon or gift card on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<AppliedCode>,
    /// The referral code on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referral: Option<CodeText>,
    /// The checkout that sells what was in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<OpenCheckout>,
}

impl Cart {
    /// The most lines of a cart (rules.md, "Carts").
    pub const MAX_LINES: usize = 50;
    /// The most players who receive gifts of a cart (rules.md, "Gifts").
    pub const MAX_RECIPIENTS: usize = 10;

    /// The cart of a user that was never written.
    #[must_use]
    pub const fn empty(user: UserId) -> Self {
        Self { user, version: 0, next_line: 1, lines: Vec::new(), code: None, referral: None, checkout: None }
    }
}
