//! A change of an order's status: what it depends on, the writes of one transaction that it is, and its consequences once it is written
//! (the buyer's cart without what was bought, the delivery, the statistics). Every change goes through [`plan`]: what it takes and gives
//! back is decided there.

use super::effects::{
    Limits, Taken, add_to_ledgers, give_back_stock, spent, take_from_ledgers, take_stock, users_exist,
};
use super::refusal::{Guarded, OrderRefusal};
use super::unfinished::Unfinished;
use super::{Payment, StoredOrder, active_version};
use crate::clock::Clock;
use crate::model::{
    ActiveVersion, Cart, Code, CodeText, InternalId, ItemId, Ledger, Order, OrderLine, OrderStatus, PlayerName,
    PublishedItem, Reviewed, StoreDelivery, UserId,
};
use crate::rules::checkout::without_bought;
use crate::rules::order::{may_become, users};
use crate::rules::ownership::with_terms;
use crate::rules::payment::PaidPeriod;
use crate::shop::accounts::{self, names};
use crate::shop::delivery::follow_or_leave;
use crate::shop::statistics::{Statistics, follow as count};
use crate::shop::stock::{self, ledgers};
use crate::shop::subscriptions::of_orders;
use crate::shop::{carts, codes, orders};
use crate::table::transaction::{Write, is_written, send, send_guarded, sent};
use crate::table::{Db, RETRIES, StoreError, TURNS, in_turns, keys, published, read_live};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug)]
pub(in crate::shop) struct OrderInputs {
    /// The order's users, owner and recipients, who have an account.
    pub(in crate::shop) users: BTreeSet<UserId>,
    /// The ledgers of those who have one.
    pub(in crate::shop) ledgers: BTreeMap<UserId, Ledger>,
    pub(in crate::shop) items: BTreeMap<ItemId, PublishedItem>,
    /// Units sold of the order's items that have a counter.
    pub(in crate::shop) counted: BTreeMap<ItemId, i64>,
    pub(in crate::shop) coupon: Option<Code>,
    pub(in crate::shop) has_use: bool,
    pub(in crate::shop) gift_card: Option<Code>,
    /// The order that the owner's cart remembers as its checkout; read only for the order of a checkout.
    pub(in crate::shop) checkout: Option<InternalId>,
    /// The game servers, and the commands of every sale.
    pub(in crate::shop) delivery: StoreDelivery,
}

impl OrderInputs {
    pub(in crate::shop) async fn read(db: &Db, order: &StoredOrder) -> Result<Self, StoreError> {
        let ActiveVersion { version, config, .. } = active_version(db).await?;
        let ids: BTreeSet<ItemId> = order.order.lines.iter().map(|line| line.item).collect();
        let (owner, of_order) = (order.order.owner, users(&order.order));
        let (coupon, gift) = (order.effects.coupon.as_ref(), order.effects.gift_card.as_ref());
        let of_item = |id: &ItemId| [keys::item(&version, *id), keys::count(*id)];
        let mut wanted: Vec<_> = ids.iter().flat_map(of_item).collect();
        wanted.extend(of_order.iter().flat_map(|user| [keys::user(*user), keys::ledger(*user)]));
        wanted.extend(coupon.map(keys::code));
        wanted.extend(coupon.zip(owner).map(|(code, user)| keys::code_use(code, user)));
        wanted.extend(gift.map(|gift| keys::code(&gift.code)));
        let cart = owner.filter(|_| order.is_checkout());
        wanted.extend(cart.map(keys::cart));
        let mut rows = db.batch_get(wanted).await?;
        let mut items = BTreeMap::new();
        let mut counted = BTreeMap::new();
        for id in ids {
            let key = keys::item(&version, id);
            if let Some(row) = rows.take(&key) {
                items.insert(id, row.published(&key)?.0);
            }
            counted.extend(stock::take(&mut rows, id)?.map(|sold| (id, sold)));
        }
        let cart = cart.map(|user| carts::take(&mut rows, user)).transpose()?;
        let uses = match coupon.zip(owner) {
            Some((code, user)) => codes::take_uses(&mut rows, code, user)?,
            None => 0,
        };
        Ok(Self {
            users: of_order.iter().copied().filter(|user| rows.take(&keys::user(*user)).is_some()).collect(),
            ledgers: ledgers::take_existing(&mut rows, of_order.iter().copied())?,
            items,
            counted,
            has_use: uses > 0,
            checkout: cart.and_then(|cart| cart.checkout).map(|checkout| checkout.order),
            delivery: config.delivery,
            coupon: coupon.map_or(Ok(None), |code| codes::take(&mut rows, code))?,
            gift_card: gift.map_or(Ok(None), |gift| codes::take(&mut rows, &gift.code))?,
        })
    }
}

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

/// Clears the buyer's cart and delivers. The cart is left to the sweep if its buyer keeps changing it, the delivery if it fails,
/// the statistics in any case. `stored` is the order before or after the change.
pub(in crate::shop) async fn after(db: &Db, clock: &dyn Clock, stored: &StoredOrder) -> Result<(), StoreError> {
    is_written(clear_cart(db, stored).await)?;
    if stored.effects.delivery.is_some() {
        follow_or_leave(db, clock, stored).await;
    }
    Ok(())
}

/// [`after`] of a tool's change: whatever fails is left to the sweep, and the statistics follow at once.
pub(in crate::shop) async fn after_at_once(db: &Db, clock: &dyn Clock, stored: &StoredOrder) -> Statistics {
    if let Err(error) = after(db, clock, stored).await {
        tracing::warn!(order = %stored.order.internal_id, %error, "left to the sweep");
    }
    count(db, &stored.order.internal_id).await
}

/// Removes what was bought from the buyer's cart, if that is not done yet. After an error, and if the buyer kept changing the cart,
/// the same call may be repeated.
pub(in crate::shop) async fn clear_cart(db: &Db, stored: &StoredOrder) -> Result<(), StoreError> {
    if stored.effects.cart_cleared != Some(false) || sent(db, cart_cleared(db, stored).await?).await? {
        return Ok(());
    }
    in_turns(RETRIES, || async {
        let read = orders::get(db, &stored.order.internal_id).await?;
        match read.filter(|stored| stored.effects.cart_cleared == Some(false)) {
            Some(stored) => send(db, cart_cleared(db, &stored).await?).await,
            None => Ok(()),
        }
    })
    .await
}

/// The writes of a cleared cart: the mark, and the cart if it still remembers the order.
async fn cart_cleared(db: &Db, stored: &StoredOrder) -> Result<Vec<Write>, StoreError> {
    let cart = match stored.order.owner {
        Some(owner) => read_live::<Cart>(db, &keys::cart(owner)).await?,
        None => None,
    };
    let id = &stored.order.internal_id;
    let cart = cart.filter(|cart| cart.checkout.as_ref().is_some_and(|checkout| checkout.order == *id));
    let mut writes: Vec<Write> = vec![stored.set_cart_cleared()];
    if let Some(cart) = cart {
        let gift_card = stored.effects.gift_card.as_ref().map(|payment| &payment.code);
        let codes: Vec<&CodeText> = stored.effects.coupon.iter().chain(gift_card).collect();
        writes.push(carts::write(&without_bought(&cart, &stored.order.lines, &codes))?);
    }
    Ok(writes)
}
