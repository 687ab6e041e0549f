//! What paid orders added up to, as it is shown.

use super::StoreError;
use super::client::Db;
use super::codec::{Row, decode_live};
use super::keys;
use crate::model::{Donations, Donor};

/// Reads goals, top and recent donators; a store without paid orders has none.
///
/// # Errors
/// [`StoreError`] where they can be neither read nor decoded.
pub async fn donations(db: &Db) -> Result<Donations, StoreError> {
    let key = keys::donations();
    let item = db.get(&key, false).await?;
    item.map_or_else(|| Ok(Donations::default()), |item| decode_live(&key, item))
}

/// Reads every patron, largest sum first and then by name.
///
/// # Errors
/// [`StoreError`] where they can be neither read nor decoded.
pub async fn patrons(db: &Db) -> Result<Vec<Donor>, StoreError> {
    let rows = db.query(&keys::patrons()).await?;
    let mut donors: Vec<Donor> = rows.into_iter().map(Row::live_found).collect::<Result<_, _>>()?;
    donors.sort_by(|one, other| other.amount.cmp(&one.amount).then_with(|| one.username.cmp(&other.username)));
    Ok(donors)
}
