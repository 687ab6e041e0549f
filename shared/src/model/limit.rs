//! Limits of an item in time and place (rules.md, "Limits in time and place").

use super::{ItemId, ServerId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A limit of an item: so many units, of each player or of all together, in a time, or of one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemLimit {
    /// The most units.
    pub most: u32,
    /// Whether it is one of each player.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub per_user: bool,
    /// The time in which they count; `None` for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Every>,
    /// The server whose units count; `None` if all do. Only of a limit of all players together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerId>,
}

/// The time in which units count for a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Every {
    /// The last so many seconds.
    Rolling(u32),
    /// A window of the calendar.
    Window(Window),
}

/// The kind of a window of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowKind {
    Hour,
    #[default]
    Day,
    /// A week, from Monday.
    Monday,
    Month,
}

/// Windows of the calendar in a time zone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Window {
    pub kind: WindowKind,
    /// The offsets of the zone from UTC in seconds, each with the second (since 1970 UTC) from which it holds. The first holds before
    /// that too; UTC if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offsets: Vec<(i64, i32)>,
}

const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;

impl Window {
    fn offset(&self, at: i64) -> i64 {
        let last = self.offsets.iter().rev().find(|(from, _)| *from <= at).or_else(|| self.offsets.first());
        last.map_or(0, |(_, offset)| i64::from(*offset))
    }

    /// The number of the window of a second: later windows have larger ones.
    pub fn number(&self, at: i64) -> i64 {
        let offset = self.offset(at);
        let day = at.saturating_add(offset).div_euclid(DAY);
        match self.kind {
            // An hour that the clocks repeat is two.
            WindowKind::Hour => at.saturating_add(offset.rem_euclid(HOUR)).div_euclid(HOUR),
            WindowKind::Day => day,
            // 1970 began on a Thursday.
            WindowKind::Monday => day.saturating_add(3).div_euclid(7),
            WindowKind::Month => month_of(day),
        }
    }

    /// When a window begins by a clock that shows UTC + `offset`.
    fn begins(&self, number: i64, offset: i64) -> i64 {
        let local = match self.kind {
            WindowKind::Hour => return number.saturating_mul(HOUR).saturating_sub(offset.rem_euclid(HOUR)),
            WindowKind::Day => number,
            WindowKind::Monday => number.saturating_mul(7).saturating_sub(3),
            WindowKind::Month => first_day(number),
        };
        local.saturating_mul(DAY).saturating_sub(offset)
    }

    /// The seconds of the window that a second is in. A zone may skip the second at which a window would begin, or have it twice.
    pub fn seconds(&self, at: i64) -> Range<i64> {
        let number = self.number(at);
        let offsets = || self.offsets.iter().map(|(_, offset)| i64::from(*offset)).chain([self.offset(at)]);
        let changes = || self.offsets.iter().map(|(from, _)| *from);
        let starts = offsets().map(|offset| self.begins(number, offset)).chain(changes());
        let ends = offsets().map(|offset| self.begins(number.saturating_add(1), offset)).chain(changes());
        let start = starts.filter(|second| *second <= at && self.number(*second) == number).min();
        let end = ends.filter(|second| *second > at && self.number(*second) > number).min();
        start.unwrap_or(at)..end.unwrap_or(i64::MAX)
    }
}

/// The month of a day since 1970, as months since the year 0: the days of a year are counted from March, so that a leap day is its last.
const fn month_of(day: i64) -> i64 {
    let day = day.saturating_add(719_468);
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    (year + era * 400) * 12 + from_march + 2
}

/// The first day of a month of [`month_of`], since 1970.
const fn first_day(month: i64) -> i64 {
    let month = month - 2;
    let (year, from_march) = (month.div_euclid(12), month.rem_euclid(12));
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * from_march + 2) / 5;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

impl ItemLimit {
    /// The seconds whose units count at `at` (seconds since 1970 UTC), the end not included: of a rolling limit they end after `at`
    /// as much later as they began before. `None` for ever.
    pub fn counted_at(&self, at: i64) -> Option<Range<i64>> {
        match self.every.as_ref()? {
            Every::Rolling(length) => {
                let length = i64::from(*length);
                Some(at.saturating_sub(length).saturating_add(1)..at.saturating_add(length))
            }
            Every::Window(window) => Some(window.seconds(at)),
        }
    }

