//! Versions in the table: their names, and how their rows are found again; a published version as it was compiled; and removing
//! versions that are not read any more. Rows go first and the record last, so that a removal that was interrupted is found and
//! completed by the next.

use crate::compile::{Compiled, CompiledCategory, Deliveries, Frame};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde::de::DeserializeOwned;
use shared::model::{CategoryHead, CategoryPath, CategoryWithItems, ItemId, Page, PageUrl, PublishedItem, Tree};
use shared::shop::publishing::{self, VersionRecord, list_versions, mark_removing, read_version, remove_record};
use shared::table::bulk::{IN_FLIGHT, OnProgress, batches, delete_each};
use shared::table::codec::{self, Item, Row};
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

/// The reason for which a version cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("version {version} is damaged: a {kind} row is missing")]
    Missing { version: String, kind: String },
    #[error("version {version} is damaged: its rows are not those that were published")]
    Altered { version: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads a version back and makes sure that it is what its name says. Fails if a row is missing or was altered.
pub async fn load(db: &Db, record: &VersionRecord) -> Result<Compiled, LoadError> {
    let version = &record.version;
    let missing = |kind: &str| LoadError::Missing { version: version.clone(), kind: kind.to_owned() };
    let tree = read_tree(db, version).await?.ok_or_else(|| missing("CATALOG"))?;
    let shelves = read_shelves(db, version, &tree).await?;
    let mut categories = Vec::with_capacity(shelves.len());
    for (shelves, node) in shelves.into_iter().zip(&tree.0) {
        let mut shelves = shelves.into_iter();
        let shelf = shelves.next().ok_or_else(|| missing("CATALOG"))?;
        let subcategories: Vec<_> = shelves.collect();
        if subcategories.len() != node.subcategories.len() {
            return Err(missing("CATALOG"));
        }
        categories.push(CompiledCategory { shelf, subcategories });
    }
    let frame = Frame {
        config: record.config.clone(),
        settings: part(db, version, &keys::settings(version)).await?,
        staff: part(db, version, &keys::staff(version)).await?,
        patronage: part(db, version, &keys::patronage(version)).await?,
        pages: pages(db, record).await?,
    };
    let (deliveries, is_whole) = deliveries(db, record, &categories).await?;
    let compiled = Compiled::of(frame, categories, &deliveries);
    if compiled.version != store_of(version) {
        return Err(if is_whole { LoadError::Altered { version: version.clone() } } else { missing("ITEM") });
    }
    Ok(Compiled { version: version.clone(), ..compiled })
}

/// Reads back a version of which only the name is known, see [`load`]. Fails with [`LoadError::Missing`] also if it was
/// never written whole.
pub async fn load_version(db: &Db, version: &str) -> Result<Compiled, LoadError> {
    let missing = || LoadError::Missing { version: version.to_owned(), kind: "VERSIONS".to_owned() };
    load(db, &read_version(db, version).await?.ok_or_else(missing)?).await
}

async fn part<T: DeserializeOwned>(db: &Db, version: &str, key: &Key) -> Result<T, LoadError> {
    let missing = || LoadError::Missing { version: version.to_owned(), kind: key.to_string() };
    read_published(db, key).await?.ok_or_else(missing)
}

/// The deliveries of the items of these categories, which only the items' own rows have, and whether every row is there.
async fn deliveries(
    db: &Db,
    record: &VersionRecord,
    categories: &[CompiledCategory],
) -> Result<(Deliveries, bool), LoadError> {
    let ids: Vec<ItemId> = categories
        .iter()
        .flat_map(CompiledCategory::shelves)
        .flat_map(|shelf| &shelf.items)
        .map(|item| item.id)
        .collect();
    let count = ids.len();
    let reads = stream::iter(batches(ids.into_iter().map(Ok::<ItemId, LoadError>))).map(|batch| async move {
        let version = record.version.as_str();
        let keys: Vec<(ItemId, Key)> = batch?.into_iter().map(|id| (id, keys::item(version, id))).collect();
        let mut rows = db.batch_get(keys.iter().map(|(_, key)| key.clone()).collect()).await?;
        let delivery = |(id, key): (ItemId, Key)| {
            let published: Result<(PublishedItem, usize), StoreError> = rows.take(&key)?.published(&key);
            Some(published.map(|(published, _)| (id, published.delivery)))
        };
        Ok::<Deliveries, LoadError>(keys.into_iter().filter_map(delivery).collect::<Result<_, _>>()?)
    });
    let found: Deliveries = reads.buffer_unordered(IN_FLIGHT).try_concat().await?;
    let is_whole = found.len() == count;
    Ok((found, is_whole))
}

async fn pages(db: &Db, record: &VersionRecord) -> Result<Vec<Page>, LoadError> {
    let version = record.version.as_str();
    let wanted: Vec<Key> = record.pages.iter().map(|url| keys::page(version, &PageUrl::new(url))).collect();
    let reads = stream::iter(wanted).map(|key| async move { part::<Page>(db, version, &key).await });
    reads.buffered(IN_FLIGHT).try_collect().await
}

/// How many rows of a published store are missing from the table or differ from what was compiled.
pub async fn damage(db: &Db, compiled: &Compiled) -> Result<usize, StoreError> {
    damage_of(db, compiled, &compiled.version).await
}

/// [`damage`] of a store that was written as `version`.
pub(crate) async fn damage_of(db: &Db, compiled: &Compiled, version: &str) -> Result<usize, StoreError> {
    let parts = compiled.parts(version).into_iter();
    let expected = parts.map(|(key, part)| codec::encode_published(&key, &part));
    let checks = stream::iter(batches(expected)).map(|batch| async move { Ok(unsound(db, batch?).await?.len()) });
    checks.buffer_unordered(IN_FLIGHT).try_fold(0, |sum, wrong| async move { Ok(sum + wrong) }).await
}

/// Those of a batch of rows that are missing from the table or differ from it.
pub(crate) async fn unsound(db: &Db, batch: Vec<Item>) -> Result<Vec<Item>, StoreError> {
    let keys: Vec<Key> = batch.iter().map(codec::key_of).collect::<Result<_, _>>()?;
    let mut rows = db.batch_get(keys.clone()).await?;
    let whole = |row: Row, key: &Key| row.live::<serde_json::Value>(key).ok();
    let mut is_sound = |row: &Item, key: &Key| {
        let found = rows.take(key).and_then(|found| whole(found, key));
        found.is_some() && found == whole(Row::from(row.clone()), key)
    };
    let rows = batch.into_iter().zip(&keys).filter(|(row, key)| !is_sound(row, key));
    Ok(rows.map(|(row, _)| row).collect())
}

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
