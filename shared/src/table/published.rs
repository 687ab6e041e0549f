//! The active version, and reads of published things through it (rules.md, "Publishing").

use super::caches::{Timed, VersionedCache};
use super::client::Db;
use super::codec::{Item, decode_live, decode_published, encode_live};
use super::keys::Key;
use super::single::apply;
use super::transaction::{Write, sent};
use super::{StoreError, keys};
use crate::clock::Clock;
use crate::model::{ActiveVersion, LocalAddresses, ProviderAccount, SCHEMA};
use crate::random;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::de::DeserializeOwned;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Reads the active version's item. While a restore runs, its mark is there instead: the table is then unavailable, so
/// that no request reads half a store, and none writes into it. Fails with [`StoreError::Unavailable`] while a restore
/// runs.
pub fn decode_active_version(item: Item) -> Result<ActiveVersion, StoreError> {
    if item.contains_key(keys::RESTORING) {
        return Err(StoreError::unavailable("GetItem"));
    }
    decode_live(&keys::active_version(), item)
}

/// Reads the active version, strongly consistent; `None` in an empty table.
pub async fn read_active_version(db: &Db) -> Result<Option<ActiveVersion>, StoreError> {
    db.get(&keys::active_version(), true).await?.map(decode_active_version).transpose()
}

/// Refuses data of an earlier format than this code works on. Fails with [`StoreError::Outdated`] if `storectl upgrade`
/// must run first.
pub const fn must_be_current(active: &ActiveVersion) -> Result<(), StoreError> {
    if active.is_current() { Ok(()) } else { Err(StoreError::Outdated { found: active.schema, needed: SCHEMA }) }
}

/// Raises the schema number of the data, unless it is as high already or nothing is published. Returns whether it was written.
pub async fn raise_schema(db: &Db, to: u32) -> Result<bool, StoreError> {
    let write = Write::update(keys::active_version(), "SET #schema = :schema")
        .only_if("attribute_exists(#version) AND (attribute_not_exists(#schema) OR #schema < :schema)")
        .name("#schema", "schema")
        .name("#version", "version")
        .number(":schema", to);
    sent(db, vec![write]).await
}

/// Sets or removes the account that the store is leaving. `false` if nothing was published yet. Fails if it cannot be written; it is
/// not known then whether it was.
pub async fn set_leaving(db: &Db, account: Option<&ProviderAccount>) -> Result<bool, StoreError> {
    let key = keys::active_version();
    let write: Write = match account {
        Some(account) => {
            let account = AttributeValue::M(encode_live(&key, account)?);
            Write::update(key, "SET leaving = :account").value(":account", account)
        }
        None => Write::update(key, "REMOVE leaving"),
    };
    apply(db, write.only_if("attribute_exists(#version)").name("#version", "version")).await
}

/// The key of the hashes of banned cards; a new random one if there is none yet.
pub async fn card_salt(db: &Db) -> Result<String, StoreError> {
    let (one, other) = (random::bits(), random::bits());
    let new =
        one.zip(other).map(|(one, other)| hex::encode([one, other].concat())).ok_or_else(StoreError::no_entropy)?;
    let write = Write::update(keys::active_version(), "SET card_salt = if_not_exists(card_salt, :salt)");
    apply(db, write.only_if("attribute_exists(#version)").name("#version", "version").text(":salt", &new)).await?;
    let salt = read_active_version(db).await?.and_then(|active| active.card_salt);
    salt.ok_or_else(|| StoreError::unreadable(&keys::active_version(), "card_salt"))
}

/// Which version is published, and the things of the versions that were read, as this process knows them. Only a version of
/// current data is ever kept.
#[derive(Debug)]
pub struct Published {
    pub(crate) db: Db,
    pub cache: VersionedCache,
    clock: Arc<dyn Clock>,
    active: Timed<ActiveVersion>,
    addresses: LocalAddresses,
    /// Whether the last read found outdated data.
    is_outdated: AtomicBool,
}

impl Published {
    /// Nothing is read yet. An active version will be trusted for `lifetime`.
    pub fn new(db: Db, clock: Arc<dyn Clock>, lifetime: Duration) -> Self {
        let (active, cache, addresses) = (Timed::new(lifetime), VersionedCache::default(), LocalAddresses::default());
        Self { db, cache, clock, active, addresses, is_outdated: AtomicBool::new(false) }
    }

    /// The same with addresses on this machine.
    #[must_use]
    pub fn with_addresses(self, addresses: LocalAddresses) -> Self {
        Self { addresses, ..self }
    }

    /// Reads the active version again if the data were outdated when it was last read: such a table is refused before
    /// anything else is done.
    pub async fn refuse_outdated(&self) -> Result<(), StoreError> {
        if self.is_outdated.load(Ordering::Relaxed) { self.active_version().await.map(drop) } else { Ok(()) }
    }

    /// Refuses outdated data on behalf of a caller who writes and does not need the active version. It is read only if
    /// this process has not read it yet.
    pub async fn may_write(&self) -> Result<(), StoreError> {
        if self.last_known().is_some() { Ok(()) } else { self.active_version().await.map(drop) }
    }

    /// The active version, read again if it is stale. That of an empty table is empty.
    pub async fn active_version(&self) -> Result<Arc<ActiveVersion>, StoreError> {
        self.active.get(self.clock.millis(), self.read()).await
    }

    async fn read(&self) -> Result<ActiveVersion, StoreError> {
        let item = self.db.get(&keys::active_version(), false).await?;
        let mut active = item.map_or_else(|| Ok(ActiveVersion::default()), decode_active_version)?;
        self.addresses.replace_in(&mut active.config);
        let current = must_be_current(&active);
        self.is_outdated.store(current.is_err(), Ordering::Relaxed);
        current.map(|()| active)
    }

    /// The published thing under `key`. One that is not cached is read strongly consistent: right after a publish, a replica that
    /// lags must not make a page look missing.
    pub async fn get<T>(&self, key: &Key) -> Result<Option<Arc<T>>, StoreError>
    where
        T: DeserializeOwned + Any + Send + Sync,
    {
        let load = async {
            let item = self.db.get(key, true).await?;
            item.map(|item| decode_published(key, &item)).transpose()
        };
        self.cache.get_or_load(key, load).await
    }

    /// The active version last read, however old.
    pub fn last_known(&self) -> Option<Arc<ActiveVersion>> {
        self.active.last_known()
    }

    /// The result of `load` for the published version. If the active version is stale, it is read again while `load`
    /// runs at the version last known; `load` runs once more only if the version has changed. A request sees one
    /// version throughout.
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

    /// [`Self::at_current`] for a caller without a token: `None` if the store has no guest mode (rules.md,
    /// "Guest mode"). If it had none when it was last read, `load` does not run until the active version is read again, so
    /// that a refused caller does not cause a read of a page.
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
