//! What the sweep finds: orders and units with something left to do, and since when notices have not been asked for.

use super::client::Db;
use super::codec::{Row, encode_live};
use super::keys::{self, Key};
use super::takes::Take;
use super::transaction::Write;
use super::{StoreError, read_live};
use crate::model::{InternalId, Order, Units};
use serde::{Deserialize, Serialize};

/// The row of an order with something left to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// The order.
    pub order: InternalId,
}

impl Unfinished {
    /// The write of an order's row.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] if it cannot be encoded.
    pub fn put<G>(order: &Order, due: i64) -> Result<Write<G>, StoreError> {
        let key = keys::unfinished_order(due, order.id);
        let row = Self { order: order.internal_id.clone() };
        Ok(Write::put(key.clone(), encode_live(&key, &row)?))
    }
}

/// Something that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// An order, by its row.
    Order(Key, InternalId),
    /// Units that were on their way into an order.
    Take(Take),
}

#[derive(Deserialize)]
struct DueRow {
    order: InternalId,
    #[serde(default)]
    units: Option<Vec<Units>>,
}

/// What is due at `now` (seconds since 1970 UTC), the longest overdue first.
///
/// # Errors
/// [`StoreError`] if it can be neither read nor decoded.
pub async fn due(db: &Db, now: i64) -> Result<Vec<Due>, StoreError> {
    let rows = db.query_until(&keys::unfinished(), &keys::due_until(now)).await?;
    let decode = |row: Row| {
        let key = row.key()?;
        let DueRow { order, units } = row.live(&key)?;
        Ok(match units {
            Some(units) => Due::Take(Take::found(key, order, units)),
            None => Due::Order(key, order),
        })
    };
    rows.into_iter().map(decode).collect()
}

/// Since when the provider's notices have not been asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notices {
    /// Seconds since 1970 UTC.
    pub since: i64,
}

impl Notices {
    /// Reads it, strongly consistent; `None` before the first time.
    ///
    /// # Errors
    /// [`StoreError`] if it can be neither read nor decoded.
    pub async fn read(db: &Db) -> Result<Option<Self>, StoreError> {
        read_live(db, &keys::notices()).await
    }

    /// The write of it.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] if it cannot be encoded.
    pub fn put<G>(&self) -> Result<Write<G>, StoreError> {
        let key = keys::notices();
        Ok(Write::put(key.clone(), encode_live(&key, self)?))
    }
}
