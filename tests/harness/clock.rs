//! A clock that tests set.

use shared::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The start time of every test: 15 June 2026, noon UTC, in seconds since 1970.
pub const NOW: i64 = 1_781_524_800;

/// A clock that changes only when it is advanced. Clones are one clock.
#[derive(Debug, Clone)]
pub struct TestClock(Arc<AtomicU64>);

impl TestClock {
    /// A clock at [`NOW`].
    pub fn new() -> Self {
        Self(Arc::new(AtomicU64::new(NOW.unsigned_abs() * 1_000)))
    }

    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_millis()).expect("a short time"), Ordering::SeqCst);
    }

    pub fn set_back(&self, by: Duration) {
        self.0.fetch_sub(u64::try_from(by.as_millis()).expect("a short time"), Ordering::SeqCst);
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TestClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}
