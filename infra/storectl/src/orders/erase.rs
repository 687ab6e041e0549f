//! What `user erase` does to statistics. Orders keep their owner's id: nobody's token matches it, and ids of users
//! only ever grow, so that no new user is taken for the old one.

use super::shown::{Shown, month_sums, newest, top_of};
use super::tally::{forget, ranking};
use super::transact::{Change, Sent, Write, send};
use super::verdict::Role;
use super::{patrons, pause_before};
use shared::model::{Money, MonthSum, UserId};
use shared::store::{Db, StoreError, keys};

/// How often a colliding transaction is tried again.
const ROUNDS: u32 = 8;

/// What erasing came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Erased {
    /// Whether the user's name stood among the top or recent donators.
    pub was_shown: bool,
    /// Whether the user was a patron.
    pub was_patron: bool,
}

/// Takes a user's name out of the statistics: top, recent donations, patrons, the month's sums. Goals keep what was
/// given. The user's own item must be gone before: then nothing that is still under way can bring the name back.
/// Done again, it does no harm.
///
/// # Errors
/// [`StoreError`] where the database is away or others kept colliding; nothing is half erased.
pub async fn erase_names(db: &Db, user: UserId) -> Result<Erased, StoreError> {
    for round in 0..ROUNDS {
        pause_before(round).await;
        let mut shown = Shown::read(db).await?;
        let patron = patrons::forget(db, user).await?;
        let was_patron = patron.is_some();
        let sums =
            if shown.donations.month.is_empty() { Vec::new() } else { month_sums(db, &shown.donations.month).await? };
        let gave = sums.iter().any(|sum| sum.user == user);
        let was_shown = forget(&mut shown.donations, user);
        let erased = Erased { was_shown, was_patron };
        if !(was_shown || was_patron || gave) {
            return Ok(erased);
        }
        let mut writes = patron.unwrap_or_default();
        if gave {
            let row = keys::month_sum(&shown.donations.month, user);
            writes.push(Write::new(Role::Basis, row, Change::Delete));
        }
        if was_shown {
            // Those who come next move up.
            let nobody = MonthSum { user, amount: Money::ZERO };
            let recent = newest(db, &shown.donations.recent, |row| row.user == user).await?;
            shown.donations.recent = recent.into_iter().map(|(_, donation)| donation).collect();
            shown.donations.top = top_of(db, &ranking(sums, nobody)).await?;
        }
        writes.push(shown.write()?);
        if matches!(send(db, writes).await?, Sent::Written) {
            return Ok(erased);
        }
    }
    Err(StoreError::Unavailable { operation: "TransactWriteItems", source: None })
}
