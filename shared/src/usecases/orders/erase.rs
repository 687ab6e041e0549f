//! Erasing a user from statistics, carts and orders. Orders keep their owner's id: no token matches it, and ids
//! are never used again.

use super::{STATISTICS_ROUNDS, patrons};
use crate::model::{Cart, InternalId, Money, MonthSum, UserId};
use crate::rules::donations::{forget, ranking};
use crate::rules::erase::ErasedPlayer;
use crate::store::statistics::{VersionedDonations, month_sums, newest, top_donors};
use crate::store::transaction::{Write, send};
use crate::store::{Db, StoreError, TURNS, carts, in_turns, keys, orders, read_live};
use std::collections::BTreeMap;

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
    in_turns(STATISTICS_ROUNDS, || async {
        let mut shown = VersionedDonations::read(db).await?;
        let patron = patrons::forget(db, user).await?;
        let was_patron = patron.is_some();
        let month = shown.donations.month.clone();
        let sums = if month.is_empty() { Vec::new() } else { month_sums(db, &month).await? };
        let gave = sums.iter().any(|sum| sum.user == user);
        let was_shown = forget(&mut shown.donations, user);
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
