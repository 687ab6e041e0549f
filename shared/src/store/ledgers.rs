//! A user's ledger. Each item has two flat attributes, `u<id>` (units) and `p<id>` (minor units paid), so that
//! recording an order can add to both and guard the user's limit in one expression without reading first.

use super::StoreError;
use super::client::Rows;
use super::keys;
use crate::model::{ItemId, Ledger, Money, UserId};

/// Takes a user's ledger out of what was read; a user who bought nothing has an empty one.
///
/// # Errors
/// [`StoreError::Unreadable`] naming the attribute that is no number.
pub fn take(rows: &mut Rows, user: UserId) -> Result<Ledger, StoreError> {
    let key = keys::ledger(user);
    let mut ledger = Ledger::default();
    for (name, value) in rows.take(&key).unwrap_or_default() {
        let units = name.strip_prefix('u').and_then(|id| id.parse::<ItemId>().ok());
        let paid = name.strip_prefix('p').and_then(|id| id.parse::<ItemId>().ok());
        let (Some(item), is_units) = (units.or(paid), units.is_some()) else { continue };
        let number = value.as_n().ok().and_then(|text| text.parse::<i64>().ok());
        let number = number.ok_or_else(|| StoreError::unreadable(&key, &name))?;
        let holding = ledger.entry(item);
        if is_units {
            holding.units = u32::try_from(number.max(0)).unwrap_or(u32::MAX);
        } else {
            holding.paid = Money::from_minor(number);
        }
    }
    Ok(ledger)
}
