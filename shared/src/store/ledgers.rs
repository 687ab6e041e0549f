//! A user's ledger. Each item has two flat attributes, `u<id>` (units) and `p<id>` (minor units paid), so that
//! recording an order can add to both and guard the user's limit in one expression without reading first.

use super::StoreError;
use super::client::Rows;
use super::keys;
use crate::model::{ItemId, Ledger, Money, UserId};
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// Takes a user's ledger out of the rows; a user who bought nothing has an empty one.
///
/// # Errors
/// [`StoreError::Unreadable`], which names the attribute that is not a number.
pub fn take(rows: &mut Rows, user: UserId) -> Result<Ledger, StoreError> {
    let key = keys::ledger(user);
    rows.take(&key).map_or_else(|| Ok(Ledger::default()), |row| row.live(&key).map(|Flat(ledger)| ledger))
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
