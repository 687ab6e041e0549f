//! A published version back from the table, as it was compiled.

use crate::compile::{Compiled, CompiledCategory, Deliveries, Frame};
use crate::version::{read_shelves, read_tree, store_of};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde::de::DeserializeOwned;
use shared::model::{ItemId, Page, PageUrl, PublishedItem};
use shared::shop::publishing::{VersionRecord, read_version};
use shared::table::bulk::{IN_FLIGHT, batches};
use shared::table::codec::Item;
use shared::table::keys::{self, Key};
use shared::table::{Db, Row, StoreError, codec, read_published};

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
