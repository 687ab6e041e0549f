//! Catalog items as they are published.

use super::{
    Bundle, CategoryId, Conditions, Counted, Discount, ItemDelivery, ItemId, ItemLimit, Money, OnSale, Part, Percent,
    Plan, SaleId, Server,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Kind of delivery of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ItemType {
    /// Commands run on every server the item belongs to.
    #[default]
    Cmd,
    /// Commands run on the server that the buyer selects (rules.md, "Server selection").
    CmdServer,
}

/// Values that a buyer may enter for a variable without options (rules.md, "Variables").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VariableKind {
    /// 1 to 32 ASCII letters, digits, `_` or `-`.
    #[default]
    Word,
    /// 1 to 64 ASCII letters, digits, spaces, `_`, `.`, `,` or `-`.
    Text,
    /// A decimal number.
    Number,
    /// A whole number, between `min` and `max`.
    Integer,
    /// The SteamID of a player, in any form; 17 digits when it is stored.
    SteamId,
    /// A UUID, with or without hyphens; with hyphens and small letters when it is stored.
    Uuid,
}

/// A value that the buyer enters or chooses for an item, such as a colour. Only an option with a surcharge changes the price
/// (rules.md, "Carts").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Its id, unique inside the item.
    pub id: u64,
    /// Its name, as buyers see it.
    pub name: String,
    /// The values a buyer may choose from; empty if the buyer enters one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The surcharge of one unit by option, of those that have one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub surcharges: BTreeMap<String, Money>,
    /// The values a buyer may enter if there are no options.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub kind: VariableKind,
    /// The lowest and the highest value of an integer; `None` without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<i64>,
}

impl Variable {
    /// Whether buyers enter a text that can have spaces.
    pub fn is_text(&self) -> bool {
        self.kind == VariableKind::Text && self.options.is_empty()
    }
}

/// The regular price of each unit of a line that has at least so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuantityPrice {
    /// The fewest units.
    pub from: u32,
    pub price: Money,
}

/// An item's value in one row of its category's comparison table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ComparisonValue {
    /// The id of the row.
    pub comparison_id: u64,
    /// The cell's text.
    pub value: String,
}

/// An offer made inside the cart (rules.md, "Promotions").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promotion {
    /// The price of one unit when it is added from the promotion.
    pub price: Money,
    pub sorting: i64,
}

/// A published catalog item. It is the same for every caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    pub id: ItemId,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Image path, empty when unset.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// Regular price of one unit, before any discount.
    pub price: Money,
    /// Lower regular prices of lines with more units, by count. Catalog and deals show one unit, without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub price_from: Vec<QuantityPrice>,
    /// Amount that its own discount takes off the regular price.
    #[serde(default)]
    pub discount: Money,
    /// Its own discount, if that is a percentage; [`Item::discount`] is the amount of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discount_percentage: Option<Percent>,
    /// The sales that cover it, whenever they run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sales: Vec<SaleId>,
    /// Whether it is on sale. Inactive items stay published: carts show them, and what was paid for them counts towards
    /// an upgrade.
    pub active: bool,
    #[serde(default)]
    pub kind: ItemType,
    #[serde(default)]
    pub is_subscription: bool,
    /// How often it is paid, if it is a subscription.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub plan: Plan,
    #[serde(default)]
    pub any_price: bool,
    /// The minimum price a buyer may choose; 0 if the price is fixed.
    #[serde(default)]
    pub min_price: Money,
    /// Units that may be sold in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_limit: Option<u32>,
    /// Units that one user may buy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_limit: Option<u32>,
    /// Its limits in time and place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ItemLimit>,
    /// Units that one order may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
    #[serde(default)]
    pub allow_select_server: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Server>,
    #[serde(default)]
    pub virtual_price: Money,
    /// Whether it is sold for virtual currency only.
    #[serde(default)]
    pub virtual_only: bool,
    #[serde(default)]
    pub featured: bool,
    /// Whether it can be bought as a gift for another player.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub gifting: bool,
    /// Whether the buyer needs a linked account of the chat platform.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub needs_chat: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparison: Vec<ComparisonValue>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
    /// Its tax code, if payments ask for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax_code: Option<String>,
    /// The offer made for it inside the cart, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promotion: Option<Promotion>,
    /// The time in which it and its category are on sale.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub on_sale: OnSale,
    /// Whether lists leave it out: it can be bought by who knows its address or id.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub hidden: bool,
    /// The lowest prices before its reductions for everyone, by when they begin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lowest_prices: Vec<LowestPrice>,
    /// The items that a player must own, and must not own, to get it.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub conditions: Conditions,
    /// The items as which it is sold, if it is a bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Bundle>,
}

