//! The items that a user has bought so far.

use super::{ItemId, Money};
use std::collections::BTreeMap;

/// Units of an item, and the sum paid for them: line totals after coupon, less refunds and what is disputed (rules.md,
/// "Cumulative categories").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Owned {
    pub units: u32,
    pub paid: Money,
}

/// The entry of an item in a user's ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holding {
    /// Everything that counts until the last run ends: what lasts, and the run.
    pub all: Owned,
    /// `None` if everything lasts.
    pub run: Option<Run>,
}

/// Purchases of an item that ends, each made before the ones before it had ended. They end together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Run {
    /// When the first of them was paid, seconds since 1970 UTC.
    pub begun: i64,
    /// When they end, seconds since 1970 UTC.
    pub ends_at: i64,
    /// What is owned after that: purchases that do not end.
    pub lasting: Owned,
}

impl Run {
    pub const fn has_ended(&self, now: i64) -> bool {
        self.ends_at <= now
    }
}

impl Holding {
    /// What is owned at `now`, seconds since 1970 UTC.
    pub fn at(&self, now: i64) -> Owned {
        self.run.filter(|run| run.has_ended(now)).map_or(self.all, |run| run.lasting)
    }
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
