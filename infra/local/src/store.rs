//! The store that is served: read from its files, published and seeded where the table is empty.

use crate::error::StartError;
use publish::files::StoreFiles;
use publish::live::{self, Live};
use publish::{Compiled, Fault};
use shared::store::Db;
use std::path::Path;

/// A store as its files have it.
#[derive(Debug)]
pub struct Store {
    /// What is published.
    pub compiled: Compiled,
    /// What lives beside it.
    pub live: Live,
}

impl Store {
    /// Reads the files in `dir`; `now`, in seconds since 1970 UTC, is what relative times are counted from.
    ///
    /// # Errors
    /// [`StartError::Store`] with everything that is wrong.
    pub fn read(dir: &Path, now: i64) -> Result<Self, StartError> {
        let faulty = |faults: Vec<Fault>| StartError::Store { dir: dir.to_owned(), faults };
        let files: StoreFiles = publish::read(dir).map_err(faulty)?;
        let compiled = publish::compile(&files).map_err(faulty)?;
        let live = live::read_live(dir, &files, now).map_err(faulty)?;
        Ok(Self { compiled, live })
    }

    /// Publishes and seeds the store where nothing was published yet; says whether it did.
    ///
    /// # Errors
    /// [`StartError::Publish`] where the database refuses.
    pub async fn load_into_empty(&self, db: &Db, now: i64) -> Result<bool, StartError> {
        if publish::read_pointer(db).await.map_err(publish::PublishError::Store)?.is_some() {
            return Ok(false);
        }
        // The pointer comes last: an interrupted first start is started over by the next.
        live::seed(db, &self.live).await.map_err(publish::PublishError::Store)?;
        publish::publish(db, &self.compiled, now).await?;
        Ok(true)
    }
}
