//! Sales: what is reduced for a time.

use super::{Discount, ItemId, OnSale, SaleId};
use serde::{Deserialize, Serialize};

/// A sale (rules.md, "Sales"). Items name the sales that cover them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sale {
    pub id: SaleId,
    /// Its name, as buyers see it.
    pub name: String,
    /// The reduction of one unit.
    pub discount: Discount,
    /// When it runs.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub runs: OnSale,
    /// The items of which a buyer must own one; empty if it is for everyone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners_of: Vec<NamedItem>,
    /// Whether codes take something off its prices. Without it, a line has the better of sale and code.
    pub with_codes: bool,
}

/// An item with its name, for a text that names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NamedItem {
    /// The item's id.
    pub id: ItemId,
    /// The item's name.
    pub name: String,
}

impl Sale {
    pub fn is_running(&self, now: i64) -> bool {
        self.runs.begins(now).is_none() && !self.runs.is_over(now)
    }

    /// The next second after `now` at which one of these sales begins or ends.
    pub fn edge(sales: &[Self], now: i64) -> Option<i64> {
        sales.iter().filter_map(|sale| sale.runs.edge(now)).min()
    }
}
