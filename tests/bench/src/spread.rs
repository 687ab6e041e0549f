//! Many times become one [`Spread`].

use crate::figures::Spread;
use std::time::Duration;

impl Spread {
    /// How `times` are spread; nothing at all is spread over nothing.
    #[must_use]
    pub fn of(times: impl IntoIterator<Item = Duration>) -> Self {
        let mut nanos: Vec<u64> =
            times.into_iter().map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)).collect();
        nanos.sort_unstable();
        let at =
            |percent: usize| nanos.get((nanos.len() * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0);
        Self { min: at(0), median: at(50), p99: at(99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(nanos: &[u64]) -> Spread {
        Spread::of(nanos.iter().copied().map(Duration::from_nanos))
    }

    #[test]
    fn a_spread_is_taken_from_the_sorted_times() {
        let all: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(of(&all), Spread { min: 1, median: 50, p99: 99 });
        assert_eq!(of(&[7]), Spread { min: 7, median: 7, p99: 7 });
        assert_eq!(of(&[3, 1]), Spread { min: 1, median: 1, p99: 3 });
        assert_eq!(of(&[]), Spread { min: 0, median: 0, p99: 0 });
    }
}
