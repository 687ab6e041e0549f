//! The patrons: a row with the all-time sum of each, and the item that is compiled from them for patrons/get. Every
//! write of either is in a transaction that also writes the next version of [`VersionedDonations`], which guards what
//! is read after it.

use super::STATISTICS_ROUNDS;
use crate::model::{Donor, Money, Patron, TopPatrons, User, UserId};
use crate::rules::donations::Adjustment;
use crate::rules::patrons::{largest, set};
use crate::store::codec::encode_live;
use crate::store::statistics::{self, VersionedDonations};
use crate::store::transaction::{Write, send};
use crate::store::{Db, StoreError, in_turns, keys, read_all_live, read_live};
use std::collections::BTreeMap;

/// The writes that change users' sums by amounts. A user with a sum of zero is not among the patrons.
pub(super) async fn adjust(db: &Db, given: &[(&User, Adjustment, Money)]) -> Result<Vec<Write>, StoreError> {
    let before: Vec<Donor> = read_all_live(db, given.iter().map(|(user, ..)| keys::patron(user.id))).await?;
    let mut sums: BTreeMap<UserId, Donor> = before.into_iter().map(|donor| (donor.user, donor)).collect();
    for (user, adjustment, amount) in given {
        let before = sums.get(&user.id).map_or(Money::ZERO, |donor| donor.amount);
        sums.insert(user.id, Donor::new(user, adjustment.apply(before, *amount)));
    }
    let mut writes: Vec<Write> = change_top(db, sums.values().map(Patron::from).collect()).await?.into_iter().collect();
    for donor in sums.values() {
        let key = keys::patron(donor.user);
        writes.push(if donor.amount > Money::ZERO {
            let item = encode_live(&key, donor)?;
            Write::put(key, item)
        } else {
            Write::delete(key)
        });
    }
    Ok(writes)
}

/// The writes that remove a user, if the user is a patron.
pub(super) async fn forget(db: &Db, user: UserId) -> Result<Option<Vec<Write>>, StoreError> {
    let key = keys::patron(user);
    let removed = Patron { user, username: String::new(), amount: Money::ZERO };
    let listed = read(db).await?.is_some_and(|top| top.patrons.iter().any(|patron| patron.user == user));
    if !listed && db.get(&key, true).await?.is_none() {
        return Ok(None);
    }
    let top = change_top(db, vec![removed]).await?;
    Ok(Some([Write::delete(key)].into_iter().chain(top).collect()))
}

/// The writes that show a user's present name and image, if the user is a patron and others are shown.
pub(super) async fn rename(db: &Db, user: &User) -> Result<Vec<Write>, StoreError> {
    let key = keys::patron(user.id);
    let Some(before) = read_live::<Donor>(db, &key).await? else { return Ok(Vec::new()) };
    let changed = Donor::new(user, before.amount);
    let mut writes: Vec<Write> = change_top(db, vec![Patron::from(&changed)]).await?.into_iter().collect();
    if changed != before {
        let item = encode_live(&key, &changed)?;
        writes.push(Write::put(key, item));
    }
    Ok(writes)
}

/// Compiles the item again if it differs from the patrons' rows. Returns whether it did.
pub async fn repair(db: &Db) -> Result<bool, StoreError> {
    in_turns(STATISTICS_ROUNDS, || async {
        let shown = VersionedDonations::read(db).await?;
        let Some(compiled) = differing(db).await? else { return Ok(false) };
        send(db, vec![write(&compiled)?, shown.write()?]).await?;
        Ok(true)
    })
    .await
}

/// Whether the item differs from the patrons' rows.
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

/// The write of the item with patrons' new sums; none if that changes nothing. Reads all patrons only if the item is
/// missing or a patron who is not in it may move up.
async fn change_top(db: &Db, changed: Vec<Patron>) -> Result<Option<Write>, StoreError> {
    let before = read(db).await?;
    if let Some(before) = &before {
        let mut top = before.clone();
        if changed.iter().all(|patron| set(&mut top, patron.clone())) {
            return if top == *before { Ok(None) } else { write(&top).map(Some) };
        }
    }
    let mut all = statistics::patrons(db).await?;
    all.retain(|donor| changed.iter().all(|patron| patron.user != donor.user));
    let top = largest(all.iter().map(Patron::from).chain(changed));
    if top == before.unwrap_or_default() { Ok(None) } else { write(&top).map(Some) }
}

fn write(top: &TopPatrons) -> Result<Write, StoreError> {
    let key = keys::top_patrons();
    let item = encode_live(&key, top)?;
    Ok(Write::put(key, item))
}
