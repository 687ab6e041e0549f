//! What needs the whole table: comparing it with its orders, and finishing statistics that are behind. The use cases
//! themselves are [`shared::usecases::orders`].

use crate::table::{each, each_order};
use publish::OnProgress;
use shared::model::{Cart, Goal, InternalId, Settings, User, UserId};
use shared::rules::erase::ErasedPlayer;
use shared::rules::referral::Credits;
use shared::store::codec::{Row, decode_live, key_of};
use shared::store::keys::{self, prefix};
use shared::store::orders::StoredOrder;
use shared::store::published::read_active_version;
use shared::store::statistics::VersionedDonations;
use shared::store::{Db, StoreError, read_published};
use shared::usecases::orders::{self, Audit, CatchUp, TableSums};
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

/// Finds every order that the statistics are behind of, and lets them catch up; compiles the patrons again if they
/// differ from their rows. Reads every item of the table.
///
/// # Errors
/// [`StoreError`] if the database is unavailable; what was finished before stays so.
pub async fn finish_statistics(db: &Db) -> Result<Finished, StoreError> {
    let mut done = Finished::default();
    for id in behind(db, &|_| {}).await? {
        match orders::catch_up(db, &id).await? {
            CatchUp::Current => {}
            CatchUp::Updated => done.finished += 1,
            CatchUp::Conflict => done.left.push(id),
        }
    }
    done.patrons_repaired = orders::repair_patrons(db).await?;
    Ok(done)
}

/// The orders that the statistics are behind of. Calls `progress` for what it reads.
///
/// # Errors
/// [`StoreError`] if the table cannot be read.
pub async fn behind(db: &Db, progress: OnProgress<'_>) -> Result<Vec<InternalId>, StoreError> {
    let mut behind = Vec::new();
    each_order(db, |stored| {
        progress(1);
        behind.extend(stored.statistics_due().then_some(stored.order.internal_id));
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(behind)
}

/// Compares the table with its orders. Reads every item, twice if something differs. What the sweep has still to finish
/// does not differ.
///
/// # Errors
/// [`StoreError`] if the table cannot be read.
pub async fn audit(db: &Db) -> Result<Audit, StoreError> {
    audit_with(db, &|_| {}).await
}

/// [`audit`], which calls `progress` for every item that it reads.
///
/// # Errors
/// As [`audit`].
pub async fn audit_with(db: &Db, progress: OnProgress<'_>) -> Result<Audit, StoreError> {
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

/// The goals of the published store.
///
/// # Errors
/// [`StoreError`] if they cannot be read.
pub async fn published_goals(db: &Db) -> Result<Vec<Goal>, StoreError> {
    let version = read_active_version(db).await?.unwrap_or_default().version;
    let settings: Option<Settings> = read_published(db, &keys::settings(&version)).await?;
    Ok(settings.unwrap_or_default().goals)
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
    // First the item, whose version guards what is read after it.
    let shown = VersionedDonations::read(db).await?;
    let (orders, users) = (all_orders(db).await?, all_users(db).await?);
    let written = orders::rewrite_donations(db, shown, &orders, &users, goals).await?;
    Ok(left + usize::from(!written))
}

/// What paid orders of a time (seconds since 1970 UTC) add up to by referral code. Reads every item.
///
/// # Errors
/// [`StoreError`] if the table cannot be read.
pub async fn credits(db: &Db, period: &Range<i64>) -> Result<Credits, StoreError> {
    let mut credits = Credits::default();
    each_order(db, |StoredOrder { order, effects }| {
        credits.add(&order, &effects, period);
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(credits)
}

/// Orders and carts with a player who is to be erased.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traces {
    /// Orders that can still be paid: the player's, and those with a gift for them.
    pub open: Vec<InternalId>,
    /// Orders with the player's name, or with what they typed.
    pub orders: Vec<InternalId>,
    /// Other buyers whose carts have the player's name.
    pub carts: Vec<UserId>,
}

/// Looks for a player in orders and carts. Reads every item.
///
/// # Errors
/// [`StoreError`] if the table cannot be read.
pub async fn traces(db: &Db, player: &ErasedPlayer) -> Result<Traces, StoreError> {
    let mut traces = Traces::default();
    each(db, "", |item| {
        let key = key_of(&item)?;
        if keys::is_order(&key) {
            let StoredOrder { order, effects } = StoredOrder::decode(&key, Row::from(item))?;
            traces.open.extend(player.has_open(&order).then(|| order.internal_id.clone()));
            traces.orders.extend(player.without_in_order(&order, &effects).map(|_| order.internal_id));
        } else if key.pk.starts_with(prefix::CART) {
            let cart: Cart = decode_live(&key, item)?;
            let is_other = cart.user != player.user;
            traces.carts.extend(player.without_in_cart(&cart).filter(|_| is_other).map(|_| cart.user));
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(traces)
}

async fn all_orders(db: &Db) -> Result<Vec<StoredOrder>, StoreError> {
    let mut orders = Vec::new();
    each_order(db, |stored| {
        orders.push(stored);
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
