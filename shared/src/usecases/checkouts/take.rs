//! Taking the units that a checkout holds, before its order is written. Every step can be repeated, and [`settle_take`]
//! finishes what was interrupted.

use crate::model::{ItemId, Units};
use crate::rules::order::by_item;
use crate::store::orders::{self, StoredOrder};
use crate::store::takes::{self, Counted, Take};
use crate::store::transaction::{Sent, Write, send};
use crate::store::{Db, StoreError};
use crate::usecases::orders::inputs::OrderInputs;
use crate::usecases::orders::refusal::OrderRefusal;
use futures_util::future::join_all;

/// How many seconds after it began an interrupted checkout is cleaned up. A function ends before that.
const INTERRUPTED: i64 = 60;

/// The outcome of [`take_units`].
pub(super) enum Took {
    /// All units are counted.
    All(Take),
    /// Not as many are left; nothing is counted.
    Refused(OrderRefusal),
    /// Other writes kept changing a counter; nothing is counted.
    Conflict,
}

/// Counts the units of an order that is about to be written.
///
/// # Errors
/// [`StoreError`] if the database does not respond; [`settle_take`] then takes back what was counted.
pub(super) async fn take_units(
    db: &Db,
    order: &StoredOrder,
    inputs: &OrderInputs,
    now: i64,
) -> Result<Took, StoreError> {
    let units = by_item(&order.order).into_iter().map(|(item, (count, _))| Units { item, count });
    let take = Take::new(&order.order, units.collect(), now.saturating_add(INTERRUPTED));
    let put: Write = take.put()?;
    if send(db, vec![put]).await? != Sent::Written {
        return Ok(Took::Conflict);
    }
    let limit = |item: ItemId| inputs.items.get(&item).and_then(|published| published.item.global_limit);
    let counted =
        join_all(take.units.iter().map(|units| takes::count(db, &take.order, *units, limit(units.item)))).await;
    let counted: Result<Vec<Counted>, StoreError> = counted.into_iter().collect();
    let counted = match counted {
        Ok(counted) => counted,
        Err(error) => {
            left_to_sweep(&take, take_back(db, &take).await);
            return Err(error);
        }
    };
    let sold_out = take.units.iter().zip(&counted).find(|(_, counted)| **counted == Counted::SoldOut);
    let refusal = sold_out
        .map(|(units, _)| OrderRefusal::GlobalLimit { item: units.item, limit: limit(units.item).unwrap_or_default() });
    if let Some(refusal) = refusal {
        take_back(db, &take).await?;
        return Ok(Took::Refused(refusal));
    }
    if counted.contains(&Counted::Conflict) {
        take_back(db, &take).await?;
        return Ok(Took::Conflict);
    }
    Ok(Took::All(take))
}

/// Takes back what was counted for an order that is not written and never will be.
///
/// # Errors
/// [`StoreError`] if the database does not respond; the same call may be repeated.
pub(super) async fn take_back(db: &Db, take: &Take) -> Result<(), StoreError> {
    let all = join_all(take.units.iter().map(|units| takes::take_back(db, &take.order, *units))).await;
    all.into_iter().collect::<Result<(), StoreError>>()?;
    delete(db, take).await
}

/// Notes that the order is written and has its units.
///
/// # Errors
/// [`StoreError`] if the database does not respond; the same call may be repeated.
pub(super) async fn keep(db: &Db, take: &Take) -> Result<(), StoreError> {
    let all = join_all(take.units.iter().map(|units| takes::forget(db, &take.order, *units))).await;
    all.into_iter().collect::<Result<(), StoreError>>()?;
    delete(db, take).await
}

/// Notes that a step failed; the sweep repeats it.
pub(super) fn left_to_sweep(take: &Take, step: Result<(), StoreError>) {
    if let Err(error) = step {
        tracing::warn!(order = %take.order, %error, "left to the sweep");
    }
}

async fn delete(db: &Db, take: &Take) -> Result<(), StoreError> {
    let write: Write = take.delete();
    // On a conflict the sweep finds the row, and that nothing is left to do.
    let _: Sent<_> = send(db, vec![write]).await?;
    Ok(())
}

/// Finishes a checkout that was interrupted while it took its units. After the row is closed the order can no longer be
/// written, so that it is known whether the units are its own.
///
/// # Errors
/// [`StoreError`] if the database does not respond; the same call may be repeated.
pub(super) async fn settle_take(db: &Db, take: &Take) -> Result<(), StoreError> {
    let close: Write = take.close();
    if send(db, vec![close]).await? != Sent::Written {
        // Its own request has finished it meanwhile, or is about to.
        return Ok(());
    }
    match orders::get(db, &take.order).await? {
        Some(_) => keep(db, take).await,
        None => take_back(db, take).await,
    }
}
