//! A cache of published things. They carry their version in the key and never change, so they stay until they
//! are evicted (rules.md, "Caches in a function").

use super::StoreError;
use super::client::Db;
use super::codec::decode_published;
use super::keys::Key;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Options, OptionsBuilder, Weighter};
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// What one shelf holds at the most, in bytes of stored JSON. The structs take about twice that: a function with
/// three full shelves stays well inside the smallest memory size.
const CAPACITY: u64 = 4 * 1024 * 1024;
/// How many things of average size a full shelf is laid out for.
const ESTIMATED_THINGS: usize = 1_000;

#[derive(Debug)]
struct Shelved<T> {
    thing: Arc<T>,
    bytes: usize,
}

impl<T> Clone for Shelved<T> {
    fn clone(&self) -> Self {
        Self { thing: Arc::clone(&self.thing), bytes: self.bytes }
    }
}

#[derive(Debug, Clone)]
struct Bytes;

impl<T> Weighter<Key, Shelved<T>> for Bytes {
    fn weight(&self, key: &Key, shelved: &Shelved<T>) -> u64 {
        (key.pk.len() + shelved.bytes) as u64
    }
}

/// A cache in one piece: a function answers one request at a time, and one lock is enough. Left to itself the library
/// asks the system for the number of processors, which takes twenty system calls of every start.
///
/// # Panics
/// Never: every option without a default is set.
pub(super) fn options(estimated_items: usize, weight: u64) -> Options {
    let options =
        OptionsBuilder::new().estimated_items_capacity(estimated_items).weight_capacity(weight).shards(1).build();
    #[expect(clippy::expect_used, reason = "every option without a default is set")]
    options.expect("the options are complete")
}

/// Published things of one type by key. Misses at the same time share one read; absence is not kept, so that
/// asking for what is not there evicts nothing.
#[derive(Debug)]
pub struct VersionedCache<T>(Cache<Key, Shelved<T>, Bytes>);

/// Why a thing does not come to lie on the shelf.
enum Miss {
    Absent,
    Failed(StoreError),
}

impl<T> VersionedCache<T> {
    /// An empty shelf.
    ///
    /// # Panics
    /// Never: the cache's options are complete.
    #[must_use]
    pub fn new() -> Self {
        let options = options(ESTIMATED_THINGS, CAPACITY);
        Self(Cache::with_options(options, Bytes, DefaultHashBuilder::default(), DefaultLifecycle::default()))
    }

    /// The thing under `key`, read by `load` (which also says how many bytes it was) where it is not on the shelf.
    ///
    /// # Errors
    /// What `load` answers.
    pub async fn get_or_load(
        &self,
        key: &Key,
        load: impl Future<Output = Result<Option<(T, usize)>, StoreError>>,
    ) -> Result<Option<Arc<T>>, StoreError> {
        let load = async {
            let (thing, bytes) = load.await.map_err(Miss::Failed)?.ok_or(Miss::Absent)?;
            Ok(Shelved { thing: Arc::new(thing), bytes })
        };
        match self.0.get_or_insert_async(key, load).await {
            Ok(shelved) => Ok(Some(shelved.thing)),
            Err(Miss::Absent) => Ok(None),
            Err(Miss::Failed(error)) => Err(error),
        }
    }

    /// The thing under `key` where it is on the shelf.
    #[must_use]
    pub fn peek(&self, key: &Key) -> Option<Arc<T>> {
        self.0.get(key).map(|shelved| shelved.thing)
    }

    /// Lays down a thing that was read with others.
    pub fn insert(&self, key: Key, thing: Arc<T>, bytes: usize) {
        self.0.insert(key, Shelved { thing, bytes });
    }
}

impl<T> Default for VersionedCache<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: DeserializeOwned> VersionedCache<T> {
    /// The published thing under `key`, read strongly consistent on a miss: right after a publish, a replica that
    /// lags must not make a page look missing.
    ///
    /// # Errors
    /// [`StoreError`] where it is neither read nor known to be absent.
    pub async fn get(&self, db: &Db, key: &Key) -> Result<Option<Arc<T>>, StoreError> {
        let load = async {
            let item = db.get(key, true).await?;
            item.map(|item| decode_published(key, &item)).transpose()
        };
        self.get_or_load(key, load).await
    }
}
