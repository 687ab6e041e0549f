//! Changing the status of an order with a checkout, and the outcomes of that.

use super::provider::ProviderError;
use crate::clock::Clock;
use crate::model::{InternalId, OrderStatus};
use crate::rules::payment::{PaymentState, Progress};
use crate::store::orders::{self, StoredOrder};
use crate::store::transaction::{Sent, send_patiently};
use crate::store::{Db, RETRIES, StoreError, pause_before};
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
    #[error("other writes kept changing the same items")]
    Conflict,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The outcome of an attempt to change a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeOutcome {
    Written,
    /// Something changed in between.
    Conflict,
    /// A limit does not allow it.
    Refused,
}

impl ChangeOutcome {
    pub(super) const fn is_written(self) -> bool {
        matches!(self, Self::Written)
    }
}

/// Writes that an order is paid. Recipients without an account get one. What is held cannot be refused: if a gift came
/// in between, the limit is exceeded, and the order says so.
pub(super) async fn write_paid(
    db: &Db,
    clock: &dyn Clock,
    stored: &mut StoredOrder,
    step: &Step<'_>,
) -> Result<ChangeOutcome, SettleError> {
    let lines = with_accounts(db, clock, &stored.order).await?;
    let step = Step { lines: lines.as_deref(), ..*step };
    match change(db, stored, &step).await? {
        ChangeOutcome::Refused if stored.effects.held => {
            change(db, stored, &Step { limits: Limits::Ignored, ..step }).await
        }
        paid => Ok(paid),
    }
}

/// Changes the status. Once it is written, `stored` is the order after it, as far as its cart and delivery need it.
pub(super) async fn change(db: &Db, stored: &mut StoredOrder, step: &Step<'_>) -> Result<ChangeOutcome, SettleError> {
    let Planned { writes, after, .. } = match plan(db, stored, step).await {
        Ok(planned) => planned,
        Err(SetStatusError::Refused(_)) => return Ok(ChangeOutcome::Refused),
        Err(SetStatusError::Store(error)) => return Err(error.into()),
        Err(SetStatusError::Forbidden { .. } | SetStatusError::Unknown(_) | SetStatusError::Conflict) => {
            return Ok(ChangeOutcome::Conflict);
        }
    };
    Ok(match send_patiently(db, writes).await? {
        Sent::Written => {
            *stored = after;
            ChangeOutcome::Written
        }
        Sent::Conflict => ChangeOutcome::Conflict,
        Sent::Refused(_) => ChangeOutcome::Refused,
    })
}

/// Ends an order that cannot be paid, and gives back what it holds.
pub(super) async fn give_up(db: &Db, clock: &dyn Clock, id: &InternalId) -> Result<(), SettleError> {
    for round in 0..=RETRIES {
        pause_before(round).await;
        let Some(mut stored) = orders::get(db, id).await? else { return Ok(()) };
        let step = Step::to(OrderStatus::Cancelled, clock.seconds());
        if stored.order.status != OrderStatus::Pending || change(db, &mut stored, &step).await?.is_written() {
            return Ok(());
        }
    }
    Err(SettleError::Conflict)
}

/// The id of the order's own payment, if the order does not have it yet.
pub(super) fn unknown_intent<'a>(stored: &StoredOrder, state: &'a PaymentState) -> Option<&'a str> {
    let provider = stored.effects.provider.as_ref()?;
    let intent = state.intent.as_deref().filter(|_| state.progress == Progress::Paid)?;
    let is_own = state.order.as_ref() == Some(&stored.order.internal_id);
    (is_own && provider.intent.as_deref() != Some(intent)).then_some(intent)
}
