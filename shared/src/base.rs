//! The state that every function holds for as long as its process lives.

use crate::clock::{Clock, SystemClock};
use crate::config::{Config, ConfigError};
use crate::model::LocalAddresses;
use crate::table::caches::TRUSTED_FOR;
use crate::table::published::Published;
use crate::table::{Access, Db, StoreError, keys};
use std::sync::Arc;
use std::time::Duration;

/// Connection, configuration, clock and the active version. Every function's own state adds the caches it needs.
#[derive(Debug)]
pub struct Base {
    pub db: Db,
    pub config: Config,
    pub clock: Arc<dyn Clock>,
    pub published: Published,
    /// Whether the client has credentials, as it always does on Lambda.
    is_known: bool,
}

/// How long init waits for the database: well below the ten seconds that Lambda allows.
const TIMEOUT: Duration = Duration::from_secs(3);

impl AsRef<Self> for Base {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Base {
    pub fn new(db: Db, config: Config, clock: Arc<dyn Clock>) -> Self {
        let published = Published::new(db.clone(), Arc::clone(&clock), TRUSTED_FOR);
        Self { db, config, clock, published, is_known: true }
    }

    /// The same base with addresses on this machine.
    #[must_use]
    pub fn with_addresses(self, addresses: LocalAddresses) -> Self {
        Self { published: self.published.with_addresses(addresses), ..self }
    }

    /// A base from the process's environment. Reads nothing yet.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::with_config(Config::from_env()?)
    }

    /// A base with the process's access to the database. Reads nothing yet.
    pub fn with_config(config: Config) -> Result<Self, ConfigError> {
        let access = Access::from_env()?;
        let is_known = access.credentials.is_some();
        let base = Self::new(Db::new(access, &config.table), config, Arc::new(SystemClock));
        Ok(Self { is_known, ..base })
    }

    /// Prepares the process for its first request: opens the two connections that most requests use, reads the active
    /// version, and concurrently runs `first_page`, which most visits begin with (see "What a function does before its
    /// first request" in `infra/docs/decisions.md`). A failed read is ignored; the first request tries again. Without
    /// credentials it does nothing.
    pub async fn warm_up<T>(&self, first_page: impl Future<Output = Result<T, StoreError>>) {
        if !self.is_known {
            return;
        }
        let key = keys::active_version();
        let second = self.db.get(&key, false);
        let reads = async { tokio::join!(self.published.active_version(), second, first_page) };
        match tokio::time::timeout(TIMEOUT, reads).await {
            Ok((Ok(_), Ok(_), Ok(_))) => {}
            Ok((Err(error), ..) | (_, Err(error), _) | (.., Err(error))) => {
                tracing::warn!(error = %error, "the database could not be read during init");
            }
            Err(_) => tracing::warn!("the database did not respond during init"),
        }
    }

    /// [`Self::warm_up`] of a function without a first page.
    pub async fn connect(&self) {
        self.warm_up(std::future::ready(Ok(()))).await;
    }
}
