//! When the sweep tries again what failed, and when what is due is overdue.

/// After how many seconds an order that is still due is overdue.
pub const OVERDUE: i64 = 900;

/// When something that failed is tried again, in seconds: at first, and at most.
const AGAIN: (i64, i64) = (300, 21_600);
/// In how many seconds something that failed `failed` times before is tried again.
pub(super) fn again_in(failed: u32) -> i64 {
    2_i64.checked_pow(failed).and_then(|times| AGAIN.0.checked_mul(times)).map_or(AGAIN.1, |time| time.min(AGAIN.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_tried_again_after_a_time_that_doubles_to_six_hours() {
        let minutes: Vec<i64> = (0..8).map(|failed| again_in(failed) / 60).collect();
        assert_eq!(minutes, [5, 10, 20, 40, 80, 160, 320, 360]);
        assert_eq!((again_in(62), again_in(u32::MAX)), (21_600, 21_600));
    }
}
