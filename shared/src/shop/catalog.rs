//! The published catalog, as requests read it: category pages, and the items of a cart.

use crate::model::{CategoryPath, CategoryWithItems, ItemId, Items, PublishedItem};
use crate::table::StoreError;
use crate::table::caches::VersionedCache;
use crate::table::client::{Db, Rows};
use crate::table::keys::{self, Key};
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Debug)]
pub struct CategoryPage<D> {
    /// The category itself, then its subcategories.
    pub categories: Vec<CategoryWithItems>,
    /// The value that a function derives from the page and keeps as long as the page.
    pub derived: D,
}

#[derive(Debug, Default)]
pub struct CategoryPages<D>(VersionedCache<CategoryPage<D>>);

impl<D: Default> CategoryPages<D> {
    /// The page of the category at `path`; `None` if the version has none there.
    pub async fn get(
        &self,
        db: &Db,
        version: &str,
        path: &CategoryPath,
    ) -> Result<Option<Arc<CategoryPage<D>>>, StoreError> {
        let partition = keys::category(version, path);
        let load = async {
            let rows = db.query(&partition).await?;
            let mut categories = Vec::with_capacity(rows.len());
            let mut bytes = 0;
            for row in rows {
                let (part, size) = row.published(&row.key()?)?;
                categories.push(part);
                // Twice: what is derived from the page is kept as well.
                bytes += 2 * size;
            }
            Ok((!categories.is_empty()).then(|| (CategoryPage { categories, derived: D::default() }, bytes)))
        };
        let whole = Key { pk: partition.clone(), sk: String::new() };
        self.0.get_or_load(&whole, load).await
    }
}

/// Published items by version and id. The absence of an item of a cart is kept as well: it is as immutable as an item.
#[derive(Debug, Default)]
pub struct ItemCache(VersionedCache<Option<Arc<PublishedItem>>>);

/// The known ones of some items, and the keys of the others.
#[derive(Debug)]
pub struct ItemPlan {
    known: Items,
    missing: Vec<(ItemId, Key)>,
}

impl ItemCache {
    pub fn plan(&self, version: &str, ids: impl Iterator<Item = ItemId>) -> ItemPlan {
        let mut plan = ItemPlan { known: Items::new(), missing: Vec::new() };
        for id in ids {
            let key = keys::item(version, id);
            match self.0.peek(&key) {
                Some(thing) => plan.know(id, thing.as_ref().as_ref()),
                None if plan.missing.iter().any(|(other, _)| *other == id) => {}
                None => plan.missing.push((id, key)),
            }
        }
        plan
    }

    /// Those of `ids` that were missing when they were last read at `version`. Reads nothing.
    pub fn known_missing(&self, version: &str, ids: impl Iterator<Item = ItemId>) -> BTreeSet<ItemId> {
        let missing = |id: &ItemId| self.0.peek(&keys::item(version, *id)).is_some_and(|thing| thing.is_none());
        ids.filter(missing).collect()
    }

    /// The items of a plan, after its keys were read into `rows`. It leaves out items that are not published; their
    /// absence is remembered if `is_kept` says so, so that requests for what does not exist evict nothing.
    pub fn complete(
        &self,
        mut plan: ItemPlan,
        rows: &mut Rows,
        is_kept: impl Fn(ItemId) -> bool,
    ) -> Result<Items, StoreError> {
        for (id, key) in std::mem::take(&mut plan.missing) {
            let read = rows.take(&key).map(|row| row.published(&key)).transpose()?;
            let (thing, bytes) = read.map_or((None, 0), |(thing, bytes)| (Some(Arc::new(thing)), bytes));
            plan.know(id, thing.as_ref());
            if thing.is_some() || is_kept(id) {
                self.0.insert(key, Arc::new(thing), bytes);
            }
        }
        Ok(plan.known)
    }
}

impl ItemPlan {
    /// The item, if it is already known to be published.
    pub fn known(&self, id: ItemId) -> Option<&PublishedItem> {
        self.known.get(&id).map(Arc::as_ref)
    }

    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.missing.iter().map(|(_, key)| key.clone())
    }

    fn know(&mut self, id: ItemId, thing: Option<&Arc<PublishedItem>>) {
        if let Some(published) = thing {
            self.known.insert(id, Arc::clone(published));
        }
    }
}
