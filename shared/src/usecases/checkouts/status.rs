//! Changing the status of an order with a checkout, and the outcomes of that.

use super::provider::ProviderError;
use crate::clock::Clock;
use crate::model::{InternalId, OrderStatus};
use crate::rules::payment::{PaymentState, Progress};
use crate::store::orders::{self, StoredOrder};
use crate::store::transaction::send_patiently;
use crate::store::{Db, StoreError, TURNS, in_turns};
use crate::usecases::orders::SetStatusError;
use crate::usecases::orders::effects::Limits;
use crate::usecases::orders::recipients::with_accounts;
use crate::usecases::orders::transition::{Planned, Step, plan};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The payment has not ended; the order waits.
    Open,
    /// The provider has no such checkout; the order waits for the end of its time.
    Gone,
    Changed,
    /// The order says already what the provider says.
    Unchanged,
}

/// The reason why an order was not settled. The same call may be repeated.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

crate::store::lost_race!(SettleError);

/// Writes that an order is paid; `false` if a limit does not allow it. Recipients without an account get one. What is held cannot
/// be refused: if a gift came in between, the limit is exceeded, and the order says so.
pub(super) async fn write_paid(
    db: &Db,
    clock: &dyn Clock,
    stored: &mut StoredOrder,
    step: &Step<'_>,
) -> Result<bool, SettleError> {
    let lines = with_accounts(db, clock, &stored.order).await?;
    let step = Step { lines: lines.as_deref(), ..*step };
    if change(db, stored, &step).await? {
        return Ok(true);
    }
    Ok(stored.effects.held && change(db, stored, &Step { limits: Limits::Ignored, ..step }).await?)
}

/// Changes the status; `false` if a limit does not allow it. Once it is written, `stored` is the order after it, as far as its
/// cart and delivery need it.
pub(super) async fn change(db: &Db, stored: &mut StoredOrder, step: &Step<'_>) -> Result<bool, SettleError> {
    let Planned { writes, after, .. } = match plan(db, stored, step).await {
        Ok(planned) => planned,
        Err(SetStatusError::Refused(_)) => return Ok(false),
        Err(SetStatusError::Store(error)) => return Err(error.into()),
        Err(SetStatusError::Forbidden { .. } | SetStatusError::Unknown(_)) => return Err(StoreError::Contended.into()),
    };
    let is_written = send_patiently(db, writes).await?.is_ok();
    if is_written {
        *stored = after;
    }
    Ok(is_written)
}

/// Changes the status to one that no limit can refuse.
pub(super) async fn must_change(db: &Db, stored: &mut StoredOrder, step: &Step<'_>) -> Result<(), SettleError> {
    if change(db, stored, step).await? { Ok(()) } else { Err(StoreError::Contended.into()) }
}

/// Ends an order that cannot be paid, and gives back what it holds.
pub(super) async fn give_up(db: &Db, clock: &dyn Clock, id: &InternalId) -> Result<(), SettleError> {
    in_turns(TURNS, || async {
        let pending = orders::get(db, id).await?.filter(|stored| stored.order.status == OrderStatus::Pending);
        let Some(mut stored) = pending else { return Ok(()) };
        must_change(db, &mut stored, &Step::to(OrderStatus::Cancelled, clock.seconds())).await
    })
    .await
}

/// The id of the order's own payment, if the order does not have it yet.
pub(super) fn unknown_intent<'a>(stored: &StoredOrder, state: &'a PaymentState) -> Option<&'a str> {
    let provider = stored.effects.provider.as_ref()?;
    let intent = state.intent.as_deref().filter(|_| state.progress == Progress::Paid)?;
    let is_own = state.order.as_ref() == Some(&stored.order.internal_id);
    (is_own && provider.intent.as_deref() != Some(intent)).then_some(intent)
}
