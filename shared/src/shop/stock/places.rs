//! Places of a counter: windows of time and servers, in which units count for an item's limits (rules.md, "Limits in time and place").
//! They are attributes of the counter, so that one update with one condition changes and guards them all. A place of windows or servers
//! is a number under a name of its own for each window: no window has to be begun. One of a rolling limit is a set with a mark for each
//! unit, whose size is compared; marks that have run out are removed before that.

use crate::model::{Counted, Every, InternalId, Item as CatalogItem, ItemId, Place, mark, time_of};
use crate::table::codec::{Item, decode_live};
use crate::table::{StoreError, keys};
use aws_sdk_dynamodb::types::AttributeValue;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;

/// The places of an order's units of one item, and the item's limits if they are to be guarded.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    pub of_item: &'a [Place],
    pub order: &'a InternalId,
    /// When the order was created, seconds since 1970 UTC.
    pub at: i64,
}

/// A placeholder with what it stands for.
type Named<T> = (String, T);

/// The parts of an update that changes places.
#[derive(Debug, Default)]
pub struct Parts {
    add: Vec<String>,
    delete: Vec<String>,
    conditions: Vec<String>,
    names: Vec<(String, String)>,
    values: Vec<(String, AttributeValue)>,
}

impl Parts {
    fn name(&mut self, number: usize, place: &Place) {
        self.names.push((format!("#w{number}"), place.name.clone()));
    }

    fn value(&mut self, name: String, value: AttributeValue) {
        self.values.push((name, value));
    }

    /// The expression with what is added and removed besides.
    pub fn expression(&self, others: &str) -> String {
        self.expression_with(others, None)
    }

    /// [`Self::expression`], with something more that is deleted from a set.
    pub fn expression_also_deleting(&self, others: &str, deleted: &str) -> String {
        self.expression_with(others, Some(deleted))
    }

    fn expression_with(&self, others: &str, deleted: Option<&str>) -> String {
        let added = self.add.iter().fold(others.to_owned(), |all, one| format!("{all}, {one}"));
        let deleted: Vec<&str> = deleted.into_iter().chain(self.delete.iter().map(String::as_str)).collect();
        if deleted.is_empty() { added } else { format!("{added} DELETE {}", deleted.join(", ")) }
    }

    /// The condition, with another one if there is one; `None` without any.
    pub fn condition(&self, other: Option<&str>) -> Option<String> {
        let all: Vec<&str> = other.into_iter().chain(self.conditions.iter().map(String::as_str)).collect();
        (!all.is_empty()).then(|| all.join(" AND "))
    }

    pub fn into_attributes(self) -> (Vec<Named<String>>, Vec<Named<AttributeValue>>) {
        (self.names, self.values)
    }
}

fn number(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// The most units of a place by the item's limits; `None` if none of them is about it any more.
fn most(item: &CatalogItem, place: &Place, at: i64) -> Option<u64> {
    let limit = item.limits.iter().find(|limit| limit.place(at).as_deref() == Some(&place.name))?;
    Some(u64::from(limit.most))
}

impl Places<'_> {
    fn marks(&self, place: &Place, but: u64) -> AttributeValue {
        let marks = but..but.saturating_add(place.units);
        AttributeValue::Ss(marks.map(|unit| mark(self.at, self.order.as_str(), unit)).collect())
    }

    /// The parts that take the units, guarded by the limits of `item`. `None` if a limit is below the units themselves.
    pub fn take(&self, item: Option<&CatalogItem>) -> Option<Parts> {
        let mut parts = Parts::default();
        for (n, place) in self.of_item.iter().enumerate() {
            parts.name(n, place);
            let is_rolling = place.is_rolling();
            parts.add.push(format!("#w{n} :w{n}"));
            parts.value(format!(":w{n}"), if is_rolling { self.marks(place, 0) } else { number(place.units) });
            let Some(most) = item.and_then(|item| most(item, place, self.at)) else { continue };
            parts.value(format!(":m{n}"), number(most.checked_sub(place.units)?));
            let taken = if is_rolling { format!("size(#w{n})") } else { format!("#w{n}") };
            parts.conditions.push(format!("(attribute_not_exists(#w{n}) OR {taken} <= :m{n})"));
        }
        Some(parts)
    }

    /// The parts that give the units back, of a counter as it was read if it was. `kept` are units of the same order and place that stay.
    pub fn give_back(&self, read: Option<&Counted>, kept: impl Fn(&Place) -> u64) -> Parts {
        let mut parts = Parts::default();
        for (n, place) in self.of_item.iter().enumerate() {
            if place.is_rolling() {
                parts.name(n, place);
                parts.delete.push(format!("#w{n} :w{n}"));
                parts.value(format!(":w{n}"), self.marks(place, kept(place)));
                continue;
            }
            let found = read.map_or(place.units, |read| read.places.get(&place.name).copied().unwrap_or_default());
            let units = place.units.min(found);
            // A window that is over may be gone.
            if units > 0 {
                parts.name(n, place);
                parts.add.push(format!("#w{n} :w{n}"));
                parts.value(format!(":w{n}"), AttributeValue::N(format!("-{units}")));
                parts.value(format!(":m{n}"), number(units));
                parts.conditions.push(format!("#w{n} >= :m{n}"));
            }
        }
        parts
    }
}

