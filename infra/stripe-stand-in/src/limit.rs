//! How many calls a second are accepted.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(super) struct CallLimit {
    /// The most calls in any second; `None` for no limit.
    pub(super) per_second: Option<usize>,
    accepted: VecDeque<Instant>,
    pub(super) refused: usize,
}

impl CallLimit {
    pub(super) fn new(per_second: Option<usize>) -> Self {
        Self { per_second, ..Self::default() }
    }

    /// Whether a call at `now` is one too many.
    pub(super) fn refuses(&mut self, now: Instant) -> bool {
        let Some(most) = self.per_second else { return false };
        while self.accepted.front().is_some_and(|call| now.duration_since(*call) >= Duration::from_secs(1)) {
            self.accepted.pop_front();
        }
        if self.accepted.len() >= most {
            self.refused += 1;
            return true;
        }
        self.accepted.push_back(now);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_second_has_as_many_calls_as_allowed() {
        let mut limit = CallLimit::new(Some(2));
        let began = Instant::now();
        let refused = [0, 600, 900, 1_000, 1_500, 1_600].map(|at| limit.refuses(began + Duration::from_millis(at)));
        assert_eq!(refused, [false, false, true, false, true, false]);
        assert_eq!(limit.refused, 2);
        assert!((0..100).all(|_| !CallLimit::default().refuses(began)));
    }
}
