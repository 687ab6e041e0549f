//! The refunds of a payment: noted on the order, and taken off what ledgers call paid, or added again.

use crate::clock::Clock;
use crate::model::{Money, OrderEffects, Refunds, UserId};
use crate::rules::dispute::returned;
use crate::rules::order::{by_beneficiary, spread};
use crate::store::ledgers::{self, LedgerChange};
use crate::store::orders::StoredOrder;
use crate::store::transaction::{Sent, Write, send};
use crate::store::{Db, StoreError, keys};
use crate::telemetry::{PaymentEvent, payment_event};
use std::collections::BTreeSet;

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
    writes.extend(take_off(db, stored, &OrderEffects { refunded: refunds.refunded, ..stored.effects.clone() }).await?);
    let is_written = send(db, writes).await? == Sent::Written;
    if is_written {
        report(stored, refunds);
    }
    Ok(is_written)
}

/// The writes that take off what ledgers call paid, or add again, what is returned of a paid order with `after` and was not before.
pub(super) async fn take_off(db: &Db, stored: &StoredOrder, after: &OrderEffects) -> Result<Vec<Write>, StoreError> {
    let order = &stored.order;
    let [before, after] = [&stored.effects, after].map(|effects| returned(order, effects).min(order.total()));
    if before == after {
        return Ok(Vec::new());
    }
    let parts = spread(&order.lines, before).into_iter().zip(spread(&order.lines, after));
    // A line's part may be a minor unit less than before: the parts are rounded so that they add up.
    let sums = by_beneficiary(order, &parts.map(|(before, after)| after - before).collect::<Vec<_>>());
    let known = with_ledger(db, sums.keys().copied()).await?;
    let of_known = sums.into_iter().filter(|(user, _)| known.contains(user));
    let writes = of_known.map(|(user, lines)| {
        let change = |(item, paid): (_, Money)| LedgerChange { item, units: 0, paid: -paid.minor(), at_most: None };
        let changes: Vec<LedgerChange> = lines.into_iter().map(change).collect();
        ledgers::add(user, &changes).only_if_present()
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

/// The users who have a ledger. Of a user who was erased nothing is written again.
async fn with_ledger(db: &Db, users: impl Iterator<Item = UserId> + Clone) -> Result<BTreeSet<UserId>, StoreError> {
    let mut rows = db.batch_get(users.clone().map(keys::ledger).collect()).await?;
    Ok(users.filter(|user| rows.take(&keys::ledger(*user)).is_some()).collect())
}
