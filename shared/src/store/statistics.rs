//! Statistics of paid orders, as they are shown.

use super::StoreError;
use super::client::Db;
use super::codec::{Row, decode_live};
use super::keys;
use crate::model::{Donations, Donor, TopPatrons};

/// Reads goals, top and recent donators; a store without paid orders has none.
///
/// # Errors
/// [`StoreError`] if they cannot be read or decoded.
pub async fn donations(db: &Db) -> Result<Donations, StoreError> {
    let key = keys::donations();
    let item = db.get(&key, false).await?;
    item.map_or_else(|| Ok(Donations::default()), |item| decode_live(&key, item))
}

/// Reads the largest patrons; a store without paid orders has none.
///
/// # Errors
/// [`StoreError`] if they cannot be read or decoded.
pub async fn top_patrons(db: &Db) -> Result<TopPatrons, StoreError> {
    let key = keys::top_patrons();
    let item = db.get(&key, false).await?;
    item.map_or_else(|| Ok(TopPatrons::default()), |item| decode_live(&key, item))
}

/// Reads the row of every patron, in no order. Not for requests: the cost grows with the number of patrons.
///
/// # Errors
/// [`StoreError`] if they cannot be read or decoded.
pub async fn patrons(db: &Db) -> Result<Vec<Donor>, StoreError> {
    db.query(&keys::patrons()).await?.into_iter().map(Row::live_found).collect()
}
