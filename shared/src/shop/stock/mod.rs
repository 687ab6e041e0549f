//! Stock and ownership: units sold in total, units reserved for checkouts, and what each user has bought.

pub mod addresses;
pub mod ledgers;
pub mod open_limited;
pub mod places;
pub mod reservations;

use crate::model::{Counted, Item, ItemId, Sold, Units};
use crate::table::client::{Db, Rows};
use crate::table::keys::{self, Key, PK};
use crate::table::transaction::{VERSION, Write};
use crate::table::{StoreError, caches};
use places::{Parts, Places};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, UnitWeighter};
use std::time::Duration;

/// The attribute that is counted.
pub const SOLD: &str = "sold";
const REMEMBERED: usize = 10_000;

/// Counters with the times when they were read.
#[derive(Debug)]
pub struct Counters {
    lifetime_millis: u64,
    cache: Cache<ItemId, (u64, Counted)>,
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
                Some((_, counted)) => _ = plan.known.insert(id, counted),
                None if plan.stale.iter().any(|(other, _)| *other == id) => {}
                None => plan.stale.push((id, keys::count(id))),
            }
        }
        plan
    }

    /// The counters of a plan, after its keys were read into `rows`. An item that was never sold has the counter 0.
    pub fn complete(&self, mut plan: CounterPlan, rows: &mut Rows) -> Result<Sold, StoreError> {
        for (id, _) in plan.stale {
            let counted = take(rows, id)?.unwrap_or_default();
            self.cache.insert(id, (plan.now, counted.clone()));
            plan.known.insert(id, counted);
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

/// The write that takes units of an item, guarded by the limits of all players together that `item` has if it is still published.
/// `None` if one of them is below the units themselves.
pub fn add_sold(units: Units, item: Option<&Item>, places: &Places<'_>) -> Option<Write> {
    let parts = places.take(item)?;
    let limit = item.and_then(|item| item.global_limit);
    let expression = parts.expression("ADD #added :added, #version :one");
    // A counter that does not exist yet would pass any condition.
    let before = limit.map(|limit| u64::from(limit).checked_sub(units.count).ok_or(())).transpose().ok()?;
    let own = before.map(|_| "(attribute_not_exists(#added) OR #added <= :before)");
    let condition = parts.condition(own);
    let write = Write::update(keys::count(units.item), expression)
        .name("#added", SOLD)
        .number(":added", units.count)
        .name("#version", VERSION)
        .number(":one", 1);
    let write = before.into_iter().fold(write, |write, before| write.number(":before", before));
    let write = condition.into_iter().fold(write, Write::only_if);
    Some(with_parts(write, parts))
}

/// The write that gives units of an item back, never below zero. `read` is the counter as it was read: the condition is that there are
/// still enough, or still not.
pub fn subtract_sold(units: Units, read: &Counted, parts: Parts) -> Write {
    let is_short = read.sold < units.count;
    let (add, own) = if is_short {
        ("SET #sold = :zero ADD #version :one", "attribute_exists(#pk) AND NOT #sold >= :units")
    } else {
        ("ADD #sold :less, #version :one", "#sold >= :units")
    };
    let write = Write::update(keys::count(units.item), parts.expression(add));
    let write = parts.condition(Some(own)).into_iter().fold(write, Write::only_if);
    let write = write.name("#sold", SOLD).name("#version", VERSION).number(":units", units.count).number(":one", 1);
    let write = if is_short {
        write.number(":zero", 0).name("#pk", PK)
    } else {
        write.number(":less", format!("-{}", units.count))
    };
    with_parts(write, parts)
}

fn with_parts(write: Write, parts: Parts) -> Write {
    let (names, values) = parts.into_attributes();
    let write = names.into_iter().fold(write, |write, (placeholder, name)| write.name(placeholder, name));
    values.into_iter().fold(write, |write, (placeholder, value)| write.value(placeholder, value))
}

/// Takes the counter of an item out of the rows; `None` if it has none.
pub fn take(rows: &mut Rows, item: ItemId) -> Result<Option<Counted>, StoreError> {
    Ok(rows.take_live(&keys::count(item))?.map(|places::Flat(counted)| counted))
}

impl CounterPlan {
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.stale.iter().map(|(_, key)| key.clone())
    }
}
