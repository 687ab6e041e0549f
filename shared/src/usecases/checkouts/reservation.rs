//! Reserving the units that a checkout holds, before its order is written. Every step can be repeated, and
//! [`settle_reservation`] finishes what was interrupted.

use crate::model::{ItemId, Units};
use crate::rules::order::by_item;
use crate::store::orders::{self, StoredOrder};
use crate::store::reservations::{self, Reservation, Reserved};
use crate::store::transaction::{Write, send, sent};
use crate::store::{Db, StoreError};
use crate::usecases::orders::inputs::OrderInputs;
use crate::usecases::orders::refusal::OrderRefusal;
use futures_util::future::join_all;

/// How many seconds after it began an interrupted checkout is cleaned up. A function ends before that.
const INTERRUPTED: i64 = 60;

pub(super) enum ReserveOutcome {
    /// All units are reserved.
    All(Reservation),
    /// Not as many are left; nothing is reserved.
    Refused(OrderRefusal),
}

/// Reserves the units of an order that is about to be written. If other writes kept changing a counter, nothing is reserved; if the
/// database does not respond, [`settle_reservation`] releases what was reserved.
pub(super) async fn reserve_units(
    db: &Db,
    order: &StoredOrder,
    inputs: &OrderInputs,
    now: i64,
) -> Result<ReserveOutcome, StoreError> {
    let units = by_item(&order.order).into_iter().map(|(item, (count, _))| Units { item, count });
    let reservation = Reservation::new(&order.order, units.collect(), now.saturating_add(INTERRUPTED));
    let put: Write = reservation.put()?;
    send(db, vec![put]).await?;
    let limit = |item: ItemId| inputs.items.get(&item).and_then(|published| published.item.global_limit);
    let counted = join_all(
        reservation.units.iter().map(|units| reservations::reserve(db, &reservation.order, *units, limit(units.item))),
    )
    .await;
    let sold_out = reservation.units.iter().zip(&counted).find(|(_, counted)| matches!(counted, Ok(Reserved::SoldOut)));
    let refusal = sold_out
        .map(|(units, _)| OrderRefusal::GlobalLimit { item: units.item, limit: limit(units.item).unwrap_or_default() });
    if let Some(refusal) = refusal {
        release(db, &reservation).await?;
        return Ok(ReserveOutcome::Refused(refusal));
    }
    if let Some(error) = counted.into_iter().find_map(Result::err) {
        left_to_sweep(&reservation, release(db, &reservation).await);
        return Err(error);
    }
    Ok(ReserveOutcome::All(reservation))
}

/// Releases the reservation of an order that is not written and never will be. After an error the same call may be
/// repeated.
pub(super) async fn release(db: &Db, reservation: &Reservation) -> Result<(), StoreError> {
    let all =
        join_all(reservation.units.iter().map(|units| reservations::release(db, &reservation.order, *units))).await;
    all.into_iter().collect::<Result<(), StoreError>>()?;
    delete(db, reservation).await
}

/// Confirms the reservation of an order that is written: it has its units. After an error the same call may be
/// repeated.
pub(super) async fn confirm(db: &Db, reservation: &Reservation) -> Result<(), StoreError> {
    let all =
        join_all(reservation.units.iter().map(|units| reservations::confirm(db, &reservation.order, *units))).await;
    all.into_iter().collect::<Result<(), StoreError>>()?;
    delete(db, reservation).await
}

/// Notes that a step failed; the sweep repeats it.
pub(super) fn left_to_sweep(reservation: &Reservation, step: Result<(), StoreError>) {
    if let Err(error) = step {
        tracing::warn!(order = %reservation.order, %error, "left to the sweep");
    }
}

async fn delete(db: &Db, reservation: &Reservation) -> Result<(), StoreError> {
    let write: Write = reservation.delete();
    // On a conflict the sweep finds the row, and that nothing is left to do.
    sent(db, vec![write]).await?;
    Ok(())
}

/// Finishes a checkout that was interrupted while it reserved its units. After the row is closed the order can no
/// longer be written, so that it is known whether the units are its own. After an error the same call may be repeated.
pub(super) async fn settle_reservation(db: &Db, reservation: &Reservation) -> Result<(), StoreError> {
    let close: Write = reservation.close();
    if !sent(db, vec![close]).await? {
        // Its own request has finished it meanwhile, or is about to.
        return Ok(());
    }
    match orders::get(db, &reservation.order).await? {
        Some(_) => confirm(db, reservation).await,
        None => release(db, reservation).await,
    }
}
