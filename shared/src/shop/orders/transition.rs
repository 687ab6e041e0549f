//! A change of an order's status, as the writes of one transaction. Every change goes through [`plan`]: what it takes and gives back is
//! decided there.

use super::after::after_at_once;
use super::effects::{
    Limits, Taken, add_to_ledgers, give_back_stock, spent, take_from_ledgers, take_stock, users_exist,
};
use super::inputs::OrderInputs;
use super::refusal::{Guarded, OrderRefusal};
use super::unfinished::Unfinished;
use super::{Payment, StoredOrder};
use crate::clock::Clock;
use crate::model::{InternalId, ItemId, OrderLine, OrderStatus, Reviewed, UserId};
use crate::rules::order::may_become;
use crate::rules::ownership::with_terms;
use crate::rules::payment::PaidPeriod;
use crate::shop::statistics::Statistics;
use crate::shop::subscriptions::of_orders;
use crate::shop::{carts, orders};
use crate::table::transaction::{Write, send_guarded};
use crate::table::{Db, StoreError, TURNS, in_turns};

/// The reason why a status was not changed.
#[derive(Debug, thiserror::Error)]
pub enum SetStatusError {
    #[error("there is no order {0}")]
    Unknown(InternalId),
    #[error("an order that is {} cannot become {}", from.as_str(), to.as_str())]
    Forbidden { from: OrderStatus, to: OrderStatus },
    /// A limit, a code or a balance does not allow it.
    #[error(transparent)]
    Refused(#[from] OrderRefusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

crate::table::lost_race!(SetStatusError);

#[derive(Debug, Clone, Copy)]
pub(in crate::shop) struct Step<'a> {
    pub(in crate::shop) to: OrderStatus,
    /// Seconds since 1970 UTC.
    pub(in crate::shop) now: i64,
    /// The provider's payment, if the change is about one.
    pub(in crate::shop) intent: Option<&'a str>,
    /// The period of a subscription that the payment is for.
    pub(in crate::shop) period: Option<&'a PaidPeriod>,
    /// The lines, if recipients have become known.
    pub(in crate::shop) lines: Option<&'a [OrderLine]>,
    pub(in crate::shop) limits: Limits,
    /// The outcome of an operator's review that ends with it.
    pub(in crate::shop) reviewed: Option<&'a Reviewed>,
}

impl Step<'_> {
    /// A change without a provider.
    pub(in crate::shop) const fn to(to: OrderStatus, now: i64) -> Self {
        Self { to, now, intent: None, period: None, lines: None, limits: Limits::Guarded, reviewed: None }
    }
}

#[derive(Debug)]
pub(in crate::shop) struct Planned {
    /// The writes, the order's own first.
    pub(in crate::shop) writes: Vec<Guarded>,
    /// The order once they are written, as far as its cart and delivery need it.
    pub(in crate::shop) after: StoredOrder,
    /// Items that are no longer published: counted, but not guarded by a limit.
    pub(in crate::shop) unguarded: Vec<ItemId>,
}

/// Reads what a change of status depends on, and plans its writes.
pub(in crate::shop) async fn plan(db: &Db, before: &StoredOrder, step: &Step<'_>) -> Result<Planned, SetStatusError> {
    let from = before.order.status;
    if !may_become(from, step.to) {
        return Err(SetStatusError::Forbidden { from, to: step.to });
    }
    let mut order = before.clone();
    if step.to == OrderStatus::Paid {
        order.order.moved_to = of_orders::moved_to(db, before).await?;
    }
    if let Some(lines) = step.lines {
        order.order.lines = lines.to_vec();
    }
    let inputs = OrderInputs::read(db, &order).await?;
    let begun = match step.to {
        OrderStatus::Paid => of_orders::begin(db, &order, &inputs.items, step.period, step.now).await?,
        _ => None,
    };
    if step.to == OrderStatus::Paid {
        let period = begun.as_ref().map(|begun| &begun.period);
        order.order.lines = with_terms(&order.order, &inputs.ledgers, period, step.now);
    }
    let Taken { mut writes, unguarded } = effects(&order, &inputs, step, begun.as_ref().and_then(|begun| begun.user))?;
    if from == OrderStatus::Paid {
        let ended = of_orders::end(db, &order, false, step.now).await?;
        writes.extend(ended.into_iter().map(Guarded::from));
    }
    let due = take_step(&mut order, step);
    if let Some(begun) = begun {
        order.effects.subscription = Some(begun.period);
        writes.extend(begun.writes.into_iter().map(Guarded::from));
    }
    writes.insert(0, before.change_to(&order)?.into());
    // The same row may be due at the same second again: then it is replaced, not removed.
    let next = due.map(|due| Unfinished::put(&order.order, due)).transpose()?;
    let last = before.unfinished().filter(|_| before.effects.due != due).map(Write::delete);
    let payment = step.intent.map(|intent| Payment::put(&order.order, intent)).transpose()?;
    let user = cart_of(before, &inputs).filter(|_| ends_checkout(before, step.to));
    let cart = user.map(|user| carts::forget_checkout(user, &order.order.internal_id));
    writes.extend([last, next, payment, cart].into_iter().flatten().map(Guarded::from));
    Ok(Planned { writes, after: order, unguarded })
}

