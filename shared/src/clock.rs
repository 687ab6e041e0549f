//! The only place that asks what time it is.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A source of the current time; functions take it as an argument, so that tests choose it.
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

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that may ask")]
    fn now(&self) -> Duration {
        // A clock before 1970 reads as 1970: every token is then not yet expired, and the owner has other trouble.
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}