/// The lowest price of the 30 days before a reduction began. It holds from `from` on, up to the next of its item, while a
/// reduction runs (rules.md, "Prices that were").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LowestPrice {
    /// Seconds since 1970 UTC; `None` of a reduction that had begun when it was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// `None` if no price was asked before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Money>,
    /// Since when prices are known, in seconds since 1970 UTC, if that is less than 30 days before the reduction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
}

impl LowestPrice {
    /// That of the reduction that runs at `now`, if one does and a price was asked before it.
    pub fn at(all: &[Self], now: i64) -> Option<&Self> {
        all.iter().rfind(|lowest| lowest.from.is_none_or(|from| from <= now)).filter(|lowest| lowest.price.is_some())
    }
}

impl Item {
    /// Whether a limit of it counts the units of all players together.
    pub fn is_counted(&self) -> bool {
        self.global_limit.is_some() || self.limits.iter().any(|limit| !limit.per_user)
    }

    /// The items whose units sold decide whether it can be bought: itself and the parts of a bundle, if they are limited.
    pub fn limited(&self) -> impl Iterator<Item = ItemId> {
        let is_counted = |part: &&Part| !part.limits.is_empty() || part.global_limit.is_some();
        let parts = self.bundle.iter().flat_map(Bundle::all).filter(is_counted);
        Some(self.id).filter(|_| self.is_counted()).into_iter().chain(parts.map(|part| part.item))
    }

    /// Whether owning an item decides if it can be bought.
    pub fn depends_on(&self, id: ItemId) -> bool {
        let mut parts = self.bundle.iter().flat_map(Bundle::all);
        let decides = |part: &Part| part.included_in.contains(&id) || part.conditions.names(id);
        self.id == id || self.conditions.names(id) || parts.any(decides)
    }

    /// Whether it has been taken off sale, by its owner or the calendar.
    pub fn is_off_sale(&self, now: i64) -> bool {
        !self.active || self.on_sale.is_over(now)
    }

    /// The regular price of each unit of a line with so many, without surcharges.
    pub fn regular_price(&self, count: u32) -> Money {
        let reached = self.price_from.iter().rev().find(|price| price.from <= count);
        reached.map_or(self.price, |reached| reached.price)
    }

    /// Its own discount, which does not depend on a sale.
    pub fn own_discount(&self) -> Discount {
        self.discount_percentage.map_or(Discount::Amount(self.discount), Discount::Percentage)
    }

    /// Whether sales change its price (rules.md, "Sales").
    pub const fn takes_sales(&self) -> bool {
        !self.is_subscription && !self.any_price && !self.virtual_only
    }

    /// Whether lists show it. One whose sale is still to begin is shown, unavailable.
    pub fn is_listed(&self, now: i64) -> bool {
        !self.hidden && !self.is_off_sale(now)
    }
}

/// One step of a cumulative category: an item and its regular price (rules.md, "Cumulative categories").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceTier {
    pub item: ItemId,
    pub price: Money,
}

/// An item with what is needed of its category, so that reading a cart does not read categories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedItem {
    pub item: Item,
    pub category: CategoryId,
    /// That category's parent, if any. A coupon for the parent covers the subcategory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CategoryId>,
    /// The price tiers of its category: the items without subscriptions if it is cumulative, otherwise none.
    #[serde(rename = "ladder", default, skip_serializing_if = "Vec::is_empty")]
    pub price_tiers: Vec<PriceTier>,
    /// Whether it is a subscription of a cumulative category: a rank, of which a buyer has one (rules.md, "Subscriptions").
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub is_rank: bool,
    /// Its commands. They are here and not in [`Item`], so that pages of the catalog do not carry them; the entries of
    /// [`Deals`] and [`Promotions`] have none.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub delivery: ItemDelivery,
    /// Everything that it can give as a bundle, none of it a bundle itself. They are here, so that a cart does not read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PublishedItem>,
}

impl PublishedItem {
    /// How many seconds a unit that is bought once lasts; `None` if it does not end by itself.
    pub fn unit_lasts(&self) -> Option<u32> {
        self.delivery.expires_after.filter(|_| !self.item.is_subscription)
    }
}

/// The featured deals: active items of reachable categories, in catalog order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Deals(pub Vec<PublishedItem>);

/// The promoted items: active items of reachable categories with a promotion, by its sorting.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Promotions(pub Vec<PublishedItem>);

/// Published items by id. An item that is no longer published is missing.
pub type Items = HashMap<ItemId, Arc<PublishedItem>>;

/// Units sold, by item. An item that is missing was never sold.
pub type Sold = HashMap<ItemId, Counted>;
