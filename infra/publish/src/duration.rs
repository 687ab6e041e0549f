//! Durations as owners write them: `30 days`, `3 hours`, `1 hour 30 minutes`.

use jiff::{Span, SpanRelativeTo};

/// The longest duration: ten years of 365 days.
const LONGEST_DAYS: i64 = 3_650;

/// A text that is not a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DurationError {
    #[error("must be a duration such as `30 days`, `3 hours` or `90 seconds`")]
    NotADuration,
    #[error("must be in days or shorter units, because months and years differ in length: write `30 days`")]
    Calendar,
    #[error("must be at least a second; leave it out for none")]
    Zero,
    #[error("must be at most {LONGEST_DAYS} days")]
    TooLong,
}

/// Reads a duration as seconds.
pub(crate) fn seconds(text: &str) -> Result<u32, DurationError> {
    let span: Span = text.trim().parse().map_err(|_| DurationError::NotADuration)?;
    if span.is_negative() {
        return Err(DurationError::NotADuration);
    }
    if span.get_years() != 0 || span.get_months() != 0 {
        return Err(DurationError::Calendar);
    }
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| DurationError::TooLong)?;
    match duration.as_secs() {
        ..=0 => Err(DurationError::Zero),
        seconds if seconds > LONGEST_DAYS * 86_400 => Err(DurationError::TooLong),
        seconds => u32::try_from(seconds).map_err(|_| DurationError::TooLong),
    }
}

/// Writes a duration in the largest unit that it is a multiple of.
pub(crate) fn text(seconds: u32) -> String {
    let units = [(86_400, "day"), (3_600, "hour"), (60, "minute")];
    let (length, unit) = units.into_iter().find(|(length, _)| seconds.is_multiple_of(*length)).unwrap_or((1, "second"));
    let count = seconds / length;
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_read_in_days_and_shorter_units() {
        for (text, length) in [
            ("30 days", 30 * 86_400),
            ("1 day", 86_400),
            ("2 weeks", 14 * 86_400),
            ("3 hours", 10_800),
            ("1 hour 30 minutes", 5_400),
            (" 90 seconds ", 90),
            ("30d", 30 * 86_400),
            ("3650 days", 315_360_000),
        ] {
            assert_eq!(seconds(text), Ok(length), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "30", "soon", "30 days ago", "in 3 days", "-3 days", "days", "99999999999999 days"] {
            assert_eq!(seconds(text), Err(DurationError::NotADuration), "{text}");
        }
        for text in ["1 month", "2 years", "1 month 3 days"] {
            assert_eq!(seconds(text), Err(DurationError::Calendar), "{text}");
        }
        assert_eq!(seconds("0 days"), Err(DurationError::Zero));
        for text in ["3651 days", "100000 hours"] {
            assert_eq!(seconds(text), Err(DurationError::TooLong), "{text}");
        }
    }

    #[test]
    fn a_duration_is_written_in_its_largest_unit() {
        for (seconds, expected) in
            [(1, "1 second"), (90, "90 seconds"), (120, "2 minutes"), (3_600, "1 hour"), (2_592_000, "30 days")]
        {
            assert_eq!(text(seconds), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_the_same(length in 1_u32..=315_360_000) {
            prop_assert_eq!(seconds(&text(length)), Ok(length));
        }
    }
}
