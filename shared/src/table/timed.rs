//! A value that is read again when it is older than a few seconds.

use super::StoreError;
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
