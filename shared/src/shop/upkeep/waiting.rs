//! The rows that a killed process left to the sweep, as one pass through the table finds it.

use crate::model::{InternalId, ItemId, OrderStatus, Units};
use crate::shop::orders::StoredOrder;
use crate::shop::stock::reservations::{self, Reservation};
use crate::table::StoreError;
use crate::table::codec::{Item, Row};
use crate::table::keys::{Key, prefix};
use std::collections::{BTreeMap, BTreeSet};

/// The work that the sweep has still to finish. None of it is wrong, and none of it is to be repaired.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waiting {
    /// Units that are counted for orders which are not written: the sweep releases them.
    pub units: BTreeMap<ItemId, u64>,
    /// Ended orders from which something has still to follow, and pending ones, each with the second (since 1970 UTC)
    /// at which the sweep looks at it.
    pub orders: BTreeMap<InternalId, (OrderStatus, i64)>,
    /// The units of the reservations, by order.
    reservations: BTreeMap<InternalId, Vec<Units>>,
}

/// The counter of an item with the orders that have a reservation in it.
#[derive(Debug, Clone)]
pub(in crate::shop) struct Counter {
    pub(in crate::shop) item: ItemId,
    reserved_by: Vec<InternalId>,
}

impl Counter {
    /// Reads a counter's row; `None` if it is not named by an item.
    pub(in crate::shop) fn of(key: &Key, row: &Item) -> Option<Self> {
        let item = key.pk.strip_prefix(prefix::COUNT)?.parse().ok()?;
        Some(Self { item, reserved_by: reservations::reserved_orders(row) })
    }
}

impl Waiting {
    /// The orders that the sweep should have looked at by `now`, seconds since 1970 UTC, and those that are paid or
    /// ended without everything that follows.
    pub fn overdue(&self, now: i64) -> Vec<&InternalId> {
        let waits = |(status, due): (OrderStatus, i64)| status != OrderStatus::Pending || due <= now;
        self.orders.iter().filter(|(_, order)| waits(**order)).map(|(id, _)| id).collect()
    }

    pub(in crate::shop) fn add_reservation(&mut self, key: Key, row: Item) -> Result<(), StoreError> {
        let reservation = Reservation::decode(key, Row::from(row))?;
        self.reservations.insert(reservation.order, reservation.units);
        Ok(())
    }

    pub(in crate::shop) fn add_order(&mut self, stored: &StoredOrder) {
        let due = stored.effects.due.map(|due| (stored.order.internal_id.clone(), (stored.order.status, due)));
        self.orders.extend(due);
    }

    /// The units in a counter of orders that are not among `orders` but known to the sweep, and the orders that are
    /// marked in it and known to nothing.
    pub(in crate::shop) fn count(
        &mut self,
        counter: &Counter,
        orders: &BTreeSet<InternalId>,
    ) -> (u64, BTreeSet<InternalId>) {
        let (mut all, mut stray) = (0, BTreeSet::new());
        for order in counter.reserved_by.iter().filter(|order| !orders.contains(*order)) {
            match self.reservations.get(order) {
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
