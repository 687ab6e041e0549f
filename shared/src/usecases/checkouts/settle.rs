//! Writing what the provider says of an order.

use super::attempt::{note_attempt, refund_late};
use super::bought::{clear_cart, follow_up};
use super::dispute::note_dispute;
use super::gone::{EndsGone, or_gone};
use super::provider::{DisputeState, Provider, ProviderError, Session};
use super::refund::{note_failed, refund_in_part};
use super::review::{end_review, ended_by, review};
use super::status::{ChangeOutcome, SettleError, Settled, change, give_up, unknown_intent, write_paid};
use crate::clock::Clock;
use crate::model::{Cancellation, InternalId, Money, OrderStatus};
use crate::rules::payment::{Decision, Origin, PaymentState, Progress, decide, is_own, origin};
use crate::store::orders::{self, StoredOrder};
use crate::store::transaction::{Sent, Write, send};
use crate::store::{Db, RETRIES, StoreError, pause_before};
use crate::telemetry;
use crate::usecases::orders::transition::Step;

/// Asks the provider what became of an order's checkout, and writes it. An order whose checkout was never opened waits.
pub async fn settle<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &StoredOrder,
) -> Result<Settled, SettleError> {
    let Some(session) = stored.effects.provider.as_ref().and_then(|provider| provider.session.as_deref()) else {
        return Ok(Settled::Open);
    };
    let settled = match provider.fetch(session).await {
        Ok(state) => settle_with(db, clock, provider, &stored.order.internal_id, &state).await,
        Err(error) => Err(error.into()),
    };
    or_gone(db, clock, provider, stored, settled, EndsGone::Later).await
}

/// [`settle`], or [`end`] if the time of a pending order's checkout is up, or nothing has to be paid.
pub(super) async fn settle_or_end<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &StoredOrder,
) -> Result<Settled, SettleError> {
    let is_awaited = stored.order.price > Money::ZERO && stored.is_open(clock.seconds());
    if stored.order.status != OrderStatus::Pending || is_awaited {
        return settle(db, clock, provider, stored).await;
    }
    let ended = end_or_ended(db, clock, provider, stored).await;
    or_gone(db, clock, provider, stored, ended, EndsGone::Later).await
}

/// [`end`]. The provider has most likely ended it by itself: then one call is enough.
async fn end_or_ended<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &StoredOrder,
) -> Result<Settled, SettleError> {
    if let Some(session) = stored.effects.provider.as_ref().and_then(|provider| provider.session.as_deref()) {
        let state = provider.fetch(session).await?;
        if state.progress != Progress::Open {
            return settle_with(db, clock, provider, &stored.order.internal_id, &state).await;
        }
    }
    end(db, clock, provider, stored).await
}

/// [`settle`], unless the provider was asked about the same order less than `every` seconds ago; then `None`.
pub async fn ask<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &StoredOrder,
    every: i64,
) -> Result<Option<Settled>, SettleError> {
    let now = clock.seconds();
    let write: Write = stored.set_asked(now, now.saturating_sub(every));
    match send(db, vec![write]).await? {
        Sent::Written => settle(db, clock, provider, stored).await.map(Some),
        Sent::Conflict | Sent::Refused(_) => Ok(None),
    }
}

/// Ends an order's checkout at the provider, and writes what came of it. A session whose URL was never stored is asked
/// for again by the same key, so that nothing stays open that could be paid.
pub(super) async fn end<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &StoredOrder,
) -> Result<Settled, SettleError> {
    let id = &stored.order.internal_id;
    if stored.order.price == Money::ZERO {
        complete(db, clock, stored).await?;
        return Ok(Settled::Changed);
    }
    let known = stored.effects.provider.as_ref().and_then(|provider| provider.session.clone());
    let session = match known {
        Some(session) => session,
        None => match open_session(db, clock, provider, stored).await {
            Ok(session) => session.id,
            Err(SettleError::Provider(ProviderError::Refused(_) | ProviderError::Key(_))) => {
                return Ok(Settled::Changed);
            }
            Err(error) => return Err(error),
        },
    };
    provider.expire(&session).await?;
    let state = provider.fetch(&session).await?;
    settle_with(db, clock, provider, id, &state).await
}

