//! The items that a user has bought so far.

use super::{ItemId, Money};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holding {
    /// Units bought, less units refunded.
    pub units: u32,
    /// Line totals after coupon, less refunds and what is disputed (rules.md, "Cumulative categories").
    pub paid: Money,
}

/// A user's ledger: one entry per distinct item bought, however often (rules.md, "The table").
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    holdings: BTreeMap<ItemId, Holding>,
    /// How often it was written; 0 of a user who bought nothing yet.
    pub version: u64,
}

impl Ledger {
    /// The entry of an item; the default if it was never bought.
    pub fn of(&self, item: ItemId) -> Holding {
        self.holdings.get(&item).copied().unwrap_or_default()
    }

    /// The entry of an item, inserted if it is missing.
    pub fn entry(&mut self, item: ItemId) -> &mut Holding {
        self.holdings.entry(item).or_default()
    }

    /// Every entry, by item.
    pub fn iter(&self) -> impl Iterator<Item = (ItemId, Holding)> {
        self.holdings.iter().map(|(item, holding)| (*item, *holding))
    }
}
