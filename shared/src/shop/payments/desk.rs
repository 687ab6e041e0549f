//! The order desk: the one place that asks the payment provider about an order, decides, and writes what follows.
//!
//! *Settle* asks what became of a payment and writes it, *end* ends a checkout first, *apply* writes what is known already.

use super::dispute::note_dispute;
use super::provider::{DisputeState, Provider, ProviderError, Session};
use super::refunds::{EndsGone, end_review, ended_by, note_attempt, note_failed, refund_in_part, review};
use crate::clock::Clock;
use crate::model::{Cancellation, InternalId, Money, OrderStatus};
use crate::rules::payment::{Decision, Origin, PaymentState, Progress, decide, is_own, origin};
use crate::shop::orders::change::{Planned, Step, after, plan, with_accounts};
use crate::shop::orders::effects::Limits;
use crate::shop::orders::{self, SetStatusError, StoredOrder};
use crate::table::transaction::{Write, send, send_patiently, sent};
use crate::table::{Db, LostRace, StoreError, TURNS, in_turns};
use crate::telemetry;

/// The table, the time, and the payment provider that is asked: `&P`, or `Option<&P>` where it may be missing.
#[derive(Debug, Clone, Copy)]
pub struct Desk<'a, P> {
    pub db: &'a Db,
    pub clock: &'a dyn Clock,
    pub provider: P,
}

impl<'a, P> Desk<'a, P> {
    pub const fn new(db: &'a Db, clock: &'a dyn Clock, provider: P) -> Self {
        Self { db, clock, provider }
    }
}

impl<'a, P: Provider> Desk<'a, Option<&'a P>> {
    /// The desk with its provider; `None` if none is connected.
    pub(super) fn connected(&self) -> Option<Desk<'a, &'a P>> {
        self.provider.map(|provider| Desk::new(self.db, self.clock, provider))
    }
}

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

crate::table::lost_race!(SettleError);

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

