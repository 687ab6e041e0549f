//! The effects of an order: the writes that take and give back. Every limit is in the condition of the write that it
//! limits.
//!
//! It has two parts. The *stock* is what can run out: units, uses of a coupon, balances. A checkout holds it before it
//! is paid. The *ledgers* say what users own; they change when an order is paid and when it is refunded.

use super::change::Step;
use super::counted::{bought, give_back_counted, places, places_of};
use super::refusal::{Guarded, Limit, OrderRefusal, UserLimit};
use super::{StoredOrder, active_version};
use crate::model::{
    ActiveVersion, Code, Counted, Coupon, CouponUses, GiftCardPayment, InternalId, ItemId, Ledger, Money, Order,
    OrderStatus, PublishedItem, Spent, StoreDelivery, Units, UserId,
};
use crate::rules::dispute::is_taken_back;
use crate::rules::limits;
use crate::rules::order::{by_item, less_returned, users as users_of};
use crate::rules::ownership::{Share, shares};
use crate::shop::notices::of_orders::Telling;
use crate::shop::stock::ledgers::{self, Ends, LedgerChange, Times};
use crate::shop::{accounts, carts, codes, stock};
use crate::table::transaction::Write;
use crate::table::{Db, StoreError, keys};
use std::collections::{BTreeMap, BTreeSet};

/// What the effects of an order depend on.
#[derive(Debug, Default)]
pub(in crate::shop) struct OrderInputs {
    /// The order's users, owner and recipients, who have an account.
    pub(in crate::shop) users: BTreeSet<UserId>,
    /// The ledgers of those who have one.
    pub(in crate::shop) ledgers: BTreeMap<UserId, Ledger>,
    pub(in crate::shop) items: BTreeMap<ItemId, PublishedItem>,
    /// Units sold of the order's items that have a counter.
    pub(in crate::shop) counted: BTreeMap<ItemId, Counted>,
    pub(in crate::shop) coupon: Option<Code>,
    /// The owner's uses of the coupon.
    pub(in crate::shop) uses: CouponUses,
    pub(in crate::shop) gift_card: Option<Code>,
    /// The order that the owner's cart remembers as its checkout; read only for the order of a checkout.
    pub(in crate::shop) checkout: Option<InternalId>,
    /// The game servers, and the commands of every sale.
    pub(in crate::shop) delivery: StoreDelivery,
    /// Whether the address is known that the order is paid from.
    pub(in crate::shop) has_address: bool,
    /// The key of the hashes of banned cards, if there are any.
    pub(in crate::shop) card_salt: Option<String>,
    /// Who is notified of the order.
    pub(in crate::shop) telling: Telling,
}

impl OrderInputs {
    pub(in crate::shop) async fn read(db: &Db, order: &StoredOrder) -> Result<Self, StoreError> {
        let ActiveVersion { version, config, card_salt, .. } = active_version(db).await?;
        let ids: BTreeSet<ItemId> = order.order.lines.iter().map(|line| line.item).collect();
        let (owner, of_order) = (order.order.owner, users_of(&order.order));
        let (coupon, gift) = (order.effects.coupon.as_ref(), order.effects.gift_card.as_ref());
        let of_item = |id: &ItemId| [keys::item(&version, *id), keys::count(*id)];
        let mut wanted: Vec<_> = ids.iter().flat_map(of_item).collect();
        wanted.extend(of_order.iter().flat_map(|user| [keys::user(*user), keys::ledger(*user)]));
        wanted.extend(coupon.map(keys::code));
        wanted.extend(coupon.zip(owner).map(|(code, user)| keys::code_use(code, user)));
        wanted.extend(gift.map(|gift| keys::code(&gift.code)));
        let cart = owner.filter(|_| order.is_checkout());
        wanted.extend(cart.map(keys::cart));
        let address = order.address().map(|address| keys::address(&address.hash));
        wanted.extend(address.clone());
        let mut rows = db.batch_get(wanted).await?;
        let mut items = BTreeMap::new();
        let mut counted = BTreeMap::new();
        for id in ids {
            let key = keys::item(&version, id);
            if let Some(row) = rows.take(&key) {
                items.insert(id, row.published(&key)?.0);
            }
            counted.extend(stock::take(&mut rows, id)?.map(|counted| (id, counted)));
        }
        let cart = cart.map(|user| carts::take(&mut rows, user)).transpose()?;
        let uses = match coupon.zip(owner) {
            Some((code, user)) => codes::take_uses(&mut rows, code, user)?,
            None => CouponUses::default(),
        };
        let mut accounts: BTreeMap<UserId, _> =
            of_order.iter().filter_map(|user| Some((*user, rows.take(&keys::user(*user))?))).collect();
        let exist = accounts.keys().copied().collect();
        let player = order.order.player().and_then(|player| accounts.remove(&player));
        Ok(Self {
            users: exist,
            telling: Telling::new(&config, player),
            ledgers: ledgers::take_existing(&mut rows, of_order.iter().copied())?,
            items,
            counted,
            uses,
            has_address: address.is_some_and(|key| rows.take(&key).is_some()),
            checkout: cart.and_then(|cart| cart.checkout).map(|checkout| checkout.order),
            delivery: config.delivery,
            card_salt,
            coupon: coupon.map_or(Ok(None), |code| codes::take(&mut rows, code))?,
            gift_card: gift.map_or(Ok(None), |gift| codes::take(&mut rows, &gift.code))?,
        })
    }
}

