//! Orders, as buyers look them up.

use super::StoreError;
use super::client::Rows;
use super::keys;
use crate::model::{InternalId, Order};

/// Takes an order out of the rows.
///
/// # Errors
/// [`StoreError::Unreadable`] if it does not decode.
pub fn take(rows: &mut Rows, id: &InternalId) -> Result<Option<Order>, StoreError> {
    let key = keys::order(id);
    rows.take(&key).map(|row| row.live(&key)).transpose()
}
