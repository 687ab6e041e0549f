//! Category pages: a category with its subcategories, read together.

use super::StoreError;
use super::client::Db;
use super::codec::{decode_published, key_of};
use super::keys::{self, Key};
use super::shelf::Shelf;
use crate::model::{CategoryPath, CategoryShelf};
use std::sync::Arc;

/// Category pages by version and path. The first shelf of a page is the category itself.
#[derive(Debug, Default)]
pub struct CategoryPages(Shelf<Vec<CategoryShelf>>);

impl CategoryPages {
    /// The page of the category at `path`; `None` where the version has none there.
    ///
    /// # Errors
    /// [`StoreError`] where it is neither read nor known to be absent.
    pub async fn get(
        &self,
        db: &Db,
        version: &str,
        path: &CategoryPath,
    ) -> Result<Option<Arc<Vec<CategoryShelf>>>, StoreError> {
        let partition = keys::category(version, path);
        let load = async {
            let items = db.query(&partition).await?;
            let mut page = Vec::with_capacity(items.len());
            let mut bytes = 0;
            for item in &items {
                let (part, size) = decode_published(&key_of(item)?, item)?;
                page.push(part);
                bytes += size;
            }
            Ok((!page.is_empty()).then_some((page, bytes)))
        };
        let whole = Key { pk: partition.clone(), sk: String::new() };
        self.0.get_or_load(&whole, load).await
    }
}
