//! The names of versions, and how their rows are found again.
//! Removing versions that are not read any more. Rows go first and the record last, so that a removal that was
//! interrupted is found and completed by the next.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use shared::model::{CategoryHead, CategoryPath, CategoryWithItems, PageUrl, Tree};
use shared::shop::publishing::{self, VersionRecord, list_versions, mark_removing, remove_record};
use shared::table::bulk::{IN_FLIGHT, OnProgress, delete_each};
use shared::table::codec::Row;
use shared::table::keys::{self, Key};
use shared::table::published::read_active_version;
use shared::table::{Db, StoreError, read_published};

/// Separates a store's hash from the generation in a version's name.
const GENERATION: char = '-';

/// The name of a version: the hash of its store, and from the second generation on (a repair) which one it is.
pub(crate) fn version_name(store: &str, generation: u64) -> String {
    if generation <= 1 { store.to_owned() } else { format!("{store}{GENERATION}{generation}") }
}

/// The hash of the store that a version holds: the name that [`crate::compile`] gave it.
pub fn store_of(version: &str) -> &str {
    version.split_once(GENERATION).map_or(version, |(store, _)| store)
}

pub(crate) fn generation(version: &str) -> u64 {
    version.split_once(GENERATION).and_then(|(_, generation)| generation.parse().ok()).unwrap_or(1)
}

/// A version's category list; `None` if it was not written.
pub async fn read_tree(db: &Db, version: &str) -> Result<Option<Tree>, StoreError> {
    read_published(db, &keys::tree(version)).await
}

/// Every category of a version with its subcategories, in order. What is missing in the table is missing here.
pub(crate) async fn read_shelves(
    db: &Db,
    version: &str,
    tree: &Tree,
) -> Result<Vec<Vec<CategoryWithItems>>, StoreError> {
    let partition = |head: &CategoryHead| keys::category(version, &CategoryPath::Slug(head.slug.clone()));
    let partitions: Vec<String> = tree.0.iter().map(|node| partition(&node.head)).collect();
    let reads = stream::iter(partitions).map(|partition| async move {
        let shelf = |row: Row| Ok(row.published(&row.key()?)?.0);
        db.query(&partition).await?.into_iter().map(shelf).collect::<Result<Vec<CategoryWithItems>, StoreError>>()
    });
    reads.buffered(IN_FLIGHT).try_collect().await
}

/// The keys of everything a version consists of but its items and its category list.
pub(crate) fn frame_keys(version: &str, tree: &Tree, pages: &[String]) -> Vec<Key> {
    let mut found = vec![
        keys::settings(version),
        keys::staff(version),
        keys::patronage(version),
        keys::deals(version),
        keys::promotions(version),
    ];
    found.extend(pages.iter().map(|url| keys::page(version, &PageUrl::new(url))));
    let mut partition = |head: &CategoryHead, shelves: usize| {
        for path in [CategoryPath::Slug(head.slug.clone()), CategoryPath::Id(head.id)] {
            found.extend((0..shelves).map(|place| keys::category_row(version, &path, place)));
        }
    };
    for node in &tree.0 {
        partition(&node.head, 1 + node.subcategories.len());
        node.subcategories.iter().for_each(|inner| partition(inner, 1));
    }
    found
}

/// How many versions are kept in addition to the published one, however old.
pub const KEPT: usize = 3;
/// How long a removal may take, in seconds, before another process may continue it.
const REMOVAL_SECONDS: i64 = 900;
/// How long a version that is not whole stays, in seconds, at least: a publish may be writing it.
const DRAFT_SECONDS: i64 = 3_600;

/// Which versions are to be removed at `now`: all but the published one, the last [`KEPT`] before it, and those that
/// were of use less than `grace` seconds ago. `versions` are newest first.
pub fn outdated<'a>(versions: &'a [VersionRecord], published: &str, now: i64, grace: i64) -> Vec<&'a VersionRecord> {
    let others = || versions.iter().filter(|record| record.version != published);
    let kept: Vec<&str> =
        others().filter(|record| record.is_ready()).take(KEPT).map(|record| record.version.as_str()).collect();
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
