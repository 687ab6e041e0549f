//! The refunds of a payment: noted on the order, and taken off what ledgers call paid, or added again.

use crate::clock::Clock;
use crate::model::{ItemId, OrderEffects, Refunds};
use crate::rules::dispute::less_returned;
use crate::rules::ownership::{Share, shares};
use crate::store::orders::StoredOrder;
use crate::store::transaction::{Sent, Write, send};
use crate::store::{Db, StoreError, keys, ledgers};
use crate::telemetry::{PaymentEvent, payment_event};
use crate::usecases::orders::effects::{change_existing, take_from_entry};

/// Notes what of a paid order is refunded by now, and takes the increase off what the ledgers call paid; if a refund
/// has failed, what it took off is added again. The statistics follow at the next sweep. `false` if the order has
/// changed since it was read.
pub(super) async fn refund_in_part(
    db: &Db,
    clock: &dyn Clock,
    stored: &StoredOrder,
    refunds: &Refunds,
) -> Result<bool, StoreError> {
    let mut writes: Vec<Write> = stored.set_refunded(refunds, clock.seconds())?;
    let after = OrderEffects { refunded: refunds.refunded, ..stored.effects.clone() };
    writes.extend(take_off(db, stored, &after, clock.seconds()).await?);
    let is_written = send(db, writes).await? == Sent::Written;
    if is_written {
        report(stored, refunds);
    }
    Ok(is_written)
}

/// The writes that take off what ledgers call paid, or add again, what is returned of a paid order with `after` and was not
/// before. What has ended and was followed by another purchase counts no more.
pub(super) async fn take_off(
    db: &Db,
    stored: &StoredOrder,
    after: &OrderEffects,
    now: i64,
) -> Result<Vec<Write>, StoreError> {
    let order = &stored.order;
    let [before, after] = [&stored.effects, after].map(|effects| shares(&less_returned(order, effects)));
    if before == after {
        return Ok(Vec::new());
    }
    // Of a user who was erased nothing is written again.
    let mut rows = db.batch_get(before.keys().map(|user| keys::ledger(*user)).collect()).await?;
    let ledgers = ledgers::take_existing(&mut rows, before.keys().copied())?;
    let writes = before.iter().filter_map(|(user, items)| {
        let (ledger, after) = (ledgers.get(user)?, after.get(user)?);
        let change = |(item, share): (&ItemId, &Share)| {
            let paid = after.get(item)?.owned.paid.minor() - share.owned.paid.minor();
            take_from_entry(*item, &Share { seconds: 0, ..*share }, ledger, 0, paid).filter(|_| paid != 0)
        };
        change_existing(*user, &items.iter().filter_map(change).collect::<Vec<_>>(), now)
    });
    Ok(writes.collect())
}

/// Notes which refunds of an order that is not paid, or not any more, have failed. `false` if the order has changed
/// since it was read.
pub(super) async fn note_failed(db: &Db, stored: &StoredOrder, refunds: &Refunds) -> Result<bool, StoreError> {
    let write: Write = stored.set_failed_refunds(refunds);
    let is_written = send(db, vec![write]).await? == Sent::Written;
    if is_written {
        report(stored, refunds);
    }
    Ok(is_written)
}

/// Tells the operator about refunds that have failed since the order was read.
fn report(stored: &StoredOrder, refunds: &Refunds) {
    if refunds.failed > stored.effects.failed_refunds {
        let unreturned = refunds.unreturned.minor();
        tracing::error!(order = %stored.order.internal_id, unreturned, "a refund has failed");
        payment_event(PaymentEvent::FailedRefund, 1);
    }
}
