//! The time. Tests have another one, in which hours pass at once.

use std::fmt::Debug;
use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub trait Clock: Debug + Send + Sync {
    /// Seconds since 1970 UTC, for what is written down. They may be wrong, and go back.
    fn seconds(&self) -> i64;
    /// The time since some moment; it never goes back.
    fn elapsed(&self) -> Duration;
    fn sleep(&self, pause: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

#[derive(Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn seconds(&self) -> i64 {
        #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, pause: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(pause))
    }
}
