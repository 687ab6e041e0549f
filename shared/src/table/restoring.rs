//! The mark of a restore that has begun. It takes the place of the active version, so that functions respond 503 and no
//! other tool writes, and says how far the restore came.

use super::codec::{Item, decode_live, encode_live};
use super::keys::{self, RESTORING};
use super::single::{NEXT, apply, apply_all, create};
use super::transaction::Write;
use super::{Db, StoreError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The mark as an item.
#[derive(Serialize, Deserialize)]
struct Marked {
    /// Named by [`RESTORING`].
    restoring: Mark,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The checksum of the backup.
    pub sha256: String,
    /// How many of its items are in the table for certain.
    pub done: u64,
    /// When it began, seconds since 1970 UTC.
    pub at: i64,
}

/// The mark of a restore that is not done; `None` if there is none.
pub async fn read(db: &Db) -> Result<Option<Mark>, StoreError> {
    let key = keys::active_version();
    let item = db.get(&key, true).await?.filter(|item| item.contains_key(RESTORING));
    Ok(item.map(|item| decode_live::<Marked>(&key, item)).transpose()?.map(|marked| marked.restoring))
}

/// Marks the table as being restored since `at`, seconds since 1970 UTC. `false` if another restore or a publish was
/// first. Fails if it is not known whether it is marked.
pub async fn begin(db: &Db, sha256: &str, at: i64) -> Result<bool, StoreError> {
    let restoring = Mark { sha256: sha256.to_owned(), done: 0, at };
    create(db, &keys::active_version(), &Marked { restoring }).await
}

/// On the condition that the mark is that of this backup.
fn if_marked(write: Write, sha256: &str) -> Write {
    write.only_if("#mark.sha256 = :sha256").name("#mark", RESTORING).text(":sha256", sha256)
}

/// Notes how many items are in the table. Fails also because the mark is not that of this backup any more.
pub async fn note(db: &Db, sha256: &str, done: u64) -> Result<(), StoreError> {
    let write = Write::update(keys::active_version(), "SET #mark.done = :done").number(":done", done);
    if apply(db, if_marked(write, sha256)).await? { Ok(()) } else { Err(StoreError::Contended) }
}

/// How far the ids of a kind go on above the highest after a restore at `at`, seconds since 1970 UTC. Those in between were
/// used after the backup: tokens, buyers and the provider know them, and an agent does not run a command whose id it knows, for
/// 30 days after its end. A second restore of the same backup within 90 days goes on elsewhere, unless more than ten ids were
/// used in each second between the two.
pub const fn ids_after_restore(at: i64) -> u64 {
    const USED: u64 = 1_000_000;
    // It begins again, because ids are limited; the ten days more keep what is before it apart from what is after it.
    const AROUND: i64 = 100 * 86_400;
    USED + 10 * at.rem_euclid(AROUND).unsigned_abs()
}

/// Replaces the mark by the active version, if there is one, and moves sequences to ids that are free, in one transaction.
pub async fn finish(
    db: &Db,
    sha256: &str,
    active: Option<Item>,
    sequences: impl Iterator<Item = (&'static str, u64)>,
) -> Result<(), StoreError> {
    let key = keys::active_version();
    let end = match active {
        Some(active) => Write::put(key, active),
        None => Write::delete(key),
    };
    let mut writes: Vec<Write> = vec![if_marked(end, sha256)];
    for (kind, next) in sequences {
        let key = keys::sequence(kind);
        let item = encode_live(&key, &BTreeMap::from([(NEXT, next)]))?;
        writes.push(Write::put(key, item));
    }
    if apply_all(db, writes).await? { Ok(()) } else { Err(StoreError::Contended) }
}
