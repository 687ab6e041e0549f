//! A payment that the provider has refunded in part.

use crate::clock::Clock;
use crate::model::{Money, UserId};
use crate::rules::order::{by_beneficiary, spread};
use crate::store::ledgers::{self, LedgerChange};
use crate::store::orders::StoredOrder;
use crate::store::transaction::{Sent, send};
use crate::store::{Db, StoreError, keys};
use crate::usecases::orders::refusal::Write;
use crate::usecases::orders::transition::FOLLOW_UP;
use std::collections::BTreeSet;

/// Notes that `refunded` of a paid order is refunded by now, and takes the increase off what the ledgers call paid. The
/// statistics follow by the mark on the order. `false` if the order has changed since it was read.
///
/// # Errors
/// [`StoreError`] if the database does not respond.
pub(super) async fn refund_in_part(
    db: &Db,
    clock: &dyn Clock,
    stored: &StoredOrder,
    refunded: Money,
) -> Result<bool, StoreError> {
    let order = &stored.order;
    let before = spread(&order.lines, stored.effects.refunded.min(order.total()));
    let after = spread(&order.lines, refunded.min(order.total()));
    // A line's part may be a minor unit less than before: the parts are rounded so that they add up.
    let increase = before.into_iter().zip(after).map(|(before, after)| after - before).collect::<Vec<_>>();
    let sums = by_beneficiary(order, &increase);
    let known = with_ledger(db, sums.keys().copied()).await?;
    let mut writes: Vec<Write> = stored.set_refunded(refunded, clock.seconds().saturating_add(FOLLOW_UP))?;
    for (user, lines) in sums.into_iter().filter(|(user, _)| known.contains(user)) {
        let change = |(item, paid): (_, Money)| LedgerChange { item, units: 0, paid: -paid.minor(), at_most: None };
        let changes: Vec<LedgerChange> = lines.into_iter().map(change).collect();
        writes.push(ledgers::add(user, &changes).only_if_present());
    }
    Ok(send(db, writes).await? == Sent::Written)
}

/// The users who have a ledger. Of a user who was erased nothing is written again.
async fn with_ledger(db: &Db, users: impl Iterator<Item = UserId> + Clone) -> Result<BTreeSet<UserId>, StoreError> {
    let mut rows = db.batch_get(users.clone().map(keys::ledger).collect()).await?;
    Ok(users.filter(|user| rows.take(&keys::ledger(*user)).is_some()).collect())
}
