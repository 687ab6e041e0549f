//! A user's ledger. Each item has two flat attributes, `u<id>` (units) and `p<id>` (minor units paid). Of an item that ends
//! they include its last run; `b<id>` and `e<id>` are when that begins and ends, `l<id>` and `m<id>` units and sum without
//! it, so that one expression guards the user's limit before and after the end. A write holds the end that was read: it
//! decides whether the units begin again. `t<id>` are the times of the last units of an item with a limit in time. [`SPENT`] and [`FIRST_PAID_AT`] are the payments of the user. Every write adds 1 to the [`VERSION`], so that one number in a condition says that
//! nothing has changed since it was read.

use crate::model::{Holding, ItemId, Ledger, Money, Run, Spent, UserId};
use crate::table::client::Rows;
use crate::table::codec::{Item, number, numbered};
use crate::table::transaction::{VERSION, Write};
use crate::table::{StoreError, keys};
use aws_sdk_dynamodb::types::AttributeValue;
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// The beginning of the attributes with the times of units.
const TIMES: char = 't';
/// The attribute with the sum of the user's payments, in minor units.
const SPENT: &str = "spent";
/// The attribute with the second of the first of them, since 1970 UTC.
const FIRST_PAID_AT: &str = "first_paid_at";

/// Takes a user's ledger out of the rows; a user who bought nothing has an empty one.
pub fn take(rows: &mut Rows, user: UserId) -> Result<Ledger, StoreError> {
    Ok(rows.take_live(&keys::ledger(user))?.map_or_else(Ledger::default, |Flat(ledger)| ledger))
}

/// Takes the ledgers of users who have one.
pub fn take_existing(
    rows: &mut Rows,
    users: impl Iterator<Item = UserId>,
) -> Result<BTreeMap<UserId, Ledger>, StoreError> {
    let take = |user| rows.take_live(&keys::ledger(user)).map(|row| row.map(|Flat(ledger)| (user, ledger))).transpose();
    users.filter_map(take).collect()
}

/// The row of a ledger that is written for the first time.
pub fn row(user: UserId, ledger: &Ledger) -> Item {
    let mut item = numbered(&keys::ledger(user), VERSION, 1);
    for (id, holding) in ledger.iter() {
        item.extend(entries(id, holding).map(|(name, value)| number(name, value)));
    }
    item
}

/// The attributes of an item's entry.
pub fn entries(item: ItemId, holding: Holding) -> impl Iterator<Item = (String, i64)> {
    let Holding { all, run } = holding;
    let always = [('u', i64::from(all.units)), ('p', all.paid.minor())];
    let of_run = run.map(|run| {
        let lasting = [('l', i64::from(run.lasting.units)), ('m', run.lasting.paid.minor())];
        [('b', run.begun), ('e', run.ends_at)].into_iter().chain(lasting)
    });
    always.into_iter().chain(of_run.into_iter().flatten()).map(move |(kind, value)| (format!("{kind}{item}"), value))
}

/// The amounts added to one item of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerChange {
    pub item: ItemId,
    /// Units; negative for a refund.
    pub units: i128,
    /// The sum paid, in minor units; negative for a refund.
    pub paid: i64,
    /// The condition: at most this many units so far.
    pub at_most: Option<u64>,
    pub ends: Ends,
    /// The item's last run as it was read. It is part of the condition.
    pub read: Option<Run>,
    /// The times of its units, if they change.
    pub times: Option<Times>,
}

/// The times of the units of an item with a limit in time, seconds since 1970 UTC, latest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    /// As they were read. They are part of the condition.
    pub read: Vec<i64>,
    pub then: Vec<i64>,
}

impl Times {
    /// The condition that they are as they were read.
    fn as_read(&self, place: usize) -> String {
        if self.read.is_empty() { format!("NOT #t{place}[0] > :o{place}") } else { format!("#t{place} = :o{place}") }
    }
}

fn list(times: &[i64]) -> AttributeValue {
    AttributeValue::L(times.iter().map(|time| AttributeValue::N(time.to_string())).collect())
}

/// When what is added to an item ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    Never,
    /// With the run that was read, which ends this many seconds later; negative for a refund.
    WithRun {
        seconds: i64,
    },
    /// With a run that it begins: what was read has ended, and is owned no more.
    NewRun {
        begun: i64,
        seconds: i64,
    },
}

