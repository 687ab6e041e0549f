//! The only place that reads the current time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A source of the current time. It is passed as an argument, so that tests can set it.
pub trait Clock: std::fmt::Debug + Send + Sync {
    /// Time since 1970 UTC.
    fn now(&self) -> Duration;

    /// Seconds since 1970 UTC.
    fn seconds(&self) -> i64 {
        i64::try_from(self.now().as_secs()).unwrap_or(i64::MAX)
    }

    /// Milliseconds since 1970 UTC.
    fn millis(&self) -> u64 {
        u64::try_from(self.now().as_millis()).unwrap_or(u64::MAX)
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that may ask")]
    fn now(&self) -> Duration {
        // A clock before 1970 reads as 1970: no token has expired then, and the machine has other problems.
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}
