//! The clock of the stand-in and of the store around it. Its owner can move it ahead, to see what time brings about, such as
//! the end of a subscription.

use archive::private::write_whole;
use archive::running::ahead;
use shared::clock::{Clock, SystemClock};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const DAY: u64 = 24 * 60 * 60;
/// The most days that the clock can be ahead.
const MOST_DAYS: u64 = 3_650;

/// The system's clock, or so many seconds ahead of it. It never goes back: rows would be in the future.
#[derive(Debug, Default)]
pub struct MovableClock {
    ahead: AtomicU64,
    /// The file that keeps it ahead after a restart.
    file: Option<PathBuf>,
}

impl MovableClock {
    /// A clock that is where the last one with the same file was.
    pub fn of(file: Option<PathBuf>) -> io::Result<Self> {
        let ahead = file.as_deref().map(ahead).transpose()?.unwrap_or_default();
        Ok(Self { ahead: AtomicU64::new(ahead), file })
    }

    /// How many whole days it is ahead of the system's clock.
    pub fn days_ahead(&self) -> u64 {
        self.ahead.load(Ordering::SeqCst) / DAY
    }

    /// Moves it ahead to a second since 1970 UTC. Fails with the end of a sentence if that is in the past or too far ahead.
    pub fn move_to(&self, second: i64) -> Result<(), String> {
        let ahead = u64::try_from(second.saturating_sub(SystemClock.seconds())).map_err(|_| "is in the past")?;
        if ahead > MOST_DAYS * DAY {
            return Err(format!("is more than {MOST_DAYS} days ahead"));
        }
        self.ahead.store(ahead, Ordering::SeqCst);
        Ok(())
    }

    /// Moves it ahead by some days. Fails with a sentence if it would be too far ahead or cannot be kept. It is not
    /// moved then.
    pub fn move_ahead(&self, days: u64) -> Result<(), String> {
        let ahead = days.checked_mul(DAY).and_then(|more| self.ahead.load(Ordering::SeqCst).checked_add(more));
        let ahead = ahead.filter(|ahead| *ahead <= MOST_DAYS * DAY);
        let ahead = ahead.ok_or_else(|| format!("The clock can be {MOST_DAYS} days ahead at most."))?;
        if let Some(file) = &self.file {
            let kept = write_whole(file, ahead.to_string().as_bytes());
            kept.map_err(|error| format!("The clock cannot be kept: {error}."))?;
        }
        self.ahead.store(ahead, Ordering::SeqCst);
        Ok(())
    }
}

impl Clock for MovableClock {
    fn now(&self) -> Duration {
        SystemClock.now() + Duration::from_secs(self.ahead.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_moves_ahead_within_its_limit_and_stays_there_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("clock.json");
        let clock = MovableClock::of(Some(file.clone())).unwrap();
        assert_eq!(clock.days_ahead(), 0);
        clock.move_ahead(3_000).unwrap();
        clock.move_ahead(650).unwrap();
        for days in [1, u64::MAX] {
            assert!(clock.move_ahead(days).unwrap_err().contains("3650 days"));
        }
        let again = MovableClock::of(Some(file.clone())).unwrap();
        assert_eq!((again.days_ahead(), MovableClock::of(None).unwrap().days_ahead()), (3_650, 0));
        assert!(again.now() >= SystemClock.now() + Duration::from_secs(3_649 * DAY));
        let (other, now) = (MovableClock::default(), SystemClock.seconds());
        other.move_to(now + 1_000).unwrap();
        assert!((now + 1_000..now + 1_060).contains(&other.seconds()));
        assert!(other.move_to(now - 10).is_err() && other.move_to(i64::MAX).is_err());
        std::fs::write(&file, "soon").unwrap();
        assert!(MovableClock::of(Some(file)).is_err());
    }
}
