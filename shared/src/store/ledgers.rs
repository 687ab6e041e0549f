//! A user's ledger. Each item has two flat attributes, `u<id>` (units) and `p<id>` (minor units paid), so that
//! recording an order can add to both and guard the user's limit in one expression without reading first. Every write
//! adds 1 to its [`VERSION`], so that one number in a condition says that nothing has changed since it was read.

use super::StoreError;
use super::client::Rows;
use super::codec::{Item, number, numbered};
use super::keys;
use super::transaction::{VERSION, Write};
use crate::model::{ItemId, Ledger, Money, UserId};
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// Takes a user's ledger out of the rows; a user who bought nothing has an empty one.
pub fn take(rows: &mut Rows, user: UserId) -> Result<Ledger, StoreError> {
    let key = keys::ledger(user);
    rows.take(&key).map_or_else(|| Ok(Ledger::default()), |row| row.live(&key).map(|Flat(ledger)| ledger))
}

/// The row of a ledger that is written for the first time.
pub fn row(user: UserId, ledger: &Ledger) -> Item {
    let mut item = numbered(&keys::ledger(user), VERSION, 1);
    for (id, holding) in ledger.iter() {
        item.extend([number(format!("u{id}"), holding.units), number(format!("p{id}"), holding.paid.minor())]);
    }
    item
}

/// The amounts added to one item of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerChange {
    pub item: ItemId,
    /// Units; negative for a refund.
    pub units: i128,
    /// The sum paid, in minor units; negative for a refund.
    pub paid: i64,
    /// The condition: at most this many units so far.
    pub at_most: Option<u64>,
}

/// The write that adds to a user's ledger. Placeholders are short: fifty lines fit into the 4 KB of an expression.
pub fn add(user: UserId, changes: &[LedgerChange]) -> Write {
    let terms = (0..changes.len()).map(|place| format!("#u{place} :u{place}, #p{place} :p{place}"));
    let limited = changes.iter().enumerate().filter(|(_, change)| change.at_most.is_some());
    let conditions = limited.map(|(place, _)| format!("(attribute_not_exists(#u{place}) OR #u{place} <= :r{place})"));
    let conditions: Vec<String> = conditions.collect();
    let terms: Vec<String> = terms.chain(["#version :one".to_owned()]).collect();
    let mut write = Write::update(keys::ledger(user), format!("ADD {}", terms.join(", ")));
    write = write.name("#version", VERSION).number(":one", 1);
    if !conditions.is_empty() {
        write = write.only_if(conditions.join(" AND "));
    }
    changes.iter().enumerate().fold(write, |write, (place, change)| {
        let write = write
            .name(format!("#u{place}"), format!("u{}", change.item))
            .name(format!("#p{place}"), format!("p{}", change.item))
            .number(format!(":u{place}"), change.units)
            .number(format!(":p{place}"), change.paid);
        change.at_most.into_iter().fold(write, |write, most| write.number(format!(":r{place}"), most))
    })
}

/// The most units of an item that a ledger may have.
pub type AtMost = (ItemId, u64);

/// How many items one condition compares: an expression has at most 4 KB and 300 operators.
pub const AT_ONCE: usize = 100;

/// The condition that a user's ledger has at most so many units of some items, and that it is at the version that was
/// `read`, if it was; changes nothing. Of more than [`AT_ONCE`] items only the first are compared: the ledger must have
/// been read then. The items are compared although the version is too, because functions of a version from before it
/// was stored write ledgers without counting it.
pub fn check(user: UserId, most: &[AtMost], read: Option<u64>) -> Write {
    let most = most.get(..AT_ONCE).unwrap_or(most);
    // An attribute that is missing is not larger.
    let terms: Vec<String> = (0..most.len()).map(|place| format!("#u{place} > :r{place}")).collect();
    let write = Write::check(keys::ledger(user)).only_if(format!("NOT ({})", terms.join(" OR ")));
    let write = read.into_iter().fold(write, Write::and_at);
    most.iter().enumerate().fold(write, |write, (place, (item, most))| {
        write.name(format!("#u{place}"), format!("u{item}")).number(format!(":r{place}"), most)
    })
}

/// The units of an item in a ledger's row.
pub fn units(row: &Item, item: ItemId) -> i128 {
    let number = row.get(&format!("u{item}")).and_then(|value| value.as_n().ok());
    number.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Whether an attribute of a ledger's row is a number of units or a sum paid.
pub fn is_entry(attribute: &str) -> bool {
    let id = attribute.strip_prefix(['u', 'p']).unwrap_or_default();
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())
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
            if name == VERSION {
                ledger.version = row.next_value()?;
                continue;
            }
            let units = name.strip_prefix('u').and_then(|id| id.parse::<ItemId>().ok());
            let paid = name.strip_prefix('p').and_then(|id| id.parse::<ItemId>().ok());
            let (Some(item), is_units) = (units.or(paid), units.is_some()) else {
                row.next_value::<IgnoredAny>()?;
                continue;
            };
            let number: i64 = row.next_value().map_err(|error| A::Error::custom(format_args!("{name}: {error}")))?;
            let holding = ledger.entry(item);
            if is_units {
                holding.units = u32::try_from(number.max(0)).unwrap_or(u32::MAX);
            } else {
                holding.paid = Money::from_minor(number);
            }
        }
        Ok(Flat(ledger))
    }
}
