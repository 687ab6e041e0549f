//! Stock and ownership: units sold in total, units reserved for checkouts, and what each user has bought.

pub mod addresses;
pub mod ledgers;
pub mod open_limited;
pub mod reservations;

use crate::model::{ItemId, Sold};
use crate::table::client::{Db, Rows};
use crate::table::keys::{self, Key, PK};
use crate::table::transaction::{VERSION, Write};
use crate::table::{StoreError, caches};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, UnitWeighter};
use serde::Deserialize;
use std::time::Duration;

/// The attribute that is counted.
pub const SOLD: &str = "sold";
const REMEMBERED: usize = 10_000;

/// Counters with the times when they were read.
#[derive(Debug)]
pub struct Counters {
    lifetime_millis: u64,
    cache: Cache<ItemId, (u64, u64)>,
}

/// The known values of some counters, and the keys of the others.
#[derive(Debug)]
pub struct CounterPlan {
    now: u64,
    known: Sold,
    stale: Vec<(ItemId, Key)>,
}

impl Counters {
    pub fn new(lifetime: Duration) -> Self {
        let lifetime_millis = u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX);
        let options = caches::options(REMEMBERED, REMEMBERED as u64);
        let cache =
            Cache::with_options(options, UnitWeighter, DefaultHashBuilder::default(), DefaultLifecycle::default());
        Self { lifetime_millis, cache }
    }

    /// Looks up the counters of `ids` at `now` (milliseconds).
    pub fn plan(&self, ids: impl Iterator<Item = ItemId>, now: u64) -> CounterPlan {
        let mut plan = CounterPlan { now, known: Sold::new(), stale: Vec::new() };
        for id in ids {
            let trusted = |read_at: u64| read_at.abs_diff(now) < self.lifetime_millis;
            match self.cache.get(&id).filter(|(read_at, _)| trusted(*read_at)) {
                Some((_, sold)) => _ = plan.known.insert(id, sold),
                None if plan.stale.iter().any(|(other, _)| *other == id) => {}
                None => plan.stale.push((id, keys::count(id))),
            }
        }
        plan
    }

    /// The counters of a plan, after its keys were read into `rows`. An item that was never sold has the counter 0.
    pub fn complete(&self, mut plan: CounterPlan, rows: &mut Rows) -> Result<Sold, StoreError> {
        for (id, _) in plan.stale {
            let sold = take(rows, id)?.unwrap_or_default();
            let sold = u64::try_from(sold).unwrap_or_default();
            self.cache.insert(id, (plan.now, sold));
            plan.known.insert(id, sold);
        }
        Ok(plan.known)
    }

    /// The counters of `ids`, read again if they are stale.
    pub async fn read(&self, db: &Db, ids: impl Iterator<Item = ItemId>, now: u64) -> Result<Sold, StoreError> {
        let plan = self.plan(ids, now);
        let mut rows =
            if plan.stale.is_empty() { Rows::default() } else { db.batch_get(plan.keys().collect()).await? };
        self.complete(plan, &mut rows)
    }
}

pub fn add_sold(item: ItemId, units: u64) -> Write {
    Write::update(keys::count(item), "ADD #added :added, #version :one")
        .name("#added", SOLD)
        .number(":added", units)
        .name("#version", VERSION)
        .number(":one", 1)
}

/// The write that adds to the units sold of an item, on the condition that at most `before` are sold so far.
pub fn add_sold_if_at_most(item: ItemId, units: u64, before: u64) -> Write {
    add_sold(item, units).only_if("attribute_not_exists(#added) OR #added <= :before").number(":before", before)
}

/// The write that subtracts from the units sold of an item, never below zero. `sold` is what was read: the condition is
/// that there are still enough, or still not.
pub fn subtract_sold(item: ItemId, units: u64, sold: i64) -> Write {
    let write = if i128::from(sold) < i128::from(units) {
        Write::update(keys::count(item), "SET #sold = :zero ADD #version :one")
            .only_if("attribute_exists(#pk) AND NOT #sold >= :units")
            .number(":zero", 0)
            .name("#pk", PK)
    } else {
        Write::update(keys::count(item), "ADD #sold :less, #version :one")
            .only_if("#sold >= :units")
            .number(":less", format!("-{units}"))
    };
    write.name("#sold", SOLD).name("#version", VERSION).number(":units", units).number(":one", 1)
}

/// Takes the units sold of an item out of the rows; `None` if it has no counter.
pub fn take(rows: &mut Rows, item: ItemId) -> Result<Option<i64>, StoreError> {
    let key = keys::count(item);
    rows.take(&key).map(|row| row.live(&key).map(|Counted { sold }| sold)).transpose()
}

impl CounterPlan {
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.stale.iter().map(|(_, key)| key.clone())
    }
}

/// A counter's row, see [`SOLD`].
#[derive(Deserialize)]
struct Counted {
    #[serde(default)]
    sold: i64,
}
