//! `restore`: a backup into an empty table.
//!
//! A mark in the place of the active version to the published version says that a restore has begun and how far it
//! came. While it is there, functions respond 503 and every other command refuses. The active version takes its place
//! last, in one write with the sequences, so that no request is served from half a store.

use crate::console::Progress;
use crate::prelude::*;
use crate::table;
use archive::{Content, Seal};
use sha2::{Digest, Sha256};
use shared::fault::capital;
use shared::model::SCHEMA;
use shared::shop::delivery::{Doubts, restored};
use shared::shop::upkeep::subscription_lists::DueRows;
use shared::shop::upkeep::upgrade::{FIRST, UpgradeError, is_needed};
use shared::table::bulk::{each, write_each};
use shared::table::codec::{Item, key_of};
use shared::table::keys::{self, TTL, prefix};
use shared::table::published::decode_active_version;
use shared::table::restoring::{self, ids_after_restore};
use shared::table::single::{CODES, COMMANDS, KINDS, NEXT, ORDERS, USERS};
use shared::table::{Db, StoreError};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Args)]
pub struct Restore {
    /// File that `backup` wrote.
    pub file: PathBuf,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

/// Items between two notes of how far it came.
const CHUNK: usize = 1_000;

pub async fn run(at: &Deployment, console: &Console, options: &Restore) -> Outcome {
    let seal = archive::verify(&options.file, Content::Backup)?;
    must_be_of_a_release(&options.file, &seal)?;
    let found = restoring::read(&at.db).await?;
    let (from, begun) = match &found {
        Some(mark) if mark.sha256 == seal.sha256 => (mark.done, mark.at),
        Some(_) => {
            let what = "A restore of another backup was begun in this table and is not done.";
            return Err(Failure::refused(what, "Complete that one, or restore into another table."));
        }
        None => {
            must_be_empty(at).await?;
            (0, at.clock.seconds())
        }
    };
    let Seal { items, taken_at, .. } = &seal;
    let again = if from > 0 { format!(", continuing after {from}") } else { String::new() };
    console.confirm(&format!("{items} items of {taken_at} into {}{again}", at.name), "Restore?", options.yes)?;
    // Of two attempts at once one is refused.
    if found.is_none() && !restoring::begin(&at.db, &seal.sha256, begun).await? {
        let what = "Conflict: another restore into this table has just begun.";
        return Err(Failure::new(Exit::Raced, what, "Let them finish, then look with `storectl doctor`."));
    }
    let progress = console.progress("Restoring", Some(*items));
    progress.advance(from);
    let filling = Filling { db: &at.db, seal: &seal, at: begun, from, progress: &progress };
    let doubts = filling.fill(&options.file).await.map_err(|failure| {
        let done = format!("{} of {items} items are restored; they are not served yet.", progress.position());
        let resumes = failure.exit != Exit::Refused;
        let again = if resumes { " Run the same command again: it continues." } else { "" };
        let next = format!("{}{again}", failure.next);
        failure.done(done).next(next)
    })?;
    let mut text = ok!("{items} items of {taken_at} are in {}.", at.name);
    text.push_str(&render(&doubts));
    text.push_str(&agree(&at.db).await?);
    if at.is_local {
        text.push_str(&payments_stay_behind());
    }
    let upgraded_from = upgrade_restored(at, console).await?;
    if let Some(from) = upgraded_from {
        _ = write!(text, "\nTheir schema number was {from}; they are upgraded to {SCHEMA}.");
    }
    Ok(Printed::new(text, &facts! { items, taken_at, resumed_after: from, upgraded_from, #[serde(flatten)] doubts }))
}

/// Refuses a backup of before the first release, which no upgrade reads.
fn must_be_of_a_release(path: &Path, seal: &Seal) -> Result<()> {
    for item in archive::items(path, seal)? {
        let item = item?;
        if key_of(&item)? == keys::active_version() {
            let schema = decode_active_version(item)?.schema;
            let is_before = schema < FIRST;
            return if is_before { Err(table::refused(UpgradeError::Before(schema))) } else { Ok(()) };
        }
    }
    Ok(())
}

/// Refuses a table in which anything is but what a new stack writes by itself.
async fn must_be_empty(at: &Deployment) -> Result<()> {
    if is_empty(&at.db).await? {
        return Ok(());
    }
    let name = capital(&at.name);
    if is_needed(&at.db).await? {
        let what = format!("{name} holds data of an earlier format already.");
        return Err(Failure::refused(what, "If they were just restored, run `storectl upgrade`: it continues."));
    }
    let next =
        "Restore into a new table: nothing is ever overwritten. If a restore into this one was cut off, it is done.";
    Err(Failure::refused(format!("{name} is not empty."), next))
}

/// Makes the rows by which the sweep finds subscriptions agree with these: those of a backup are not of one second. Returns a
/// note for people, which is empty if they agreed.
async fn agree(db: &Db) -> Result<String> {
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
async fn upgrade_restored(at: &Deployment, console: &Console) -> Result<Option<u32>> {
    if !is_needed(&at.db).await? {
        return Ok(None);
    }
    let upgraded = table::bring(at, console).await.map_err(|failure| {
        let done = format!("All items are restored, in an earlier format: functions respond 503. {}", failure.done);
        failure.done(done)
    })?;
    Ok(upgraded.from)
}

/// Refuses to work on a table that is half restored: what is written there would be lost or counted twice.
pub async fn must_not_be_running(at: &Deployment) -> Result<()> {
    if restoring::read(&at.db).await?.is_some() {
        let what = format!("A restore into {} was begun and is not done.", at.name);
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
        if is_left_out(&key) || key == keys::webhook_events() { Ok(()) } else { Err(None) }
    });
    match found.await {
        Ok(()) => Ok(true),
        Err(None) => Ok(false),
        Err(Some(error)) => Err(error),
    }
}

/// Whether a new stack writes a row by itself that is in no comparison: it counts addresses, and how far the provider's list of the
/// balance was asked for, which is asked for again.
fn is_left_out(key: &keys::Key) -> bool {
    key.pk.starts_with(prefix::RATE) || *key == keys::balance_asked()
}

/// A note for people about a local store: its stand-in has files of its own.
fn payments_stay_behind() -> String {
    format!(
        "\n{}",
        note!(
            "A backup has no payments: those of the local stand-in stay where they were made. What is open here cannot be paid \
         or refunded; `storectl order list --open` shows it."
        )
    )
}

/// A note for people about what may have run; empty if nothing may have.
fn render(Doubts { commands, orders }: &Doubts) -> String {
    if commands + orders == 0 {
        return String::new();
    }
    format!(
        "\n{}",
        note!(
            "{commands} commands may have run on game servers since, and those of {orders} orders that were not \
         delivered yet: they are unknown. `storectl delivery list --state unknown` shows them."
        )
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
    async fn fill(&self, path: &Path) -> Result<Doubts> {
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
        restoring::finish(db, &seal.sha256, active, contents.sequences(self.at).into_iter()).await?;
        Ok(doubts)
    }
}

/// Makes sure that the table holds what the backup holds, and nothing that was written in the meantime.
async fn nothing_else(db: &Db, contents: &Contents) -> Result<()> {
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

/// Everything but the active version and what expires by itself.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    items: u64,
    /// Sum of the items' hashes, which does not depend on their order.
    sum: u128,
    highest: BTreeMap<&'static str, u64>,
    /// The next free id by the sequence itself, by kind.
    next: BTreeMap<&'static str, u64>,
    /// Whether it has the place in the provider's webhook events.
    pub has_webhook_events: bool,
}

impl Contents {
    pub fn add(&mut self, item: &Item) -> Result<(), StoreError> {
        let key = key_of(item)?;
        if key == keys::active_version() || is_left_out(&key) || item.contains_key(TTL) {
            return Ok(());
        }
        self.items += 1;
        self.has_webhook_events |= key == keys::webhook_events();
        let hash = Sha256::digest(archive::line(item));
        let hash = hash.iter().take(size_of::<u128>()).fold(0, |sum, byte| (sum << 8) | u128::from(*byte));
        self.sum = self.sum.wrapping_add(hash);
        self.see_ids(&key, item);
        Ok(())
    }

    fn see_ids(&mut self, key: &keys::Key, item: &Item) {
        let number = |name: &str| item.get(name)?.as_n().ok()?.parse::<u64>().ok();
        for kind in KINDS {
            if *key == keys::sequence(kind) {
                self.next.extend(number(NEXT).map(|next| (kind, next)));
            }
        }
        let after = |text: &str, prefix: &str| text.strip_prefix(prefix)?.parse::<u64>().ok();
        let by_key = [prefix::USER, prefix::LEDGER, prefix::CART].iter().find_map(|prefix| after(&key.pk, prefix));
        self.see(USERS, by_key.or_else(|| after(&key.sk, prefix::USER)));
        if key.pk.starts_with(prefix::ORDER) {
            self.see(ORDERS, number("id"));
            self.see(USERS, number("owner"));
        }
        if key.pk.starts_with(prefix::CODE) {
            self.see(CODES, number("id"));
        }
        self.see(COMMANDS, after(&key.pk, prefix::COMMAND));
    }

    fn see(&mut self, kind: &'static str, id: Option<u64>) {
        let highest = self.highest.entry(kind).or_default();
        *highest = id.unwrap_or_default().max(*highest);
    }

    pub fn is_same(&self, other: &Self) -> bool {
        (self.items, self.sum) == (other.items, other.sum)
    }

    /// The sequences after a restore at `at`, seconds since 1970 UTC: ids that were used after the backup are left out.
    pub fn sequences(&self, at: i64) -> [(&'static str, u64); 4] {
        let number = |numbers: &BTreeMap<_, u64>, kind| numbers.get(kind).copied().unwrap_or_default();
        KINDS.map(|kind| {
            let free = number(&self.next, kind).max(number(&self.highest, kind).saturating_add(1));
            (kind, free.saturating_add(ids_after_restore(at)))
        })
    }
}