/// Writes what the provider says of an order, conditional on the order's status, and clears the cart of a paid one. A
/// checkout that is not the order's own changes nothing.
pub async fn settle_with<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    id: &InternalId,
    state: &PaymentState,
) -> Result<Settled, SettleError> {
    let settled = settle_known(db, clock, provider, id, state).await?;
    Ok(settled.unwrap_or(Settled::Unchanged))
}

/// [`settle_with`]; `None` if there is no such order. The disputes of the payment are noted too: their events may have come
/// before the order was known as its own.
pub(super) async fn settle_known<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    id: &InternalId,
    state: &PaymentState,
) -> Result<Option<Settled>, SettleError> {
    let settled = settle_payment(db, clock, provider, id, state).await?;
    if settled.is_some() && state.order.as_ref() == Some(id) {
        note_disputes(db, clock, id, state).await?;
    }
    Ok(settled)
}

async fn note_disputes(db: &Db, clock: &dyn Clock, id: &InternalId, state: &PaymentState) -> Result<(), SettleError> {
    for (dispute, words) in &state.disputes {
        let dispute = DisputeState { id: dispute.clone(), intent: None, state: words.clone() };
        note_dispute(db, clock, id, &dispute).await?;
    }
    Ok(())
}

async fn settle_payment<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    id: &InternalId,
    state: &PaymentState,
) -> Result<Option<Settled>, SettleError> {
    let (mut has_changed, mut conflicts) = (false, 0);
    for _ in 0..=RETRIES {
        pause_before(conflicts).await;
        let Some(mut stored) = orders::get(db, id).await? else { return Ok(None) };
        if !is_own(&stored.order, &stored.effects, state) {
            tracing::error!(order = %id, session = state.session, "a checkout that is not the order's own is ignored");
            return Ok(Some(Settled::Unchanged));
        }
        if !note_attempt(db, &stored, state).await? {
            continue;
        }
        let decision = decide(&stored.order, &stored.effects, state);
        if decision == Decision::Nothing {
            if !note_payment(db, &stored, state).await? {
                conflicts += 1;
                continue;
            }
            let status = stored.order.status;
            if stored.delivery_due() {
                follow_up(db, clock, stored).await?;
            } else {
                clear_cart(db, stored).await?;
            }
            return Ok(Some(match status {
                OrderStatus::Pending => Settled::Open,
                _ if has_changed => Settled::Changed,
                _ => Settled::Unchanged,
            }));
        }
        let is_payment = matches!(decision, Decision::Pay | Decision::PayOrRefund);
        if !write(db, clock, provider, &mut stored, state, decision).await? {
            telemetry::conflict();
            conflicts += 1;
        } else if is_payment && state.refunded > Money::ZERO {
            // It is seen for the first time when a part is refunded already.
            has_changed = true;
        } else {
            follow_up(db, clock, stored).await?;
            return Ok(Some(Settled::Changed));
        }
    }
    Err(SettleError::Conflict)
}

/// Writes a decision. `false` if something changed in between, so that it has to be made again.
async fn write<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &mut StoredOrder,
    state: &PaymentState,
    decision: Decision,
) -> Result<bool, SettleError> {
    let ended = ended_by(stored, state, clock);
    let step = |to| {
        let intent = unknown_intent(stored, state);
        Step { intent, reviewed: ended.as_ref(), ..Step::to(to, clock.seconds()) }
    };
    Ok(match decision {
        Decision::Nothing => true,
        Decision::Pay | Decision::PayOrRefund => pay_or_refund(db, clock, provider, stored, state).await?,
        Decision::FinishRefund => {
            abandon(provider, state).await?;
            refund_late(db, clock, provider, stored, state).await?
        }
        Decision::End(to) => {
            abandon(provider, state).await?;
            change(db, stored, &step(to)).await?.is_written()
        }
        Decision::Refund => {
            // First what is lost in a dispute: it gives less back than a refund. The change conflicts with what is noted now.
            note_disputes(db, clock, &stored.order.internal_id, state).await?;
            change(db, stored, &step(OrderStatus::Refunded)).await?.is_written()
        }
        Decision::RefundInPart(refunds) => refund_in_part(db, clock, stored, &refunds).await?,
        Decision::RefundFailed(refunds) => note_failed(db, stored, &refunds).await?,
        Decision::EndReview => match &ended {
            Some(reviewed) => {
                abandon(provider, state).await?;
                end_review(db, stored, reviewed).await?
            }
            None => true,
        },
        Decision::Review(reason) => review(db, stored, unknown_intent(stored, state), reason).await?,
    })
}