/// The writes of an order that is paid.
#[derive(Debug)]
pub(in crate::shop) struct Taken {
    pub(in crate::shop) writes: Vec<Guarded>,
    /// The items that are no longer published, so that their limits are not known.
    pub(in crate::shop) unguarded: Vec<ItemId>,
}

/// Checks that the codes of an order exist and are of the right kind.
pub(in crate::shop) fn check_codes(order: &StoredOrder, inputs: &OrderInputs) -> Result<(), OrderRefusal> {
    if order.effects.coupon.is_some() && coupon(inputs).is_none() {
        return Err(OrderRefusal::UnknownCoupon);
    }
    let is_gift_card = matches!(inputs.gift_card, Some(Code::Gift(_)));
    if order.effects.gift_card.is_some() && !is_gift_card { Err(OrderRefusal::UnknownGiftCard) } else { Ok(()) }
}

fn coupon(inputs: &OrderInputs) -> Option<&Coupon> {
    match &inputs.coupon {
        Some(Code::Coupon(coupon)) => Some(coupon),
        _ => None,
    }
}

/// The writes of a change of an order's status. `changed` is a user whose account another write changes, and checks. Fails with a
/// refusal that no state of the table can lift: more units in the order than a limit allows at all.
pub(in crate::shop) fn changes(
    order: &StoredOrder,
    inputs: &OrderInputs,
    step: &Step<'_>,
    changed: Option<UserId>,
) -> Result<Taken, OrderRefusal> {
    let (was_paid, becomes_paid) = (order.order.status == OrderStatus::Paid, step.to == OrderStatus::Paid);
    let mut taken = Taken { writes: Vec::new(), unguarded: Vec::new() };
    let mut written = changed;
    if becomes_paid && !order.effects.held {
        taken = take_stock(order, inputs)?;
        written = changed.or_else(|| order.order.owner.filter(|_| spent(order).is_some()));
    } else if !becomes_paid && (was_paid || order.effects.held) {
        taken.writes = give_back_stock(order, inputs);
    }
    // What was refunded in part before, or is disputed, is out of the ledgers already.
    let counts = less_returned(&order.order, &order.effects);
    if becomes_paid {
        taken.writes.extend(users_exist(inputs, written));
        let (mut all, payer) = (shares(&counts), payer(order, step.now));
        if let Some((payer, _)) = payer {
            all.entry(payer).or_default();
        }
        for (user, items) in all.iter().filter(|(user, _)| inputs.users.contains(user)) {
            let paid = payer.filter(|(payer, _)| payer == user).map(|(_, paid)| paid).unwrap_or_default();
            let at = order.order.created_at;
            taken.writes.push(add_to_ledger(*user, items, inputs, step.limits, (paid, at, step.now))?);
        }
    } else if was_paid {
        let nothing = Order { lines: Vec::new(), ..counts.clone() };
        let ledgers = change_ledgers(&counts, &nothing, &inputs.ledgers, step.now);
        taken.writes.extend(ledgers.into_iter().map(Guarded::from));
    }
    Ok(taken)
}

