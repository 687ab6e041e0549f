//! Helpers of more than one command.

use crate::error::Failure;
use crate::target::Target;
use crate::when::{WhenError, resolve};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Value, json};
use shared::model::{ActiveVersion, ProviderAccount};
use shared::money::CurrencyFormat;
use shared::shop::codes::Addition;
use shared::table::published::read_active_version;
use std::ops::Range;

/// The active version; a table that nothing was published to is refused.
pub(super) async fn published(target: &Target) -> Result<ActiveVersion, Failure> {
    read_active_version(&target.db).await?.ok_or_else(|| nothing_published(target))
}

pub(super) fn nothing_published(target: &Target) -> Failure {
    let what = format!("Nothing was published to {} yet.", target.name);
    Failure::refused(what, "Publish a store first: `storectl publish DIR`.")
}

/// A second since 1970 as people read it, in UTC.
pub(super) fn shown_time(second: i64) -> String {
    Timestamp::from_second(second).map_or_else(|_| second.to_string(), |at| at.to_string())
}

/// Amounts that were added to a balance, as JSON.
pub(super) fn additions(added: &[Addition], format: CurrencyFormat) -> Value {
    let entry = |added: &Addition| {
        let amount = format.money(added.amount);
        json!({ "key": added.key, "amount": amount, "note": added.note, "at": shown_time(added.at) })
    };
    added.iter().map(entry).collect()
}

pub(in crate::commands) fn shown_account(account: &ProviderAccount) -> String {
    let mode = if account.live { "live" } else { "test" };
    account.id.as_ref().map_or_else(|| format!("an account in {mode} mode"), |id| format!("{id} in {mode} mode"))
}

fn time(text: &str, now: i64) -> Result<i64, Failure> {
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
pub(super) fn beginning(text: &str, now: i64) -> Result<i64, Failure> {
    day(text).and_then(|day| first_second(day).ok()).map_or_else(|| time(text, now), Ok)
}

/// Reads a time of the command line, or a day as the first second after it in UTC.
pub(super) fn end(text: &str, now: i64) -> Result<i64, Failure> {
    let next_day = || first_second(day(text)?.checked_add(1.day()).ok()?).ok();
    next_day().map_or_else(|| time(text, now), Ok)
}

/// Whether a text is a day or a time that does not depend on now.
pub(super) fn is_absolute(text: &str) -> bool {
    day(text).is_some() || text.trim().parse::<Timestamp>().is_ok()
}

/// The seconds from `--since` to before `--until`, as in [`period`]; without `--until` and at most until now.
pub(super) fn past(since: Option<&str>, until: Option<&str>, now: i64) -> Result<Range<i64>, Failure> {
    let start = since.map_or(Ok(0), |text| beginning(text, now))?;
    let end = until.map_or(Ok(now), |text| end(text, now))?.min(now);
    if start >= end {
        return Err(Failure::refused("--since is not before --until, or not in the past.", "Correct the times."));
    }
    Ok(start..end)
}

/// The seconds from `--from` to before `--to`. A day means the whole day in UTC; without a bound there is none.
pub(super) fn period(from: Option<&str>, to: Option<&str>, now: i64) -> Result<Range<i64>, Failure> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
