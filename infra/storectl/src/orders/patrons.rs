//! The patrons: a row with the all-time sum of each, and the one item that is compiled from them for patrons/get. Every
//! write of either is in a transaction that also writes the next version of [`Shown`], so what is read after that
//! is guarded by it.

use super::pause_before;
use super::shown::Shown;
use super::tally::{Step, donor};
use super::transact::{Change, Sent, Write, send};
use super::verdict::Role;
use shared::model::{Donor, Money, Patron, TopPatrons, User, UserId};
use shared::rules::patrons::{largest, set};
use shared::store::codec::{decode_live, encode_live};
use shared::store::{Db, StoreError, keys, statistics};

/// How often a colliding transaction is tried again.
const ROUNDS: u32 = 8;

/// The writes that follow if an order of `total` is counted for its owner, or no longer counted. A user with a sum of
/// zero is not a patron.
pub(super) async fn follow(db: &Db, user: &User, step: Step, total: Money) -> Result<Vec<Write>, StoreError> {
    let key = keys::patron(user.id);
    let before: Option<Donor> = db.get(&key, true).await?.map(|item| decode_live(&key, item)).transpose()?;
    let changed = donor(user, step.apply(before.map_or(Money::ZERO, |donor| donor.amount), total));
    let top = change_top(db, Patron::from(&changed)).await?;
    let change = if changed.amount > Money::ZERO { Change::Put(encode_live(&key, &changed)?) } else { Change::Delete };
    Ok([Write::new(Role::Basis, key, change)].into_iter().chain(top).collect())
}

/// The writes that take a user out, if they are a patron.
pub(super) async fn forget(db: &Db, user: UserId) -> Result<Option<Vec<Write>>, StoreError> {
    let key = keys::patron(user);
    let gone = Patron { user, username: String::new(), amount: Money::ZERO };
    let listed = read(db).await?.is_some_and(|top| top.patrons.iter().any(|patron| patron.user == user));
    if !listed && db.get(&key, true).await?.is_none() {
        return Ok(None);
    }
    let top = change_top(db, gone).await?;
    Ok(Some([Write::new(Role::Basis, key, Change::Delete)].into_iter().chain(top).collect()))
}

/// Compiles the item again if it is not what the rows say. Returns whether it was not.
///
/// # Errors
/// [`StoreError`] where the database is away or others kept colliding.
pub(super) async fn repair(db: &Db) -> Result<bool, StoreError> {
    for round in 0..ROUNDS {
        pause_before(round).await;
        let shown = Shown::read(db).await?;
        let compiled = largest(statistics::patrons(db).await?.iter().map(Patron::from));
        let found = read(db).await?.unwrap_or_default();
        // `has_more` may be set although nobody is left outside.
        if found.patrons == compiled.patrons && found.has_more >= compiled.has_more {
            return Ok(false);
        }
        if matches!(send(db, vec![write(&compiled)?, shown.write()?]).await?, Sent::Written) {
            return Ok(true);
        }
    }
    Err(StoreError::Unavailable { operation: "TransactWriteItems", source: None })
}

async fn read(db: &Db) -> Result<Option<TopPatrons>, StoreError> {
    let key = keys::top_patrons();
    db.get(&key, true).await?.map(|item| decode_live(&key, item)).transpose()
}

/// The write of the item with a patron's new sum in it; none if that changes nothing. Reads all patrons only if the
/// item is missing or a patron who is not in it may move up.
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
    Ok(Write::new(Role::Basis, key, Change::Put(item)))
}
