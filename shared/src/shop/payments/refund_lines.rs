//! Refunds of units of single lines. What they give back is written on the order first, in one transaction, with the total to
//! which the payment is refunded then: whenever the process is killed, the repeated command finds that, and refunds the rest.

use super::desk::Desk;
use super::operator::{OperatorError, RefundKind, Refunded, payment, read};
use super::provider::Provider;
use crate::clock::Clock;
use crate::model::{DeliveryStep, InternalId, Money, Order, OrderDelivery, OrderStatus, TakenUnits};
use crate::rules::dispute::takes_back;
use crate::rules::order::less_returned;
use crate::rules::payment::PaymentState;
use crate::rules::refund::{LineUnits, next_step, with_returned};
use crate::shop::delivery;
use crate::shop::orders::change::{after, after_at_once};
use crate::shop::orders::effects::{OrderInputs, change_ledgers, give_back_units};
use crate::shop::orders::{SetStatusError, StoredOrder, lists, set_status};
use crate::table::transaction::{Write, send};
use crate::table::{Db, StoreError, in_turns};

/// How often an order is looked at while other processes change it.
const REFUND_TURNS: u32 = 8;

/// The outcome of refunding units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinesRefunded {
    pub stored: StoredOrder,
    /// Whether this call has given units back; if not, another one had.
    pub is_new: bool,
    /// What was done at the provider; `None` if nothing of the payment comes back there.
    pub payment: Option<Refunded>,
}

impl<P: Provider> Desk<'_, Option<&P>> {
    /// Refunds units of an order's lines, up to those `wanted`: money by every means of payment, stock, ownership and commands.
    /// A provider is needed for an order whose payment is at one. After an error the same call may be repeated at any time, and
    /// gives back once.
    pub async fn refund_lines(&self, id: &InternalId, wanted: &[LineUnits]) -> Result<LinesRefunded, OperatorError> {
        let (stored, is_new) = self.give_back(id, wanted).await?;
        after(self.db, self.clock, &stored).await?;
        let payment = match self.connected().filter(|_| stored.effects.refund_to > Money::ZERO) {
            Some(desk) => Some(desk.refund_rest(id, stored.effects.refund_to).await?),
            None => None,
        };
        end_if_nothing_is_left(self.db, self.clock, id).await?;
        let stored = after_at_once(self.db, self.clock, read(self.db, id).await?).await;
        Ok(LinesRefunded { stored, is_new, payment })
    }

    /// Writes what is given back, unless it is already. Returns the order then, and whether this call wrote it.
    async fn give_back(&self, id: &InternalId, wanted: &[LineUnits]) -> Result<(StoredOrder, bool), OperatorError> {
        in_turns(REFUND_TURNS, || async {
            let asked_at = self.clock.seconds();
            let first = read(self.db, id).await?;
            let is_charged = first.is_checkout() && first.order.price > Money::ZERO;
            let (stored, state) = match self.connected().filter(|_| is_charged) {
                Some(desk) => {
                    let (stored, state) = desk.settle_and_fetch(id).await?;
                    (stored, Some(state))
                }
                None if is_charged => return Err(OperatorError::NoProvider),
                None => (first, None),
            };
            let lines = with_returned(&stored.order, &stored.effects, wanted)?;
            if lines == stored.order.lines {
                return Ok((stored, false));
            }
            check(&stored)?;
            let is_made = |delivery: &OrderDelivery| delivery.step == DeliveryStep::Queue || delivery.moving.is_some();
            if stored.effects.delivery.as_ref().is_some_and(is_made) {
                // What is still being queued, or moved, is so first: it is made of the lines as they were.
                if !delivery::follow(self.db, self.clock, &stored).await? {
                    return Err(OperatorError::Moving);
                }
                return Err(StoreError::Contended.into());
            }
            let after = Order { lines, ..stored.order.clone() };
            let refund_to = match &state {
                Some(state) => target(&stored, &after, state, asked_at)?,
                None => Money::ZERO,
            };
            write(self.db, self.clock, &stored, &after, refund_to).await?;
            Ok((read(self.db, id).await?, true))
        })
        .await
    }
}