impl<P: Provider> Desk<'_, &P> {
    /// Asks the provider what became of an order's checkout, and writes it. An order whose checkout was never opened waits.
    pub async fn settle(&self, stored: &StoredOrder) -> Result<Settled, SettleError> {
        let Some(session) = stored.session() else {
            return Ok(Settled::Open);
        };
        let settled = match self.provider.fetch(session).await {
            Ok(state) => self.apply_own(stored, &state).await,
            Err(error) => Err(error.into()),
        };
        self.or_gone(stored, settled, EndsGone::Later).await
    }

    /// [`Self::settle`], or [`Self::end`] if the time of a pending order's checkout is up, or nothing has to be paid.
    pub(super) async fn settle_or_end(&self, stored: &StoredOrder) -> Result<Settled, SettleError> {
        let is_awaited = stored.order.price > Money::ZERO && stored.is_open(self.clock.seconds());
        if stored.order.status != OrderStatus::Pending || is_awaited {
            return self.settle(stored).await;
        }
        let ended = self.end_or_ended(stored).await;
        self.or_gone(stored, ended, EndsGone::Later).await
    }

    /// [`Self::end`]. The provider has most likely ended it by itself: then one call is enough.
    async fn end_or_ended(&self, stored: &StoredOrder) -> Result<Settled, SettleError> {
        if let Some(session) = stored.session() {
            let state = self.provider.fetch(session).await?;
            if state.progress != Progress::Open {
                return self.apply_own(stored, &state).await;
            }
        }
        self.end(stored).await
    }

    /// [`Self::settle`], unless the provider was asked about the same order less than `every` seconds ago; then `None`.
    pub async fn ask(&self, stored: &StoredOrder, every: i64) -> Result<Option<Settled>, SettleError> {
        let now = self.clock.seconds();
        let write: Write = stored.set_asked(now, now.saturating_sub(every));
        if sent(self.db, vec![write]).await? { self.settle(stored).await.map(Some) } else { Ok(None) }
    }

    /// Ends an order's checkout at the provider, and writes what came of it. A session whose URL was never stored is asked
    /// for again by the same key, so that nothing stays open that could be paid.
    pub(super) async fn end(&self, stored: &StoredOrder) -> Result<Settled, SettleError> {
        if stored.order.price == Money::ZERO {
            complete(self.db, self.clock, stored).await?;
            return Ok(Settled::Changed);
        }
        let session = match stored.session() {
            Some(session) => session.to_owned(),
            None => match self.open_session(stored).await {
                Ok(session) => session.id,
                Err(SettleError::Provider(ProviderError::Refused(_) | ProviderError::Key(_))) => {
                    return Ok(Settled::Changed);
                }
                Err(error) => return Err(error),
            },
        };
        self.provider.expire(&session).await?;
        let state = self.provider.fetch(&session).await?;
        self.apply_own(stored, &state).await
    }

    async fn apply_own(&self, stored: &StoredOrder, state: &PaymentState) -> Result<Settled, SettleError> {
        Ok(self.apply(&stored.order.internal_id, state).await?.unwrap_or(Settled::Unchanged))
    }

    /// Writes what the provider says of an order, conditional on the order's status, with the disputes of the payment: their
    /// events may have come before the order was known as its own. A checkout that is not the order's own changes nothing.
    /// `None` if there is no such order.
    pub async fn apply(&self, id: &InternalId, state: &PaymentState) -> Result<Option<Settled>, SettleError> {
        let turn = || in_turns(TURNS, || self.decide_once(id, state));
        let (settled, is_paid_now) = turn().await?;
        if is_paid_now && state.refunded > Money::ZERO {
            // It is seen for the first time when a part is refunded already.
            turn().await?;
        }
        if settled.is_some() && state.order.as_ref() == Some(id) {
            self.note_disputes(id, state).await?;
        }
        Ok(settled)
    }

    async fn note_disputes(&self, id: &InternalId, state: &PaymentState) -> Result<(), SettleError> {
        for (dispute, words) in &state.disputes {
            let dispute = DisputeState { id: dispute.clone(), intent: None, state: words.clone() };
            note_dispute(self.db, self.clock, id, &dispute).await?;
        }
        Ok(())
    }

    /// Decides about an order once, and writes that; whether it was paid by that.
    async fn decide_once(&self, id: &InternalId, state: &PaymentState) -> Result<(Option<Settled>, bool), SettleError> {
        let Some(mut stored) = orders::get(self.db, id).await? else { return Ok((None, false)) };
        if !is_own(&stored.order, &stored.effects, state) {
            tracing::error!(order = %id, session = state.session, "a checkout that is not the order's own is ignored");
            return Ok((Some(Settled::Unchanged), false));
        }
        note_attempt(self.db, &stored, state).await?;
        let decision = decide(&stored.order, &stored.effects, state);
        if decision == Decision::Nothing {
            note_payment(self.db, &stored, state).await?;
            let is_open = stored.order.status == OrderStatus::Pending;
            if stored.delivery_due() || stored.effects.cart_cleared == Some(false) {
                after(self.db, self.clock, &stored).await?;
            }
            return Ok((Some(if is_open { Settled::Open } else { Settled::Unchanged }), false));
        }
        let pays = matches!(decision, Decision::Pay | Decision::PayOrRefund);
        self.carry_out(&mut stored, state, decision).await.inspect_err(|error| {
            if error.is_contended() {
                telemetry::conflict();
            }
        })?;
        if !pays || state.refunded == Money::ZERO {
            after(self.db, self.clock, &stored).await?;
        }
        Ok((Some(Settled::Changed), pays))
    }

    /// Writes a decision.
    async fn carry_out(
        &self,
        stored: &mut StoredOrder,
        state: &PaymentState,
        decision: Decision,
    ) -> Result<(), SettleError> {
        let ended = ended_by(stored, state, self.clock);
        let step = |to| {
            let intent = unknown_intent(stored, state);
            Step { intent, reviewed: ended.as_ref(), ..Step::to(to, self.clock.seconds()) }
        };
        match decision {
            Decision::Nothing => {}
            Decision::Pay | Decision::PayOrRefund => self.pay_or_refund(stored, state).await?,
            Decision::FinishRefund => {
                abandon(self.provider, state).await?;
                self.refund_late(stored, state).await?;
            }
            Decision::End(to) => {
                abandon(self.provider, state).await?;
                must_change(self.db, stored, &step(to)).await?;
            }
            Decision::Refund => {
                // First what is lost in a dispute: it gives less back than a refund. The change conflicts with what is noted now.
                self.note_disputes(&stored.order.internal_id, state).await?;
                must_change(self.db, stored, &step(OrderStatus::Refunded)).await?;
            }
            Decision::RefundInPart(refunds) => refund_in_part(self.db, self.clock, stored, &refunds).await?,
            Decision::RefundFailed(refunds) => note_failed(self.db, stored, &refunds).await?,
            Decision::EndReview => {
                if let Some(reviewed) = &ended {
                    abandon(self.provider, state).await?;
                    end_review(self.db, stored, reviewed).await?;
                }
            }
            Decision::Review(reason) => review(self.db, stored, unknown_intent(stored, state), reason).await?,
        }
        Ok(())
    }
}

