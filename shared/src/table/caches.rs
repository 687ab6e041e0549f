//! Values of the table that a process keeps: one that is read again when it is older than a few seconds, and published things, whose keys
//! contain their version and which never change.

use super::StoreError;
use super::client::Db;
use super::codec::decode_published;
use super::keys::Key;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Options, OptionsBuilder, Weighter};
use serde::de::DeserializeOwned;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a function trusts the active version and live counts before it reads them again
/// (rules.md, "Caches in a function").
pub const TRUSTED_FOR: Duration = Duration::from_secs(5);

/// One value with the time when it was read. Callers that find it stale at the same time share one read.
#[derive(Debug)]
pub struct Timed<T> {
    lifetime_millis: u64,
    slot: Mutex<Option<(u64, Arc<T>)>>,
    flight: tokio::sync::Mutex<()>,
}

impl<T> Timed<T> {
    pub fn new(lifetime: Duration) -> Self {
        let lifetime_millis = u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX);
        Self { lifetime_millis, slot: Mutex::new(None), flight: tokio::sync::Mutex::new(()) }
    }

    fn slot(&self) -> Option<(u64, Arc<T>)> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The value, if it is not older than its lifetime at `now` (milliseconds).
    pub fn fresh(&self, now: u64) -> Option<Arc<T>> {
        // A concurrent caller may have a slightly earlier `now` than the one that read. A value from further in the
        // future was read before the clock was set back, and is not trusted.
        let trusted = |read_at: u64| read_at.abs_diff(now) < self.lifetime_millis;
        self.slot().filter(|(read_at, _)| trusted(*read_at)).map(|(_, value)| value)
    }

    /// The value last read, however old.
    pub fn last_known(&self) -> Option<Arc<T>> {
        self.slot().map(|(_, value)| value)
    }

    /// The value, read by `load` if it is stale. After an error the old value is kept.
    pub async fn get(&self, now: u64, load: impl Future<Output = Result<T, StoreError>>) -> Result<Arc<T>, StoreError> {
        if let Some(value) = self.fresh(now) {
            return Ok(value);
        }
        let _flight = self.flight.lock().await;
        if let Some(value) = self.fresh(now) {
            return Ok(value);
        }
        let value = Arc::new(load.await?);
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, Arc::clone(&value)));
        Ok(value)
    }
}

/// The most that one cache keeps, in bytes of stored JSON. The structs take about twice that: a function with three
/// full caches is well below the smallest memory size.
const CAPACITY: u64 = 4 * 1024 * 1024;
/// The number of things of average size in a full cache.
const ESTIMATED_THINGS: usize = 1_000;

#[derive(Debug)]
struct Cached<T> {
    thing: Arc<T>,
    bytes: usize,
}

impl<T> Clone for Cached<T> {
    fn clone(&self) -> Self {
        Self { thing: Arc::clone(&self.thing), bytes: self.bytes }
    }
}

#[derive(Debug, Clone)]
struct Bytes;

impl<T> Weighter<Key, Cached<T>> for Bytes {
    fn weight(&self, key: &Key, cached: &Cached<T>) -> u64 {
        (key.pk.len() + cached.bytes) as u64
    }
}

/// A cache with one lock, which is enough: a function handles one request at a time. By default the library asks the
/// system for the number of processors, which is twenty system calls at every start.
///
/// # Panics
/// Never: every option without a default is set.
pub(crate) fn options(estimated_items: usize, weight: u64) -> Options {
    let options =
        OptionsBuilder::new().estimated_items_capacity(estimated_items).weight_capacity(weight).shards(1).build();
    #[expect(clippy::expect_used, reason = "every option without a default is set")]
    options.expect("the options are complete")
}

/// Published things of one type by key. Concurrent misses share one read. Absence is not kept, so that requests for
/// what does not exist evict nothing.
#[derive(Debug)]
pub struct VersionedCache<T>(Cache<Key, Cached<T>, Bytes>);

/// The reason why a thing is not cached.
enum Miss {
    Absent,
    Failed(StoreError),
}

impl<T> VersionedCache<T> {
    /// An empty cache.
    ///
    /// # Panics
    /// Never: the cache's options are complete.
    pub fn new() -> Self {
        let options = options(ESTIMATED_THINGS, CAPACITY);
        Self(Cache::with_options(options, Bytes, DefaultHashBuilder::default(), DefaultLifecycle::default()))
    }

    /// The thing under `key`. If it is not cached, `load` reads it, and returns how many bytes it was.
    pub async fn get_or_load(
        &self,
        key: &Key,
        load: impl Future<Output = Result<Option<(T, usize)>, StoreError>>,
    ) -> Result<Option<Arc<T>>, StoreError> {
        let load = async {
            let (thing, bytes) = load.await.map_err(Miss::Failed)?.ok_or(Miss::Absent)?;
            Ok(Cached { thing: Arc::new(thing), bytes })
        };
        match self.0.get_or_insert_async(key, load).await {
            Ok(cached) => Ok(Some(cached.thing)),
            Err(Miss::Absent) => Ok(None),
            Err(Miss::Failed(error)) => Err(error),
        }
    }

    /// The thing under `key`, if it is cached.
    pub fn peek(&self, key: &Key) -> Option<Arc<T>> {
        self.0.get(key).map(|cached| cached.thing)
    }

    /// Caches a thing that was read together with others.
    pub fn insert(&self, key: Key, thing: Arc<T>, bytes: usize) {
        self.0.insert(key, Cached { thing, bytes });
    }
}

impl<T> Default for VersionedCache<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: DeserializeOwned> VersionedCache<T> {
    /// The published thing under `key`. A miss is a strongly consistent read: right after a publish, a replica that
    /// lags must not make a page look missing.
    pub async fn get(&self, db: &Db, key: &Key) -> Result<Option<Arc<T>>, StoreError> {
        let load = async {
            let item = db.get(key, true).await?;
            item.map(|item| decode_published(key, &item)).transpose()
        };
        self.get_or_load(key, load).await
    }
}
