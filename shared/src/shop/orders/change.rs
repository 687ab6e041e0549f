//! A change of an order's status: what it depends on, the writes of one transaction that it is, and its consequences once it is written
//! (the buyer's cart without what was bought, the delivery, the statistics). Every change goes through [`plan`]: what it takes and gives
//! back is decided there.

use super::counted::find_places;
use super::effects::{Limits, OrderInputs, Taken, changes};
use super::refusal::{Guarded, Limit, OrderRefusal};
use super::{Payment, StoredOrder, lists};
use crate::clock::Clock;
use crate::model::{
    Cart, CodeText, InternalId, ItemId, Money, Order, OrderLine, OrderStatus, PaymentFacts, PlayerName, Reviewed, Tax,
    UserId,
};
use crate::rules::checkout::without_bought;
use crate::rules::order::may_become;
use crate::rules::ownership::with_terms;
use crate::rules::payment::PaidPeriod;
use crate::shop::accounts::{self, bans, names};
use crate::shop::delivery::follow_or_leave;
use crate::shop::notices::of_stock;
use crate::shop::payments::cards::hash_of;
use crate::shop::statistics::catch_up;
use crate::shop::stock::addresses;
use crate::shop::subscriptions::of_orders;
use crate::shop::{carts, orders};
use crate::table::transaction::{Write, send_guarded, send_patiently, sent};
use crate::table::{Db, StoreError, TURNS, Turns, in_turns, keys, published, read_live};

/// The lines with the accounts of all recipients; `None` if they are all known. A recipient who is banned by now has
/// none.
pub(in crate::shop) async fn with_accounts(
    db: &Db,
    clock: &dyn Clock,
    order: &Order,
) -> Result<Option<Vec<OrderLine>>, StoreError> {
    let mut lines = order.lines.clone();
    for line in lines.iter_mut().filter(|line| line.recipient.is_none()) {
        let name = line.chosen.as_ref().and_then(|chosen| chosen.gift_to.as_ref());
        if let Some(name) = name {
            line.recipient = account(db, clock, name).await?;
        }
    }
    Ok((lines != order.lines).then_some(lines))
}

/// The account of a player, made if there is none; `None` if the name is banned.
pub(in crate::shop) async fn account(
    db: &Db,
    clock: &dyn Clock,
    name: &PlayerName,
) -> Result<Option<UserId>, StoreError> {
    if let Some(user) = names::owner(db, name.key()).await? {
        return Ok(Some(user));
    }
    let config = published::read_active_version(db).await?.unwrap_or_default().config;
    let row = accounts::create(db, &config, name, clock.seconds()).await?;
    Ok(row.map(|row| row.user))
}

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
    /// The fingerprint of the card that paid, which must not be banned.
    pub(in crate::shop) card: Option<&'a str>,
    /// The lines, if recipients have become known.
    pub(in crate::shop) lines: Option<&'a [OrderLine]>,
    pub(in crate::shop) limits: Limits,
    /// The outcome of an operator's review that ends with it.
    pub(in crate::shop) reviewed: Option<&'a Reviewed>,
    /// The tax of the payment, if the change is one to PAID.
    pub(in crate::shop) tax: Option<&'a Tax>,
    /// What is known of the payment, if the change is about one.
    pub(in crate::shop) facts: Option<&'a PaymentFacts>,
}

