//! The list of what was published when, by which a rollback finds what was active before.

use crate::table::codec::encode_live;
use crate::table::transaction::Write;
use crate::table::{Db, StoreError, keys, read_live};
use serde::{Deserialize, Serialize};

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
        let write = Write::put(keys::history(), encode_live(&keys::history(), self)?);
        Ok(if seen.newest == 0 { write.only_if_absent() } else { write.only_if_equal("newest", seen.newest) })
    }
}

/// The history of publishing; empty before the first publish.
pub async fn read_history(db: &Db) -> Result<History, StoreError> {
    Ok(read_live(db, &keys::history()).await?.unwrap_or_default())
}
