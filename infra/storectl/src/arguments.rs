//! Words of the command line that more than one command reads: texts, durations, times (absolute, or counted from now) and amounts.

use crate::prelude::*;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp, ToSpan as _};
use shared::model::{DecimalError, Money, Percent};
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

/// A short text on one line.
pub fn short_text(text: &str) -> Result<String, &'static str> {
    const LONGEST: usize = 200;
    let text = text.trim();
    let fits = (1..=LONGEST).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if fits { Ok(text.to_owned()) } else { Err("must be 1 to 200 characters on one line") }
}

/// Reads a duration such as `90s`, `6h`, `7d` or `1h 30m` as seconds: from one second to ten years, a day being 24
/// hours.
pub fn seconds(text: &str) -> Result<i64, String> {
    const LONGEST: i64 = 3_650 * 86_400;
    let span = text.trim().parse::<Span>().ok().filter(|_| !text.contains(['.', ',']));
    let span = span.ok_or("write whole numbers with s, m, h or d, such as 6h")?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).map(|duration| duration.as_secs());
    duration.ok().filter(|seconds| (1..=LONGEST).contains(seconds)).ok_or_else(|| "must be from 1s to 3650d".to_owned())
}

/// The key of a credit or of a top-up.
pub fn key(text: &str) -> Result<String, &'static str> {
    const LONGEST: usize = 64;
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    let fits = (1..=LONGEST).contains(&text.len()) && text.bytes().all(is_key);
    if fits { Ok(text.to_owned()) } else { Err("must be 1 to 64 letters, digits, '.', '_', ':' or '-'") }
}

fn time(text: &str, now: i64) -> Result<i64> {
    resolve(text, now).map_err(|error| {
        let next = "Write a day such as 2026-12-24 (UTC), a time such as 2026-12-24T18:00:00Z, `now`, `3 days ago` or `in 30 days`.";
        let what = match error {
            WhenError::NoTime => format!("{text:?} is not a time."),
            WhenError::OutOfRange => format!("The time {text:?} is outside of the calendar."),
        };
        Failure::refused(what, next)
    })
}

/// A day of the command line, if the text is one.
fn day(text: &str) -> Option<Date> {
    // The parser of days also reads times without a zone.
    text.trim().parse::<Date>().ok().filter(|day| text.trim() == day.to_string())
}

/// Reads a time of the command line, or a day as its first second in UTC.
pub fn beginning(text: &str, now: i64) -> Result<i64> {
    day(text).and_then(|day| first_second(day).ok()).map_or_else(|| time(text, now), Ok)
}

/// Reads a time of the command line, or a day as the first second after it in UTC.
pub fn end(text: &str, now: i64) -> Result<i64> {
    let next_day = || first_second(day(text)?.checked_add(1.day()).ok()?).ok();
    next_day().map_or_else(|| time(text, now), Ok)
}

/// Whether a text is a day or a time that does not depend on now.
pub fn is_absolute(text: &str) -> bool {
    day(text).is_some() || text.trim().parse::<Timestamp>().is_ok()
}

/// The seconds from `--since` to before `--until`, as in [`period`]; without `--until` and at most until now.
pub fn past(since: Option<&str>, until: Option<&str>, now: i64) -> Result<Range<i64>> {
    let start = since.map_or(Ok(0), |text| beginning(text, now))?;
    let end = until.map_or(Ok(now), |text| end(text, now))?.min(now);
    if start >= end {
        return Err(Failure::refused("--since is not before --until, or not in the past.", "Correct the times."));
    }
    Ok(start..end)
}

/// The seconds from `--from` to before `--to`. A day means the whole day in UTC; without a bound there is none.
pub fn period(from: Option<&str>, to: Option<&str>, now: i64) -> Result<Range<i64>> {
    let start = from.map_or(Ok(i64::MIN), |text| beginning(text, now))?;
    let end = to.map_or(Ok(i64::MAX), |text| end(text, now))?;
    if start >= end {
        return Err(Failure::refused("--from is not before --to.", "Exchange them."));
    }
    Ok(start..end)
}

fn first_second(day: Date) -> Result<i64, jiff::Error> {
    day.to_zoned(TimeZone::UTC).map(|at| at.timestamp().as_second())
}

/// Reads an amount of the command line.
pub fn money(name: &str, text: &str, digits: u8) -> Result<Money> {
    Money::parse(text, digits).map_err(|error| wrong(name, &error))
}

/// Reads an amount of the command line that must be more than 0.
pub fn positive(name: &str, text: &str, digits: u8) -> Result<Money> {
    match money(name, text, digits)? {
        Money::ZERO => Err(Failure::refused(format!("{name} must be more than 0."), "Correct it and try again.")),
        amount => Ok(amount),
    }
}

/// Reads a percentage of the command line.
pub fn percent(name: &str, text: &str) -> Result<Percent> {
    Percent::parse(text).map_err(|error| wrong(name, &error))
}

fn wrong(name: &str, error: &DecimalError) -> Failure {
    Failure::refused(format!("{name} {error}."), "Correct it and try again.")
}

/// A secret in a file or on standard input, of which so many bytes are read. It is never on the command line.
pub fn secret(path: Option<&Path>, most: u64, option: &str) -> Result<String> {
    let mut text = String::new();
    let read = match path {
        Some(path) => {
            let file = std::fs::File::open(path).map_err(|error| Failure::file(path, &error))?;
            file.take(most).read_to_string(&mut text).map_err(|error| Failure::file(path, &error))
        }
        None => std::io::stdin().take(most).read_to_string(&mut text).map_err(|error| {
            let what = format!("Standard input cannot be read: {error}.");
            Failure::new(Exit::Local, what, format!("Use {option} FILE."))
        }),
    };
    read.map(|_| text)
}

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

    #[test]
    fn durations_are_read_in_seconds() {
        for (text, length) in [
            ("90s", 90),
            ("30m", 1_800),
            ("30min", 1_800),
            (" 6h ", 21_600),
            ("7d", 604_800),
            ("1h 30m", 5_400),
            ("2 weeks", 1_209_600),
            ("3650d", 315_360_000),
        ] {
            assert_eq!(seconds(text), Ok(length));
        }
        for text in ["", "6", "h", "-1h", "0s", "4000d", "1.5h", "99999999999999999999d", "3 days ago", "1 month"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_day_is_all_of_it_and_a_time_is_exact() {
        let day = period(Some("2026-01-31"), Some("2026-01-31"), 0).unwrap();
        assert_eq!((day.start, day.end - day.start), (1_769_817_600, 86_400));
        let hour = period(Some("2026-01-31T10:00:00Z"), Some("2026-01-31T11:00:00Z"), 0).unwrap();
        assert_eq!(hour.end - hour.start, 3_600);
        assert_eq!(period(None, None, 0).unwrap(), i64::MIN..i64::MAX);
        assert_eq!(period(Some("3 days ago"), None, 1_000_000).unwrap().start, 1_000_000 - 3 * 86_400);
        let now = 1_769_817_600;
        assert_eq!(past(None, None, now).unwrap(), 0..now);
        assert_eq!(past(Some("1970-01-02"), Some("1970-01-02"), now).unwrap(), 86_400..2 * 86_400);
        assert_eq!(past(None, Some("2026-12-31"), now).unwrap().end, now, "nothing has run later");
        past(Some("2026-12-31"), None, now).unwrap_err();
        for (from, to) in [("2026-02-01", "2026-01-31"), ("yesterday", "2026-01-31"), ("2026-01-01", "2026-13-01")] {
            period(Some(from), Some(to), 0).unwrap_err();
        }
    }

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