/// Gives the order its new status, and what is written with it. Returns when the sweep looks at it next.
fn take_step(order: &mut StoredOrder, step: &Step<'_>) -> Option<i64> {
    let (from, is_checkout) = (order.order.status, order.is_checkout());
    let effects = &mut order.effects;
    if from == OrderStatus::Pending && step.to == OrderStatus::Paid && is_checkout {
        effects.cart_cleared = Some(false);
    }
    // Statistics and delivery follow, at the latest at the next sweep.
    let is_followed = is_checkout || effects.delivery.is_some();
    effects.due = (is_followed && matches!(step.to, OrderStatus::Paid | OrderStatus::Refunded)).then_some(step.now);
    effects.refunded_at = (step.to == OrderStatus::Refunded).then_some(step.now);
    effects.over_limit |= step.limits == Limits::Ignored;
    if let (Some(intent), Some(provider)) = (step.intent, &mut effects.provider) {
        provider.intent = Some(intent.to_owned());
    }
    if let Some(reviewed) = step.reviewed {
        (effects.reviewed, effects.review) = (Some(reviewed.clone()), None);
    }
    effects.held = false;
    order.order.status = step.to;
    effects.due
}

/// Whether the buyer's cart must forget the checkout now. A paid one is forgotten when its lines leave the cart.
fn ends_checkout(before: &StoredOrder, to: OrderStatus) -> bool {
    before.order.status == OrderStatus::Pending && to != OrderStatus::Paid
}

/// `changed` is a user whose account another write changes, and checks.
fn effects(
    order: &StoredOrder,
    inputs: &OrderInputs,
    step: &Step<'_>,
    changed: Option<UserId>,
) -> Result<Taken, OrderRefusal> {
    let mut taken = Taken { writes: Vec::new(), unguarded: Vec::new() };
    match (order.order.status, step.to) {
        (_, OrderStatus::Paid) => {
            let mut written = changed;
            if !order.effects.held {
                taken = take_stock(order, inputs)?;
                written = changed.or_else(|| order.order.owner.filter(|_| spent(order).is_some()));
            }
            taken.writes.extend(users_exist(inputs, written));
            taken.writes.extend(add_to_ledgers(order, inputs, step.limits, step.now)?);
        }
        (OrderStatus::Paid, _) => {
            taken.writes = give_back_stock(order, inputs);
            taken.writes.extend(take_from_ledgers(order, inputs, step.now));
        }
        _ if order.effects.held => taken.writes = give_back_stock(order, inputs),
        _ => {}
    }
    Ok(taken)
}

/// The order's owner, if their cart remembers the order as its checkout.
fn cart_of(order: &StoredOrder, inputs: &OrderInputs) -> Option<UserId> {
    order.order.owner.filter(|_| inputs.checkout.as_ref() == Some(&order.order.internal_id))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub stored: StoredOrder,
    /// The status before; the same if nothing had to be changed.
    pub from: OrderStatus,
    /// Items that are no longer published: counted, but not guarded by a limit.
    pub unguarded: Vec<ItemId>,
    pub statistics: Statistics,
}

/// Changes an order's status. A payment takes what the order takes, and a refund gives it back, each once: the write is
/// conditional on the status that was read. Setting the status that the order has changes nothing. After an error
/// nothing is changed, unless the database did not respond.
pub async fn set_status(
    db: &Db,
    clock: &dyn Clock,
    id: &InternalId,
    to: OrderStatus,
) -> Result<Changed, SetStatusError> {
    in_turns(TURNS, || async {
        let before = orders::get(db, id).await?.ok_or_else(|| SetStatusError::Unknown(id.clone()))?;
        let from = before.order.status;
        if from == to {
            let statistics = after_at_once(db, clock, &before).await;
            return Ok(Changed { stored: before, from, unguarded: Vec::new(), statistics });
        }
        let Planned { writes, after, unguarded } = plan(db, &before, &Step::to(to, clock.seconds())).await?;
        send_guarded(db, writes).await??;
        let statistics = after_at_once(db, clock, &after).await;
        let stored = orders::get(db, id).await?.ok_or_else(|| SetStatusError::Unknown(id.clone()))?;
        Ok(Changed { stored, from, unguarded, statistics })
    })
    .await
}