/// The user who pays an order, and what counts as paid by them: money, and no renewal of a subscription.
fn payer(order: &StoredOrder, now: i64) -> Option<(UserId, Spent)> {
    let is_renewal = order.effects.subscription.as_ref().is_some_and(|own| own.renewal);
    let since = if order.is_checkout() { now } else { order.order.created_at };
    let paid = Spent { since: Some(since), sum: order.order.price };
    order.order.owner.filter(|_| paid.sum > Money::ZERO && !is_renewal).map(|owner| (owner, paid))
}

/// The stock that `order` takes. Times, minimum and scope of the coupon are not checked: that is done at the checkout,
/// and the buyer has paid. Fails with a refusal that no state of the table can lift: more units in the order than a
/// limit allows at all.
fn take_stock(order: &StoredOrder, inputs: &OrderInputs) -> Result<Taken, OrderRefusal> {
    let codes = take_codes(order, inputs)?;
    let mut taken = Taken { writes: Vec::new(), unguarded: Vec::new() };
    let all = limits::taken(&order.order.lines);
    for (item, (count, _)) in by_item(&order.order) {
        let published = inputs.items.get(&item);
        if published.is_none() {
            taken.unguarded.push(item);
        }
        // Units are counted without a limit too: a limit that is published later counts what was sold before.
        let limit = published.and_then(|published| published.item.global_limit);
        let (of_item, published) = (places_of(&all, item), published.map(|published| &published.item));
        let write = stock::add_sold(Units { item, count }, published, &places(order, &of_item));
        let guard = match limit {
            Some(limit) if of_item.is_empty() => Some(Limit::Sold { item, limit }),
            None if of_item.is_empty() => None,
            _ => Some(Limit::Place { item }),
        };
        // More units in the order than a limit allows at all.
        let refusal = limit.map_or(OrderRefusal::Place { item }, |limit| OrderRefusal::GlobalLimit { item, limit });
        let write = write.ok_or(refusal)?;
        taken.writes.push(match guard {
            Some(guard) => write.guarded_by(guard),
            None => write.into(),
        });
    }
    taken.writes.extend(codes);
    Ok(taken)
}

/// The uses and balances that `order` takes: its stock but for the units. Fails with a refusal that no state of the
/// table can lift.
pub(in crate::shop) fn take_codes(order: &StoredOrder, inputs: &OrderInputs) -> Result<Vec<Guarded>, OrderRefusal> {
    check_codes(order, inputs)?;
    let mut writes = Vec::new();
    let owner = order.order.owner.filter(|owner| inputs.users.contains(owner));
    if let Some(coupon) = coupon(inputs) {
        writes.extend(use_up(coupon, owner, order.order.created_at)?);
    }
    writes.extend(order.effects.gift_card.as_ref().map(|payment| {
        let limit = Limit::Balance { amount: payment.amount };
        codes::charge_gift_card(payment).guarded_by(limit)
    }));
    if let Some((owner, amount)) = owner.zip(spent(order)) {
        writes.push(accounts::spend(owner, amount).guarded_by(Limit::VirtualCurrency { amount }));
    }
    Ok(writes)
}

/// The users of `order` must not be erased in the meantime. `written` is one whose account another write changes, and
/// checks.
pub(in crate::shop) fn users_exist(inputs: &OrderInputs, written: Option<UserId>) -> Vec<Guarded> {
    to_check(inputs, written).map(|user| accounts::must_exist(user).into()).collect()
}

/// The users of an order whose accounts no other of its writes checks. `written` is one whose account another write does.
pub(in crate::shop) fn to_check(inputs: &OrderInputs, written: Option<UserId>) -> impl Iterator<Item = UserId> {
    inputs.users.iter().copied().filter(move |user| written != Some(*user))
}

/// The amount of virtual currency that an order takes; `None` if it takes none.
pub(in crate::shop) fn spent(order: &StoredOrder) -> Option<Money> {
    Some(order.effects.virtual_currency).filter(|amount| *amount > Money::ZERO)
}

