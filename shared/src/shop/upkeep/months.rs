//! Whether every order is in its month, where reports find it.

use crate::model::OrderStatus;
use crate::shop::orders::{StoredOrder, by_month};
use crate::table::bulk::each;
use crate::table::codec::{Row, key_of};
use crate::table::keys::{self, Key};
use crate::table::transaction::{Write, sent};
use crate::table::{Db, StoreError};
use std::collections::BTreeMap;

/// The most rows of one transaction.
const AT_ONCE: usize = 50;

/// The rows that orders lack in their months: of those from before there were any. Reads every item.
pub async fn missing_in_months(db: &Db) -> Result<Vec<Write>, StoreError> {
    let mut lacking: BTreeMap<Key, Option<Write>> = BTreeMap::new();
    each(db, "", |item| {
        let key = key_of(&item)?;
        if key.pk.starts_with(keys::prefix::SALES) {
            lacking.insert(key, None);
        } else if keys::is_order(&key) {
            let stored = StoredOrder::decode(&key, Row::from(item))?;
            let (key, _) = by_month::item(&stored.order)?;
            lacking.entry(key).or_insert(Some(by_month::put(&stored.order)?));
            let refunded_at = stored.effects.refunded_at.filter(|_| stored.order.status == OrderStatus::Refunded);
            if let Some(at) = refunded_at {
                let key = keys::sale_back(at, stored.order.id, 0);
                lacking.entry(key).or_insert(Some(by_month::put_refunded(&stored, at)?));
            }
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(lacking.into_values().flatten().collect())
}

/// Writes such rows. Done again, they are the same.
pub async fn write_in_months(db: &Db, mut writes: Vec<Write>) -> Result<(), StoreError> {
    while !writes.is_empty() {
        let part = writes.split_off(writes.len().saturating_sub(AT_ONCE));
        if !sent(db, part).await? {
            return Err(StoreError::Contended);
        }
    }
    Ok(())
}