/// The write that adds to a user's ledger at `now` (seconds since 1970 UTC), and what the user has `paid` since a second, if
/// anything. Placeholders are short: fifty lines fit into the 4 KB of an expression.
pub fn add(user: UserId, changes: &[LedgerChange], paid: Spent, now: i64) -> Write {
    let (mut sums, mut sets, mut conditions) = (vec!["#version :one".to_owned()], Vec::new(), Vec::new());
    let mut write = Write::update(keys::ledger(user), "").name("#version", VERSION).number(":one", 1);
    for (place, change) in changes.iter().enumerate() {
        let named = |write, kinds| named(write, place, change.item, kinds);
        write =
            named(write, "upe").number(format!(":u{place}"), change.units).number(format!(":p{place}"), change.paid);
        let added = format!("#u{place} :u{place}, #p{place} :p{place}");
        match change.ends {
            Ends::Never if change.read.is_none() => sums.push(added),
            Ends::Never => {
                write = named(write, "lm");
                sums.push(format!("{added}, #l{place} :u{place}, #m{place} :p{place}"));
            }
            Ends::WithRun { seconds } => {
                write = write.number(format!(":s{place}"), seconds);
                sums.push(format!("{added}, #e{place} :s{place}"));
            }
            Ends::NewRun { begun, seconds } => {
                write = named(write, "lmb").number(format!(":b{place}"), begun);
                write = write.number(format!(":e{place}"), begun.saturating_add(seconds));
                sets.push(format!("#b{place} = :b{place}, #e{place} = :e{place}"));
                if change.read.is_none() {
                    // Everything until now lasts.
                    write = write.number(":none", 0);
                    sets.push(format!("#l{place} = if_not_exists(#u{place}, :none)"));
                    sets.push(format!("#m{place} = if_not_exists(#p{place}, :none)"));
                    sums.push(added);
                } else {
                    sets.push(format!("#u{place} = #l{place} + :u{place}, #p{place} = #m{place} + :p{place}"));
                }
            }
        }
        conditions.push(match change.read {
            None => format!("attribute_not_exists(#e{place})"),
            Some(run) => {
                write = write.number(format!(":r{place}"), run.ends_at);
                format!("#e{place} = :r{place}")
            }
        });
        if let Some(times) = &change.times {
            write = with_times(named(write, "t"), place, times);
            sets.push(format!("#t{place} = :q{place}"));
            conditions.push(times.as_read(place));
        }
        if let Some(most) = change.at_most {
            let counted = if change.read.is_some_and(|run| run.has_ended(now)) { 'l' } else { 'u' };
            write = named(write, &counted.to_string()).number(format!(":t{place}"), most);
            // An attribute that is missing is not larger.
            conditions.push(format!("NOT #{counted}{place} > :t{place}"));
        }
    }
    if let Some(since) = paid.since {
        write = write.number(":since", since).number(":spent", paid.sum.minor());
        sets.push(format!("{FIRST_PAID_AT} = if_not_exists({FIRST_PAID_AT}, :since)"));
        sums.push(format!("{SPENT} :spent"));
    }
    let set = if sets.is_empty() { String::new() } else { format!("SET {} ", sets.join(", ")) };
    let write = write.also(&format!("{set}ADD {}", sums.join(", ")));
    if conditions.is_empty() { write } else { write.only_if(conditions.join(" AND ")) }
}

/// Adds the names of an item's attributes of these kinds.
fn named(write: Write, place: usize, item: ItemId, kinds: &str) -> Write {
    kinds.chars().fold(write, |write, kind| write.name(format!("#{kind}{place}"), format!("{kind}{item}")))
}

/// The values of [`Times`] in a write.
fn with_times(write: Write, place: usize, times: &Times) -> Write {
    let write = write.value(format!(":q{place}"), list(&times.then));
    // A ledger without times may have an empty list of them, or none.
    let read = if times.read.is_empty() { AttributeValue::N("0".to_owned()) } else { list(&times.read) };
    write.value(format!(":o{place}"), read)
}

/// The most units of an item that a ledger may have; of those that were bought from a second (since 1970 UTC) on, if there is one.
pub type AtMost = (ItemId, u64, Option<i64>);

/// How many items one condition compares: an expression has at most 4 KB and 300 operators.
pub const ITEMS_AT_ONCE: usize = 40;

/// The conditions on a ledger: items of which it has at most so many, and items that it must have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bounds {
    pub at_most: Vec<AtMost>,
    /// Groups of items: it must have at least one unit of each group.
    pub any_of: Vec<Vec<ItemId>>,
}

impl Bounds {
    /// The items that one condition compares: of more than [`ITEMS_AT_ONCE`] the first, and whole groups only.
    fn compared(self) -> Self {
        let (mut at_most, mut left) = (self.at_most, ITEMS_AT_ONCE);
        at_most.truncate(left);
        left -= at_most.len();
        let mut any_of = self.any_of;
        any_of.retain(|group| {
            let fits = group.len() <= left;
            left -= if fits { group.len() } else { 0 };
            fits
        });
        Self { at_most, any_of }
    }
}

