//! The digits of the currency never change under what is stored: a live amount is a number of minor units, and the
//! published digits say what one is worth. With other digits every balance and sum would be read as another amount.

use crate::error::PublishError;
use shared::store::bulk::each;
use shared::store::codec::key_of;
use shared::store::keys::prefix;
use shared::store::published::read_active_version;
use shared::store::{Db, StoreError};
use std::collections::BTreeSet;

/// Refuses to publish `digits` if the published store has others and the table has live rows. A table whose orders
/// were all recorded with `digits` is let back to them. Fails with [`PublishError::Digits`].
pub async fn check_digits(db: &Db, digits: u8) -> Result<(), PublishError> {
    let Some(published) = read_active_version(db).await?.map(|active| active.config.digits) else { return Ok(()) };
    if published == digits {
        return Ok(());
    }
    // Reads the whole table, which only a change of digits needs.
    let (mut is_live, mut of_orders) = (false, BTreeSet::new());
    each(db, "", |item| {
        let key = key_of(&item)?;
        is_live |= prefix::LIVE.iter().any(|kind| key.pk.starts_with(kind));
        if key.pk.starts_with(prefix::ORDER) {
            let digits = item.get("digits").and_then(|value| value.as_n().ok());
            of_orders.extend(digits.and_then(|digits| digits.parse::<u8>().ok()));
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    if !is_live || of_orders == BTreeSet::from([digits]) {
        return Ok(());
    }
    Err(PublishError::Digits { published, wanted: digits })
}
