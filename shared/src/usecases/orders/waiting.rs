//! What a process that was killed left to the sweep, as one pass through the table finds it.

use crate::model::{InternalId, ItemId, OrderStatus, Units};
use crate::store::StoreError;
use crate::store::codec::{Item, Row};
use crate::store::keys::{Key, prefix};
use crate::store::orders::StoredOrder;
use crate::store::takes::{self, Take};
use std::collections::{BTreeMap, BTreeSet};

/// What the sweep has still to finish. None of it is wrong, and none of it is to be repaired.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waiting {
    /// Units that are counted for orders which are not written: the sweep takes them back.
    pub units: BTreeMap<ItemId, u64>,
    /// Ended orders from which something has still to follow, and pending ones, each with the second (since 1970 UTC) at
    /// which the sweep looks at it.
    pub orders: BTreeMap<InternalId, (OrderStatus, i64)>,
    /// The units of orders that are, or were, on their way.
    taking: BTreeMap<InternalId, Vec<Units>>,
}

/// The counter of an item with the orders whose units are on their way.
#[derive(Debug, Clone)]
pub(super) struct Counter {
    pub(super) item: ItemId,
    taking: Vec<InternalId>,
}

impl Counter {
    /// Reads a counter's row; `None` if it is not named by an item.
    pub(super) fn of(key: &Key, row: &Item) -> Option<Self> {
        let item = key.pk.strip_prefix(prefix::COUNT)?.parse().ok()?;
        Some(Self { item, taking: takes::taking(row) })
    }
}

impl Waiting {
    /// The orders that the sweep should have looked at by `now`, seconds since 1970 UTC, and those that are paid or ended
    /// without everything that follows.
    #[must_use]
    pub fn overdue(&self, now: i64) -> Vec<&InternalId> {
        let waits = |(status, due): (OrderStatus, i64)| status != OrderStatus::Pending || due <= now;
        self.orders.iter().filter(|(_, order)| waits(**order)).map(|(id, _)| id).collect()
    }

    /// Takes the row of units on their way into account.
    pub(super) fn add_take(&mut self, key: Key, row: Item) -> Result<(), StoreError> {
        let take = Take::decode(key, Row::from(row))?;
        self.taking.insert(take.order, take.units);
        Ok(())
    }

    /// Takes an order into account.
    pub(super) fn add_order(&mut self, stored: &StoredOrder) {
        let due = stored.effects.due.map(|due| (stored.order.internal_id.clone(), (stored.order.status, due)));
        self.orders.extend(due);
    }

    /// The units in a counter of orders that are not among `orders` but known to the sweep, and the orders that are marked
    /// in it and known to nothing.
    pub(super) fn count(&mut self, counter: &Counter, orders: &BTreeSet<InternalId>) -> (u64, BTreeSet<InternalId>) {
        let (mut all, mut stray) = (0, BTreeSet::new());
        for order in counter.taking.iter().filter(|order| !orders.contains(*order)) {
            match self.taking.get(order) {
                Some(units) => {
                    let own = units.iter().filter(|units| units.item == counter.item);
                    all += own.map(|units| units.count).sum::<u64>();
                }
                None => _ = stray.insert(order.clone()),
            }
        }
        if all > 0 {
            self.units.insert(counter.item, all);
        }
        (all, stray)
    }
}
