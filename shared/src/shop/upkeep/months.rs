//! Whether every order is in its month, where reports find it.

use crate::shop::orders::{StoredOrder, by_month};
use crate::table::bulk::each;
use crate::table::codec::{Row, key_of};
use crate::table::keys::{self, Key};
use crate::table::transaction::{Write, sent};
use crate::table::{Db, StoreError};
use std::collections::BTreeMap;

/// The most rows of one transaction.
const ROWS_AT_ONCE: usize = 50;

/// The rows that orders lack in their months: of those from before there were any. Reads every item.
pub async fn missing_in_months(db: &Db) -> Result<Vec<Write>, StoreError> {
    let mut lacking: BTreeMap<Key, Option<Write>> = BTreeMap::new();
    each(db, "", |item| {
        let key = key_of(&item)?;
        if key.pk.starts_with(keys::prefix::SALES) {
            lacking.insert(key, None);
        } else if keys::is_order(&key) {
            let stored = StoredOrder::decode(&key, Row::from(item))?;
            for (key, row) in by_month::items(&stored)? {
                lacking.entry(key.clone()).or_insert(Some(Write::put(key, row)));
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
        let part = writes.split_off(writes.len().saturating_sub(ROWS_AT_ONCE));
        if !sent(db, part).await? {
            return Err(StoreError::Contended);
        }
    }
    Ok(())
}
