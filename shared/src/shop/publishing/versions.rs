//! The records of published versions, and the one write that makes a version the active one.

use super::history::{Step, read_history};
use super::version_files::FileSet;
use crate::model::{ActiveVersion, StoreConfig};
use crate::table::codec::{Item, Row, encode_live};
use crate::table::single::{apply, create};
use crate::table::transaction::{Guard, Write, send_guarded, sent};
use crate::table::{Db, StoreError, in_turns, keys, read_live};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// How often a switch is tried again if another transaction holds the active version.
const ROUNDS: u32 = 6;

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
    /// The owner's own files; `None` of a version of before they were kept.
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
    let sent = in_turns(ROUNDS, || send_guarded(db, writes.clone())).await?;
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