/// Cancels the subscription of a payment that does not become an order, because it was refunded before it was seen or after
/// a review: it would be charged again. Nothing else knows of one whose first payment that is.
async fn abandon<P: Provider>(provider: &P, state: &PaymentState) -> Result<(), ProviderError> {
    let Some(period) = &state.period else { return Ok(()) };
    let how = if period.renewal { Cancellation::AtPeriodEnd } else { Cancellation::Now };
    provider.cancel_subscription(&period.subscription, how).await
}

/// Writes the order of a payment as soon as the payment is known: later refunds and disputes name only the payment. `false` if
/// the order has changed in between.
async fn note_payment(db: &Db, stored: &StoredOrder, state: &PaymentState) -> Result<bool, StoreError> {
    let Some(intent) = unknown_intent(stored, state) else { return Ok(true) };
    Ok(send(db, stored.set_intent(intent)?).await? == Sent::Written)
}

pub(super) async fn complete(db: &Db, clock: &dyn Clock, stored: &StoredOrder) -> Result<(), SettleError> {
    let id = &stored.order.internal_id;
    for round in 0..=RETRIES {
        pause_before(round).await;
        let Some(mut stored) = orders::get(db, id).await? else { return Ok(()) };
        let is_paid = if stored.order.status == OrderStatus::Pending {
            write_paid(db, clock, &mut stored, &Step::to(OrderStatus::Paid, clock.seconds())).await?
        } else {
            ChangeOutcome::Written
        };
        match is_paid {
            ChangeOutcome::Written => {
                if let Err(error) = follow_up(db, clock, stored).await {
                    tracing::warn!(order = %id, %error, "left to the sweep");
                }
                return Ok(());
            }
            ChangeOutcome::Refused => return give_up(db, clock, id).await,
            ChangeOutcome::Conflict => {}
        }
    }
    Err(SettleError::Conflict)
}

/// Opens the provider's session of an order. If the provider refuses it permanently, what is held is given back.
pub(super) async fn open_session<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &StoredOrder,
) -> Result<Session, SettleError> {
    let is_elsewhere = |checkout| origin(checkout, &provider.account()) == Origin::Other;
    if stored.effects.provider.as_ref().is_some_and(is_elsewhere) {
        // It may be open there already. Here it would be another one.
        return Err(ProviderError::NoCheckout("the order is one of another account or mode".to_owned()).into());
    }
    let opened = provider.open(stored).await;
    if opened.as_ref().is_err_and(ProviderError::is_refusal) {
        give_up(db, clock, &stored.order.internal_id).await?;
    }
    Ok(opened?)
}

/// Writes that an order is paid. What was not held and cannot be taken any more is refunded.
async fn pay_or_refund<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &mut StoredOrder,
    state: &PaymentState,
) -> Result<bool, SettleError> {
    let (intent, period) = (state.intent.as_deref(), state.period.as_ref());
    let step = Step { intent, period, ..Step::to(OrderStatus::Paid, clock.seconds()) };
    match write_paid(db, clock, stored, &step).await? {
        ChangeOutcome::Written => Ok(true),
        ChangeOutcome::Conflict => Ok(false),
        ChangeOutcome::Refused => {
            abandon(provider, state).await?;
            refund_late(db, clock, provider, stored, state).await
        }
    }
}
