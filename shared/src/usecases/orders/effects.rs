//! The effects of an order: the writes that take and give back. Every limit is in the condition of the write that it
//! limits.
//!
//! It has two parts. The *stock* is what can run out: units, uses of a coupon, balances. A checkout holds it before it
//! is paid. The *ledgers* say what users own; they change when an order is paid and when it is refunded.

use super::inputs::OrderInputs;
use super::refusal::{Guarded, Limit, OrderRefusal, UserLimit};
use crate::model::{Code, Coupon, ItemId, Ledger, Money, UserId};
use crate::rules::dispute::{is_taken_back, less_returned};
use crate::rules::order::by_item;
use crate::rules::ownership::{Share, shares};
use crate::store::ledgers::{self, Ends, LedgerChange};
use crate::store::orders::StoredOrder;
use crate::store::transaction::Write;
use crate::store::{codes, counters, keys, users};
use std::collections::BTreeMap;

/// The writes of an order that is paid.
#[derive(Debug)]
pub(in crate::usecases) struct Taken {
    pub(in crate::usecases) writes: Vec<Guarded>,
    /// The items that are no longer published, so that their limits are not known.
    pub(in crate::usecases) unguarded: Vec<ItemId>,
}

/// Checks that the codes of an order exist and are of the right kind.
pub(in crate::usecases) fn check_codes(order: &StoredOrder, inputs: &OrderInputs) -> Result<(), OrderRefusal> {
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

/// The stock that `order` takes. Times, minimum and scope of the coupon are not checked: that is done at the checkout,
/// and the buyer has paid. Fails with a refusal that no state of the table can lift: more units in the order than a
/// limit allows at all.
pub(in crate::usecases) fn take_stock(order: &StoredOrder, inputs: &OrderInputs) -> Result<Taken, OrderRefusal> {
    let codes = take_codes(order, inputs)?;
    let mut taken = Taken { writes: Vec::new(), unguarded: Vec::new() };
    for (item, (count, _)) in by_item(&order.order) {
        let published = inputs.items.get(&item);
        if published.is_none() {
            taken.unguarded.push(item);
        }
        // Units are counted without a limit too: a limit that is published later counts what was sold before.
        taken.writes.push(match published.and_then(|published| published.item.global_limit) {
            Some(limit) => add_sold_within(item, count, limit)?,
            None => counters::add_sold(item, count).into(),
        });
    }
    taken.writes.extend(codes);
    Ok(taken)
}

/// The uses and balances that `order` takes: its stock but for the units. Fails with a refusal that no state of the
/// table can lift.
pub(in crate::usecases) fn take_codes(order: &StoredOrder, inputs: &OrderInputs) -> Result<Vec<Guarded>, OrderRefusal> {
    check_codes(order, inputs)?;
    let mut writes = Vec::new();
    let owner = order.order.owner.filter(|owner| inputs.users.contains(owner));
    if let Some(coupon) = coupon(inputs) {
        writes.extend(use_up(coupon, owner)?);
    }
    writes.extend(order.effects.gift_card.as_ref().map(|payment| {
        let limit = Limit::Balance { amount: payment.amount };
        codes::charge_gift_card(payment).guarded_by(limit)
    }));
    if let Some((owner, amount)) = owner.zip(spent(order)) {
        writes.push(users::spend(owner, amount).guarded_by(Limit::VirtualCurrency { amount }));
    }
    Ok(writes)
}

/// The writes that add `order` to the ledgers of its owner and its recipients, guarded by their limits. Fails with
/// [`OrderRefusal::UserLimit`] if the order has more units than a limit allows at all. Its lines have their terms.
pub(in crate::usecases) fn add_to_ledgers(
    order: &StoredOrder,
    inputs: &OrderInputs,
    limits: Limits,
    now: i64,
) -> Result<Vec<Guarded>, OrderRefusal> {
    let shares = shares(&less_returned(&order.order, &order.effects));
    let known = shares.iter().filter(|(user, _)| inputs.users.contains(user));
    known.map(|(user, items)| add_to_ledger(*user, items, inputs, limits, now)).collect()
}

/// The users of `order` must not be erased in the meantime. `written` is one whose account another write changes, and
/// checks.
pub(in crate::usecases) fn users_exist(inputs: &OrderInputs, written: Option<UserId>) -> Vec<Guarded> {
    to_check(inputs, written).map(|user| users::must_exist(user).into()).collect()
}

/// The users of an order whose accounts no other of its writes checks. `written` is one whose account another write does.
pub(in crate::usecases) fn to_check(inputs: &OrderInputs, written: Option<UserId>) -> impl Iterator<Item = UserId> {
    inputs.users.iter().copied().filter(move |user| written != Some(*user))
}

/// The amount of virtual currency that an order takes; `None` if it takes none.
pub(in crate::usecases) fn spent(order: &StoredOrder) -> Option<Money> {
    Some(order.effects.virtual_currency).filter(|amount| *amount > Money::ZERO)
}

/// The stock that `order` gives back. A counter or code that no longer exists gets nothing back; that prevents nothing.
pub(in crate::usecases) fn give_back_stock(order: &StoredOrder, inputs: &OrderInputs) -> Vec<Guarded> {
    let mut writes: Vec<Write> = Vec::new();
    for (item, (count, _)) in by_item(&order.order) {
        writes.extend(inputs.counted.get(&item).map(|sold| counters::subtract_sold(item, count, *sold)));
    }
    if let Some(coupon) = coupon(inputs) {
        // A counter that was reset to zero stays at zero.
        writes.extend((coupon.uses > 0).then(|| codes::return_use(keys::code(&coupon.code))));
        let by_user = order.order.owner.filter(|_| inputs.has_use);
        writes.extend(by_user.map(|user| codes::return_use(keys::code_use(&coupon.code, user))));
    }
    // Who had the bank take a payment back gets nothing else back: a small payment beside a large gift card, disputed again and
    // again, would buy for nothing.
    if !is_taken_back(&order.effects) {
        if let (Some(payment), Some(Code::Gift(_))) = (&order.effects.gift_card, &inputs.gift_card) {
            writes.push(codes::refund_gift_card(payment));
        }
        let owner = order.order.owner.filter(|owner| inputs.users.contains(owner));
        writes.extend(owner.zip(spent(order)).map(|(owner, amount)| users::return_spent(owner, amount)));
    }
    writes.into_iter().map(Guarded::from).collect()
}

/// The writes that take a refund of `order` out of the ledgers. A ledger that no longer exists prevents nothing. What
/// was refunded in part before, or is disputed, is out of them already, and what has ended and was followed by another
/// purchase counts no more.
pub(in crate::usecases) fn take_from_ledgers(order: &StoredOrder, inputs: &OrderInputs, now: i64) -> Vec<Guarded> {
    let shares = shares(&less_returned(&order.order, &order.effects));
    let known = shares.iter().filter_map(|(user, items)| Some((*user, items, inputs.ledgers.get(user)?)));
    let writes = known.filter_map(|(user, items, ledger)| {
        let take = |(item, share): (&ItemId, &Share)| {
            take_from_entry(*item, share, ledger, -i128::from(share.owned.units), -share.owned.paid.minor())
        };
        change_existing(user, &items.iter().filter_map(take).collect::<Vec<_>>(), now)
    });
    writes.map(Guarded::from).collect()
}

/// The change of an item's entry by a share that counts in it already; `None` if it counts no more.
pub(in crate::usecases) fn take_from_entry(
    item: ItemId,
    share: &Share,
    ledger: &Ledger,
    units: i128,
    paid: i64,
) -> Option<LedgerChange> {
    let read = ledger.of(item).run;
    let ends = match share.begun {
        None => Ends::Never,
        Some(begun) if read.is_some_and(|run| run.begun == begun) => Ends::WithRun { seconds: -share.seconds },
        Some(_) => return None,
    };
    Some(LedgerChange { item, units, paid, at_most: None, ends, read })
}

/// The write that changes a ledger which must exist; `None` without changes.
pub(in crate::usecases) fn change_existing(user: UserId, changes: &[LedgerChange], now: i64) -> Option<Write> {
    (!changes.is_empty()).then(|| ledgers::add(user, changes, now).and_if_present())
}

/// Whether limits per user are part of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::usecases) enum Limits {
    Guarded,
    /// They are not: the order is paid, and what was held for it cannot be refused any more.
    Ignored,
}

