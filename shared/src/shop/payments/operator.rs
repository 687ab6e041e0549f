//! The steps of an operator about an order at its payment provider. Each step ends with what the provider says then.

use super::desk::{Desk, SettleError, Settled, unknown_intent};
use super::provider::{Provider, ProviderError};
use super::refunds::{EndsGone, end_review, write_step};
use crate::model::{InternalId, Money, OrderStatus, RefundAttempt, RefundOutcome, ReviewOutcome, Reviewed};
use crate::rules::dispute::takes_back;
use crate::rules::payment::{Origin, PaymentState, Progress, agrees, origin, tax_of};
use crate::rules::payment_methods::Method;
use crate::rules::refund::{LineRefusal, NextStep, RefundRefusal, next_step};
use crate::shop::orders::change::{Step, after_at_once, write_paid};
use crate::shop::orders::unfinished::{self, Due};
use crate::shop::orders::{self, StoredOrder};
use crate::table::transaction::is_written;
use crate::table::{Db, LostRace, StoreError, TURNS, Turns, in_turns};

/// How often an order is looked at while other processes change it.
const ORDER_TURNS: u32 = 12;
/// How many responses of the provider may be lost before a refund is left to the next command.
const LOST: u32 = 2;

/// The reason why an operator's step was not done.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    #[error("there is no order {0}")]
    Unknown(InternalId),
    #[error("the order has no payment at a provider")]
    NoPayment,
    /// Only an order whose payment was received can be refunded, and only a pending one cancelled.
    #[error("the order is {}", .0.as_str())]
    Status(OrderStatus),
    /// The total of a refund cannot be reached.
    #[error(transparent)]
    Refund(#[from] RefundRefusal),
    /// The payment is of another amount or currency than the order, so that a part of the one is not a part of the
    /// other.
    #[error("the payment does not agree with the order, and can only be refunded in full")]
    OnlyInFull,
    /// The provider cannot give back what was paid by this method.
    #[error("the provider cannot refund a payment by {0}")]
    Final(String),
    #[error("the payment names another order")]
    Foreign,
    #[error("the order does not need an operator")]
    NoReview,
    /// Units of a line cannot be refunded.
    #[error(transparent)]
    Line(#[from] LineRefusal),
    /// No payment provider is connected, and the payment is at one.
    #[error("no payment provider is connected")]
    NoProvider,
    /// A dispute takes the order back; its state in the provider's words.
    #[error("its payment is disputed ({0})")]
    Disputed(String),
    #[error("it is being moved to another player, or to a new season")]
    Moving,
    #[error("what it sells cannot be taken any more")]
    SoldOut,
    /// The provider has no such checkout. Unless it was deleted there, it can still be paid.
    #[error("the payment provider has no such checkout")]
    Gone,
    /// The checkout is one of another account or mode, where it can still be paid until its time is over.
    #[error("its checkout is one of another account or mode of the payment provider")]
    Stranded,
    /// The buyer has paid by a method that confirms it later.
    #[error("the payment is being processed")]
    Processing,
    /// It could not be settled.
    #[error(transparent)]
    Settle(#[from] SettleError),
}

/// The orders whose checkouts are open, the one that is due first in front.
pub async fn open_orders(db: &Db) -> Result<Vec<StoredOrder>, StoreError> {
    /// Later than anything is due, in seconds since 1970 UTC.
    const EVER: i64 = 999_999_999_999;
    let mut open = Vec::new();
    for due in unfinished::due(db, EVER).await? {
        let Ok(Due::Order(id)) = due.due else { continue };
        let stored = orders::get(db, &id).await?;
        open.extend(stored.filter(|stored| stored.order.status == OrderStatus::Pending && stored.is_checkout()));
    }
    Ok(open)
}

impl LostRace for OperatorError {
    fn is_contended(&self) -> bool {
        matches!(self, Self::Settle(error) if error.is_contended())
    }
}

impl From<StoreError> for OperatorError {
    fn from(error: StoreError) -> Self {
        Self::Settle(error.into())
    }
}

impl From<ProviderError> for OperatorError {
    fn from(error: ProviderError) -> Self {
        Self::Settle(error.into())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundKind {
    Made,
    /// It finished a refund that an earlier command had begun.
    Finished,
    /// Nothing: the total was reached already.
    Already,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refunded {
    pub stored: StoredOrder,
    pub kind: RefundKind,
    /// The sum that it refunded, in the payment's minor units.
    pub amount: Money,
    pub total: Money,
    pub currency: String,
}

impl<P: Provider> Desk<'_, &P> {
    /// The order with all that follows from a step, as it is then.
    async fn done(&self, id: &InternalId) -> Result<StoredOrder, OperatorError> {
        Ok(after_at_once(self.db, self.clock, read(self.db, id).await?).await)
    }

    /// Asks the provider about an order now, and writes what it says. A checkout that has expired is ended. Returns the
    /// stored order. After an error the same call may be repeated.
    pub async fn settle_now(&self, id: &InternalId) -> Result<(StoredOrder, Settled), OperatorError> {
        let stored = read(self.db, id).await?;
        if !stored.is_checkout() {
            return Err(OperatorError::NoPayment);
        }
        let settled = self.settle_or_end(&stored).await?;
        Ok((self.done(id).await?, settled))
    }

    /// Refunds a payment at the provider up to `total`, in the payment's minor units, or all of it. The amount refunded
    /// before counts, also by other means. A payment that needed an operator is refunded in full, which ends that. After an
    /// error the same call may be repeated at any time, and refunds the same amount once.
    pub async fn refund(&self, id: &InternalId, total: Option<Money>) -> Result<Refunded, OperatorError> {
        let begun = read(self.db, id).await?.effects.refund.filter(RefundAttempt::is_open);
        let (mut sent, mut lost, mut turns) = (None, 0, Turns::of(ORDER_TURNS));
        while turns.next().await {
            // The time before the provider is asked: it may have made a refund since it has responded.
            let asked_at = self.clock.seconds();
            let (stored, state) = self.settle_and_fetch(id).await?;
            let (intent, total) = payment(&stored, &state, total)?;
            let step = next_step(&stored.effects, &state, total, asked_at)?;
            if step == NextStep::Done {
                let refunded = refunded(stored, &state, begun.as_ref(), sent.as_ref());
                return Ok(Refunded { stored: self.done(id).await?, ..refunded });
            }
            if !is_written(write_step(self.db, &stored, &step, intent).await)? {
                continue;
            }
            let (NextStep::Begin(attempt) | NextStep::Resume(attempt)) = step else { continue };
            match self.send_attempt(&stored, intent, &attempt).await {
                // It may have been done: the next round says so, and otherwise it is sent again under the same key.
                Err(SettleError::Provider(ProviderError::Unavailable(_))) if lost < LOST => lost += 1,
                Err(SettleError::Store(StoreError::Contended)) => {}
                done => done?,
            }
            sent = Some(attempt);
        }
        Err(StoreError::Contended.into())
    }
}

/// The payment's id, and the total that is to be refunded.
pub(super) fn payment<'a>(
    stored: &StoredOrder,
    state: &'a PaymentState,
    total: Option<Money>,
) -> Result<(&'a str, Money), OperatorError> {
    let (order, effects) = (&stored.order, &stored.effects);
    let is_settled = order.status.was_paid();
    let is_known = effects.review.is_some() || effects.reviewed.is_some() || effects.refund.is_some();
    if is_settled && state.progress != Progress::Paid {
        // It was paid elsewhere, and set by hand.
        return Err(OperatorError::NoPayment);
    }
    if state.progress != Progress::Paid || !(is_settled || is_known || effects.failed_refunds > Money::ZERO) {
        return Err(OperatorError::Status(order.status));
    }
    if state.order.as_ref() != Some(&order.internal_id) {
        return Err(OperatorError::Foreign);
    }
    if total.is_some() && !agrees(order, effects, state) {
        return Err(OperatorError::OnlyInFull);
    }
    let intent = state.intent.as_deref().ok_or(OperatorError::NoPayment)?;
    let total = total.unwrap_or(state.amount);
    let method = state.facts.method.as_ref().filter(|word| Method::of(word).is_some_and(Method::is_final));
    match method.filter(|_| total > state.refunded) {
        Some(method) => Err(OperatorError::Final(method.clone())),
        None => Ok((intent, total)),
    }
}

/// The result, by the attempt that was open before and the one that was sent.
fn refunded(
    stored: StoredOrder,
    state: &PaymentState,
    begun: Option<&RefundAttempt>,
    sent: Option<&RefundAttempt>,
) -> Refunded {
    let last = stored.effects.refund.as_ref().filter(|last| last.outcome == Some(RefundOutcome::Refunded));
    let is_last = |attempt: &&RefundAttempt| last.is_some_and(|last| last.number == attempt.number);
    let (kind, amount) = match (begun.filter(is_last), sent.filter(is_last)) {
        (Some(begun), _) => (RefundKind::Finished, begun.amount()),
        (None, Some(sent)) => (RefundKind::Made, sent.amount()),
        (None, None) => (RefundKind::Already, Money::ZERO),
    };
    Refunded { kind, amount, total: state.refunded, currency: state.currency.to_uppercase(), stored }
}

impl<P: Provider> Desk<'_, &P> {
    /// Makes an order that needs an operator PAID although its payment does not agree with it, under the
    /// conditions of any payment. Returns the stored order, and whether it was accepted now. After an error the same call
    /// may be repeated.
    pub async fn accept(&self, id: &InternalId) -> Result<(StoredOrder, bool), OperatorError> {
        in_turns(TURNS, || async {
            let (mut stored, state) = self.settle_and_fetch(id).await?;
            let (order, effects) = (&stored.order, &stored.effects);
            let Some(reason) = effects.review.clone() else {
                let is_accepted =
                    effects.reviewed.as_ref().is_some_and(|reviewed| reviewed.outcome == ReviewOutcome::Accepted);
                return if is_accepted { Ok((stored, false)) } else { Err(OperatorError::NoReview) };
            };
            if state.progress != Progress::Paid || order.status == OrderStatus::Refunded {
                return Err(OperatorError::Status(order.status));
            }
            let disputed = effects.dispute.as_ref().filter(|dispute| takes_back(dispute));
            if let Some(dispute) = disputed.filter(|_| order.status != OrderStatus::Paid) {
                return Err(OperatorError::Disputed(dispute.clone()));
            }
            if let Some(open) = effects.refund.as_ref().filter(|attempt| attempt.is_open()) {
                return Err(RefundRefusal::Unfinished { total: open.after }.into());
            }
            let reviewed = Reviewed { reason, outcome: ReviewOutcome::Accepted, at: self.clock.seconds() };
            let tax = tax_of(order, effects, &state);
            let step = Step {
                intent: unknown_intent(&stored, &state),
                tax: tax.as_ref(),
                period: state.period.as_ref(),
                reviewed: Some(&reviewed),
                ..Step::to(OrderStatus::Paid, self.clock.seconds())
            };
            if order.status == OrderStatus::Paid {
                end_review(self.db, &stored, &reviewed).await?;
            } else if write_paid(self.db, self.clock, &mut stored, &step).await?.is_err() {
                return Err(OperatorError::SoldOut);
            }
            // What was refunded of it, and what follows from a payment.
            self.apply(id, &state).await?;
            Ok((self.done(id).await?, true))
        })
        .await
    }

    /// An order and what the provider says of its payment, with nothing of it still to be written: the order is as it was
    /// before the provider was asked, so that no refund was begun in between which the provider's words do not have.
    pub(super) async fn settle_and_fetch(&self, id: &InternalId) -> Result<(StoredOrder, PaymentState), OperatorError> {
        in_turns(ORDER_TURNS, || async {
            let before = read(self.db, id).await?;
            let state = self.provider.fetch(before.session().ok_or(OperatorError::NoPayment)?).await?;
            self.apply(id, &state).await?;
            let after = read(self.db, id).await?;
            let shown = |stored: &StoredOrder| {
                let effects = &stored.effects;
                let sums = (effects.refunded, effects.failed_refunds, effects.unreturned);
                (stored.order.status, effects.refund.clone(), effects.review.clone(), sums)
            };
            if shown(&before) == shown(&after) { Ok((after, state)) } else { Err(StoreError::Contended.into()) }
        })
        .await
    }

    /// Ends a pending order's checkout at the provider, and gives back what it holds. If the buyer has paid in the
    /// meantime, the order is paid. An order of our account whose checkout the provider does not have is ended if
    /// `ends_gone`. Returns the stored order. After an error the same call may be repeated.
    pub async fn cancel(&self, id: &InternalId, ends_gone: bool) -> Result<StoredOrder, OperatorError> {
        let stored = read(self.db, id).await?;
        if stored.order.status != OrderStatus::Pending {
            return Err(OperatorError::Status(stored.order.status));
        }
        if !stored.is_checkout() {
            return Err(OperatorError::NoPayment);
        }
        let ended = self.end(&stored).await;
        let ends = if ends_gone { EndsGone::Now } else { EndsGone::Later };
        match self.or_gone(&stored, ended, ends).await? {
            Settled::Open => Err(OperatorError::Processing),
            Settled::Gone if is_own(self.provider, &stored) => Err(OperatorError::Gone),
            Settled::Gone => Err(OperatorError::Stranded),
            Settled::Changed | Settled::Unchanged => self.done(id).await,
        }
    }
}

fn is_own<P: Provider>(provider: &P, stored: &StoredOrder) -> bool {
    stored.effects.provider.as_ref().is_some_and(|checkout| origin(checkout, &provider.account()) == Origin::Own)
}

pub(super) async fn read(db: &Db, id: &InternalId) -> Result<StoredOrder, OperatorError> {
    orders::get(db, id).await?.ok_or_else(|| OperatorError::Unknown(id.clone()))
}
