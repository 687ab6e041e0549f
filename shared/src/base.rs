//! What every function holds for as long as its process lives.

use crate::clock::{Clock, SystemClock};
use crate::config::{Config, ConfigError};
use crate::store::access::Access;
use crate::store::published::Published;
use crate::store::{Db, keys};
use std::sync::Arc;

/// Connection, configuration, clock and the pointer. Every function's own state adds the caches it needs.
#[derive(Debug)]
pub struct Base {
    /// The table.
    pub db: Db,
    /// What the environment says.
    pub config: Config,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What is published.
    pub published: Published,
}

impl Base {
    /// A base on a table that is reached already.
    #[must_use]
    pub fn new(db: Db, config: Config, clock: Arc<dyn Clock>) -> Self {
        let published = Published::new(db.clone(), Arc::clone(&clock), config.cache);
        Self { db, config, clock, published }
    }

    /// A base as the process's environment says, with the pointer read while the sandbox starts, and once more by
    /// `second` side by side: that opens the two connections that most requests use at once, and goes the way of the
    /// function's reads a first time (see "Two connections from the start" in `infra/docs/decisions.md`). A failed read fails
    /// nothing; the first request tries again.
    ///
    /// # Errors
    /// [`ConfigError`] where the environment is incomplete.
    pub async fn from_env(second: impl AsyncFnOnce(&Db)) -> Result<Self, ConfigError> {
        let config = Config::from_env()?;
        let access = Access::from_env()?;
        let is_known = access.credentials.is_some();
        let base = Self::new(Db::direct(access, &config.table), config, Arc::new(SystemClock));
        if is_known {
            base.connect(second).await;
        }
        Ok(base)
    }

    async fn connect(&self, second: impl AsyncFnOnce(&Db)) {
        let (pointer, ()) = tokio::join!(self.published.pointer(), second(&self.db));
        if let Err(error) = pointer {
            tracing::warn!(error = %error, "the pointer could not be read during init");
        }
    }
}

/// Reads the pointer for [`Base::from_env`] as a function reads that asks for several items at once.
pub async fn by_batch(db: &Db) {
    // What it says comes by the other read.
    let _ = db.batch_get(vec![keys::pointer()]).await;
}

/// Reads the pointer for [`Base::from_env`] as a function reads that never does: it is smaller without.
pub async fn by_get(db: &Db) {
    // As in `by_batch`.
    let _ = db.get(&keys::pointer(), false).await;
}
