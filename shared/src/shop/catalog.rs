//! The published catalog, as requests read it: category pages, and the items of a cart.

use crate::model::{CategoryPath, CategoryWithItems, ItemId, Items, PublishedItem, Sale};
use crate::table::StoreError;
use crate::table::caches::{NotCached, VersionedCache};
use crate::table::client::Rows;
use crate::table::keys::{self, Key};
use crate::table::published::Published;
use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Debug)]
pub struct CategoryPage<D> {
    /// The category itself, then its subcategories.
    pub categories: Vec<CategoryWithItems>,
    /// The value that a function derives from the page and keeps as long as the page.
    pub derived: D,
}

impl<D> CategoryPage<D> {
    /// The category and its subcategories without those whose sale is over; `None` if the category's own is.
    pub fn at(&self, now: i64) -> Option<(&CategoryWithItems, Vec<&CategoryWithItems>)> {
        let is_shown = |category: &&CategoryWithItems| !category.head.on_sale.is_over(now);
        let (own, subcategories) = self.categories.split_first()?;
        is_shown(&own).then(|| (own, subcategories.iter().filter(is_shown).collect()))
    }

    /// The next second after `now` at which the calendar or one of the store's sales changes the page.
    pub fn edge(&self, now: i64, sales: &[Sale]) -> Option<i64> {
        let items = self.categories.iter().flat_map(|category| &category.items).map(|item| item.on_sale);
        let all = self.categories.iter().map(|category| category.head.on_sale).chain(items);
        all.filter_map(|on_sale| on_sale.edge(now)).chain(Sale::edge(sales, now)).min()
    }

    /// Whether the page of who has bought `item` can differ from that of one who has bought nothing: it is on the page, or
    /// decides about something that is. Every rule that looks at what else a buyer owns belongs here, because callers whom
    /// nothing tells apart share one rendering.
    pub fn tells_apart(&self, item: ItemId, sales: &[Sale]) -> bool {
        let items = || self.categories.iter().flat_map(|category| &category.items);
        let is_for_owners = |sale: &Sale| {
            sale.owners_of.iter().any(|owned| owned.id == item) && items().any(|on| on.sales.contains(&sale.id))
        };
        items().any(|on| on.depends_on(item)) || sales.iter().any(is_for_owners)
    }
}

/// The page of the category at `path`; `None` if the version has none there.
pub async fn category_page<D: Default + Any + Send + Sync>(
    published: &Published,
    version: &str,
    path: &CategoryPath,
) -> Result<Option<Arc<CategoryPage<D>>>, StoreError> {
    let partition = keys::category(version, path);
    let load = async {
        let rows = published.db.query(&partition).await?;
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
    published.cache.get_or_load(&whole, load).await
}

/// The known ones of some items, and the keys of the others.
#[derive(Debug)]
pub struct ItemPlan<'a> {
    cache: &'a VersionedCache,
    known: Items,
    missing: Vec<(ItemId, Key)>,
}

impl<'a> ItemPlan<'a> {
    pub fn new(cache: &'a VersionedCache, version: &str, ids: impl Iterator<Item = ItemId>) -> Self {
        let mut plan = Self { cache, known: Items::new(), missing: Vec::new() };
        for id in ids {
            let key = keys::item(version, id);
            match cache.peek(&key) {
                Ok(thing) => plan.know(id, thing),
                Err(NotCached) if plan.missing.iter().any(|(other, _)| *other == id) => {}
                Err(NotCached) => plan.missing.push((id, key)),
            }
        }
        plan
    }

    /// The item, if it is already known to be published.
    pub fn known(&self, id: ItemId) -> Option<&PublishedItem> {
        self.known.get(&id).map(Arc::as_ref)
    }

    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.missing.iter().map(|(_, key)| key.clone())
    }

    /// The items of the plan, after its keys were read into `rows`. It leaves out items that are not published; their
    /// absence is cached if `is_kept` says so, so that requests for what does not exist evict nothing.
    pub fn complete(mut self, rows: &mut Rows, is_kept: impl Fn(ItemId) -> bool) -> Result<Items, StoreError> {
        for (id, key) in std::mem::take(&mut self.missing) {
            let read = rows.take(&key).map(|row| row.published(&key)).transpose()?;
            let (thing, bytes) = read.map_or((None, 0), |(thing, bytes)| (Some(Arc::new(thing)), bytes));
            if thing.is_some() || is_kept(id) {
                self.cache.insert(key, thing.clone(), bytes);
            }
            self.know(id, thing);
        }
        Ok(self.known)
    }

    fn know(&mut self, id: ItemId, thing: Option<Arc<PublishedItem>>) {
        if let Some(published) = thing {
            self.known.insert(id, published);
        }
    }
}

/// Those of `ids` that were missing when they were last read at `version`. Reads nothing.
pub fn known_missing(cache: &VersionedCache, version: &str, ids: impl Iterator<Item = ItemId>) -> BTreeSet<ItemId> {
    ids.filter(|id| matches!(cache.peek::<PublishedItem>(&keys::item(version, *id)), Ok(None))).collect()
}