/// The stock that `order` gives back. A counter or code that no longer exists gets nothing back; that prevents nothing.
fn give_back_stock(order: &StoredOrder, inputs: &OrderInputs) -> Vec<Guarded> {
    let mut writes: Vec<Write> = Vec::new();
    // Who had the bank take a payment back gets nothing else back: a small payment beside a large gift card, disputed again and
    // again, would buy for nothing.
    if !is_taken_back(&order.effects) {
        let left = |amount: Money, returned: Money| Some(amount.less(returned)).filter(|left| *left > Money::ZERO);
        let card = order.effects.card();
        let card = left(card, order.order.card_for_returned(card));
        let virtual_currency = left(order.effects.virtual_currency, order.order.returned_virtual());
        writes.extend(give_back_money(order, inputs, card, virtual_currency));
    }
    let nothing = Order { lines: Vec::new(), ..order.order.clone() };
    writes.extend(give_back_counted(order, &nothing, inputs));
    if let Some(coupon) = coupon(inputs) {
        // A counter that was reset to zero stays at zero.
        writes.extend((coupon.uses > 0).then(|| codes::return_use(keys::code(&coupon.code))));
        let (by_user, at) = (order.order.owner.filter(|_| inputs.uses.count > 0), order.order.created_at);
        writes.extend(by_user.map(|user| codes::return_use_by_user(&coupon.code, user, inputs.uses, at)));
    }
    writes.into_iter().map(Guarded::from).collect()
}

/// The writes that give back an amount of the gift card, and one of virtual currency.
fn give_back_money(
    order: &StoredOrder,
    inputs: &OrderInputs,
    card: Option<Money>,
    virtual_currency: Option<Money>,
) -> impl Iterator<Item = Write> {
    let payment = order.effects.gift_card.as_ref().filter(|_| matches!(inputs.gift_card, Some(Code::Gift(_))));
    let card = payment
        .zip(card)
        .map(|(payment, amount)| codes::refund_gift_card(&GiftCardPayment { amount, ..payment.clone() }));
    let owner = order.order.owner.filter(|owner| inputs.users.contains(owner));
    let owners = owner.zip(virtual_currency).map(|(owner, amount)| accounts::return_spent(owner, amount));
    card.into_iter().chain(owners)
}

/// The writes that give back the units of lines that are returned `after` and were not before: their stock, and what a gift
/// card and virtual currency have paid for them.
pub(in crate::shop) fn give_back_units(order: &StoredOrder, after: &Order, inputs: &OrderInputs) -> Vec<Write> {
    let stock = give_back_counted(order, after, inputs);
    let more = |before: Money, after: Money| Some(after.less(before)).filter(|more| *more > Money::ZERO);
    let card = order.effects.card();
    let card = more(order.order.card_for_returned(card), after.card_for_returned(card));
    let virtual_currency = more(order.order.returned_virtual(), after.returned_virtual());
    stock.into_iter().chain(give_back_money(order, inputs, card, virtual_currency)).collect()
}

/// The writes after which ledgers have of an order what it is `after`, and not what it was `before`. A ledger that no longer
/// exists prevents nothing, and what has ended and was followed by another purchase counts no more.
pub(in crate::shop) fn change_ledgers(
    before_order: &Order,
    after: &Order,
    ledgers: &BTreeMap<UserId, Ledger>,
    now: i64,
) -> Vec<Write> {
    let (before, after) = (shares(before_order), shares(after));
    let of_user = |(user, items): (&UserId, &BTreeMap<ItemId, Share>)| {
        let ledger = ledgers.get(user)?;
        let left = |item: &ItemId| after.get(user).and_then(|items| items.get(item)).copied().unwrap_or_default();
        let at = before_order.created_at;
        let change = |(item, share): (&ItemId, &Share)| change_entry(*item, share, &left(item), ledger, at);
        let changes: Vec<LedgerChange> = items.iter().filter_map(change).collect();
        (!changes.is_empty()).then(|| ledgers::add(*user, &changes, Spent::default(), now).and_if_present())
    };
    before.iter().filter_map(of_user).collect()
}

/// The writes after which lines of a paid order, which are all of `before` and `after`, are in the ledgers of other players,
/// guarded by their limits.
pub(in crate::shop) fn move_between(
    before: &Order,
    after: &Order,
    inputs: &OrderInputs,
    limits: Limits,
    now: i64,
) -> Result<Vec<Guarded>, OrderRefusal> {
    let nothing = Order { lines: Vec::new(), ..before.clone() };
    let mut writes: Vec<Guarded> =
        change_ledgers(before, &nothing, &inputs.ledgers, now).into_iter().map(Guarded::from).collect();
    for (user, items) in shares(after) {
        writes.push(add_to_ledger(user, &items, inputs, limits, (Spent::default(), after.created_at, now))?);
    }
    Ok(writes)
}

