//! `delivery restored`: a table that was restored to a point in time makes no command of a game server ready.

use super::doubts::Doubts;
use crate::answer::{Answer, GOOD, paint};
use crate::console::Console;
use crate::error::Failure;
use crate::target::Target;
use serde_json::json;
use shared::store::bulk::{delete_each, each, write_each};
use shared::store::codec::{Item, decode_live, key_of};
use shared::store::keys::{self, Key, prefix};
use shared::store::leases::Lease;
use shared::store::{StoreError, sequences};
use shared::usecases::delivery::{IDS_AFTER_RESTORE, Restored, restored};
use std::collections::{BTreeMap, BTreeSet};

/// For how many seconds after a poll a table counts as one that is in use.
const IN_USE: i64 = 600;

/// How many seconds from now on still count as before the restore: until functions use the table, what becomes due runs from
/// the other one.
const UNTIL_IN_USE: i64 = 3_600;

/// The changes of a table.
#[derive(Default)]
struct Changes {
    written: BTreeMap<Key, Item>,
    deleted: BTreeSet<Key>,
    doubts: Doubts,
    /// The last poll of a game server, seconds since 1970 UTC.
    polled: Option<i64>,
}

impl Changes {
    /// Adds what becomes of an item if it is restored at `at`, seconds since 1970 UTC.
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
        if is_unknown || is_unmarked || key.pk.starts_with(prefix::COMMAND) {
            for item in items {
                self.written.insert(key_of(&item)?, item);
            }
        }
        Ok(())
    }
}

pub(super) async fn run(target: &Target, console: &Console, yes: bool) -> Result<Answer, Failure> {
    let (now, db) = (target.seconds().await?, &target.db);
    let mut changes = Changes::default();
    let progress = console.progress("Reading", None);
    each(db, "", |item| {
        progress.advance(1);
        changes.add(item, now + UNTIL_IN_USE)
    })
    .await?;
    let Changes { written, mut deleted, doubts, polled } = changes;
    if let Some(ago) = polled.map(|polled| now - polled).filter(|ago| *ago < IN_USE) {
        let what =
            format!("Nothing is changed: a game server asked for commands in {} {ago} seconds ago.", target.name);
        return Err(Failure::refused(what, "Name the restored table, before functions use it."));
    }
    let shown = format!(
        "{} commands in {} become unknown, and the commands of {} orders that were not delivered yet.",
        doubts.commands, target.name, doubts.orders
    );
    console.confirm(&shown, "Change?", yes)?;
    deleted.retain(|key| !written.contains_key(key));
    let progress = console.progress("Writing", Some((written.len() + deleted.len()) as u64));
    let advance = |count| progress.advance(count);
    let failed = |error: StoreError| Failure::from(error).next("Run the same command again: it goes on.");
    write_each(db, written.into_values().map(Ok), &advance).await.map_err(failed)?;
    delete_each(db, deleted.into_iter(), &advance).await.map_err(failed)?;
    sequences::reserve(db, sequences::COMMANDS, IDS_AFTER_RESTORE).await.map_err(failed)?;
    let text = format!("{} {shown} `storectl delivery list --state unknown` shows them.", paint(GOOD, "ok"));
    Ok(Answer::new(text, json!(doubts)))
}
