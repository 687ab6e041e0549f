//! Changing an order's status, with everything it takes or gives back, in one transaction.

use super::StoredOrder;
use super::after::after_at_once;
use super::transition::{Planned, SetStatusError, Step, plan};
use crate::clock::Clock;
use crate::model::{InternalId, ItemId, OrderStatus};
use crate::shop::orders;
use crate::shop::statistics::Statistics;
use crate::table::transaction::send_guarded;
use crate::table::{Db, TURNS, in_turns};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub stored: StoredOrder,
    /// The status before; the same if nothing had to be changed.
    pub from: OrderStatus,
    /// Items that are no longer published: counted, but not guarded by a limit.
    pub unguarded: Vec<ItemId>,
    pub statistics: Statistics,
}

/// Changes an order's status. A payment takes what the order takes, and a refund gives it back, each once: the write is
/// conditional on the status that was read. Setting the status that the order has changes nothing. After an error
/// nothing is changed, unless the database did not respond.
pub async fn set_status(
    db: &Db,
    clock: &dyn Clock,
    id: &InternalId,
    to: OrderStatus,
) -> Result<Changed, SetStatusError> {
    in_turns(TURNS, || async {
        let before = orders::get(db, id).await?.ok_or_else(|| SetStatusError::Unknown(id.clone()))?;
        let from = before.order.status;
        if from == to {
            let statistics = after_at_once(db, clock, &before).await;
            return Ok(Changed { stored: before, from, unguarded: Vec::new(), statistics });
        }
        let Planned { writes, after, unguarded } = plan(db, &before, &Step::to(to, clock.seconds())).await?;
        send_guarded(db, writes).await??;
        let statistics = after_at_once(db, clock, &after).await;
        let stored = orders::get(db, id).await?.ok_or_else(|| SetStatusError::Unknown(id.clone()))?;
        Ok(Changed { stored, from, unguarded, statistics })
    })
    .await
}
