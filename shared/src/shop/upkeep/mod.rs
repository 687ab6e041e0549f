//! Work of the owner's tool alone: it reads the whole table, compares it with its orders, upgrades it, erases a user.

pub mod attention;
mod audit;
pub mod erase;
mod order_rows;
pub mod subscription_lists;
pub mod upgrade;

pub use audit::{Audit, Difference, TableSums, repair, rewrite_donations};
pub use order_rows::{missing_rows, write_rows};

use crate::model::{Goal, InternalId, ItemId, OrderStatus, Place, Settings, Units, User};
use crate::rules::referral::Credits;
use crate::shop::orders::{StoredOrder, each_order};
use crate::shop::statistics::{VersionedDonations, catch_up, repair_patrons};
use crate::shop::stock::reservations::{self, Reservation};
use crate::table::bulk::{OnProgress, all, each};
use crate::table::codec::{Item, Row};
use crate::table::keys::{self, Key, prefix};
use crate::table::published::read_active_version;
use crate::table::{Db, StoreError, read_published};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The result of [`finish_statistics`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Finished {
    /// How many orders were behind and are counted now.
    pub finished: usize,
    /// Orders that other writes kept conflicting with; the next run finishes them.
    pub left: Vec<InternalId>,
    /// Whether the compiled patrons differed from their rows, and were compiled again.
    pub patrons_repaired: bool,
}

/// Lets the statistics catch up with every order, and compiles the patrons again if they differ from their rows. Reads
/// every item of the table. After an error, orders that were finished before stay so.
pub async fn finish_statistics(db: &Db) -> Result<Finished, StoreError> {
    let mut done = Finished::default();
    for id in behind(db, &|_| {}).await? {
        match catch_up(db, &id).await {
            Ok(was_behind) => done.finished += usize::from(was_behind),
            Err(StoreError::Contended) => done.left.push(id),
            Err(error) => return Err(error),
        }
    }
    done.patrons_repaired = repair_patrons(db).await?;
    Ok(done)
}

/// The orders that the statistics are behind of. Calls `progress` for what it reads.
pub async fn behind(db: &Db, progress: OnProgress<'_>) -> Result<Vec<InternalId>, StoreError> {
    let mut behind = Vec::new();
    each_order(db, |stored| {
        progress(1);
        behind.extend(stored.statistics_due().then_some(stored.order.internal_id));
    })
    .await?;
    Ok(behind)
}

/// Compares the table with its orders. Reads every item, twice if something differs. What the sweep has still to finish
/// does not differ. Calls `progress` for every item that it reads.
pub async fn audit(db: &Db, progress: OnProgress<'_>) -> Result<Audit, StoreError> {
    let first = pass(db, progress).await?;
    if first.is_clean() {
        return Ok(first);
    }
    Ok(pass(db, progress).await?.also_in(&first))
}

async fn pass(db: &Db, progress: OnProgress<'_>) -> Result<Audit, StoreError> {
    let mut sums = TableSums::default();
    each(db, "", |item| {
        progress(1);
        sums.add(item)
    })
    .await?;
    Ok(sums.into_audit())
}

/// Corrects every number of an audit, and writes a missing item with goals and donators again: every paid order counts
/// towards the published goals. Returns how many rows were changed by other writes in the meantime and not corrected.
/// If the database does not respond, what was corrected before stays.
pub async fn repair_table(db: &Db, audit: &Audit) -> Result<usize, StoreError> {
    let left = repair(db, audit).await?;
    if !audit.no_donations {
        return Ok(left);
    }
    // First the item, whose version guards what is read after it.
    let shown = VersionedDonations::read(db).await?;
    let mut orders = Vec::new();
    each_order(db, |stored| orders.push(stored)).await?;
    let users: Vec<User> = all(db, prefix::USER).await?.into_iter().map(|(_, user)| user).collect();
    let written = rewrite_donations(db, shown, &orders, &users, &published_goals(db).await?).await?;
    Ok(left + usize::from(!written))
}

async fn published_goals(db: &Db) -> Result<Vec<Goal>, StoreError> {
    let version = read_active_version(db).await?.unwrap_or_default().version;
    let settings: Option<Settings> = read_published(db, &keys::settings(&version)).await?;
    Ok(settings.unwrap_or_default().goals)
}

/// The sums of paid orders of a time (seconds since 1970 UTC) by referral code. Reads every item.
pub async fn credits(db: &Db, period: &Range<i64>) -> Result<Credits, StoreError> {
    let mut credits = Credits::default();
    each_order(db, |StoredOrder { order, effects }| credits.add(&order, &effects, period)).await?;
    Ok(credits)
}

/// The work that the sweep has still to finish. None of it is wrong, and none of it is to be repaired.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waiting {
    /// Units that are counted for orders which are not written: the sweep releases them.
    pub units: BTreeMap<ItemId, u64>,
    /// Ended orders from which something has still to follow, and pending ones, each with the second (since 1970 UTC)
    /// at which the sweep looks at it.
    pub orders: BTreeMap<InternalId, (OrderStatus, i64)>,
    /// The units of the reservations, by order.
    reservations: BTreeMap<InternalId, (Vec<Units>, Vec<Place>)>,
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
        self.reservations.insert(reservation.order, (reservation.units, reservation.places));
        Ok(())
    }

    pub(in crate::shop) fn add_order(&mut self, stored: &StoredOrder) {
        let due = stored.effects.due.map(|due| (stored.order.internal_id.clone(), (stored.order.status, due)));
        self.orders.extend(due);
    }

    /// The units in the places of a counter of orders that are not among `orders` but known to the sweep.
    pub(in crate::shop) fn places(&self, counter: &Counter, orders: &BTreeSet<InternalId>) -> Vec<Place> {
        let waiting = counter.reserved_by.iter().filter(|order| !orders.contains(*order));
        let places = waiting.filter_map(|order| self.reservations.get(order)).flat_map(|(_, places)| places);
        places.filter(|place| place.item == counter.item).cloned().collect()
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
                Some((units, _)) => {
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
