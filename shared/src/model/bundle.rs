//! Items that are sold as several others (rules.md, "Bundles").

use super::{Conditions, ItemId, ItemLimit, LineId, Money};
use serde::{Deserialize, Serialize};

/// The items that a bundle gives.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bundle {
    /// The items that it always gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The items of which a buyer chooses some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<Part>,
    /// How many of them: each is a variable of the item.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub choices: u32,
    /// Whether it is sold to who owns a part.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub despite_owned: bool,
}

impl Bundle {
    /// The id of the variable of the first choice; the others follow.
    pub const FIRST_CHOICE: u64 = 1_000_001;

    /// The ids of its choices' variables.
    pub fn variables(&self) -> impl Iterator<Item = u64> + use<> {
        Self::FIRST_CHOICE..Self::FIRST_CHOICE + u64::from(self.choices)
    }

    /// Everything that it can give.
    pub fn all(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().chain(&self.from)
    }
}

/// An item of a bundle, as far as it decides whether the bundle can be bought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub item: ItemId,
    pub name: String,
    /// Its regular price, by which the bundle's price is shared.
    pub price: Money,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub virtual_price: Money,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_limit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_limit: Option<u32>,
    /// Its limits in time and of servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ItemLimit>,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub conditions: Conditions,
    /// The item, and the higher ones of its cumulative category.
    pub included_in: Vec<ItemId>,
}

/// The bundle that a line of an order is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfBundle {
    /// The order's line of the bundle.
    pub line: LineId,
    pub item: ItemId,
    /// Units of the bundle.
    pub count: u32,
}