fn check(stored: &StoredOrder) -> Result<(), OperatorError> {
    if stored.order.status != OrderStatus::Paid {
        return Err(OperatorError::Status(stored.order.status));
    }
    if let Some(dispute) = stored.effects.dispute.as_ref().filter(|dispute| takes_back(dispute)) {
        return Err(OperatorError::Disputed(dispute.clone()));
    }
    if stored.effects.review.is_some() { Err(OperatorError::OnlyInFull) } else { Ok(()) }
}

/// The total to which the payment is refunded with `after`, once it is known that it can be.
fn target(stored: &StoredOrder, after: &Order, state: &PaymentState, asked_at: i64) -> Result<Money, OperatorError> {
    let more = after.charged_for_returned().less(stored.order.charged_for_returned());
    let before = stored.effects.refund_to.max(state.refunded);
    let total = (before + more).min(state.amount);
    if total > state.refunded {
        payment(stored, state, Some(total))?;
        next_step(&stored.effects, state, total, asked_at)?;
    }
    Ok(if more > Money::ZERO { total } else { stored.effects.refund_to })
}

/// Writes the returned units with everything that they give back.
async fn write(
    db: &Db,
    clock: &dyn Clock,
    stored: &StoredOrder,
    after: &Order,
    refund_to: Money,
) -> Result<(), OperatorError> {
    let now = clock.seconds();
    let inputs = OrderInputs::read(db, stored).await?;
    let begun = stored.effects.delivery.as_ref().filter(|delivery| delivery.step == DeliveryStep::Queued);
    let begun = begun.map(|delivery| stored.begin_delivery(with_units(delivery, stored, after), now)).transpose()?;
    let (with, others) = begun.map_or((None, Vec::new()), |(own, others)| (Some(own), others));
    let mut writes: Vec<Write> = stored.return_lines(&after.lines, refund_to, now, with)?;
    writes.extend(others);
    writes.push(lists::put_returned(stored, after, now)?);
    writes.extend(give_back_units(stored, after, &inputs));
    let [before, then] = [&stored.order, after].map(|order| less_returned(order, &stored.effects));
    writes.extend(change_ledgers(&before, &then, &inputs.ledgers, now));
    if refund_to == stored.effects.refund_to {
        writes.extend(inputs.telling.returned(stored, &after.lines, now)?);
    }
    Ok(send(db, writes).await?)
}

/// The delivery with the units that are to be taken back.
fn with_units(delivery: &OrderDelivery, stored: &StoredOrder, after: &Order) -> OrderDelivery {
    let lines = (0_u16..).zip(stored.order.lines.iter().zip(&after.lines));
    let taken = lines.filter(|(_, (before, then))| then.returned > before.returned).map(|(line, (before, then))| {
        let total = then.returned_total().less(before.returned_total());
        TakenUnits {
            line,
            count: then.returned - before.returned,
            total,
            left: then.units(),
            left_total: then.total.less(then.returned_total()),
            first: None,
        }
    });
    OrderDelivery { units: delivery.units.iter().cloned().chain(taken).collect(), ..delivery.clone() }
}

impl<P: Provider> Desk<'_, &P> {
    /// Refunds the payment up to a total, which may be reached already.
    async fn refund_rest(&self, id: &InternalId, total: Money) -> Result<Refunded, OperatorError> {
        let (stored, state) = self.settle_and_fetch(id).await?;
        if state.refunded >= total {
            let (amount, currency) = (Money::ZERO, state.currency.to_uppercase());
            return Ok(Refunded { stored, kind: RefundKind::Already, amount, total: state.refunded, currency });
        }
        self.refund(id, Some(total)).await
    }
}

/// Ends an order that has no unit left, and whose payment no provider refunds: that one would end it.
async fn end_if_nothing_is_left(db: &Db, clock: &dyn Clock, id: &InternalId) -> Result<(), OperatorError> {
    let stored = read(db, id).await?;
    let has_left = stored.order.lines.iter().any(|line| line.units() > 0);
    let is_charged = stored.is_checkout() && stored.order.price > Money::ZERO;
    if has_left || is_charged || stored.order.status != OrderStatus::Paid {
        return Ok(());
    }
    match set_status(db, clock, id, OrderStatus::Refunded).await {
        Ok(_) | Err(SetStatusError::Forbidden { .. }) => Ok(()),
        Err(SetStatusError::Store(error)) => Err(error.into()),
        Err(_) => Err(StoreError::Contended.into()),
    }
}
