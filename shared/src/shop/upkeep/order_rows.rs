//! Whether every order is found: in its month by reports, among the orders of its account, and by the provider's payment.

use crate::shop::orders::owned_orders::OwnedOrder;
use crate::shop::orders::{Payment, StoredOrder, by_month};
use crate::table::bulk::each;
use crate::table::codec::{Row, key_of};
use crate::table::keys::{self, Key, prefix};
use crate::table::transaction::{Write, sent};
use crate::table::{Db, StoreError};
use std::collections::BTreeMap;

/// The most rows of one transaction.
const ROWS_AT_ONCE: usize = 50;

/// The rows by which orders are found that are missing. Reads every item.
pub async fn missing_rows(db: &Db) -> Result<Vec<Write>, StoreError> {
    let mut rows: BTreeMap<Key, Option<Write>> = BTreeMap::new();
    each(db, "", |item| {
        let key = key_of(&item)?;
        if [prefix::SALES, prefix::ORDERS, prefix::PAYMENT].iter().any(|kind| key.pk.starts_with(kind)) {
            rows.insert(key, None);
        } else if keys::is_order(&key) {
            for (key, write) in rows_of(&StoredOrder::decode(&key, Row::from(item))?)? {
                rows.entry(key).or_insert(Some(write));
            }
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(rows.into_values().flatten().collect())
}

/// The rows by which an order is found.
fn rows_of(stored: &StoredOrder) -> Result<Vec<(Key, Write)>, StoreError> {
    let own = OwnedOrder::item(&stored.order).transpose()?;
    let rows = by_month::items(stored)?.into_iter().chain(own).map(|(key, row)| (key.clone(), Write::put(key, row)));
    let payment = |intent| Ok::<_, StoreError>((keys::payment(intent), Payment::put(&stored.order, intent)?));
    let payment: Option<(Key, Write)> = stored.intent().map(payment).transpose()?;
    Ok(rows.chain(payment).collect())
}

/// Writes such rows. Done again, they are the same.
pub async fn write_rows(db: &Db, mut writes: Vec<Write>) -> Result<(), StoreError> {
    while !writes.is_empty() {
        let part = writes.split_off(writes.len().saturating_sub(ROWS_AT_ONCE));
        if !sent(db, part).await? {
            return Err(StoreError::Contended);
        }
    }
    Ok(())
}
