//! The refunds of a payment: noted on the order, and taken off what ledgers call paid, or added again.

use crate::clock::Clock;
use crate::model::{OrderEffects, Refunds};
use crate::rules::dispute::less_returned;
use crate::rules::order::users;
use crate::store::orders::StoredOrder;
use crate::store::transaction::{Write, send};
use crate::store::{Db, StoreError, keys, ledgers};
use crate::telemetry::{PaymentEvent, payment_event};
use crate::usecases::orders::effects::change_ledgers;

/// Notes what of a paid order is refunded by now, and takes the increase off what the ledgers call paid; if a refund
/// has failed, what it took off is added again. The statistics follow at the next sweep.
pub(super) async fn refund_in_part(
    db: &Db,
    clock: &dyn Clock,
    stored: &StoredOrder,
    refunds: &Refunds,
) -> Result<(), StoreError> {
    let mut writes: Vec<Write> = stored.set_refunded(refunds, clock.seconds())?;
    let after = OrderEffects { refunded: refunds.refunded, ..stored.effects.clone() };
    writes.extend(take_off(db, stored, &after, clock.seconds()).await?);
    send(db, writes).await?;
    report(stored, refunds);
    Ok(())
}

/// The writes that take off what ledgers call paid, or add again, what is returned of a paid order with `after` and was not
/// before.
pub(super) async fn take_off(
    db: &Db,
    stored: &StoredOrder,
    after: &OrderEffects,
    now: i64,
) -> Result<Vec<Write>, StoreError> {
    let [before, after] = [&stored.effects, after].map(|effects| less_returned(&stored.order, effects));
    if before == after {
        return Ok(Vec::new());
    }
    let users = users(&stored.order);
    let mut rows = db.batch_get(users.iter().map(|user| keys::ledger(*user)).collect()).await?;
    let ledgers = ledgers::take_existing(&mut rows, users.into_iter())?;
    Ok(change_ledgers(&before, &after, &ledgers, now))
}

/// Notes which refunds of an order that is not paid, or not any more, have failed.
pub(super) async fn note_failed(db: &Db, stored: &StoredOrder, refunds: &Refunds) -> Result<(), StoreError> {
    let write: Write = stored.set_failed_refunds(refunds);
    send(db, vec![write]).await?;
    report(stored, refunds);
    Ok(())
}

/// Tells the operator about refunds that have failed since the order was read.
fn report(stored: &StoredOrder, refunds: &Refunds) {
    if refunds.failed > stored.effects.failed_refunds {
        let unreturned = refunds.unreturned.minor();
        tracing::error!(order = %stored.order.internal_id, unreturned, "a refund has failed");
        payment_event(PaymentEvent::FailedRefund, 1);
    }
}