fn add_sold_within(item: ItemId, count: u64, limit: u32) -> Result<Guarded, OrderRefusal> {
    // A counter that does not exist yet would pass any condition, so that an order above the limit is refused here.
    let before = u64::from(limit).checked_sub(count).ok_or(OrderRefusal::GlobalLimit { item, limit })?;
    Ok(counters::add_sold_if_at_most(item, count, before).guarded_by(Limit::Sold { item, limit }))
}

/// Adds lines to the ledger of the user that they count for, guarded by every limit per user.
fn add_to_ledger(
    user: UserId,
    items: &BTreeMap<ItemId, Share>,
    inputs: &OrderInputs,
    guarded: Limits,
    now: i64,
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
        };
        if let Some(limit) = limit_of(item) {
            let before = u64::from(limit).checked_sub(count);
            change.at_most = Some(before.ok_or(OrderRefusal::UserLimit { item: *item, limit })?);
            limits.push(UserLimit { item: *item, count, limit });
        }
        changes.push(change);
    }
    Ok(ledgers::add(user, &changes, now).guarded_by(Limit::Ledger { limits, now }))
}

/// Uses a coupon, in all and by the owner. The limit per user is stored on the coupon, not on the use: the coupon's
/// condition makes sure that it is still the one that was read.
fn use_up(coupon: &Coupon, owner: Option<UserId>) -> Result<Vec<Guarded>, OrderRefusal> {
    if coupon.max_uses == Some(0) {
        return Err(OrderRefusal::CouponUsedUp);
    }
    if coupon.max_uses_per_user == Some(0) && owner.is_some() {
        return Err(OrderRefusal::CouponUsedUpByUser);
    }
    let in_all = codes::use_coupon(coupon).guarded_by(Limit::CouponUses);
    let by_user = owner.map(|user| codes::use_by_user(coupon, user).guarded_by(Limit::UserUses));
    Ok(std::iter::once(in_all).chain(by_user).collect())
}
