//! Work that needs the whole table: comparing it with its orders, and statistics that are behind.

use super::{Audit, TableSums, rewrite_donations};
use crate::model::{Goal, InternalId, Settings, User};
use crate::rules::referral::Credits;
use crate::shop::orders::{StoredOrder, each_order};
use crate::shop::statistics::VersionedDonations;
use crate::shop::statistics::{catch_up, repair_patrons};
use crate::table::bulk::{OnProgress, all, each};
use crate::table::keys::{self, prefix};
use crate::table::published::read_active_version;
use crate::table::{Db, StoreError, read_published};
use std::ops::Range;

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

/// Lets the statistics catch up with every order, and compiles the patrons again if they differ from their rows. Reads
/// every item of the table. After an error, orders that were finished before stay so.
pub async fn finish_statistics(db: &Db) -> Result<Finished, StoreError> {
    let mut done = Finished::default();
    for id in behind(db, &|_| {}).await? {
        match catch_up(db, &id).await {
            Ok(was_behind) => done.finished += usize::from(was_behind),
            Err(StoreError::Contended) => done.left.push(id),
            Err(error) => return Err(error),
        }
    }
    done.patrons_repaired = repair_patrons(db).await?;
    Ok(done)
}

/// The orders that the statistics are behind of. Calls `progress` for what it reads.
pub async fn behind(db: &Db, progress: OnProgress<'_>) -> Result<Vec<InternalId>, StoreError> {
    let mut behind = Vec::new();
    each_order(db, |stored| {
        progress(1);
        behind.extend(stored.statistics_due().then_some(stored.order.internal_id));
    })
    .await?;
    Ok(behind)
}

/// Compares the table with its orders. Reads every item, twice if something differs. What the sweep has still to finish
/// does not differ. Calls `progress` for every item that it reads.
pub async fn audit(db: &Db, progress: OnProgress<'_>) -> Result<Audit, StoreError> {
    let first = pass(db, progress).await?;
    if first.is_clean() {
        return Ok(first);
    }
    Ok(pass(db, progress).await?.also_in(&first))
}

async fn pass(db: &Db, progress: OnProgress<'_>) -> Result<Audit, StoreError> {
    let mut sums = TableSums::default();
    each(db, "", |item| {
        progress(1);
        sums.add(item)
    })
    .await?;
    Ok(sums.into_audit())
}

/// Corrects every number of an audit, and writes a missing item with goals and donators again: every paid order counts
/// towards the published goals. Returns how many rows were changed by other writes in the meantime and not corrected.
/// If the database does not respond, what was corrected before stays.
pub async fn repair_table(db: &Db, audit: &Audit) -> Result<usize, StoreError> {
    let left = super::repair(db, audit).await?;
    if !audit.no_donations {
        return Ok(left);
    }
    // First the item, whose version guards what is read after it.
    let shown = VersionedDonations::read(db).await?;
    let mut orders = Vec::new();
    each_order(db, |stored| orders.push(stored)).await?;
    let users: Vec<User> = all(db, prefix::USER).await?.into_iter().map(|(_, user)| user).collect();
    let written = rewrite_donations(db, shown, &orders, &users, &published_goals(db).await?).await?;
    Ok(left + usize::from(!written))
}

async fn published_goals(db: &Db) -> Result<Vec<Goal>, StoreError> {
    let version = read_active_version(db).await?.unwrap_or_default().version;
    let settings: Option<Settings> = read_published(db, &keys::settings(&version)).await?;
    Ok(settings.unwrap_or_default().goals)
}

/// The sums of paid orders of a time (seconds since 1970 UTC) by referral code. Reads every item.
pub async fn credits(db: &Db, period: &Range<i64>) -> Result<Credits, StoreError> {
    let mut credits = Credits::default();
    each_order(db, |StoredOrder { order, effects }| credits.add(&order, &effects, period)).await?;
    Ok(credits)
}
