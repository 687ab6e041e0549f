//! The patrons, who gave most, and a user who is erased from them, from the statistics and from orders.

use super::{STATISTICS_TURNS, VersionedDonations, month_sums, newest, top_donors};
use crate::model::{Cart, Donor, InternalId, Money, MonthSum, Patron, TopPatrons, User, UserId};
use crate::rules::erase::ErasedPlayer;
use crate::rules::patrons::{largest, set};
use crate::rules::statistics::{self as rule, Adjustment, ranking};
use crate::shop::{carts, orders, statistics};
use crate::table::transaction::{Write, send};
use crate::table::{Db, StoreError, TURNS, in_turns, keys, read_all_live, read_live};
use std::collections::BTreeMap;

/// The writes that change users' sums by amounts. A user with a sum of zero is not among the patrons.
pub(in crate::shop) async fn adjust(db: &Db, given: &[(&User, Adjustment, Money)]) -> Result<Vec<Write>, StoreError> {
    let before: Vec<Donor> = read_all_live(db, given.iter().map(|(user, ..)| keys::patron(user.id))).await?;
    let mut sums: BTreeMap<UserId, Donor> = before.into_iter().map(|donor| (donor.user, donor)).collect();
    for (user, adjustment, amount) in given {
        let before = sums.get(&user.id).map_or(Money::ZERO, |donor| donor.amount);
        sums.insert(user.id, Donor::new(user, adjustment.apply(before, *amount)));
    }
    let mut writes: Vec<Write> = change_top(db, sums.values().map(Patron::from).collect()).await?.into_iter().collect();
    for donor in sums.values() {
        let key = keys::patron(donor.user);
        writes.push(if donor.amount > Money::ZERO { Write::put_live(key, donor)? } else { Write::delete(key) });
    }
    Ok(writes)
}

/// The writes that remove a user, if the user is a patron.
pub(in crate::shop) async fn forget(db: &Db, user: UserId) -> Result<Option<Vec<Write>>, StoreError> {
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
pub(in crate::shop) async fn rename(db: &Db, user: &User) -> Result<Vec<Write>, StoreError> {
    let key = keys::patron(user.id);
    let Some(before) = read_live::<Donor>(db, &key).await? else { return Ok(Vec::new()) };
    let changed = Donor::new(user, before.amount);
    let mut writes: Vec<Write> = change_top(db, vec![Patron::from(&changed)]).await?.into_iter().collect();
    if changed != before {
        writes.push(Write::put_live(key, &changed)?);
    }
    Ok(writes)
}

/// Compiles the item again if it differs from the patrons' rows. Returns whether it did.
pub async fn repair(db: &Db) -> Result<bool, StoreError> {
    in_turns(STATISTICS_TURNS, || async {
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
    Write::put_live(keys::top_patrons(), top)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Erased {
    /// Whether the user's name was among the top or recent donators.
    pub was_shown: bool,
    pub was_patron: bool,
}

/// Removes a user's name from the statistics: top, recent donations, patrons, the month's sums. Goals keep the sum. The
/// user's own item must be removed before: then no write that is under way brings the name back. Erasing again changes
/// nothing. The names are never half erased.
pub async fn erase_names(db: &Db, user: UserId) -> Result<Erased, StoreError> {
    in_turns(STATISTICS_TURNS, || async {
        let mut shown = VersionedDonations::read(db).await?;
        let patron = forget(db, user).await?;
        let was_patron = patron.is_some();
        let month = shown.donations.month.clone();
        let sums = if month.is_empty() { Vec::new() } else { month_sums(db, &month).await? };
        let gave = sums.iter().any(|sum| sum.user == user);
        let was_shown = rule::forget(&mut shown.donations, user);
        let erased = Erased { was_shown, was_patron };
        if !(was_shown || was_patron || gave) {
            return Ok(erased);
        }
        let mut writes = patron.unwrap_or_default();
        if gave {
            writes.push(Write::delete(keys::month_sum(&month, user)));
        }
        if was_shown {
            let removed = MonthSum { user, amount: Money::ZERO };
            let recent = newest(db, &shown.donations.recent, |row| row.user == user).await?;
            shown.donations.recent = recent.into_iter().map(|(_, donation)| donation).collect();
            shown.donations.top = top_donors(db, &ranking(sums, &BTreeMap::from([(user, removed)]))).await?;
        }
        writes.push(shown.write()?);
        send(db, writes).await?;
        Ok(erased)
    })
    .await
}

/// Removes what a player typed, and the player's name, from an order. Returns whether something was removed. An order
/// that can still be paid must be ended before: its gifts would find no recipient.
pub async fn erase_from_order(db: &Db, id: &InternalId, player: &ErasedPlayer) -> Result<bool, StoreError> {
    in_turns(TURNS, || async {
        let Some(stored) = orders::get(db, id).await? else { return Ok(false) };
        let Some(lines) = player.without_in_order(&stored.order, &stored.effects) else { return Ok(false) };
        let write: Write = stored.erase_player(&lines, stored.order.owner == Some(player.user))?;
        send(db, vec![write]).await?;
        Ok(true)
    })
    .await
}

/// Removes a player's name from another buyer's cart. Returns whether it was in it.
pub async fn erase_from_cart(db: &Db, owner: UserId, player: &ErasedPlayer) -> Result<bool, StoreError> {
    in_turns(TURNS, || async {
        let Some(cart) = read_live::<Cart>(db, &keys::cart(owner)).await? else { return Ok(false) };
        let Some(lines) = player.without_in_cart(&cart) else { return Ok(false) };
        carts::save(db, &Cart { lines, ..cart }).await?;
        Ok(true)
    })
    .await
}
