//! Before another account or mode of the provider is connected, no checkout begins any more, and open ones are ended.

use super::desk::Desk;
use super::operator::OperatorError;
use super::provider::Provider;
use crate::clock::Clock;
use crate::model::{Drained, InternalId, OrderStatus, ProviderAccount};
use crate::rules::payment::is_drained;
use crate::store::orders::{self, StoredOrder};
use crate::store::published::read_active_version;
use crate::store::timed::TRUSTED_FOR;
use crate::store::unfinished::{self, Due};
use crate::store::{Db, StoreError};
use futures_util::{StreamExt as _, stream};

/// Later than anything is due, in seconds since 1970 UTC.
const EVER: i64 = 999_999_999_999;
/// How many seconds after the mark the last checkout may have begun: functions trust what they know of the store for
/// [`TRUSTED_FOR`], and a request takes at most 20. Five more, because the time of the mark is that before it is written.
const SETTLED: i64 = TRUSTED_FOR.as_secs().cast_signed() + 20 + 5;
/// How many checkouts are ended at once.
const AT_ONCE: usize = 8;

/// The second (since 1970 UTC) from which on no checkout can begin in a drained account.
pub const fn settled_at(drained: &Drained) -> i64 {
    drained.since.saturating_add(SETTLED)
}

/// Whether no checkout can begin in an account any more.
pub async fn is_settled(db: &Db, clock: &dyn Clock, account: &ProviderAccount) -> Result<bool, StoreError> {
    let Some(active) = read_active_version(db).await? else { return Ok(true) };
    let drained = active.drained.as_ref().filter(|drained| is_drained(Some(*drained), account));
    Ok(drained.is_some_and(|drained| settled_at(drained) <= clock.seconds()))
}

/// The orders whose checkouts are open, the one that is due first in front.
pub async fn open_orders(db: &Db) -> Result<Vec<StoredOrder>, StoreError> {
    let mut open = Vec::new();
    for due in unfinished::due(db, EVER).await? {
        let Ok(Due::Order(id)) = due.due else { continue };
        let stored = orders::get(db, &id).await?;
        open.extend(stored.filter(|stored| stored.order.status == OrderStatus::Pending && stored.is_checkout()));
    }
    Ok(open)
}

/// The outcome of ending every open checkout.
#[derive(Debug, Default)]
pub struct EndedAll {
    pub ended: usize,
    /// How many were paid instead.
    pub paid: usize,
    /// Those that stay open.
    pub failed: Vec<(InternalId, OperatorError)>,
}

impl<P: Provider> Desk<'_, &P> {
    /// Ends every open checkout.
    pub async fn end_all(&self) -> Result<EndedAll, StoreError> {
        let orders = open_orders(self.db).await?.into_iter().map(|stored| stored.order.internal_id);
        let end = async |id: InternalId| (self.cancel(&id, true).await, id);
        let outcomes: Vec<_> = stream::iter(orders).map(end).buffer_unordered(AT_ONCE).collect().await;
        let mut all = EndedAll::default();
        for (outcome, id) in outcomes {
            match outcome {
                Ok(stored) if stored.order.status == OrderStatus::Paid => all.paid += 1,
                // It was settled by another request in the meantime.
                Ok(_) | Err(OperatorError::Status(_)) => all.ended += 1,
                Err(error) => all.failed.push((id, error)),
            }
        }
        Ok(all)
    }
}
