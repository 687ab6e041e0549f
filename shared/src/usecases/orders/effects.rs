//! What a paid order takes, and what a refund gives back: units, ledger entries, uses, balance. Every limit is in the
//! condition of the write that it limits.

use super::inputs::OrderInputs;
use super::refusal::{Limit, OrderRefusal, UserLimit, Write};
use crate::model::{Code, Coupon, ItemId, UserId};
use crate::rules::order::{UnitsAndSum, by_item, holdings};
use crate::store::ledgers::{self, LedgerChange};
use crate::store::orders::StoredOrder;
use crate::store::{codes, counters, keys, users};
use std::collections::BTreeMap;

/// What an order takes when it is paid.
#[derive(Debug)]
pub(super) struct Taken {
    /// The writes.
    pub(super) writes: Vec<Write>,
    /// The items that are no longer published, so that their limits are not known.
    pub(super) unguarded: Vec<ItemId>,
}

/// Checks that the codes of an order exist and are of the right kind.
///
/// # Errors
/// [`OrderRefusal`] for a code that does not exist or is of the other kind.
pub(super) fn check_codes(order: &StoredOrder, inputs: &OrderInputs) -> Result<(), OrderRefusal> {
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

/// What `order` takes. Times, minimum and scope of the coupon are not checked: that is done at the checkout, and the
/// buyer has paid.
///
/// # Errors
/// An [`OrderRefusal`] that no state of the table can lift: more units in the order than a limit allows at all.
pub(super) fn take(order: &StoredOrder, inputs: &OrderInputs) -> Result<Taken, OrderRefusal> {
    check_codes(order, inputs)?;
    let mut taken = Taken { writes: Vec::new(), unguarded: Vec::new() };
    for (item, (count, _)) in by_item(&order.order) {
        let published = inputs.items.get(&item);
        if published.is_none() {
            taken.unguarded.push(item);
        }
        // Units are counted without a limit too: a limit that is published later counts what was sold before.
        taken.writes.push(match published.and_then(|published| published.item.global_limit) {
            Some(limit) => add_sold_within(item, count, limit)?,
            None => counters::add_sold(item, count),
        });
    }
    taken.writes.extend(inputs.users.iter().map(|user| users::must_exist(*user)));
    for (user, lines) in holdings(&order.order).iter().filter(|(user, _)| inputs.users.contains(user)) {
        taken.writes.push(add_to_ledger(*user, lines, inputs)?);
    }
    let owner = order.order.owner.filter(|owner| inputs.users.contains(owner));
    if let Some(coupon) = coupon(inputs) {
        taken.writes.extend(use_up(coupon, owner)?);
    }
    taken.writes.extend(order.effects.gift_card.as_ref().map(|payment| {
        let limit = Limit::Balance { amount: payment.amount };
        codes::charge_gift_card(payment).guarded_by(limit)
    }));
    Ok(taken)
}

/// What `order` gives back. A counter, ledger or code that no longer exists gets nothing back; that does not prevent
/// the refund.
pub(super) fn give_back(order: &StoredOrder, inputs: &OrderInputs) -> Vec<Write> {
    let mut writes: Vec<Write> = Vec::new();
    for (item, (count, _)) in by_item(&order.order).into_iter().filter(|(item, _)| inputs.counted.contains(item)) {
        writes.push(counters::subtract_sold(item, count));
    }
    for (user, lines) in holdings(&order.order).iter().filter(|(user, _)| inputs.ledgers.contains(user)) {
        let change = |(item, (count, total)): (&ItemId, &UnitsAndSum)| LedgerChange {
            item: *item,
            units: -i128::from(*count),
            paid: -total.minor(),
            at_most: None,
        };
        let changes: Vec<LedgerChange> = lines.iter().map(change).collect();
        writes.push(ledgers::add(*user, &changes).only_if_present());
    }
    if let Some(coupon) = coupon(inputs) {
        // A counter that was reset to zero stays at zero.
        writes.extend((coupon.uses > 0).then(|| codes::return_use(keys::code(&coupon.code))));
        let by_user = order.order.owner.filter(|_| inputs.has_use);
        writes.extend(by_user.map(|user| codes::return_use(keys::code_use(&coupon.code, user))));
    }
    if let (Some(payment), Some(Code::Gift(_))) = (&order.effects.gift_card, &inputs.gift_card) {
        writes.push(codes::refund_gift_card(payment));
    }
    writes
}

fn add_sold_within(item: ItemId, count: u64, limit: u32) -> Result<Write, OrderRefusal> {
    // A counter that does not exist yet would pass any condition, so that an order above the limit is refused here.
    let before = u64::from(limit).checked_sub(count).ok_or(OrderRefusal::GlobalLimit { item, limit })?;
    Ok(counters::add_sold_if_at_most(item, count, before).guarded_by(Limit::Sold { item, limit }))
}

/// Adds lines to the ledger of the user that they count for, guarded by every limit per user.
fn add_to_ledger(
    user: UserId,
    lines: &BTreeMap<ItemId, UnitsAndSum>,
    inputs: &OrderInputs,
) -> Result<Write, OrderRefusal> {
    let limit_of = |item: &ItemId| inputs.items.get(item).and_then(|published| published.item.user_limit);
    let (mut limits, mut changes) = (Vec::new(), Vec::with_capacity(lines.len()));
    for (item, (count, total)) in lines {
        let mut change = LedgerChange { item: *item, units: i128::from(*count), paid: total.minor(), at_most: None };
        if let Some(limit) = limit_of(item) {
            let before = u64::from(limit).checked_sub(*count);
            change.at_most = Some(before.ok_or(OrderRefusal::UserLimit { item: *item, limit })?);
            limits.push(UserLimit { item: *item, count: *count, limit });
        }
        changes.push(change);
    }
    Ok(ledgers::add(user, &changes).guarded_by(Limit::Ledger(limits)))
}

/// Uses a coupon, in all and by the owner. The limit per user is stored on the coupon, not on the use: the coupon's
/// condition makes sure that it is still the one that was read.
fn use_up(coupon: &Coupon, owner: Option<UserId>) -> Result<Vec<Write>, OrderRefusal> {
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
