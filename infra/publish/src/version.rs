//! The names of versions, and how their rows are found again.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use shared::model::{CategoryHead, CategoryPath, CategoryWithItems, PageUrl, Tree};
use shared::table::bulk::IN_FLIGHT;
use shared::table::codec::Row;
use shared::table::keys::{self, Key};
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