/// The condition that a user owns at most so many units of some items, and one of others, at `now` (seconds since 1970 UTC), and
/// that the ledger is at the version that was `read`, if it was; changes nothing. Of more than [`ITEMS_AT_ONCE`] items only the first
/// are compared: the ledger must have been read then. The items are compared although the version is too, because functions of
/// a version from before it was stored write ledgers without counting it.
pub fn check(user: UserId, bounds: Bounds, read: Option<u64>, now: i64) -> Write {
    let Bounds { at_most, any_of } = bounds.compared();
    let needed = any_of.iter().flatten().map(|item| (*item, 0, None));
    let compared: Vec<AtMost> = at_most.iter().copied().chain(needed).collect();
    // An attribute that is missing is not larger. What lasts is part of the units.
    let owns_more = |(place, (_, most, since)): (usize, &AtMost)| match since {
        // The latest is the first.
        Some(_) => format!("#t{place}[{most}] >= :s{place}"),
        None => format!("#u{place} > :r{place} AND (NOT #e{place} <= :now OR #l{place} > :r{place})"),
    };
    let mut terms: Vec<String> = compared.iter().enumerate().map(owns_more).collect();
    let needed = terms.split_off(at_most.len());
    let mut conditions = Vec::new();
    if !terms.is_empty() {
        conditions.push(format!("NOT ({})", terms.join(" OR ")));
    }
    let (mut needed, is_only) = (needed.into_iter(), conditions.is_empty() && any_of.len() == 1);
    conditions.extend(any_of.iter().map(|group| {
        let owned = needed.by_ref().take(group.len()).collect::<Vec<String>>().join(" OR ");
        // Needless parentheses are refused.
        if is_only || group.len() == 1 { owned } else { format!("({owned})") }
    }));
    let write = Write::check(keys::ledger(user));
    let write = if conditions.is_empty() { write } else { write.only_if(conditions.join(" AND ")) };
    let is_owned = compared.iter().any(|(_, _, since)| since.is_none());
    let write = if is_owned { write.number(":now", now) } else { write };
    let write = read.into_iter().fold(write, Write::and_at);
    compared.iter().enumerate().fold(write, |write, (place, (item, most, since))| {
        if let Some(since) = since {
            return write.name(format!("#t{place}"), format!("{TIMES}{item}")).number(format!(":s{place}"), since);
        }
        let kinds = ['u', 'e', 'l'].into_iter();
        let write = kinds.fold(write, |write, kind| write.name(format!("#{kind}{place}"), format!("{kind}{item}")));
        write.number(format!(":r{place}"), most)
    })
}

/// The units of an item that are owned at `now` (seconds since 1970 UTC) by a ledger's row.
pub fn units(row: &Item, item: ItemId, now: i64) -> i128 {
    let number = |kind: char| row.get(&format!("{kind}{item}"))?.as_n().ok()?.parse::<i128>().ok();
    let has_ended = number('e').is_some_and(|end| end <= i128::from(now));
    number(if has_ended { 'l' } else { 'u' }).unwrap_or_default()
}

/// The units of an item in a ledger's row that were bought from a second (since 1970 UTC) on, as far as it keeps their times.
pub fn units_since(row: &Item, item: ItemId, since: i64) -> i128 {
    let times = row.get(&format!("{TIMES}{item}")).and_then(|value| value.as_l().ok());
    let seconds = times.into_iter().flatten().filter_map(|time| time.as_n().ok()?.parse::<i64>().ok());
    seconds.filter(|time| *time >= since).map(|_| 1).sum()
}

/// Whether an attribute of a ledger's row is part of an item's entry.
pub fn is_entry(attribute: &str) -> bool {
    part_of_entry(attribute).is_some()
}

/// The kind of an attribute, and its item.
fn part_of_entry(attribute: &str) -> Option<(char, ItemId)> {
    let id = attribute.strip_prefix(['u', 'p', 'l', 'm', 'b', 'e'])?;
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    attribute.chars().next().zip(id.parse().ok()).filter(|_| is_id)
}

/// A ledger, read from its row.
struct Flat(Ledger);

impl<'de> Deserialize<'de> for Flat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FlatVisitor)
    }
}

struct FlatVisitor;

impl<'de> Visitor<'de> for FlatVisitor {
    type Value = Flat;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a ledger")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut row: A) -> Result<Flat, A::Error> {
        let mut ledger = Ledger::default();
        while let Some(name) = row.next_key::<String>()? {
            let Some((kind, item)) = part_of_entry(&name) else {
                if let Some(item) = name.strip_prefix(TIMES).and_then(|id| id.parse().ok()) {
                    ledger.set_times(item, row.next_value()?);
                    continue;
                }
                match name.as_str() {
                    VERSION => ledger.version = row.next_value()?,
                    SPENT => ledger.spent.sum = row.next_value()?,
                    FIRST_PAID_AT => ledger.spent.since = Some(row.next_value()?),
                    _ => drop(row.next_value::<IgnoredAny>()?),
                }
                continue;
            };
            let number: i64 = row.next_value().map_err(|error| A::Error::custom(format_args!("{name}: {error}")))?;
            let holding = ledger.entry(item);
            let (units, paid) = (u32::try_from(number.max(0)).unwrap_or(u32::MAX), Money::from_minor(number));
            match kind {
                'u' => holding.all.units = units,
                'p' => holding.all.paid = paid,
                'l' => holding.run.get_or_insert_default().lasting.units = units,
                'm' => holding.run.get_or_insert_default().lasting.paid = paid,
                'b' => holding.run.get_or_insert_default().begun = number,
                _ => holding.run.get_or_insert_default().ends_at = number,
            }
        }
        Ok(Flat(ledger))
    }
}
