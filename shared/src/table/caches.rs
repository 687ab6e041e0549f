//! Values of the table that a process keeps: one that is read again when it is older than a few seconds ([`Timed`]), and published
//! things, whose keys contain their version and which never change ([`VersionedCache`]).

use super::StoreError;
use super::keys::Key;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Options, OptionsBuilder, Weighter};
use std::any::Any;
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

/// The most that a process keeps of published things, in bytes of stored JSON. The structs take about twice that, which is well
/// below the smallest memory size.
const CAPACITY: u64 = 12 * 1024 * 1024;
/// The number of things of average size in a full cache.
const ESTIMATED_THINGS: usize = 3_000;

/// A published thing; `None` if the version has none under the key, which is as immutable.
#[derive(Debug, Clone)]
struct Cached {
    thing: Option<Arc<dyn Any + Send + Sync>>,
    bytes: usize,
}

impl Cached {
    /// The thing as a `T`. Fails if it is something else.
    fn read_as<T: Any + Send + Sync>(self) -> Result<Option<Arc<T>>, NotCached> {
        self.thing.map(Arc::downcast).transpose().map_err(|_| NotCached)
    }
}

/// Nothing of this type is cached under a key.
#[derive(Debug)]
pub struct NotCached;

#[derive(Debug, Clone)]
struct Bytes;

impl Weighter<Key, Cached> for Bytes {
    fn weight(&self, key: &Key, cached: &Cached) -> u64 {
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

/// Published things of every type by key; a key is always of one type. Concurrent misses share one read. Absence is kept only
/// if a caller inserts it, so that requests for what does not exist evict nothing.
#[derive(Debug)]
pub struct VersionedCache(Cache<Key, Cached, Bytes>);

/// The reason why a thing is not cached.
enum Miss {
    Absent,
    Failed(StoreError),
}

impl Default for VersionedCache {
    /// An empty cache.
    fn default() -> Self {
        let options = options(ESTIMATED_THINGS, CAPACITY);
        Self(Cache::with_options(options, Bytes, DefaultHashBuilder::default(), DefaultLifecycle::default()))
    }
}

impl VersionedCache {
    /// The thing under `key`. If it is not cached, `load` reads it, and returns how many bytes it was.
    pub async fn get_or_load<T: Any + Send + Sync>(
        &self,
        key: &Key,
        load: impl Future<Output = Result<Option<(T, usize)>, StoreError>>,
    ) -> Result<Option<Arc<T>>, StoreError> {
        let load = async {
            let (thing, bytes) = load.await.map_err(Miss::Failed)?.ok_or(Miss::Absent)?;
            Ok(Cached { thing: Some(Arc::new(thing)), bytes })
        };
        match self.0.get_or_insert_async(key, load).await {
            Ok(cached) => {
                cached.read_as().map_err(|NotCached| StoreError::unreadable(key, "it is cached as another type"))
            }
            Err(Miss::Absent) => Ok(None),
            Err(Miss::Failed(error)) => Err(error),
        }
    }

    /// The thing under `key`, or its absence, if that is cached.
    pub fn peek<T: Any + Send + Sync>(&self, key: &Key) -> Result<Option<Arc<T>>, NotCached> {
        self.0.get(key).ok_or(NotCached)?.read_as()
    }

    /// Caches a thing that was read together with others, or its absence.
    pub fn insert<T: Any + Send + Sync>(&self, key: Key, thing: Option<Arc<T>>, bytes: usize) {
        self.0.insert(key, Cached { thing: thing.map(|thing| thing as Arc<dyn Any + Send + Sync>), bytes });
    }
}
