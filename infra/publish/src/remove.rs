//! Removing versions that are not read any more. Rows go first and the record last, so that a removal that was
//! interrupted is found and completed by the next.

use crate::version::{frame_keys, read_shelves, read_tree};
use shared::shop::publishing;
use shared::shop::publishing::{VersionRecord, list_versions, mark_removing, remove_record};
use shared::table::bulk::{OnProgress, delete_each};
use shared::table::keys::{self, Key};
use shared::table::published::read_active_version;
use shared::table::{Db, StoreError};

/// How many versions are kept in addition to the published one, however old.
pub const VERSIONS_KEPT: usize = 3;
/// How long a removal may take, in seconds, before another process may continue it.
const REMOVAL_SECONDS: i64 = 900;
/// How long a version that is not whole stays, in seconds, at least: a publish may be writing it.
const DRAFT_SECONDS: i64 = 3_600;

/// Which versions are to be removed at `now`: all but the published one, the last [`VERSIONS_KEPT`] before it, and those that
/// were of use less than `grace` seconds ago. `versions` are newest first.
pub fn outdated<'a>(versions: &'a [VersionRecord], published: &str, now: i64, grace: i64) -> Vec<&'a VersionRecord> {
    let others = || versions.iter().filter(|record| record.version != published);
    let kept: Vec<&str> =
        others().filter(|record| record.is_ready()).take(VERSIONS_KEPT).map(|record| record.version.as_str()).collect();
    let spent = |record: &&VersionRecord| match record.removing_since {
        Some(since) => now - since >= REMOVAL_SECONDS,
        None if !record.whole => now - record.published_at >= grace.max(DRAFT_SECONDS),
        None => !kept.contains(&record.version.as_str()) && now - record.last_used() >= grace,
    };
    others().filter(spent).collect()
}

/// Removes the versions that are [`outdated`] and returns their names. A version that was pointed to in the
/// meantime stays. After an error the next call continues.
pub async fn remove_outdated(
    db: &Db,
    now: i64,
    grace: i64,
    progress: OnProgress<'_>,
) -> Result<Vec<String>, StoreError> {
    let versions = list_versions(db).await?;
    let published = read_active_version(db).await?.map(|active| active.version).unwrap_or_default();
    let mut removed = Vec::new();
    for record in outdated(&versions, &published, now, grace) {
        if mark_removing(db, record, now).await? {
            remove(db, record, progress).await?;
            removed.push(record.version.clone());
        }
    }
    Ok(removed)
}

/// Removes every row of a version that was marked, then its record.
async fn remove(db: &Db, record: &VersionRecord, progress: OnProgress<'_>) -> Result<(), StoreError> {
    let version = &record.version;
    let tree = read_tree(db, version).await?.unwrap_or_default();
    let shelves = read_shelves(db, version, &tree).await?;
    let items = shelves.iter().flatten().flat_map(|shelf| &shelf.items);
    let items: Vec<Key> = items.map(|item| keys::item(version, item.id)).collect();
    delete_each(db, items.into_iter(), progress).await?;
    delete_each(db, frame_keys(version, &tree, &record.pages).into_iter(), progress).await?;
    delete_each(db, std::iter::once(keys::tree(version)), progress).await?;
    publishing::remove(db, version).await?;
    remove_record(db, version).await
}
