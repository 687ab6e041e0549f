//! The patrons: a row with the all-time sum of each, and the item that is compiled from them for patrons/get. Every
//! write of either is in a transaction that also writes the next version of [`VersionedDonations`], which guards what
//! is read after it.

use super::{STATISTICS_ROUNDS, pause_before};
use crate::model::{Donor, Money, Patron, TopPatrons, User, UserId};
use crate::rules::donations::Adjustment;
use crate::rules::patrons::{largest, set};
use crate::store::codec::encode_live;
use crate::store::statistics::{self, VersionedDonations};
use crate::store::transaction::{Sent, Write, send};
use crate::store::{Db, StoreError, keys, read_live};

/// The writes that add `amount` to a user's sum or take it off. A user with a sum of zero is not a patron.
pub(super) async fn adjust(
    db: &Db,
    user: &User,
    adjustment: Adjustment,
    amount: Money,
) -> Result<Vec<Write>, StoreError> {
    let key = keys::patron(user.id);
    let before: Option<Donor> = read_live(db, &key).await?;
    let before = before.map_or(Money::ZERO, |donor| donor.amount);
    let changed = Donor::new(user, adjustment.apply(before, amount));
    let top = change_top(db, Patron::from(&changed)).await?;
    let row = if changed.amount > Money::ZERO {
        let item = encode_live(&key, &changed)?;
        Write::put(key, item)
    } else {
        Write::delete(key)
    };
    Ok([row].into_iter().chain(top).collect())
}

/// The writes that remove a user, if the user is a patron.
pub(super) async fn forget(db: &Db, user: UserId) -> Result<Option<Vec<Write>>, StoreError> {
    let key = keys::patron(user);
    let removed = Patron { user, username: String::new(), amount: Money::ZERO };
    let listed = read(db).await?.is_some_and(|top| top.patrons.iter().any(|patron| patron.user == user));
    if !listed && db.get(&key, true).await?.is_none() {
        return Ok(None);
    }
    let top = change_top(db, removed).await?;
    Ok(Some([Write::delete(key)].into_iter().chain(top).collect()))
}

/// Compiles the item again if it differs from the patrons' rows. Returns whether it did.
///
/// # Errors
/// [`StoreError`] if the database is unavailable or other writes kept conflicting.
pub async fn repair(db: &Db) -> Result<bool, StoreError> {
    for round in 0..STATISTICS_ROUNDS {
        pause_before(round).await;
        let shown = VersionedDonations::read(db).await?;
        let Some(compiled) = differing(db).await? else { return Ok(false) };
        if send(db, vec![write(&compiled)?, shown.write()?]).await? == Sent::Written {
            return Ok(true);
        }
    }
    Err(StoreError::unavailable("TransactWriteItems"))
}

/// Whether the item differs from the patrons' rows.
///
/// # Errors
/// [`StoreError`] if they cannot be read or decoded.
pub async fn differs(db: &Db) -> Result<bool, StoreError> {
    Ok(differing(db).await?.is_some())
}

/// The item as it should be; `None` if it is.
async fn differing(db: &Db) -> Result<Option<TopPatrons>, StoreError> {
    let compiled = largest(statistics::patrons(db).await?.iter().map(Patron::from));
    let found = read(db).await?.unwrap_or_default();
    // `has_more` may be set although there is no other patron.
    let is_same = found.patrons == compiled.patrons && found.has_more >= compiled.has_more;
    Ok((!is_same).then_some(compiled))
}

async fn read(db: &Db) -> Result<Option<TopPatrons>, StoreError> {
    read_live(db, &keys::top_patrons()).await
}

/// The write of the item with a patron's new sum; none if that changes nothing. Reads all patrons only if the item is
/// missing or a patron who is not in it may move up.
async fn change_top(db: &Db, changed: Patron) -> Result<Option<Write>, StoreError> {
    let before = read(db).await?;
    if let Some(before) = &before {
        let mut top = before.clone();
        if set(&mut top, changed.clone()) {
            return if top == *before { Ok(None) } else { write(&top).map(Some) };
        }
    }
    let mut all = statistics::patrons(db).await?;
    all.retain(|donor| donor.user != changed.user);
    let top = largest(all.iter().map(Patron::from).chain([changed]));
    if top == before.unwrap_or_default() { Ok(None) } else { write(&top).map(Some) }
}

fn write(top: &TopPatrons) -> Result<Write, StoreError> {
    let key = keys::top_patrons();
    let item = encode_live(&key, top)?;
    Ok(Write::put(key, item))
}
