//! Attempts to refund a payment: written on the order before they are sent, so that a repeated command or webhook
//! finishes the same refund and never makes another one.

use super::provider::{Provider, ProviderError};
use super::review::review;
use super::status::{SettleError, change, unknown_intent};
use crate::clock::Clock;
use crate::model::{OrderStatus, RefundAttempt, RefundOutcome};
use crate::rules::payment::PaymentState;
use crate::rules::refund::{NextStep, SENDABLE, next_step};
use crate::store::orders::StoredOrder;
use crate::store::transaction::{Sent, Write, send};
use crate::store::{Db, StoreError};
use crate::telemetry::{PaymentEvent, payment_event};
use crate::usecases::orders::transition::Step;

/// Notes the state of the last attempt at the provider. `false` if that has changed, so that the order has to be read
/// again.
pub(super) async fn note_attempt(db: &Db, stored: &StoredOrder, state: &PaymentState) -> Result<bool, StoreError> {
    let Some(last) = &stored.effects.refund else { return Ok(true) };
    let found = state.attempts.iter().find(|(number, _)| *number == last.number).map(|(_, outcome)| *outcome);
    // A read that is older than the failure changes nothing: a refund that failed never succeeds.
    let Some(outcome) =
        found.filter(|found| last.outcome != Some(*found) && last.outcome != Some(RefundOutcome::Failed))
    else {
        return Ok(true);
    };
    let write: Write = stored.close_refund(last.number, outcome);
    // Another process may have noted it.
    let _: Sent<_> = send(db, vec![write]).await?;
    Ok(false)
}

/// Writes a step before it is taken. `false` if something changed in between.
pub(super) async fn write_step(
    db: &Db,
    stored: &StoredOrder,
    step: &NextStep,
    intent: &str,
) -> Result<bool, StoreError> {
    let writes: Vec<Write> = match step {
        NextStep::Done => return Ok(true),
        NextStep::Begin(attempt) => stored.begin_refund(attempt, intent)?,
        NextStep::Resume(attempt) => vec![stored.resume_refund(attempt)],
        NextStep::Abandon(attempt) => {
            vec![stored.end_refund(attempt, RefundOutcome::Abandoned, "what is refunded has changed by other means")]
        }
    };
    Ok(send(db, writes).await? == Sent::Written)
}

/// Sends an attempt that was just written. One that the provider refuses for good is closed.
pub(super) async fn send_attempt<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &StoredOrder,
    intent: &str,
    attempt: &RefundAttempt,
) -> Result<(), SettleError> {
    // A process that was suspended after it had written the attempt must not send it once others count on that.
    if clock.seconds().saturating_sub(attempt.at) > SENDABLE {
        return Err(SettleError::Conflict);
    }
    let sent = provider.refund(&stored.order, intent, attempt).await;
    if let Err(ProviderError::Refused(reason)) = &sent {
        let write: Write = stored.end_refund(attempt, RefundOutcome::Refused, reason);
        // Another process may have closed it.
        let _: Sent<_> = send(db, vec![write]).await?;
    }
    Ok(sent?)
}

/// Refunds a payment that came when nothing was held any more, and that cannot buy what it paid for. If the provider
/// refuses that for good, an operator has to look. `false` if something changed in between. After an error the same
/// call may be repeated.
pub(super) async fn refund_late<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &mut StoredOrder,
    state: &PaymentState,
) -> Result<bool, SettleError> {
    let Some(intent) = state.intent.as_deref() else { return Ok(false) };
    // It is not known yet how the open attempt ended: a later webhook event finds out.
    let Ok(step) = next_step(&stored.effects, state, state.amount, clock.seconds()) else {
        return Err(SettleError::Conflict);
    };
    if !write_step(db, stored, &step, intent).await? {
        return Ok(false);
    }
    let attempt = match &step {
        NextStep::Begin(attempt) | NextStep::Resume(attempt) => attempt,
        NextStep::Done => return Ok(true),
        NextStep::Abandon(_) => return Ok(false),
    };
    if matches!(step, NextStep::Begin(_)) {
        tracing::error!(order = %stored.order.internal_id, "a late payment is refunded: what it bought is gone");
        payment_event(PaymentEvent::AutomaticRefund, 1);
    }
    match send_attempt(db, clock, provider, stored, intent, attempt).await {
        Err(SettleError::Provider(ProviderError::Refused(reason))) => {
            return Ok(review(db, stored, unknown_intent(stored, state), &reason).await?);
        }
        sent => sent?,
    }
    let write: Write = stored.close_refund(attempt.number, RefundOutcome::Refunded);
    let _: Sent<_> = send(db, vec![write]).await?;
    if stored.order.status != OrderStatus::Pending {
        return Ok(true);
    }
    Ok(change(db, stored, &Step::to(OrderStatus::Cancelled, clock.seconds())).await?.is_written())
}
