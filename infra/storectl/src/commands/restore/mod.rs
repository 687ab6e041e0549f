//! `restore`: a backup into an empty table.
//!
//! A mark in the place of the active version to the published version says that a restore has begun and how far it
//! came. While it is there, functions respond 503 and every other command refuses. The active version takes its place
//! last, in one write with the sequences, so that no request is served from half a store.

mod contents;

use super::upgrade;
use crate::answer::{Answer, GOOD, WARN, paint};
use crate::cli::Restore;
use crate::console::Console;
use crate::error::{Exit, Failure, capital};
use crate::progress::Progress;
use crate::target::Target;
use archive::{Content, Seal};
use contents::Contents;
use serde::Serialize;
use serde_json::json;
use shared::model::SCHEMA;
use shared::shop::delivery::{Doubts, restored};
use shared::shop::upkeep::subscription_lists::DueRows;
use shared::shop::upkeep::upgrade::{FIRST, UpgradeError, is_needed};
use shared::table::bulk::{each, write_each};
use shared::table::codec::{Item, key_of};
use shared::table::keys::{self, prefix};
use shared::table::published::decode_active_version;
use shared::table::{Db, StoreError, restoring};
use std::fmt::Write as _;
use std::path::Path;

/// Items between two notes of how far it came.
const CHUNK: usize = 1_000;

pub(super) async fn run(target: &Target, console: &Console, options: &Restore) -> Result<Answer, Failure> {
    let path = &options.file;
    let seal = archive::verify(path, Content::Backup)?;
    must_be_of_a_release(path, &seal)?;
    let found = restoring::read(&target.db).await?;
    let (from, at) = match &found {
        Some(mark) if mark.sha256 == seal.sha256 => (mark.done, mark.at),
        Some(_) => {
            let what = "A restore of another backup was begun in this table and is not done.";
            return Err(Failure::refused(what, "Complete that one, or restore into another table."));
        }
        None if is_empty(&target.db).await? => (0, target.clock.seconds()),
        None if is_needed(&target.db).await? => {
            let what = format!("{} holds data of an earlier format already.", capital(&target.name));
            return Err(Failure::refused(what, "If they were just restored, run `storectl upgrade`: it continues."));
        }
        None => {
            let what = format!("{} is not empty.", capital(&target.name));
            let next = "Restore into a new table: nothing is ever overwritten. If a restore into this one was cut off, it is done.";
            return Err(Failure::refused(what, next));
        }
    };
    let again = if from > 0 { format!(", continuing after {from}") } else { String::new() };
    let shown = format!("{} items of {} into {}{again}", seal.items, seal.taken_at, target.name);
    console.confirm(&shown, "Restore?", options.yes)?;
    if found.is_none() {
        begin(&target.db, &seal, at).await?;
    }
    let progress = console.progress("Restoring", Some(seal.items));
    progress.advance(from);
    let filling = Filling { db: &target.db, seal: &seal, at, from, progress: &progress };
    let doubts = filling.fill(path).await.map_err(|failure| {
        let done = format!("{} of {} items are restored; they are not served yet.", progress.position(), seal.items);
        let resumes = failure.exit != Exit::Refused;
        let next = if resumes {
            format!("{} Run the same command again: it continues.", failure.next)
        } else {
            failure.next.clone()
        };
        failure.done(done).next(next)
    })?;
    let mut text = format!("{} {} items of {} are in {}.", paint(GOOD, "ok"), seal.items, seal.taken_at, target.name);
    text.push_str(&render(&doubts));
    text.push_str(&agree(&target.db).await?);
    if target.is_local {
        text.push_str(&payments_stay_behind());
    }
    let upgraded = upgrade_restored(target, console).await?;
    if let Some(from) = upgraded {
        _ = write!(text, "\nTheir schema number was {from}; they are upgraded to {SCHEMA}.");
    }
    let done =
        Done { items: seal.items, taken_at: &seal.taken_at, resumed_after: from, upgraded_from: upgraded, doubts };
    Ok(Answer::new(text, json!(done)))
}

/// Refuses a backup of before the first release, which no upgrade reads.
fn must_be_of_a_release(path: &Path, seal: &Seal) -> Result<(), Failure> {
    for item in archive::items(path, seal)? {
        let item = item?;
        if key_of(&item)? == keys::active_version() {
            let schema = decode_active_version(item)?.schema;
            let is_before = schema < FIRST;
            return if is_before { Err(upgrade::refused(UpgradeError::Before(schema))) } else { Ok(()) };
        }
    }
    Ok(())
}

/// Makes the rows by which the sweep finds subscriptions agree with these: those of a backup are not of one second. Returns a
/// note for people, which is empty if they agreed.
async fn agree(db: &Db) -> Result<String, Failure> {
    let unfinished = |error: StoreError| {
        let done = "All items are restored; what the sweep is to look at of subscriptions was not compared.";
        Failure::from(error).done(done).next("Run `storectl doctor --repair`.")
    };
    let differing = DueRows::differing(db).await.map_err(unfinished)?;
    let left = differing.repair(db).await.map_err(unfinished)?;
    Ok(match (differing.ids().len(), left) {
        (0, _) => String::new(),
        (count, 0) => {
            format!("\nThe sweep's rows of {count} subscriptions did not agree with them, and are written again.")
        }
        (_, left) => {
            format!("\n{left} of the sweep's rows of subscriptions have changed: run `storectl doctor --repair`.")
        }
    })
}

