//! `live/*.yaml`: what is never published: live data. Loaded only into an empty table.

use publish::files::{At, Decimal, yes};
use schemars::JsonSchema;
use serde::Deserialize;
use shared::model::{OrderStatus, PaymentType};
use std::collections::BTreeMap;

/// A buyer's account. Times are written as store-format.md says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserFile {
    /// The id, `sub` of the user's tokens.
    pub id: At<u64>,
    /// Name in the game.
    pub username: At<String>,
    /// Image URL.
    #[serde(default)]
    pub avatar: String,
    /// The game system the account belongs to.
    #[serde(default)]
    pub system: String,
    /// The account's identifier in that system.
    #[serde(default)]
    pub identificator: String,
    /// The account's UUID.
    pub uuid: String,
    /// When the account was made.
    pub created_at: At<String>,
    /// When it last changed; `created_at` if it is left out.
    pub updated_at: Option<At<String>>,
    /// Balance in virtual currency.
    pub virtual_currency: Option<Decimal>,
    /// Tokens issued before this time are refused (rules.md, "Tokens").
    pub tokens_valid_after: Option<At<String>>,
    /// Whether the name is banned (rules.md, "Bans").
    #[serde(default)]
    pub banned: bool,
}

/// A user's cart.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CartFile {
    /// Its owner.
    pub user: At<u64>,
    /// Its lines; their ids count up from 1.
    #[serde(default)]
    pub lines: Vec<CartLineFile>,
    /// The coupon on it.
    pub coupon: Option<At<String>>,
    /// The gift card on it. A player who logs in by name enters it again before it pays.
    pub gift_card: Option<At<String>>,
    /// The coupon or gift card on it, as files had it when a cart had one of them. `coupon` and `gift_card` replace it.
    pub code: Option<At<String>>,
    /// The referral code on it.
    pub referral: Option<At<String>>,
}

/// A line of a cart.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CartLineFile {
    /// The item.
    pub item: At<u64>,
    /// Units; 1 if they are left out.
    pub count: Option<At<u32>>,
    /// Variable to chosen value.
    #[serde(default)]
    pub variables: BTreeMap<u64, At<String>>,
    /// The selected server.
    pub server: Option<At<u64>>,
    /// The buyer's price for one unit of an any-price item, in major units; the item's price if it is left out.
    pub price: Option<Decimal>,
    /// `one_off`, `subscription` or `gift`.
    #[serde(default)]
    pub payment_type: PaymentType,
    /// Whether it was added from a promotion.
    #[serde(default)]
    pub promoted: bool,
    /// The name of the player a gift is for.
    pub gift_to: Option<At<String>>,
}

/// A coupon.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CouponFile {
    /// Its id, unique among coupons and gift cards.
    pub id: At<u64>,
    /// Its text, at most 40 characters; case does not matter.
    pub code: At<String>,
    /// Percentage taken off every eligible line; either this or `amount`.
    pub percentage: Option<Decimal>,
    /// Amount taken off the eligible lines, in major units.
    pub amount: Option<Decimal>,
    /// Whether it may be used.
    #[serde(default = "yes")]
    pub active: bool,
    /// From when it may be used.
    pub starts_at: Option<At<String>>,
    /// From when it may no longer be used.
    pub ends_at: Option<At<String>>,
    /// Items and categories to which it applies; everything if it is left out.
    pub scope: Option<ScopeFile>,
    /// Minimum total of the cart, in major units.
    pub minimum: Option<Decimal>,
    /// Times it may be used in all.
    pub max_uses: Option<At<u32>>,
    /// Times one user may use it.
    pub max_uses_per_user: Option<At<u32>>,
    /// Times it was used; the sum of `used_by` if it is left out.
    pub uses: Option<At<u32>>,
    /// User to times that user used it.
    #[serde(default)]
    pub used_by: BTreeMap<u64, At<u32>>,
}

/// Items and categories to which a coupon applies.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopeFile {
    /// Categories, each with its subcategories.
    #[serde(default)]
    pub categories: Vec<At<u64>>,
    /// Single items.
    #[serde(default)]
    pub items: Vec<At<u64>>,
}

/// A gift card.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GiftCardFile {
    /// Its id, unique among coupons and gift cards.
    pub id: At<u64>,
    /// Its text, at most 40 characters; case does not matter.
    pub code: At<String>,
    /// Amount left, in major units.
    pub balance: Decimal,
    /// Everything that was put on it, in major units; `balance` if it is left out.
    pub start_balance: Option<Decimal>,
    /// Whether it may be used.
    #[serde(default = "yes")]
    pub active: bool,
    /// From when it may be used.
    pub starts_at: Option<At<String>>,
    /// From when it may no longer be used.
    pub ends_at: Option<At<String>>,
}

/// A referral code.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReferralFile {
    /// Its text; case does not matter.
    pub code: At<String>,
    /// The id of its owner.
    pub owner: At<u64>,
    /// Whether it may be used.
    #[serde(default = "yes")]
    pub active: bool,
}

/// An order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrderFile {
    /// Its running number.
    pub id: At<u64>,
    /// The id buyers use.
    pub internal_id: At<String>,
    /// The charge, in major units of `currency` with the store's digits; the sum of the lines if it is
    /// left out.
    pub price: Option<Decimal>,
    /// Currency code, one of the store's; the one its prices are in if it is left out.
    pub currency: Option<At<String>>,
    /// Its state.
    pub status: OrderStatus,
    /// Name of the payment gateway.
    pub gateway: String,
    /// When it was made.
    pub created_at: At<String>,
    /// The id of the buyer; left out after a guest checkout.
    pub owner: Option<At<u64>>,
    #[serde(default)]
    pub lines: Vec<OrderLineFile>,
}

/// A line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrderLineFile {
    /// The item.
    pub item: At<u64>,
    /// Units; 1 if they are left out.
    pub count: Option<At<u32>>,
    /// The line's total after coupon, in major units of the store's currency; what the item costs now, times
    /// `count`, if it is left out.
    pub total: Option<Decimal>,
    /// The user a gift is for, whose limits and ownership the line counts for; left out for everything else.
    pub recipient: Option<At<u64>>,
}
