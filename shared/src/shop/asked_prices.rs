//! The prices that were asked for each item, in rows that outlive versions (rules.md, "Prices that were"). Publishing alone reads and
//! writes them.

use crate::model::ItemId;
use crate::rules::price_history::PriceHistory;
use crate::table::keys;
use crate::table::single::apply_all;
use crate::table::transaction::Write;
use crate::table::{Db, StoreError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Rows that are written by one transaction.
const ROWS_AT_ONCE: usize = 50;

/// The stored prices of an item: those that a publish found were asked until then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPrices {
    /// Since when the version was active whose prices are its last, in seconds since 1970 UTC.
    pub settled: i64,
    /// Code and digits of the currency, such as `EUR 2`: prices of another one are not compared.
    pub currency: String,
    pub history: PriceHistory,
}

/// The stored prices of these items; without those that have none.
pub async fn read(
    db: &Db,
    items: impl IntoIterator<Item = ItemId>,
) -> Result<BTreeMap<ItemId, StoredPrices>, StoreError> {
    let keys: Vec<_> = items.into_iter().map(|id| (id, keys::prices(id))).collect();
    let mut rows = db.batch_get(keys.iter().map(|(_, key)| key.clone()).collect()).await?;
    keys.into_iter()
        .filter_map(|(id, key)| rows.take_live(&key).map(|stored| Some((id, stored?))).transpose())
        .collect()
}

/// Writes prices, each only if none are stored that another publisher found of a later version; then its publish has overtaken
/// this one, which is refused. After an error some are written, and the same call can be made again.
pub async fn write(db: &Db, prices: &[(ItemId, StoredPrices)]) -> Result<(), StoreError> {
    for part in prices.chunks(ROWS_AT_ONCE) {
        let put = |(id, stored): &(ItemId, StoredPrices)| {
            let put = Write::put_live(keys::prices(*id), stored)?;
            let is_later = "attribute_not_exists(#pk) OR settled <= :settled";
            Ok(put.only_if(is_later).name("#pk", keys::PK).number(":settled", stored.settled))
        };
        let writes = part.iter().map(put).collect::<Result<_, StoreError>>()?;
        if !apply_all(db, writes).await? {
            break;
        }
    }
    Ok(())
}