    /// The name of the place in a counter where its units of `at` (seconds since 1970 UTC) count; `None` of a limit per user, whose
    /// units are in ledgers.
    pub fn place(&self, at: i64) -> Option<String> {
        if self.per_user {
            return None;
        }
        let time = match &self.every {
            None => "a".to_owned(),
            Some(Every::Rolling(length)) => format!("{ROLLING}{length}"),
            Some(Every::Window(window)) => format!("{}{}", window.kind.letter(), window.number(at)),
        };
        Some(self.server.map_or_else(|| time.clone(), |server| format!("{time}v{server}")))
    }

    /// Whether units for a server count; `None` is a unit without a server.
    pub fn counts_for(&self, server: Option<ServerId>) -> bool {
        self.server.is_none() || self.server == server
    }

    /// Whether the place of a name is that of a window of it that was over at `at`, seconds since 1970 UTC.
    pub fn is_over(&self, place: &str, at: i64) -> bool {
        let Some(Every::Window(window)) = &self.every else { return false };
        let number = place.strip_prefix(window.kind.letter());
        let number = number.map(|rest| rest.split_once('v').map_or(rest, |(number, _)| number));
        number.and_then(|number| number.parse::<i64>().ok()).is_some_and(|number| number < window.number(at))
    }
}

/// The letter of the places of rolling limits.
const ROLLING: char = 'r';

impl WindowKind {
    const fn letter(self) -> char {
        match self {
            Self::Hour => 'h',
            Self::Day => 'd',
            Self::Monday => 'w',
            Self::Month => 'm',
        }
    }
}

/// Units of an order in a place of an item's counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub item: ItemId,
    /// The place, see [`ItemLimit::place`].
    pub name: String,
    pub units: u64,
}

impl Place {
    /// Whether its units are kept one by one, with their times.
    pub fn is_rolling(&self) -> bool {
        Self::is_rolling_name(&self.name)
    }

    pub fn is_rolling_name(name: &str) -> bool {
        name.starts_with(ROLLING)
    }

    /// Whether an attribute of a counter is a place.
    pub fn is_name(attribute: &str) -> bool {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (time, server) = attribute.split_once('v').map_or((attribute, None), |(time, server)| (time, Some(server)));
        let is_time = time == "a" || time.strip_prefix(['h', 'd', 'w', 'm', ROLLING]).is_some_and(digits);
        is_time && server.is_none_or(digits)
    }
}

/// The counter of an item: how many units are sold, in all and in the places of its limits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counted {
    pub sold: u64,
    /// The units of windows and servers.
    pub places: BTreeMap<String, u64>,
    /// The units of rolling limits, each by its mark: see [`mark`].
    pub marks: BTreeMap<String, BTreeSet<String>>,
}

/// The mark of a unit of an order that began at `at`, seconds since 1970 UTC.
pub fn mark(at: i64, order: &str, unit: u64) -> String {
    format!("{at}.{order}.{unit}")
}

/// Whether a mark is of a unit of an order.
pub fn is_mark_of(mark: &str, order: &str) -> bool {
    mark.split_once('.').and_then(|(_, rest)| rest.rsplit_once('.')).is_some_and(|(of, _)| of == order)
}

/// The second of a mark.
pub fn time_of(mark: &str) -> Option<i64> {
    mark.split_once('.')?.0.parse().ok()
}

impl From<u64> for Counted {
    fn from(sold: u64) -> Self {
        Self { sold, ..Self::default() }
    }
}

impl Counted {
    /// The times of the units of a rolling limit, latest first.
    pub fn times(&self, place: &str) -> Vec<i64> {
        let mut times: Vec<i64> =
            self.marks.get(place).into_iter().flatten().filter_map(|mark| time_of(mark)).collect();
        times.sort_unstable_by(|one, other| other.cmp(one));
        times
    }
}
