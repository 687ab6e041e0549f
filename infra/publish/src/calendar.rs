//! Times as owners write them: `2027-05-01T18:00`, in the store's time zone or in one that is named after it.

use crate::fault::Report;
use crate::files::{At, StoreFiles};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use shared::clock::{Clock as _, SystemClock};
use shared::model::{OnSale, StoreZone};

/// A text that is not one second of the calendar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CalendarError {
    #[error(
        "must be a time such as `2027-05-01T18:00`, with or without a time zone after it: `2027-05-01T18:00 Europe/Berlin`"
    )]
    NotATime,
    #[error("there is no time zone {0}: write one such as `Europe/Berlin`")]
    NoZone(String),
    #[error("is skipped when the clocks go forward: write `{0}` or `{1}`")]
    Skipped(Timestamp, Timestamp),
    #[error("is there twice when the clocks go back: write `{0}` for the first or `{1}` for the second")]
    Twice(Timestamp, Timestamp),
}

/// A time zone of the IANA database by its name, such as `Europe/Berlin`.
pub(crate) fn zone(name: &str) -> Result<TimeZone, CalendarError> {
    TimeZone::get(name).map_err(|_| CalendarError::NoZone(name.to_owned()))
}

/// Reads a time as seconds since 1970 UTC: one as in the store's own files.
pub fn second(files: &StoreFiles, text: &str) -> Result<i64, CalendarError> {
    second_in(&time_zone(files)?, text)
}

/// The zone of times that name none.
pub fn time_zone(files: &StoreFiles) -> Result<TimeZone, CalendarError> {
    files.store.content.time_zone.as_ref().map_or(Ok(TimeZone::UTC), |name| zone(name))
}

fn second_in(own: &TimeZone, text: &str) -> Result<i64, CalendarError> {
    let text = text.trim();
    // A zone in brackets would be dropped.
    if text.contains('[') {
        return Err(CalendarError::NotATime);
    }
    if let Ok(exact) = text.parse::<Timestamp>() {
        return Ok(exact.as_second());
    }
    let named = text.rsplit_once(' ').filter(|(_, last)| last.starts_with(|first: char| first.is_ascii_alphabetic()));
    let (local, zone) = match named {
        Some((local, name)) => (local, zone(name)?),
        None => (text, own.clone()),
    };
    let local: DateTime = local.trim_end().parse().map_err(|_| CalendarError::NotATime)?;
    let at = |offset: jiff::tz::Offset| offset.to_timestamp(local).map_err(|_| CalendarError::NotATime);
    match zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => Ok(at(offset)?.as_second()),
        AmbiguousOffset::Gap { before, after } => Err(CalendarError::Skipped(at(after)?, at(before)?)),
        AmbiguousOffset::Fold { before, after } => Err(CalendarError::Twice(at(before)?, at(after)?)),
    }
}

/// The years whose offsets a version knows, from this one: the last year, as what was sold in it may count still, and the next ones,
/// each publish anew.
const KNOWN_YEARS: std::ops::Range<i16> = -1..5;

/// The offsets of a zone from UTC in seconds, each with the second from which it holds. They are those of whole years, so that a store
/// that does not change compiles the same.
pub(crate) fn offsets(zone: &TimeZone) -> Vec<(i64, i32)> {
    let now = Timestamp::from_second(SystemClock.seconds()).unwrap_or_default();
    let year = now.to_zoned(TimeZone::UTC).year();
    let first = |year: i16| DateTime::new(year, 1, 1, 0, 0, 0, 0).and_then(|day| TimeZone::UTC.to_timestamp(day));
    let (Ok(from), Ok(until)) = (first(year + KNOWN_YEARS.start), first(year + KNOWN_YEARS.end)) else {
        return Vec::new();
    };
    offsets_between(zone, from.as_second(), until.as_second())
}

/// The offsets of a zone in a time, in seconds since 1970 UTC.
fn offsets_between(zone: &TimeZone, from: i64, until: i64) -> Vec<(i64, i32)> {
    let from = Timestamp::from_second(from).unwrap_or_default();
    let mut offsets = vec![(from.as_second(), zone.to_offset(from).seconds())];
    let changes = zone.following(from).take_while(|change| change.timestamp().as_second() < until);
    offsets.extend(changes.map(|change| (change.timestamp().as_second(), change.offset().seconds())));
    offsets.dedup_by_key(|(_, offset)| *offset);
    if offsets.iter().all(|(_, offset)| *offset == 0) { Vec::new() } else { offsets }
}

/// The zone of a store's days, by its name in the files.
pub(crate) fn store_zone(name: Option<&str>, zone: &TimeZone) -> StoreZone {
    let offsets = offsets(zone);
    // Without offsets the days are those of UTC, whatever it is called.
    let name = name.filter(|_| !offsets.is_empty()).unwrap_or_default().trim().to_owned();
    StoreZone { name, offsets }
}

