//! Published versions: their records, the one write that makes a version the active one, the list of what was published when, and the
//! owner's own files of each.

use crate::model::{ActiveVersion, StoreConfig};
use crate::random;
use crate::table::bulk::{delete_each, write_each};
use crate::table::codec::{Item, Row, encode_live, key_attributes};
use crate::table::keys::{self, Key};
use crate::table::single::{apply, create};
use crate::table::transaction::{Guard, Write, send_guarded, sent};
use crate::table::{Db, StoreError, in_turns, read_live};
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// How often a switch is tried again if another transaction holds the active version.
const SWITCH_TURNS: u32 = 6;

/// The record of a version: enough to point back to it, and to find its rows again. All else is found from its
/// category list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRecord {
    pub version: String,
    /// When it was first published, seconds since 1970 UTC; of a version that is not whole yet, when that began.
    pub published_at: i64,
    /// How many rows it has.
    pub rows: u64,
    /// Its config, which a rollback puts back into the active version.
    pub config: StoreConfig,
    /// The urls of its pages.
    pub pages: Vec<String>,
    /// Whether every row of it was written.
    #[serde(default = "yes")]
    pub whole: bool,
    /// When the active version was last moved to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switched_at: Option<i64>,
    /// When the active version was last moved away from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired_at: Option<i64>,
    /// Since when its rows are being removed. The active version is never moved to such a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removing_since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The owner's own files; `None` until its publish has written them, before which nothing is moved to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileSet>,
}

const fn yes() -> bool {
    true
}

impl VersionRecord {
    /// Whether the active version may be moved to it.
    pub const fn is_ready(&self) -> bool {
        self.whole && self.removing_since.is_none()
    }

    /// When it was last of use.
    pub fn last_used(&self) -> i64 {
        self.retired_at.or(self.switched_at).unwrap_or(self.published_at)
    }
}

/// The record of a version, whole or not.
pub async fn read_record(db: &Db, version: &str) -> Result<Option<VersionRecord>, StoreError> {
    read_live(db, &keys::version(version)).await
}

/// The record of a version; `None` if it was never written whole.
pub async fn read_version(db: &Db, version: &str) -> Result<Option<VersionRecord>, StoreError> {
    Ok(read_record(db, version).await?.filter(|record| record.whole))
}

/// Every version in the table, newest first by its last use as the published one; those that are not whole among them.
pub async fn list_versions(db: &Db) -> Result<Vec<VersionRecord>, StoreError> {
    let rows = db.query(&keys::versions()).await?;
    let mut records: Vec<VersionRecord> = rows.into_iter().map(Row::live_found).collect::<Result<_, _>>()?;
    records.sort_by_key(|record| (Reverse(record.switched_at.unwrap_or(record.published_at)), record.version.clone()));
    Ok(records)
}

/// Stores the label of a version. Returns whether there is such a version.
pub async fn set_label(db: &Db, version: &str, label: &str) -> Result<bool, StoreError> {
    let write = Write::update(keys::version(version), "SET #label = :label").only_if_present();
    apply(db, write.name("#label", "label").text(":label", label)).await
}

/// Writes the record of a version that is about to be written. Returns whether it was the first to do so.
pub async fn begin_version(db: &Db, record: &VersionRecord) -> Result<bool, StoreError> {
    create(db, &keys::version(&record.version), record).await
}

/// Marks a version as being removed at `now` (seconds since 1970 UTC): only if no other process has marked it since the record
/// was read, and only while it is not the published one. Returns whether it is marked.
pub async fn mark_removing(db: &Db, record: &VersionRecord, now: i64) -> Result<bool, StoreError> {
    let is_free: Write = Write::check(keys::active_version())
        .only_if("attribute_not_exists(#pk) OR #version <> :version")
        .name("#pk", keys::PK)
        .name("#version", "version")
        .text(":version", &record.version);
    let mark = Write::update(keys::version(&record.version), "SET removing_since = :now")
        .only_if("attribute_exists(#pk) AND (attribute_not_exists(removing_since) OR removing_since = :seen)")
        .name("#pk", keys::PK)
        .number(":now", now)
        .number(":seen", record.removing_since.unwrap_or_default());
    sent(db, vec![is_free, mark]).await
}

/// Removes the record of a version whose rows are removed.
pub async fn remove_record(db: &Db, version: &str) -> Result<(), StoreError> {
    apply(db, Write::delete(keys::version(version))).await.map(drop)
}

/// The result of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Switched {
    Written,
    /// The active version points elsewhere, or did in the meantime.
    Moved,
    BeingRemoved,
}

impl Guard for Switched {
    type Refusal = Self;

