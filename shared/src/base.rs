//! What every function holds for as long as its process lives.

use crate::clock::{Clock, SystemClock};
use crate::config::{Config, ConfigError};
use crate::store::access::Access;
use crate::store::published::Published;
use crate::store::{Db, keys};
use std::sync::Arc;
use std::time::Duration;

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
    /// Whether the database knows this process: with credentials, as it always does on Lambda.
    is_known: bool,
}

/// How long a sandbox waits for the database before it takes requests: far less than the ten seconds that Lambda gives it.
const PATIENCE: Duration = Duration::from_secs(3);

impl Base {
    /// A base on a table that is reached already.
    #[must_use]
    pub fn new(db: Db, config: Config, clock: Arc<dyn Clock>) -> Self {
        let published = Published::new(db.clone(), Arc::clone(&clock), config.cache);
        Self { db, config, clock, published, is_known: true }
    }

    /// A base as the process's environment says. Nothing is read yet.
    ///
    /// # Errors
    /// [`ConfigError`] where the environment is incomplete.
    pub fn from_env() -> Result<Self, ConfigError> {
        let config = Config::from_env()?;
        let access = Access::from_env()?;
        let is_known = access.credentials.is_some();
        let base = Self::new(Db::direct(access, &config.table), config, Arc::new(SystemClock));
        Ok(Self { is_known, ..base })
    }

    /// What is better done while the sandbox starts than in the first request: reads the pointer, and side by side runs
    /// `second`, a read that opens the second connection which most requests use, and a `rehearsal`
    /// (see "Two connections from the start" and "A rehearsal" in `infra/docs/decisions.md`). A failed read fails nothing;
    /// the first request tries again. Without credentials nothing is done.
    pub async fn warm_up(&self, second: impl Future<Output = ()>, rehearsal: impl Future<Output = ()>) {
        if !self.is_known {
            return;
        }
        let reads = async {
            let (pointer, (), ()) = tokio::join!(self.published.pointer(), second, rehearsal);
            if let Err(error) = pointer {
                tracing::warn!(error = %error, "the pointer could not be read during init");
            }
        };
        if tokio::time::timeout(PATIENCE, reads).await.is_err() {
            tracing::warn!("the database did not answer during init");
        }
    }
}

/// Reads the pointer for [`Base::warm_up`] as a function reads that asks for several items at once.
pub async fn by_batch(db: &Db) {
    // What it says comes by the other read.
    let _ = db.batch_get(vec![keys::pointer()]).await;
}

/// Reads the pointer for [`Base::warm_up`] as a function reads that never does: it is smaller without.
pub async fn by_get(db: &Db) {
    // As in `by_batch`.
    let _ = db.get(&keys::pointer(), false).await;
}
