//! Category pages: a category with its subcategories, read together.

use super::StoreError;
use super::client::Db;
use super::keys::{self, Key};
use super::versioned_cache::VersionedCache;
use crate::model::{CategoryPath, CategoryWithItems};
use std::sync::Arc;

/// A category page.
#[derive(Debug)]
pub struct CategoryPage<B> {
    /// The category itself, then its subcategories.
    pub shelves: Vec<CategoryWithItems>,
    /// What a function makes of the page and keeps for as long as the page itself.
    pub beside: B,
}

/// Category pages by version and path.
#[derive(Debug, Default)]
pub struct CategoryPages<B>(VersionedCache<CategoryPage<B>>);

impl<B: Default> CategoryPages<B> {
    /// The page of the category at `path`; `None` where the version has none there.
    ///
    /// # Errors
    /// [`StoreError`] where it is neither read nor known to be absent.
    pub async fn get(
        &self,
        db: &Db,
        version: &str,
        path: &CategoryPath,
    ) -> Result<Option<Arc<CategoryPage<B>>>, StoreError> {
        let partition = keys::category(version, path);
        let load = async {
            let rows = db.query(&partition).await?;
            let mut shelves = Vec::with_capacity(rows.len());
            let mut bytes = 0;
            for row in rows {
                let (part, size) = row.published(&row.key()?)?;
                shelves.push(part);
                // Twice: what is kept beside a page takes its room as well.
                bytes += 2 * size;
            }
            Ok((!shelves.is_empty()).then(|| (CategoryPage { shelves, beside: B::default() }, bytes)))
        };
        let whole = Key { pk: partition.clone(), sk: String::new() };
        self.0.get_or_load(&whole, load).await
    }
}
