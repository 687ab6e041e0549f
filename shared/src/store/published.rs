//! The pointer, and reads of published things through it (design, sections 2.3 and 2.4).

use super::client::Db;
use super::codec::decode_live;
use super::timed::Timed;
use super::{StoreError, keys};
use crate::clock::Clock;
use crate::model::Pointer;
use std::sync::Arc;
use std::time::Duration;

/// Which version is published, as this process knows it.
#[derive(Debug)]
pub struct Published {
    db: Db,
    clock: Arc<dyn Clock>,
    pointer: Timed<Pointer>,
}

impl Published {
    /// A process that knows nothing yet and trusts a pointer for `lifetime`.
    #[must_use]
    pub fn new(db: Db, clock: Arc<dyn Clock>, lifetime: Duration) -> Self {
        Self { db, clock, pointer: Timed::new(lifetime) }
    }

    /// The pointer, read again where it is stale. An empty table has an empty one.
    ///
    /// # Errors
    /// [`StoreError`] where it can be neither read nor decoded.
    pub async fn pointer(&self) -> Result<Arc<Pointer>, StoreError> {
        self.pointer.get(self.clock.millis(), self.read()).await
    }

    async fn read(&self) -> Result<Pointer, StoreError> {
        let key = keys::pointer();
        let item = self.db.get(&key, false).await?;
        item.map_or_else(|| Ok(Pointer::default()), |item| decode_live(&key, item))
    }

    /// The pointer last read, however old.
    #[must_use]
    pub fn last_known(&self) -> Option<Arc<Pointer>> {
        self.pointer.last_known()
    }

    /// What `load` reads of the published version. With a stale pointer, `load` runs at the version last known side by
    /// side with reading the pointer, and once more only if that moved: a request sees one version throughout.
    ///
    /// # Errors
    /// What reading the pointer or `load` answers.
    pub async fn at_current<T, F>(&self, load: impl Fn(Arc<Pointer>) -> F) -> Result<(Arc<Pointer>, T), StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let known = self.pointer.last_known();
        let Some(known) = known else {
            let pointer = self.pointer().await?;
            return Ok((Arc::clone(&pointer), load(pointer).await?));
        };
        if self.pointer.fresh(self.clock.millis()).is_some() {
            return Ok((Arc::clone(&known), load(known).await?));
        }
        let (pointer, at_known) = tokio::join!(self.pointer(), load(Arc::clone(&known)));
        let pointer = pointer?;
        let thing = if pointer.version == known.version { at_known? } else { load(Arc::clone(&pointer)).await? };
        Ok((pointer, thing))
    }

    /// [`Self::at_current`] for a caller without a token: `None` where the store has no guest mode (ruling 2). Where
    /// it had none when last looked at, `load` does not run before the pointer says otherwise, so that a caller who is
    /// refused costs no read of a page.
    ///
    /// # Errors
    /// What reading the pointer or `load` answers.
    pub async fn at_current_for_guest<T, F>(
        &self,
        load: impl Fn(Arc<Pointer>) -> F,
    ) -> Result<Option<(Arc<Pointer>, T)>, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let welcome = |pointer: &Arc<Pointer>| pointer.config.guest_mode_enabled;
        if !self.last_known().as_ref().is_some_and(welcome) && !welcome(&self.pointer().await?) {
            return Ok(None);
        }
        Ok(Some(self.at_current(load).await?).filter(|(pointer, _)| welcome(pointer)))
    }
}