impl Step<'_> {
    /// A change without a provider.
    pub(in crate::shop) const fn to(to: OrderStatus, now: i64) -> Self {
        Self {
            to,
            now,
            intent: None,
            period: None,
            card: None,
            lines: None,
            limits: Limits::Guarded,
            reviewed: None,
            facts: None,
            tax: None,
        }
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
    let (from, becomes_paid) = (before.order.status, step.to == OrderStatus::Paid);
    if !may_become(from, step.to) {
        return Err(SetStatusError::Forbidden { from, to: step.to });
    }
    let mut order = before.clone();
    if let Some(lines) = step.lines {
        order.order.lines = lines.to_vec();
    }
    if becomes_paid {
        order.order.moved_to = of_orders::moved_to(db, before).await?;
    }
    let ended = if from == OrderStatus::Paid { of_orders::end(db, before, false, step.now).await? } else { Vec::new() };
    let inputs = OrderInputs::read(db, &order).await?;
    let mut begun = None;
    if becomes_paid {
        begun = of_orders::begin(db, &order, &inputs.items, step.period, step.now).await?;
        let period = begun.as_ref().map(|begun| &begun.period);
        order.order.lines = with_terms(&order.order, &inputs.ledgers, period, step.now);
        if !order.effects.held {
            find_places(db, &mut order.order, &inputs, (step.now, false)).await?;
        }
    }
    let written = begun.as_ref().and_then(|begun| begun.user);
    let Taken { mut writes, unguarded } = changes(&order, &inputs, step, written)?;
    // The cart of a paid order forgets the checkout when its lines leave it.
    let is_remembered = inputs.checkout.as_ref() == Some(&order.order.internal_id);
    let forgets = is_remembered && from == OrderStatus::Pending && !becomes_paid;
    let cart = order.order.owner.filter(|_| forgets);
    let cart = cart.map(|owner| carts::forget_checkout(owner, &order.order.internal_id));
    if becomes_paid && let Some((card, salt)) = step.card.zip(inputs.card_salt.as_deref()) {
        writes.push(bans::card_must_not_be_banned(&hash_of(salt, card)).guarded_by(Limit::Card));
    }
    take_step(&mut order, step);
    let mut others = ended;
    if let Some(begun) = begun {
        order.effects.subscription = Some(begun.period);
        others.extend(begun.writes);
    }
    others.extend(before.due_rows(order.effects.due)?);
    others.extend(step.intent.map(|intent| Payment::put(&order.order, intent)).transpose()?);
    others.extend(cart);
    others.extend(inputs.telling.changed(before, &order, step.now)?);
    if step.to == OrderStatus::Refunded {
        others.push(lists::put_refunded(before, step.now)?);
    }
    // What is known of the buyer's address follows, and the order forgets it.
    let counted = before.address().and_then(|address| Some((&address.hash, address.counted?)));
    others.extend(counted.and_then(|(hash, price)| {
        let is_left = inputs.has_address && price > Money::ZERO;
        if becomes_paid {
            Some(addresses::paid(hash, step.now))
        } else {
            is_left.then(|| addresses::take_off(hash, price))
        }
    }));
    writes.insert(0, before.change_to(&order)?.into());
    writes.extend(others.into_iter().map(Guarded::from));
    Ok(Planned { writes, after: order, unguarded })
}

/// Gives the order its new status, and what is written with it.
fn take_step(order: &mut StoredOrder, step: &Step<'_>) {
    let (from, is_checkout) = (order.order.status, order.is_checkout());
    let effects = &mut order.effects;
    if from == OrderStatus::Pending && step.to == OrderStatus::Paid && is_checkout {
        effects.cart_cleared = Some(false);
    }
    // Statistics and delivery follow, at the latest at the next sweep.
    let is_followed = is_checkout || effects.delivery.is_some();
    effects.due = (is_followed && step.to.was_paid()).then_some(step.now);
    effects.paid_at = (step.to == OrderStatus::Paid).then_some(step.now).or(effects.paid_at);
    effects.refunded_at = (step.to == OrderStatus::Refunded).then_some(step.now);
    effects.over_limit |= step.limits == Limits::Ignored;
    if let Some(provider) = &mut effects.provider {
        provider.intent = step.intent.map(str::to_owned).or_else(|| provider.intent.take());
        provider.address = None;
    }
    if let Some(reviewed) = step.reviewed {
        (effects.reviewed, effects.review) = (Some(reviewed.clone()), None);
    }
    effects.facts = step.facts.cloned().or_else(|| effects.facts.take());
    effects.held = false;
    if let Some(tax) = step.tax {
        order.order.tax = Some(tax.clone());
        order.order.price = order.order.price + order.order.tax_on_top();
    }
    order.order.status = step.to;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub stored: StoredOrder,
    /// The status before; the same if nothing had to be changed.
    pub from: OrderStatus,
    /// Items that are no longer published: counted, but not guarded by a limit.
    pub unguarded: Vec<ItemId>,
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
            return Ok(Changed { stored: after_at_once(db, clock, before).await, from, unguarded: Vec::new() });
        }
        let Planned { writes, after, unguarded } = plan(db, &before, &Step::to(to, clock.seconds())).await?;
        send_guarded(db, writes).await??;
        Ok(Changed { stored: after_at_once(db, clock, after).await, from, unguarded })
    })
    .await
}

/// Writes a change of status, or says which limit does not allow it. Once it is written, `stored` is the order after it, as far as
/// its cart and delivery need it.
async fn change(db: &Db, stored: &mut StoredOrder, step: &Step<'_>) -> Result<Result<(), OrderRefusal>, StoreError> {
    let Planned { writes, after, .. } = match plan(db, stored, step).await {
        Ok(planned) => planned,
        Err(SetStatusError::Refused(refusal)) => return Ok(Err(refusal)),
        Err(SetStatusError::Store(error)) => return Err(error),
        Err(SetStatusError::Forbidden { .. } | SetStatusError::Unknown(_)) => return Err(StoreError::Contended),
    };
    let written = send_patiently(db, writes).await?;
    if written.is_ok() {
        *stored = after;
    }
    Ok(written)
}

/// [`change`] to a status that no limit can refuse.
pub(in crate::shop) async fn must_change(db: &Db, stored: &mut StoredOrder, step: &Step<'_>) -> Result<(), StoreError> {
    change(db, stored, step).await?.map_err(|_| StoreError::Contended)
}

