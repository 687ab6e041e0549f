//! Attempts to refund a payment: written on the order before they are sent, so that a repeated command or webhook
//! finishes the same refund and never makes another one.

use super::desk::Desk;
use super::provider::{Provider, ProviderError};
use super::review::review;
use super::status::{SettleError, must_change, unknown_intent};
use crate::model::{OrderStatus, RefundAttempt, RefundOutcome};
use crate::rules::payment::PaymentState;
use crate::rules::refund::{NextStep, SENDABLE, next_step};
use crate::store::orders::StoredOrder;
use crate::store::transaction::{Write, send, sent};
use crate::store::{Db, StoreError};
use crate::telemetry::{PaymentEvent, payment_event};
use crate::usecases::orders::transition::Step;

/// Notes the state of the last attempt at the provider. If that has changed, the order has to be read again: a lost race.
pub(super) async fn note_attempt(db: &Db, stored: &StoredOrder, state: &PaymentState) -> Result<(), StoreError> {
    let Some(last) = &stored.effects.refund else { return Ok(()) };
    let found = state.attempts.iter().find(|(number, _)| *number == last.number).map(|(_, outcome)| *outcome);
    // A read that is older than the failure changes nothing: a refund that failed never succeeds.
    let Some(outcome) =
        found.filter(|found| last.outcome != Some(*found) && last.outcome != Some(RefundOutcome::Failed))
    else {
        return Ok(());
    };
    let write: Write = stored.close_refund(last.number, outcome);
    // Another process may have noted it.
    sent(db, vec![write]).await?;
    Err(StoreError::Contended)
}

/// Writes a step before it is taken.
pub(super) async fn write_step(db: &Db, stored: &StoredOrder, step: &NextStep, intent: &str) -> Result<(), StoreError> {
    let writes: Vec<Write> = match step {
        NextStep::Done => return Ok(()),
        NextStep::Begin(attempt) => stored.begin_refund(attempt, intent)?,
        NextStep::Resume(attempt) => vec![stored.resume_refund(attempt)],
        NextStep::Abandon(attempt) => {
            vec![stored.end_refund(attempt, RefundOutcome::Abandoned, "what is refunded has changed by other means")]
        }
    };
    send(db, writes).await
}

impl<P: Provider> Desk<'_, &P> {
    /// Sends an attempt that was just written. One that the provider refuses for good is closed.
    pub(super) async fn send_attempt(
        &self,
        stored: &StoredOrder,
        intent: &str,
        attempt: &RefundAttempt,
    ) -> Result<(), SettleError> {
        // A process that was suspended after it had written the attempt must not send it once others count on that.
        if self.clock.seconds().saturating_sub(attempt.at) > SENDABLE {
            return Err(StoreError::Contended.into());
        }
        let made = self.provider.refund(&stored.order, intent, attempt).await;
        if let Err(ProviderError::Refused(reason)) = &made {
            let write: Write = stored.end_refund(attempt, RefundOutcome::Refused, reason);
            // Another process may have closed it.
            sent(self.db, vec![write]).await?;
        }
        Ok(made?)
    }

    /// Refunds a payment that came when nothing was held any more, and that cannot buy what it paid for. If the provider
    /// refuses that for good, an operator has to look. After an error the same call may be repeated.
    pub(super) async fn refund_late(&self, stored: &mut StoredOrder, state: &PaymentState) -> Result<(), SettleError> {
        let Some(intent) = state.intent.as_deref() else { return Err(StoreError::Contended.into()) };
        // It is not known yet how the open attempt ended: a later webhook event finds out.
        let Ok(step) = next_step(&stored.effects, state, state.amount, self.clock.seconds()) else {
            return Err(StoreError::Contended.into());
        };
        write_step(self.db, stored, &step, intent).await?;
        let attempt = match &step {
            NextStep::Begin(attempt) | NextStep::Resume(attempt) => attempt,
            NextStep::Done => return Ok(()),
            NextStep::Abandon(_) => return Err(StoreError::Contended.into()),
        };
        if matches!(step, NextStep::Begin(_)) {
            tracing::error!(order = %stored.order.internal_id, "a late payment is refunded: what it bought is gone");
            payment_event(PaymentEvent::AutomaticRefund, 1);
        }
        match self.send_attempt(stored, intent, attempt).await {
            Err(SettleError::Provider(ProviderError::Refused(reason))) => {
                return Ok(review(self.db, stored, unknown_intent(stored, state), &reason).await?);
            }
            made => made?,
        }
        let write: Write = stored.close_refund(attempt.number, RefundOutcome::Refunded);
        sent(self.db, vec![write]).await?;
        if stored.order.status != OrderStatus::Pending {
            return Ok(());
        }
        must_change(self.db, stored, &Step::to(OrderStatus::Cancelled, self.clock.seconds())).await
    }
}
