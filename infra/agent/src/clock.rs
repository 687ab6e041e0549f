//! The time. Tests have another one, in which hours pass at once.

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub trait Clock: Debug + Send + Sync {
    /// Seconds since 1970 UTC, for what is written down. They may be wrong, and go back.
    fn seconds(&self) -> i64;
    /// The time since some moment, also that in which the machine slept; it never goes back.
    fn elapsed(&self) -> Duration;
    fn sleep(&self, pause: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The machine's clock. What it says is elapsed also counts the time in which the machine slept or was paused: the monotonic
/// clock stands still then, and the calendar's goes on. A calendar that is set ahead only lets commands be asked about once more;
/// one that is set back is not believed.
#[derive(Debug)]
pub struct SystemClock(Mutex<Elapsed>);

/// The two clocks when they were last read, and the time that has passed until then.
#[derive(Debug, Clone, Copy)]
struct Elapsed {
    monotonic: Instant,
    calendar: SystemTime,
    passed: Duration,
}

impl Elapsed {
    /// The same at a later reading: what has passed since is the greater of what the two clocks say.
    fn read(self, monotonic: Instant, calendar: SystemTime) -> Self {
        let running = monotonic.saturating_duration_since(self.monotonic);
        let dated = calendar.duration_since(self.calendar).unwrap_or_default();
        Self { monotonic, calendar, passed: self.passed.saturating_add(running.max(dated)) }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
fn calendar() -> SystemTime {
    SystemTime::now()
}

impl Default for SystemClock {
    fn default() -> Self {
        Self(Mutex::new(Elapsed { monotonic: Instant::now(), calendar: calendar(), passed: Duration::ZERO }))
    }
}

impl Clock for SystemClock {
    fn seconds(&self) -> i64 {
        let since = calendar().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
    }

    fn elapsed(&self) -> Duration {
        let mut elapsed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *elapsed = elapsed.read(Instant::now(), calendar());
        elapsed.passed
    }

    fn sleep(&self, pause: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_in_which_the_machine_slept_has_passed_and_a_calendar_that_is_set_back_takes_none_away() {
        let (started, day) = (Instant::now(), UNIX_EPOCH + Duration::from_hours(480_000));
        let after = |seconds| started + Duration::from_secs(seconds);
        let elapsed = Elapsed { monotonic: started, calendar: day, passed: Duration::ZERO };
        let slept = elapsed.read(after(5), day + Duration::from_hours(1));
        assert_eq!(slept.passed, Duration::from_hours(1), "the monotonic clock stood still");
        let set_back = slept.read(after(65), day);
        assert_eq!(set_back.passed, Duration::from_mins(61));
        let again = set_back.read(after(66), day + Duration::from_secs(1));
        assert_eq!(again.passed, Duration::from_secs(3_661));
        assert_eq!(again.read(after(60), day).passed, again.passed, "nothing goes back");
    }
}
