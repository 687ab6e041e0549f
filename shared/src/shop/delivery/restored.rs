//! Deliveries after a restore (rules.md, "Delivery"): the game servers went on after the backup was made, so nothing
//! of it becomes ready.

use super::commands::place_of;
use super::servers::Lease;
use super::{commands, deliveries};
use crate::model::Command;
use crate::rules::delivery;
use crate::table::bulk::{OnProgress, delete_each, each, write_each};
use crate::table::codec::{Item, decode_live, encode_live, key_of};
use crate::table::keys::{self, Key, prefix};
use crate::table::restoring::ids_after_restore;
use crate::table::{Db, StoreError, single};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Counts of what may have run on game servers since the time to which a table is restored.
#[derive(Debug, Default, Serialize)]
pub struct Doubts {
    #[serde(rename = "unknown_commands")]
    pub commands: usize,
    /// Orders whose further commands are unknown as soon as they are queued.
    #[serde(rename = "undelivered_orders")]
    pub orders: usize,
}

impl Doubts {
    pub fn count(&mut self, restored: &Restored) {
        self.commands += usize::from(restored.is_unknown);
        self.orders += usize::from(restored.is_unmarked);
    }
}

/// The items that take the place of a backup's item.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Restored {
    pub items: Vec<Item>,
    /// Whether it is a command that may have run since.
    pub is_unknown: bool,
    /// Whether it is an order whose further commands may have run since.
    pub is_unmarked: bool,
}

/// The items that take the place of a backup's item, if it is restored at `at`, seconds since 1970 UTC. Leases and logins in
/// the game end, and the queues are made of the commands.
pub fn restored(mut item: Item, at: i64) -> Result<Restored, StoreError> {
    let key = key_of(&item)?;
    if keys::is_brief(&key) || key.pk.starts_with(prefix::QUEUE) {
        return Ok(Restored::default());
    }
    if keys::is_order(&key) {
        let is_unmarked = deliveries::mark_restored(&key, &mut item)?;
        return Ok(Restored { items: vec![item], is_unmarked, ..Restored::default() });
    }
    if !key.pk.starts_with(prefix::COMMAND) {
        return Ok(Restored { items: vec![item], ..Restored::default() });
    }
    let mut command: Command = decode_live(&key, item)?;
    let before = command.delivery;
    command.delivery = delivery::restored(&before, at);
    let is_unknown = command.delivery != before;
    let place = place_of(&command).map(|place| commands::item(&place, &command)).transpose()?;
    let items = [encode_live(&key, &command)?].into_iter().chain(place).collect();
    Ok(Restored { items, is_unknown, is_unmarked: false })
}

/// How many seconds from now on still count as before the restore: until functions use the table, what becomes due runs from
/// the other one.
const UNTIL_IN_USE: i64 = 3_600;

/// The changes of a table that the database restored to a point in time.
#[derive(Debug, Default)]
pub struct RestoredTable {
    /// When it was read, seconds since 1970 UTC.
    read_at: i64,
    written: BTreeMap<Key, Item>,
    deleted: BTreeSet<Key>,
    pub doubts: Doubts,
    /// The last poll of a game server, seconds since 1970 UTC.
    pub polled: Option<i64>,
}

impl RestoredTable {
    /// Reads every item at `now`, seconds since 1970 UTC.
    pub async fn read(db: &Db, now: i64, progress: OnProgress<'_>) -> Result<Self, StoreError> {
        let mut table = Self { read_at: now, ..Self::default() };
        each(db, "", |item| {
            progress(1);
            table.add(item, now + UNTIL_IN_USE)
        })
        .await?;
        table.deleted.retain(|key| !table.written.contains_key(key));
        Ok(table)
    }

    fn add(&mut self, item: Item, at: i64) -> Result<(), StoreError> {
        let key = key_of(&item)?;
        if key.pk.starts_with(prefix::LEASE) {
            let lease: Lease = decode_live(&key, item.clone())?;
            self.polled = self.polled.max(lease.seen);
        }
        if keys::is_brief(&key) || key.pk.starts_with(prefix::QUEUE) {
            self.deleted.insert(key.clone());
        }
        let restored = restored(item, at)?;
        self.doubts.count(&restored);
        let Restored { items, is_unknown, is_unmarked } = restored;
        // Of a command that waits, the row in the queue, which was deleted, too.
        if is_unknown || is_unmarked || items.len() > 1 {
            for item in items {
                self.written.insert(key_of(&item)?, item);
            }
        }
        Ok(())
    }

    /// How many items change.
    pub fn changes(&self) -> usize {
        self.written.len() + self.deleted.len()
    }

    /// Writes the changes. If the database does not respond, the same can be done again.
    pub async fn write(self, db: &Db, progress: OnProgress<'_>) -> Result<(), StoreError> {
        write_each(db, self.written.into_values().map(Ok), progress).await?;
        delete_each(db, self.deleted.into_iter(), progress).await?;
        for kind in single::KINDS {
            single::reserve(db, kind, ids_after_restore(self.read_at)).await?;
        }
        Ok(())
    }
}
