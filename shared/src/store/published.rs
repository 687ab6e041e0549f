//! The active version, and reads of published things through it (rules.md, "Publishing").

use super::client::Db;
use super::codec::{Item, decode_live};
use super::timed::Timed;
use super::{StoreError, keys};
use crate::clock::Clock;
use crate::model::ActiveVersion;
use std::sync::Arc;
use std::time::Duration;

/// Reads the active version's item. While a restore runs, its mark is there instead: the table is then unavailable, so
/// that no request reads half a store, and none writes into it.
///
/// # Errors
/// [`StoreError::Unavailable`] while a restore runs, [`StoreError::Unreadable`] if it cannot be decoded.
pub fn decode_active_version(item: Item) -> Result<ActiveVersion, StoreError> {
    if item.contains_key(keys::RESTORING) {
        return Err(StoreError::unavailable("GetItem"));
    }
    decode_live(&keys::active_version(), item)
}

/// Reads the active version, strongly consistent; `None` in an empty table.
///
/// # Errors
/// [`StoreError`] if it can be neither read nor decoded, or while a restore runs.
pub async fn read_active_version(db: &Db) -> Result<Option<ActiveVersion>, StoreError> {
    db.get(&keys::active_version(), true).await?.map(decode_active_version).transpose()
}

/// Which version is published, as this process knows it.
#[derive(Debug)]
pub struct Published {
    db: Db,
    clock: Arc<dyn Clock>,
    active: Timed<ActiveVersion>,
}

impl Published {
    /// Nothing is read yet. An active version will be trusted for `lifetime`.
    #[must_use]
    pub fn new(db: Db, clock: Arc<dyn Clock>, lifetime: Duration) -> Self {
        Self { db, clock, active: Timed::new(lifetime) }
    }

    /// The active version, read again if it is stale. That of an empty table is empty.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be read or decoded.
    pub async fn active_version(&self) -> Result<Arc<ActiveVersion>, StoreError> {
        self.active.get(self.clock.millis(), self.read()).await
    }

    async fn read(&self) -> Result<ActiveVersion, StoreError> {
        let item = self.db.get(&keys::active_version(), false).await?;
        item.map_or_else(|| Ok(ActiveVersion::default()), decode_active_version)
    }

    /// The active version last read, however old.
    #[must_use]
    pub fn last_known(&self) -> Option<Arc<ActiveVersion>> {
        self.active.last_known()
    }

    /// What `load` reads of the published version. If the active version is stale, it is read again while `load` runs at
    /// the version last known; `load` runs once more only if the version has changed. A request sees one version
    /// throughout.
    ///
    /// # Errors
    /// As reading the active version, or as `load`.
    pub async fn at_current<T, F>(
        &self,
        load: impl Fn(Arc<ActiveVersion>) -> F,
    ) -> Result<(Arc<ActiveVersion>, T), StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let known = self.active.last_known();
        let Some(known) = known else {
            let active = self.active_version().await?;
            return Ok((Arc::clone(&active), load(active).await?));
        };
        if self.active.fresh(self.clock.millis()).is_some() {
            return Ok((Arc::clone(&known), load(known).await?));
        }
        let (active, at_known) = tokio::join!(self.active_version(), load(Arc::clone(&known)));
        let active = active?;
        let thing = if active.version == known.version { at_known? } else { load(Arc::clone(&active)).await? };
        Ok((active, thing))
    }

    /// [`Self::at_current`] for a caller without a token: `None` if the store has no guest mode (rules.md, "Guest mode").
    /// If it had none when it was last read, `load` does not run until the active version is read again, so that a
    /// refused caller does not cause a read of a page.
    ///
    /// # Errors
    /// As reading the active version, or as `load`.
    pub async fn at_current_for_guest<T, F>(
        &self,
        load: impl Fn(Arc<ActiveVersion>) -> F,
    ) -> Result<Option<(Arc<ActiveVersion>, T)>, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let welcome = |active: &Arc<ActiveVersion>| active.config.guest_mode_enabled;
        if !self.last_known().as_ref().is_some_and(welcome) && !welcome(&self.active_version().await?) {
            return Ok(None);
        }
        Ok(Some(self.at_current(load).await?).filter(|(active, _)| welcome(active)))
    }
}
