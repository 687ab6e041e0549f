//! A buyer's open checkout, as the cart remembers it.

use super::{CodeText, GiftCardPayment, InternalId, ItemId, Money};
use serde::{Deserialize, Serialize};

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
