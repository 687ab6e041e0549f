//! Refunds of a payment, an operator's look at it, and checkouts that the provider does not have.
//!
//! An attempt to refund is written on the order before it is sent, so that a repeated command or webhook event finishes the same
//! refund and never makes another one.

use super::begin::GRACE;
use super::desk::{Desk, SettleError, Settled, unknown_intent};
use super::provider::{Provider, ProviderError};
use crate::clock::Clock;
use crate::model::{OrderEffects, OrderStatus, RefundAttempt, RefundOutcome, Refunds, ReviewOutcome, Reviewed};
use crate::rules::order::{less_returned, users};
use crate::rules::payment::{Origin, PaymentState, origin};
use crate::rules::refund::{NextStep, SENDABLE, next_step};
use crate::shop::notices::of_orders::Telling;
use crate::shop::orders::change::{Step, give_up, must_change};
use crate::shop::orders::effects::change_ledgers;
use crate::shop::orders::{Payment, StoredOrder};
use crate::shop::stock::ledgers;
use crate::table::transaction::{Write, send, sent};
use crate::table::{Db, StoreError, keys};
use crate::telemetry::{PaymentEvent, payment_event};

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
        Ok(must_change(self.db, stored, &Step::to(OrderStatus::Cancelled, self.clock.seconds())).await?)
    }
}

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
    if refunds.refunded > stored.effects.refunded {
        let effects = OrderEffects { failed_refunds: refunds.failed, ..after };
        let after = StoredOrder { order: stored.order.clone(), effects };
        let telling = Telling::read(db, &stored.order).await?;
        writes.extend(telling.refunded(stored, &after, clock.seconds())?);
    }
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

/// Notes that an operator has to look at an order, and, if it is known only now, its payment.
pub(super) async fn review(
    db: &Db,
    stored: &StoredOrder,
    intent: Option<&str>,
    reason: &str,
) -> Result<(), StoreError> {
    tracing::error!(order = %stored.order.internal_id, reason, "a payment needs an operator");
    payment_event(PaymentEvent::Review, 1);
    let row = intent.map(|intent| Payment::put(&stored.order, intent)).transpose()?;
    let writes: Vec<Write> = std::iter::once(stored.set_review(reason, intent)).chain(row).collect();
    send(db, writes).await
}

/// The end of an operator's look that a refund in full is; `None` if no operator is needed.
pub(super) fn ended_by(stored: &StoredOrder, state: &PaymentState, clock: &dyn Clock) -> Option<Reviewed> {
    let reason = stored.effects.review.clone().filter(|_| state.is_refunded())?;
    Some(Reviewed { reason, outcome: ReviewOutcome::Refunded, at: clock.seconds() })
}

/// Notes what was decided.
pub(super) async fn end_review(db: &Db, stored: &StoredOrder, reviewed: &Reviewed) -> Result<(), StoreError> {
    let write: Write = stored.end_review(reviewed)?;
    send(db, vec![write]).await
}

/// The note on an order of another account or mode.
pub const STRANDED: &str = "the payment provider's account or mode has changed since";

/// When an order whose checkout the provider does not have is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndsGone {
    /// At once: an operator has confirmed it.
    Now,
    /// Once its time is over.
    Later,
}

impl<P: Provider> Desk<'_, &P> {
    /// The outcome, or, if the provider has no such checkout, that of the order then. An order of the keys' own account and
    /// mode is cancelled. One of another account or mode may still be paid there: it is marked for an operator, and what it
    /// holds is given back after its end.
    pub(super) async fn or_gone(
        &self,
        stored: &StoredOrder,
        settled: Result<Settled, SettleError>,
        ends: EndsGone,
    ) -> Result<Settled, SettleError> {
        let reason = match settled {
            Err(SettleError::Provider(ProviderError::NoCheckout(reason))) => reason,
            settled => return settled,
        };
        let Some(checkout) = stored.effects.provider.as_ref().filter(|_| stored.order.status == OrderStatus::Pending)
        else {
            return Err(ProviderError::NoCheckout(reason).into());
        };
        let now = self.clock.seconds();
        tracing::warn!(order = %stored.order.internal_id, reason, "the payment provider has no such checkout");
        let is_over = match origin(checkout, &self.provider.account()) {
            Origin::Own => ends == EndsGone::Now || now >= checkout.expires_at,
            Origin::Other | Origin::Unknown => {
                if stored.effects.review.is_none() {
                    review(self.db, stored, None, STRANDED).await?;
                }
                now >= checkout.expires_at.saturating_add(GRACE)
            }
        };
        if !is_over {
            return Ok(Settled::Gone);
        }
        give_up(self.db, self.clock, &stored.order.internal_id).await?;
        Ok(Settled::Changed)
    }
}
