//! A cache of published things. Their keys contain their version and they never change, so they stay until they are
//! evicted (rules.md, "Caches in a function").

use super::StoreError;
use super::client::Db;
use super::codec::decode_published;
use super::keys::Key;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Options, OptionsBuilder, Weighter};
use serde::de::DeserializeOwned;
use std::sync::Arc;

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
