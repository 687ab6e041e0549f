//! Times of the command line: absolute, or counted from now.

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// The reason for which a text is not a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenError {
    NoTime,
    /// It is outside of the calendar.
    OutOfRange,
}

/// Reads a time: RFC 3339, `now`, `3 days ago`, or `in 30 days`; months and years count by the calendar in UTC.
/// `now` and the result are in seconds since 1970 UTC. Fails if the text is none of these, or is outside of the
/// calendar.
pub fn resolve(text: &str, now: i64) -> Result<i64, WhenError> {
    let text = text.trim();
    if text == "now" {
        return Ok(now);
    }
    if let Ok(absolute) = text.parse::<Timestamp>() {
        return Ok(absolute.as_second());
    }
    let span: Span = match text.strip_prefix("in ") {
        Some(rest) => rest.trim().parse().map_err(|_| WhenError::NoTime)?,
        None if text.ends_with("ago") => text.parse().map_err(|_| WhenError::NoTime)?,
        None => return Err(WhenError::NoTime),
    };
    if span.is_negative() == text.starts_with("in ") {
        return Err(WhenError::NoTime);
    }
    let now = Timestamp::from_second(now).map_err(|_| WhenError::OutOfRange)?.to_zoned(TimeZone::UTC);
    now.checked_add(span).map(|then| then.timestamp().as_second()).map_err(|_| WhenError::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::model::Donations;

    /// 2031-03-31T12:00:00Z.
    const NOW: i64 = 1_932_724_800;

    #[test]
    fn relative_times_are_counted_from_now() {
        for (text, seconds) in [
            ("now", 0),
            ("1 hour ago", -3_600),
            ("3 days ago", -3 * 86_400),
            ("in 30 days", 30 * 86_400),
            ("in 1 day 12 hours", 36 * 3_600),
            ("2 weeks ago", -14 * 86_400),
        ] {
            assert_eq!(resolve(text, NOW), Ok(NOW + seconds), "{text}");
        }
    }

    #[test]
    fn months_count_by_the_calendar() {
        assert_eq!(Donations::month_of(NOW), "2031-03");
        assert_eq!(resolve("1 month ago", NOW).map(Donations::month_of), Ok("2031-02".to_owned()));
    }

    #[test]
    fn absolute_times_do_not_depend_on_now() {
        assert_eq!(resolve("1970-01-02T00:00:00Z", NOW), Ok(86_400));
        assert_eq!(resolve("1970-01-02T02:00:00+02:00", 5), Ok(86_400));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "yesterday", "3 days", "in 3 days ago", "in -3 days", "-3 days ago", "2031-05-01", "ago"] {
            assert_eq!(resolve(text, NOW), Err(WhenError::NoTime), "{text}");
        }
        assert_eq!(resolve("in 9999 years", NOW), Err(WhenError::OutOfRange));
    }
}