/// The zone of a store's days with its offsets in the years of a time (seconds since 1970 UTC), which a version need not know.
pub fn zone_during(known: &StoreZone, time: std::ops::Range<i64>) -> StoreZone {
    let Ok(zone) = zone(&known.name) else { return known.clone() };
    // The year before has the offset that holds at the beginning.
    let from = time.start.saturating_sub(400 * 86_400);
    StoreZone { name: known.name.clone(), offsets: offsets_between(&zone, from, time.end) }
}

/// Reads the time in which something is on sale; notes what cannot be read. `prefix` is where its fields are in the file.
pub(crate) fn on_sale(
    (from, until): (Option<&At<String>>, Option<&At<String>>),
    own: &TimeZone,
    prefix: &str,
    report: &mut Report,
) -> OnSale {
    let mut read = |written: Option<&At<String>>, name: &str| {
        let written = written?;
        let read = second_in(own, written);
        read.map_err(|error| report.fault(written.line, format!("{prefix}{name}"), error.to_string())).ok()
    };
    let on_sale = OnSale { from: read(from, "from"), until: read(until, "until") };
    if on_sale.from.zip(on_sale.until).is_some_and(|(from, until)| from >= until) {
        let line = until.and_then(|until| until.line);
        report.fault(line, format!("{prefix}until"), "must be later than `from`".to_owned());
    }
    if let Some((written, problem)) = until.and_then(|until| Some((until, day_alone(until)?))) {
        report.warn(written.line, format!("{prefix}until"), problem);
    }
    on_sale
}

/// The warning of an end that is a day without a time, which was perhaps meant to be part of it.
fn day_alone(until: &str) -> Option<String> {
    let (day, zone) = until.trim().split_once(' ').unwrap_or((until.trim(), ""));
    let is_alone = !day.contains(['T', ':']) && !zone.starts_with(|first: char| first.is_ascii_digit());
    let day: Date = day.parse().ok().filter(|_| is_alone)?;
    let next = day.tomorrow().ok()?;
    Some(format!(
        "is midnight at the beginning of that day: write {day}T00:00, or {next}T00:00 if that day is part of it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn berlin() -> TimeZone {
        zone("Europe/Berlin").unwrap()
    }

    fn utc(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_time_is_the_stores_or_of_the_zone_that_it_names() {
        for (text, expected) in [
            ("2027-05-01T18:00", "2027-05-01T16:00Z"),
            ("2027-05-01 18:00:30", "2027-05-01T16:00:30Z"),
            ("2027-01-01", "2026-12-31T23:00Z"),
            ("2027-05-01T18:00 UTC", "2027-05-01T18:00Z"),
            (" 2027-05-01T18:00  America/New_York ", "2027-05-01T22:00Z"),
            ("2027-05-01T18:00Z", "2027-05-01T18:00Z"),
            ("2027-05-01T18:00+05:30", "2027-05-01T12:30Z"),
        ] {
            assert_eq!(second_in(&berlin(), text), Ok(utc(expected).as_second()), "{text}");
        }
    }

    #[test]
    fn an_end_that_is_a_day_alone_is_asked_about() {
        for text in ["2027-06-08", " 2027-06-08 ", "2027-06-08 Europe/Berlin", "2027-06-08 America/Toronto"] {
            assert!(day_alone(text).unwrap().contains("2027-06-08T00:00, or 2027-06-09T00:00"), "{text}");
        }
        for text in ["2027-06-08T00:00", "2027-06-08 18:00", "2027-06-08T00:00 UTC", "2027-06-08T00:00Z", "soon"] {
            assert_eq!(day_alone(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_not_one_second_is_refused_with_what_to_write() {
        for text in ["", "soon", "18:00", "2027-02-30T10:00", "2027-05-01T25:00", "2027-05-01T18:00[America/New_York]"]
        {
            assert_eq!(second_in(&berlin(), text), Err(CalendarError::NotATime), "{text}");
        }
        assert_eq!(second_in(&berlin(), "2027-05-01T18:00 Berlin"), Err(CalendarError::NoZone("Berlin".to_owned())));
        let skipped = CalendarError::Skipped(utc("2027-03-28T00:30Z"), utc("2027-03-28T01:30Z"));
        assert_eq!(second_in(&berlin(), "2027-03-28T02:30"), Err(skipped));
        let twice = CalendarError::Twice(utc("2027-10-31T00:30Z"), utc("2027-10-31T01:30Z"));
        assert_eq!(second_in(&berlin(), "2027-10-31T02:30"), Err(twice));
    }
}