/// Reads an item's counter as a write returns it.
pub fn read(item: ItemId, row: Item) -> Result<Counted, StoreError> {
    decode_live(&keys::count(item), row).map(|Flat(counted)| counted)
}

/// A counter, read from its row.
pub struct Flat(pub Counted);

impl<'de> Deserialize<'de> for Flat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FlatVisitor)
    }
}

struct FlatVisitor;

impl<'de> Visitor<'de> for FlatVisitor {
    type Value = Flat;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a counter")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut row: A) -> Result<Flat, A::Error> {
        let mut counted = Counted::default();
        let units = |number: i64| u64::try_from(number).unwrap_or_default();
        while let Some(name) = row.next_key::<String>()? {
            if name == super::SOLD {
                counted.sold = units(row.next_value()?);
            } else if !Place::is_name(&name) {
                row.next_value::<IgnoredAny>()?;
            } else if Place::is_rolling_name(&name) {
                counted.marks.insert(name, row.next_value()?);
            } else {
                counted.places.insert(name, units(row.next_value()?));
            }
        }
        Ok(Flat(counted))
    }
}

/// How many seconds a window is kept after its end: a checkout that began in it may still be paid.
const WINDOW_KEPT: i64 = 2 * 86_400;

/// The parts of a counter's places that have run out at `at`, seconds since 1970 UTC: marks of rolling limits, and windows that are over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunOut {
    marks: Vec<(String, BTreeSet<String>)>,
    windows: Vec<String>,
}

impl RunOut {
    pub fn of(item: &CatalogItem, counted: &Counted, at: i64) -> Self {
        let mut run_out = Self::default();
        for limit in item.limits.iter().filter(|limit| !limit.per_user) {
            run_out.windows.extend(
                counted.places.keys().filter(|name| limit.is_over(name, at.saturating_sub(WINDOW_KEPT))).cloned(),
            );
            let (Some(Every::Rolling(_)), Some(name), Some(counts)) =
                (&limit.every, limit.place(at), limit.counted_at(at))
            else {
                continue;
            };
            let is_over = |mark: &&String| time_of(mark).is_none_or(|time| time < counts.start);
            let marks: BTreeSet<String> =
                counted.marks.get(&name).into_iter().flatten().filter(is_over).cloned().collect();
            run_out.marks.extend((!marks.is_empty()).then_some((name, marks)));
        }
        run_out.windows.sort_unstable();
        run_out.windows.dedup();
        run_out
    }

    /// Whether units may count no more that are still compared.
    pub const fn has_marks(&self) -> bool {
        !self.marks.is_empty()
    }

    pub const fn is_empty(&self) -> bool {
        self.marks.is_empty() && self.windows.is_empty()
    }

    /// The update that removes it, with its names and values. It may be repeated, and nothing that still counts is removed.
    pub fn into_update(self) -> (String, Parts) {
        let mut parts = Parts::default();
        let remove: Vec<String> = (0..self.windows.len()).map(|n| format!("#o{n}")).collect();
        parts.names.extend(self.windows.into_iter().enumerate().map(|(n, name)| (format!("#o{n}"), name)));
        for (n, (name, marks)) in self.marks.into_iter().enumerate() {
            parts.names.push((format!("#w{n}"), name));
            parts.values.push((format!(":w{n}"), AttributeValue::Ss(marks.into_iter().collect())));
            parts.delete.push(format!("#w{n} :w{n}"));
        }
        let clause = |word: &str, all: &[String]| (!all.is_empty()).then(|| format!("{word} {}", all.join(", ")));
        let clauses = [clause("REMOVE", &remove), clause("DELETE", &parts.delete)];
        (clauses.into_iter().flatten().collect::<Vec<_>>().join(" "), parts)
    }
}