    fn refusal(&self, _: Option<&Item>) -> Option<Self> {
        Some(*self)
    }
}

/// Moves the active version by one transaction: only if it still points to `from` (or is not there yet), and only to a
/// version that is not being removed. The same transaction updates the history and the records of both versions. `first`
/// says that the version was never published before; `now` is in seconds since 1970 UTC. Fails if it is not known
/// whether it was moved.
pub async fn switch(
    db: &Db,
    from: Option<&str>,
    to: &ActiveVersion,
    first: bool,
    step: Step,
    now: i64,
) -> Result<Switched, StoreError> {
    let seen = read_history(db).await?;
    let published = if first { ", published_at = :now" } else { "" };
    let expression = format!("SET #whole = :whole, switched_at = :now{published} REMOVE retired_at");
    let note = Write::update(keys::version(&to.version), expression)
        .only_if("attribute_exists(#pk) AND attribute_not_exists(removing_since)")
        .name("#pk", keys::PK)
        .name("#whole", "whole")
        .flag(":whole", true)
        .number(":now", now);
    let mut writes = vec![
        point_to(from, to)?.guarded_by(Switched::Moved),
        note.guarded_by(Switched::BeingRemoved),
        seen.with(&to.version, step, now).replace(&seen)?.guarded_by(Switched::Moved),
    ];
    if let Some(version) = from.filter(|version| *version != to.version)
        && read_record(db, version).await?.is_some()
    {
        let retired = Write::update(keys::version(version), "SET retired_at = :now").number(":now", now);
        writes.push(retired.into());
    }
    let sent = in_turns(SWITCH_TURNS, || send_guarded(db, writes.clone())).await?;
    Ok(sent.err().unwrap_or(Switched::Written))
}

/// Sets the version and its config, and in a table without a row the schema number. What else is on the row stays:
/// `storectl maintenance` and `storectl upgrade` write there.
fn point_to(from: Option<&str>, to: &ActiveVersion) -> Result<Write, StoreError> {
    let key = keys::active_version();
    let mut item = encode_live(&key, to)?;
    let attributes: &[&str] = if from.is_none() { &["version", "config", "schema"] } else { &["version", "config"] };
    let terms: Vec<String> = attributes.iter().map(|name| format!("#{name} = :{name}")).collect();
    let mut write = Write::update(key, format!("SET {}", terms.join(", ")));
    for name in attributes {
        write = write.name(format!("#{name}"), *name);
        write = item.remove(*name).into_iter().fold(write, |write, value| write.value(format!(":{name}"), value));
    }
    Ok(match from {
        None => write.only_if_absent(),
        Some(version) => write.only_if("#version = :from").text(":from", version),
    })
}

/// Closes the storefront for maintenance or opens it, regardless of the published files; `None` leaves it to them. `false` if
/// nothing was published yet. Fails if it is not known whether it was switched.
pub async fn set_maintenance(db: &Db, is_closed: Option<bool>) -> Result<bool, StoreError> {
    let write = match is_closed {
        Some(is_closed) => {
            Write::update(keys::active_version(), "SET maintenance = :closed").flag(":closed", is_closed)
        }
        None => Write::update(keys::active_version(), "REMOVE maintenance"),
    };
    apply(db, write.only_if("attribute_exists(#version)").name("#version", "version")).await
}

/// Entries that are kept; one is about 100 bytes.
const KEPT_ENTRIES: usize = 100;

/// Published versions with their times, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct History {
    /// Number of the newest entry, 0 in an empty history. A write of the history is conditional on it.
    newest: u64,
    entries: Vec<HistoryEntry>,
}

/// A version that became the published one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Counted up from 1.
    pub number: u64,
    pub version: String,
    /// Since when it was published, seconds since 1970 UTC.
    pub since: i64,
    /// Number of the entry that a rollback from here goes to; `None` for the first publish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<u64>,
}

/// How a version takes the place of the one before it. Decides where the next rollback goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A publish: a rollback returns to what it replaced.
    Forward,
    /// A rollback to the entry of this number: the next rollback goes further back from there.
    Back(u64),
    /// The repair of a damaged version: a rollback never returns to the damaged one.
    Repair,
}

impl History {
    /// The entries, oldest first.
    pub fn entries(&self) -> &[HistoryEntry] {
        &self.entries
    }

    fn entry(&self, number: u64) -> Option<&HistoryEntry> {
        self.entries.iter().find(|entry| entry.number == number)
    }

    /// Targets of rollbacks from the newest entry, one after the other.
    pub fn before(&self) -> impl Iterator<Item = &HistoryEntry> {
        let back = |entry: &HistoryEntry| self.entry(entry.back?);
        std::iter::successors(self.entries.last().and_then(back), move |entry| back(entry))
    }

