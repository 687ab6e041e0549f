//! Category pages: a category with its subcategories, read together.

use crate::model::{CategoryPath, CategoryWithItems};
use crate::table::StoreError;
use crate::table::client::Db;
use crate::table::keys::{self, Key};
use crate::table::versioned_cache::VersionedCache;
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