/// Writes that an order is paid, as [`change`] does. Recipients without an account get one. What is held cannot be refused: if a
/// gift came in between, the limit is exceeded, and the order says so.
pub(in crate::shop) async fn write_paid(
    db: &Db,
    clock: &dyn Clock,
    stored: &mut StoredOrder,
    step: &Step<'_>,
) -> Result<Result<(), OrderRefusal>, StoreError> {
    let lines = with_accounts(db, clock, &stored.order).await?;
    let step = Step { lines: lines.as_deref(), ..*step };
    match change(db, stored, &step).await? {
        // A player's limit in time is never exceeded: the payment of a gift that comes second is returned.
        Err(refusal @ (OrderRefusal::Card | OrderRefusal::UserTime { .. })) => Ok(Err(refusal)),
        Err(_) if stored.effects.held => change(db, stored, &Step { limits: Limits::Ignored, ..step }).await,
        changed => Ok(changed),
    }
}

/// Ends an order that cannot be paid, and gives back what it holds.
pub(in crate::shop) async fn give_up(db: &Db, clock: &dyn Clock, id: &InternalId) -> Result<(), StoreError> {
    in_turns(TURNS, || async {
        let pending = orders::get(db, id).await?.filter(|stored| stored.order.status == OrderStatus::Pending);
        let Some(mut stored) = pending else { return Ok(()) };
        must_change(db, &mut stored, &Step::to(OrderStatus::Cancelled, clock.seconds())).await
    })
    .await
}

/// Pays a pending order that costs nothing, or ends it if what it sells cannot be taken any more.
pub(in crate::shop) async fn complete(db: &Db, clock: &dyn Clock, id: &InternalId) -> Result<(), StoreError> {
    in_turns(TURNS, || async {
        let Some(mut stored) = orders::get(db, id).await? else { return Ok(()) };
        let to = |status| Step::to(status, clock.seconds());
        if stored.order.status == OrderStatus::Pending
            && write_paid(db, clock, &mut stored, &to(OrderStatus::Paid)).await?.is_err()
        {
            return must_change(db, &mut stored, &to(OrderStatus::Cancelled)).await;
        }
        if let Err(error) = after(db, clock, &stored).await {
            tracing::warn!(order = %id, %error, "left to the sweep");
        }
        Ok(())
    })
    .await
}

/// Starts what follows from a change that is written: clears the buyer's cart and delivers. The cart is left to the sweep if its
/// buyer keeps changing it, the delivery if it fails, the statistics in any case. `stored` is the order before or after the change.
pub(in crate::shop) async fn after(db: &Db, clock: &dyn Clock, stored: &StoredOrder) -> Result<(), StoreError> {
    clear_cart(db, stored).await?;
    if stored.effects.delivery.is_some() {
        follow_or_leave(db, clock, stored).await;
    }
    Ok(())
}

/// [`after`] of a tool's change: whatever fails is left to the sweep, and the statistics follow at once. Returns the order as it is
/// then.
pub(in crate::shop) async fn after_at_once(db: &Db, clock: &dyn Clock, stored: StoredOrder) -> StoredOrder {
    let id = &stored.order.internal_id;
    // Boxed, as what a command awaits nests deeper than the compiler follows.
    let told = Box::pin(of_stock::tell(db, std::slice::from_ref(id), clock.seconds())).await;
    let followed = [told, Box::pin(after(db, clock, &stored)).await, Box::pin(catch_up(db, id)).await.map(drop)];
    for error in followed.into_iter().filter_map(Result::err) {
        tracing::warn!(order = %id, %error, "left to the sweep");
    }
    orders::get(db, id).await.ok().flatten().unwrap_or(stored)
}

/// Removes what was bought from the buyer's cart, and the cart's checkout if it is still the order, unless that is done already.
/// `false` if the buyer kept changing the cart: the same call may be repeated, as after an error.
pub(in crate::shop) async fn clear_cart(db: &Db, stored: &StoredOrder) -> Result<bool, StoreError> {
    let (id, mut known, mut turns) = (&stored.order.internal_id, Some(stored.clone()), Turns::of(TURNS));
    while turns.next().await {
        let stored = match known.take() {
            Some(known) => Some(known),
            None => orders::get(db, id).await?,
        };
        let Some(stored) = stored.filter(|stored| stored.effects.cart_cleared == Some(false)) else { return Ok(true) };
        let cart = match stored.order.owner {
            Some(owner) => read_live::<Cart>(db, &keys::cart(owner)).await?,
            None => None,
        };
        let mut writes: Vec<Write> = vec![stored.set_cart_cleared()];
        if let Some(cart) = cart.filter(|cart| cart.checkout.as_ref().is_some_and(|checkout| checkout.order == *id)) {
            let gift_card = stored.effects.gift_card.as_ref().map(|payment| &payment.code);
            let codes: Vec<&CodeText> = stored.effects.coupon.iter().chain(gift_card).collect();
            writes.push(carts::write(&without_bought(&cart, &stored.order.lines, &codes))?);
        }
        if sent(db, writes).await? {
            return Ok(true);
        }
    }
    Ok(false)
}