    pub(in crate::shop) fn with(&self, version: &str, step: Step, now: i64) -> Self {
        let last = self.entries.last();
        let back = match step {
            Step::Forward => last.map(|entry| entry.number),
            Step::Back(number) => self.entry(number).and_then(|entry| entry.back),
            Step::Repair => last.and_then(|entry| entry.back),
        };
        let number = self.newest + 1;
        let mut entries = self.entries.clone();
        entries.push(HistoryEntry { number, version: version.to_owned(), since: now, back });
        let old = entries.len().saturating_sub(KEPT_ENTRIES);
        entries.drain(..old);
        Self { newest: number, entries }
    }

    /// The write of this history in place of `seen`, on the condition that `seen` is still stored.
    pub(in crate::shop) fn replace(&self, seen: &Self) -> Result<Write, StoreError> {
        let write = Write::put_live(keys::history(), self)?;
        Ok(if seen.newest == 0 { write.only_if_absent() } else { write.only_if_equal("newest", seen.newest) })
    }
}

/// The history of publishing; empty before the first publish.
pub async fn read_history(db: &Db) -> Result<History, StoreError> {
    Ok(read_live(db, &keys::history()).await?.unwrap_or_default())
}

/// The largest part in bytes.
const PART: usize = 350 * 1_024;
/// The attribute with the bytes of a part.
const BYTES: &str = "bytes";

/// The set of files that a version has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSet {
    pub id: String,
    pub parts: u32,
}

impl FileSet {
    fn keys(&self, version: &str) -> Vec<Key> {
        (0..self.parts).map(|part| keys::version_files_part(version, &self.id, part)).collect()
    }
}

/// Reads a set; `None` if a part of it is missing.
pub async fn read(db: &Db, version: &str, set: &FileSet) -> Result<Option<Vec<u8>>, StoreError> {
    let mut bytes = Vec::new();
    for key in set.keys(version) {
        let part = db.get(&key, true).await?.and_then(|mut item| item.remove(BYTES));
        let Some(AttributeValue::B(part)) = part else { return Ok(None) };
        bytes.extend(part.into_inner());
    }
    Ok(Some(bytes))
}

/// Gives a version that is in the table these bytes in place of those that it has. Fails with [`StoreError::Contended`] if
/// another process replaced or removed them meanwhile. After an error the version has these bytes or those of before.
pub async fn replace(db: &Db, version: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let before = read_record(db, version).await?.and_then(|record| record.files);
    let parts: Vec<&[u8]> = bytes.chunks(PART).collect();
    let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    let set = FileSet { id: random::id().ok_or_else(StoreError::no_entropy)?, parts: count };
    let items = set.keys(version).into_iter().zip(parts).map(|(key, part)| {
        let mut item = key_attributes(&key);
        item.insert(BYTES.to_owned(), AttributeValue::B(Blob::new(part)));
        Ok(item)
    });
    write_each(db, items, &|_| {}).await?;
    let is_replaced = apply(db, note(version, &set, before.as_ref())).await?;
    let gone = if is_replaced { before } else { Some(set) };
    let gone = gone.iter().flat_map(|set| set.keys(version)).collect::<Vec<_>>();
    delete_each(db, gone.into_iter(), &|_| {}).await?;
    if is_replaced { Ok(()) } else { Err(StoreError::Contended) }
}

/// The write that notes the set of a version, on the condition that it has the one of before.
fn note(version: &str, set: &FileSet, before: Option<&FileSet>) -> Write {
    let value = [
        ("id".to_owned(), AttributeValue::S(set.id.clone())),
        ("parts".to_owned(), AttributeValue::N(set.parts.to_string())),
    ];
    let write = Write::update(keys::version(version), "SET #files = :set")
        .only_if("attribute_exists(#pk) AND attribute_not_exists(removing_since)")
        .name("#pk", keys::PK)
        .name("#files", "files")
        .value(":set", AttributeValue::M(value.into()));
    match before {
        Some(before) => write.and_if("#files.id = :before").text(":before", &before.id),
        None => write.and_if("attribute_not_exists(#files)"),
    }
}

/// Removes every set of a version, also those that an interrupted process left.
pub async fn remove(db: &Db, version: &str) -> Result<(), StoreError> {
    let rows = db.query(&keys::version_files(version)).await?;
    let found: Vec<Key> = rows.iter().map(Row::key).collect::<Result<_, _>>()?;
    delete_each(db, found.into_iter(), &|_| {}).await
}
