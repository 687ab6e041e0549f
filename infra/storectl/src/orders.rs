//! What needs the whole table: comparing it with its orders, and finishing statistics that are behind. The use cases
//! themselves are [`shared::usecases::orders`].

use crate::table::each;
use shared::model::{Goal, InternalId, User};
use shared::store::codec::{Row, decode_live, key_of};
use shared::store::keys::prefix;
use shared::store::orders::{COUNTED, StoredOrder};
use shared::store::{Db, StoreError};
use shared::usecases::orders::{self, Audit, CatchUp, TableSums};

/// The result of [`finish_statistics`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Finished {
    /// How many orders were behind and are counted now.
    pub finished: usize,
    /// Orders that other writes kept conflicting with; the next run finishes them.
    pub left: Vec<InternalId>,
    /// Whether the compiled patrons differed from their rows, and were compiled again.
    pub patrons_repaired: bool,
}

/// Finds every order that the statistics are behind of, and lets them catch up; compiles the patrons again if they
/// differ from their rows. Reads every item of the table.
///
/// # Errors
/// [`StoreError`] if the database is unavailable; what was finished before stays so.
pub async fn finish_statistics(db: &Db) -> Result<Finished, StoreError> {
    let (mut done, mut behind) = (Finished::default(), Vec::new());
    each(db, prefix::ORDER, |item| {
        if item.contains_key(COUNTED) {
            let stored = StoredOrder::decode(&key_of(&item)?, Row::from(item))?;
            behind.extend(stored.statistics_due().then_some(stored.order.internal_id));
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    for id in behind {
        match orders::catch_up(db, &id).await? {
            CatchUp::Current => {}
            CatchUp::Updated => done.finished += 1,
            CatchUp::Conflict => done.left.push(id),
        }
    }
    done.patrons_repaired = orders::repair_patrons(db).await?;
    Ok(done)
}

/// Compares the table with its orders. Reads every item, twice if something differs.
///
/// # Errors
/// [`StoreError`] if the table cannot be read.
pub async fn audit(db: &Db) -> Result<Audit, StoreError> {
    let first = pass(db).await?;
    if first.is_clean() {
        return Ok(first);
    }
    Ok(pass(db).await?.also_in(&first))
}

async fn pass(db: &Db) -> Result<Audit, StoreError> {
    let mut sums = TableSums::default();
    each(db, "", |item| sums.add(item)).await?;
    Ok(sums.into_audit())
}

/// Corrects every number of an audit, and writes a missing item with goals and donators again. Returns how many rows
/// were changed by other writes in the meantime and not corrected. `goals` are those that every paid order then counts
/// towards.
///
/// # Errors
/// [`StoreError`] if the database does not respond; what was corrected before stays.
pub async fn repair(db: &Db, audit: &Audit, goals: &[Goal]) -> Result<usize, StoreError> {
    let left = orders::repair(db, audit).await?;
    if !audit.no_donations {
        return Ok(left);
    }
    let (orders, users) = (all_orders(db).await?, all_users(db).await?);
    let written = orders::rewrite_donations(db, orders, &users, goals).await?;
    Ok(left + usize::from(!written))
}

async fn all_orders(db: &Db) -> Result<Vec<StoredOrder>, StoreError> {
    let mut orders = Vec::new();
    each(db, prefix::ORDER, |item| {
        orders.push(StoredOrder::decode(&key_of(&item)?, Row::from(item))?);
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(orders)
}

async fn all_users(db: &Db) -> Result<Vec<User>, StoreError> {
    let mut users = Vec::new();
    each(db, prefix::USER, |item| {
        users.push(decode_live(&key_of(&item)?, item)?);
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(users)
}