/// The change of an item's entry by a share of which less or more is left; `None` if it counts no more, or is the same.
/// `at` is when its units were bought, seconds since 1970 UTC.
fn change_entry(item: ItemId, before: &Share, left: &Share, ledger: &Ledger, at: i64) -> Option<LedgerChange> {
    let read = ledger.of(item).run;
    let seconds = left.seconds.saturating_sub(before.seconds);
    let units = i128::from(left.owned.units) - i128::from(before.owned.units);
    let paid = left.owned.paid.minor() - before.owned.paid.minor();
    let gone = u64::try_from(-units).unwrap_or_default();
    let then = limits::times_without(ledger.times(item), at, gone);
    let times = then.map(|then| Times { read: ledger.times(item).to_vec(), then });
    let change = LedgerChange { item, units, paid, at_most: None, ends: Ends::Never, read, times };
    match before.begun {
        None => Some(change),
        Some(begun) if read.is_some_and(|run| run.begun == begun) => {
            Some(LedgerChange { ends: Ends::WithRun { seconds }, ..change })
        }
        // Units of a run that has ended count no more, but for limits in time.
        Some(_) => change.times.is_some().then_some(LedgerChange { units: 0, paid: 0, ..change }),
    }
    .filter(|change| change.units != 0 || change.paid != 0 || seconds != 0 || change.times.is_some())
}

/// Whether limits per user are part of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::shop) enum Limits {
    Guarded,
    /// They are not: the order is paid, and what was held for it cannot be refused any more; or the owner moves
    /// it all the same.
    Ignored,
}

/// Adds lines to the ledger of the user that they count for, and what the user has paid, guarded by every limit per user. For those in
/// time the lines were bought `at` a second since 1970 UTC.
fn add_to_ledger(
    user: UserId,
    items: &BTreeMap<ItemId, Share>,
    inputs: &OrderInputs,
    guarded: Limits,
    (paid, at, now): (Spent, i64, i64),
) -> Result<Guarded, OrderRefusal> {
    let published = |item: &ItemId| inputs.items.get(item).filter(|_| guarded == Limits::Guarded);
    let limit_of = |item: &ItemId| published(item).and_then(|published| published.item.user_limit);
    let run_of = |item: &ItemId| inputs.ledgers.get(&user).and_then(|ledger| ledger.of(*item).run);
    let (mut limits, mut changes) = (Vec::new(), Vec::with_capacity(items.len()));
    for (item, share) in items {
        let (count, read) = (u64::from(share.owned.units), run_of(item));
        let ends = match (share.begun, read) {
            (None, _) => Ends::Never,
            (Some(begun), Some(run)) if run.begun == begun => Ends::WithRun { seconds: share.seconds },
            (Some(begun), _) => Ends::NewRun { begun, seconds: share.seconds },
        };
        let mut change = LedgerChange {
            item: *item,
            units: i128::from(share.owned.units),
            paid: share.owned.paid.minor(),
            at_most: None,
            ends,
            read,
            times: bought(*item, count, inputs, (user, at), guarded)?,
        };
        if let Some(limit) = limit_of(item) {
            let before = u64::from(limit).checked_sub(count);
            change.at_most = Some(before.ok_or(OrderRefusal::UserLimit { item: *item, limit })?);
            limits.push(UserLimit { item: *item, count, limit });
        }
        changes.push(change);
    }
    Ok(ledgers::add(user, &changes, paid, now).guarded_by(Limit::Ledger { limits, now }))
}

/// Uses a coupon at a second (since 1970 UTC), in all and by the owner. The limit per user is stored on the coupon, not on the use: the coupon's
/// condition makes sure that it is still the one that was read.
fn use_up(coupon: &Coupon, owner: Option<UserId>, at: i64) -> Result<Vec<Guarded>, OrderRefusal> {
    if coupon.max_uses == Some(0) {
        return Err(OrderRefusal::CouponUsedUp);
    }
    if !coupon.is_for(owner) || coupon.max_uses_per_user == Some(0) && owner.is_some() {
        return Err(OrderRefusal::CouponUsedUpByUser);
    }
    let in_all = codes::use_coupon(coupon).guarded_by(Limit::CouponUses);
    let by_user = owner.map(|user| codes::use_by_user(coupon, user, at).guarded_by(Limit::UserUses));
    Ok(std::iter::once(in_all).chain(by_user).collect())
}