/// Upgrades what was restored, if it is of an earlier format; returns the schema number that it had.
async fn upgrade_restored(target: &Target, console: &Console) -> Result<Option<u32>, Failure> {
    if !is_needed(&target.db).await? {
        return Ok(None);
    }
    let upgraded = upgrade::bring(target, console).await.map_err(|failure| {
        let done = format!("All items are restored, in an earlier format: functions respond 503. {}", failure.done);
        failure.done(done)
    })?;
    Ok(upgraded.from)
}

/// Refuses to work on a table that is half restored: what is written there would be lost or counted twice.
pub(super) async fn must_not_be_running(target: &Target) -> Result<(), Failure> {
    if restoring::read(&target.db).await?.is_some() {
        let what = format!("A restore into {} was begun and is not done.", target.name);
        return Err(Failure::refused(what, "Complete it with the same `storectl restore` first."));
    }
    Ok(())
}

/// Whether the table is empty but for what a new stack writes by itself: counters of addresses, which a first request
/// leaves behind, and the place in the webhook events, which the first sweep does.
async fn is_empty(db: &Db) -> Result<bool, StoreError> {
    let found = each(db, "", |item| {
        let key = key_of(&item)?;
        // The scan ends at the first other item.
        if key.pk.starts_with(prefix::RATE) || key == keys::webhook_events() { Ok(()) } else { Err(None) }
    });
    match found.await {
        Ok(()) => Ok(true),
        Err(None) => Ok(false),
        Err(Some(error)) => Err(error),
    }
}

/// Marks the table as being restored; of two attempts at once one is refused.
async fn begin(db: &Db, seal: &Seal, at: i64) -> Result<(), Failure> {
    if restoring::begin(db, &seal.sha256, at).await? {
        return Ok(());
    }
    let what = "Conflict: another restore into this table has just begun.";
    Err(Failure::new(Exit::Raced, what, "Let them finish, then look with `storectl doctor`."))
}

/// The result as JSON.
#[derive(Serialize)]
struct Done<'a> {
    items: u64,
    taken_at: &'a str,
    resumed_after: u64,
    upgraded_from: Option<u32>,
    #[serde(flatten)]
    doubts: Doubts,
}

/// A note for people about a local store: its stand-in has files of its own.
fn payments_stay_behind() -> String {
    format!(
        "\n{} A backup has no payments: those of the local stand-in stay where they were made. What is open here cannot be paid \
         or refunded; `storectl order list --open` shows it.",
        paint(WARN, "note")
    )
}

/// A note for people about what may have run; empty if nothing may have.
fn render(Doubts { commands, orders }: &Doubts) -> String {
    if commands + orders == 0 {
        return String::new();
    }
    format!(
        "\n{} {commands} commands may have run on game servers since, and those of {orders} orders that were not \
         delivered yet: they are unknown. `storectl delivery list --state unknown` shows them.",
        paint(WARN, "note")
    )
}

/// Writing a backup's items.
struct Filling<'a> {
    db: &'a Db,
    seal: &'a Seal,
    /// When the restore began, seconds since 1970 UTC.
    at: i64,
    /// How many items are in the table already.
    from: u64,
    progress: &'a Progress,
}

impl Filling<'_> {
    async fn fill(&self, path: &Path) -> Result<Doubts, Failure> {
        let Self { db, seal, .. } = self;
        let mut items = archive::items(path, seal)?;
        let (mut active, mut done, mut doubts) = (None, 0_u64, Doubts::default());
        let mut contents = Contents::default();
        loop {
            let chunk: Vec<Item> = items.by_ref().take(CHUNK).collect::<Result<_, _>>()?;
            if chunk.is_empty() {
                break;
            }
            let read = chunk.len() as u64;
            done += read;
            let (held, chunk) = split(chunk)?;
            active = held.or(active);
            let mut written = Vec::with_capacity(chunk.len());
            for item in chunk {
                let restored = restored(item, self.at)?;
                doubts.count(&restored);
                written.extend(restored.items);
            }
            written.iter().try_for_each(|item| contents.add(item))?;
            if done <= self.from {
                continue;
            }
            write_each(db, written.into_iter().map(Ok), &|_| {}).await?;
            restoring::note(db, &seal.sha256, done).await?;
            self.progress.advance(read);
        }
        nothing_else(db, &contents).await?;
        restoring::finish(db, &seal.sha256, active, contents.behind(self.at).into_iter()).await?;
        Ok(doubts)
    }
}

/// Makes sure that the table holds what the backup holds, and nothing that was written in the meantime.
async fn nothing_else(db: &Db, contents: &Contents) -> Result<(), Failure> {
    let mut found = Contents::default();
    each(db, "", |item| {
        // The backup's place in the webhook events replaces that of a new stack, so that those since the backup are asked
        // for. If it has none, the store did not wait for any, and that of the new stack stays.
        let is_own = !contents.has_webhook_events && key_of(&item)? == keys::webhook_events();
        if is_own { Ok(()) } else { found.add(&item) }
    })
    .await?;
    if found.is_same(contents) {
        return Ok(());
    }
    let what = "Something else was written into the table while it was being restored.";
    Err(Failure::refused(what, "Stop all writers to that table, and restore into a new, empty table."))
}

/// Takes the active version out of a chunk: it is written last.
fn split(chunk: Vec<Item>) -> Result<(Option<Item>, Vec<Item>), StoreError> {
    let (mut active, mut others) = (None, Vec::with_capacity(chunk.len()));
    for item in chunk {
        if key_of(&item)? == keys::active_version() { active = Some(item) } else { others.push(item) }
    }
    Ok((active, others))
}