/// Cancels the subscription of a payment that does not become an order, because it was refunded before it was seen or after
/// a review: it would be charged again. Nothing else knows of one whose first payment that is.
async fn abandon<P: Provider>(provider: &P, state: &PaymentState) -> Result<(), ProviderError> {
    let Some(period) = &state.period else { return Ok(()) };
    let how = if period.renewal { Cancellation::AtPeriodEnd } else { Cancellation::Now };
    provider.cancel_subscription(&period.subscription, how).await
}

/// Writes the order of a payment as soon as the payment is known: later refunds and disputes name only the payment.
async fn note_payment(db: &Db, stored: &StoredOrder, state: &PaymentState) -> Result<(), StoreError> {
    let Some(intent) = unknown_intent(stored, state) else { return Ok(()) };
    send(db, stored.set_intent(intent)?).await
}

pub(super) async fn complete(db: &Db, clock: &dyn Clock, stored: &StoredOrder) -> Result<(), SettleError> {
    let id = &stored.order.internal_id;
    in_turns(TURNS, || async {
        let Some(mut stored) = orders::get(db, id).await? else { return Ok(()) };
        let step = Step::to(OrderStatus::Paid, clock.seconds());
        if stored.order.status == OrderStatus::Pending && !write_paid(db, clock, &mut stored, &step).await? {
            return give_up(db, clock, id).await;
        }
        if let Err(error) = after(db, clock, &stored).await {
            tracing::warn!(order = %id, %error, "left to the sweep");
        }
        Ok(())
    })
    .await
}

impl<P: Provider> Desk<'_, &P> {
    /// Opens the provider's session of an order. If the provider refuses it permanently, what is held is given back.
    pub(super) async fn open_session(&self, stored: &StoredOrder) -> Result<Session, SettleError> {
        let is_elsewhere = |checkout| origin(checkout, &self.provider.account()) == Origin::Other;
        if stored.effects.provider.as_ref().is_some_and(is_elsewhere) {
            // It may be open there already. Here it would be another one.
            return Err(ProviderError::NoCheckout("the order is one of another account or mode".to_owned()).into());
        }
        let opened = self.provider.open(stored).await;
        if opened.as_ref().is_err_and(ProviderError::is_refusal) {
            give_up(self.db, self.clock, &stored.order.internal_id).await?;
        }
        Ok(opened?)
    }

    /// Writes that an order is paid. What was not held and cannot be taken any more is refunded.
    async fn pay_or_refund(&self, stored: &mut StoredOrder, state: &PaymentState) -> Result<(), SettleError> {
        let (intent, period) = (state.intent.as_deref(), state.period.as_ref());
        let step = Step { intent, period, ..Step::to(OrderStatus::Paid, self.clock.seconds()) };
        if write_paid(self.db, self.clock, stored, &step).await? {
            return Ok(());
        }
        abandon(self.provider, state).await?;
        self.refund_late(stored, state).await
    }
}
