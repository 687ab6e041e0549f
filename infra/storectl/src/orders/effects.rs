//! What a paid order takes, and what a refund gives back: counters, ledger, uses, balance. Every limit stands in
//! the condition of the write that it guards.

use super::inputs::OrderInputs;
use super::stored::Stored;
use super::transact::{Change, Write};
use super::verdict::{Refusal, Role, UserLimit};
use shared::model::{Code, Coupon, ItemId, Money, UserId};
use shared::store::codes::USES;
use shared::store::counters::SOLD;
use shared::store::keys;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What an order takes when it is paid.
#[derive(Debug)]
pub(super) struct Taken {
    /// The writes.
    pub(super) writes: Vec<Write>,
    /// The items that are not published any more, so that their limits are not known.
    pub(super) unguarded: Vec<ItemId>,
}

/// The write that fails if the user was erased in the meantime, so that nothing comes back to life.
pub(super) fn user_is_there(user: UserId) -> Write {
    Write::new(Role::Basis, keys::user(user), Change::Check).only_if("attribute_exists(pk)")
}

/// Finds what the codes of an order are.
///
/// # Errors
/// The [`Refusal`] of a code that is not there, or is of the other kind.
pub(super) fn check_codes(order: &Stored, inputs: &OrderInputs) -> Result<(), Refusal> {
    if order.trace.coupon.is_some() && coupon(inputs).is_none() {
        return Err(Refusal::UnknownCoupon);
    }
    let is_gift_card = matches!(inputs.gift_card, Some(Code::Gift(_)));
    if order.trace.gift_card.is_some() && !is_gift_card { Err(Refusal::UnknownGiftCard) } else { Ok(()) }
}

fn coupon(inputs: &OrderInputs) -> Option<&Coupon> {
    match &inputs.coupon {
        Some(Code::Coupon(coupon)) => Some(coupon),
        _ => None,
    }
}

/// What `order` takes. Times, minimum and scope of the coupon were the checkout's to judge: what was paid is paid.
///
/// # Errors
/// A [`Refusal`] that no state of the table could lift: more units in the order than a limit allows at all.
pub(super) fn take(order: &Stored, inputs: &OrderInputs) -> Result<Taken, Refusal> {
    check_codes(order, inputs)?;
    let mut taken = Taken { writes: Vec::new(), unguarded: Vec::new() };
    for (item, (count, _)) in order.by_item() {
        let published = inputs.items.get(&item);
        if published.is_none() {
            taken.unguarded.push(item);
        }
        // Units are counted whether there is a limit or not: one that is published later counts what was sold before.
        taken.writes.push(match published.and_then(|published| published.item.global_limit) {
            Some(limit) => count_up_to(item, count, limit)?,
            None => count_up(item, count),
        });
    }
    taken.writes.extend(inputs.users.iter().map(|user| user_is_there(*user)));
    for (user, lines) in order.holdings().iter().filter(|(user, _)| inputs.users.contains(user)) {
        taken.writes.push(own(*user, lines, inputs)?);
    }
    let owner = order.order.owner.filter(|owner| inputs.users.contains(owner));
    if let Some(coupon) = coupon(inputs) {
        taken.writes.extend(use_up(coupon, owner)?);
    }
    taken.writes.extend(order.trace.gift_card.as_ref().map(|part| {
        let role = Role::GiftCard { amount: part.amount };
        Write::new(role, keys::code(&part.code), Change::Update("SET balance = balance - :amount".to_owned()))
            .only_if("#kind = :gift AND balance >= :amount")
            .name("#kind", "kind")
            .value(":gift", text("gift"))
            .number(":amount", part.amount.minor())
    }));
    Ok(taken)
}

/// What `order` gives back. What is not there any more gets nothing back; that is no reason to keep a buyer's money.
pub(super) fn give_back(order: &Stored, inputs: &OrderInputs) -> Vec<Write> {
    let mut writes = Vec::new();
    for (item, (count, _)) in order.by_item().into_iter().filter(|(item, _)| inputs.counted.contains(item)) {
        let minus = format!("-{count}");
        writes.push(add(Role::Basis, keys::count(item), SOLD, minus).only_if("attribute_exists(pk)"));
    }
    for (user, lines) in order.holdings().iter().filter(|(user, _)| inputs.ledgers.contains(user)) {
        let holdings = lines.iter().map(|(item, (count, total))| (*item, -i128::from(*count), -total.minor()));
        writes.push(book(Role::Basis, *user, holdings).only_if("attribute_exists(pk)"));
    }
    if let Some(coupon) = coupon(inputs) {
        let unused = |key| add(Role::Basis, key, USES, "-1").only_if("#added > :zero").number(":zero", 0);
        // A counter that somebody has set back stays where it is.
        writes.extend((coupon.uses > 0).then(|| unused(keys::code(&coupon.code))));
        let by_user = order.order.owner.filter(|_| inputs.has_use);
        writes.extend(by_user.map(|user| unused(keys::code_use(&coupon.code, user))));
    }
    if let (Some(part), Some(Code::Gift(_))) = (&order.trace.gift_card, &inputs.gift_card) {
        let back = add(Role::Basis, keys::code(&part.code), "balance", part.amount.minor());
        writes.push(back.only_if("attribute_exists(pk)"));
    }
    writes
}

fn text(text: &str) -> aws_sdk_dynamodb::types::AttributeValue {
    aws_sdk_dynamodb::types::AttributeValue::S(text.to_owned())
}

/// Adds to one number of an item.
fn add(role: Role, key: keys::Key, attribute: &str, number: impl std::fmt::Display) -> Write {
    Write::new(role, key, Change::Update("ADD #added :added".to_owned()))
        .name("#added", attribute)
        .number(":added", number)
}

fn count_up(item: ItemId, count: u64) -> Write {
    add(Role::Basis, keys::count(item), SOLD, count)
}

fn count_up_to(item: ItemId, count: u64, limit: u32) -> Result<Write, Refusal> {
    // The room that the counter must leave. Below nothing a counter that is not there yet would let it pass.
    let room = u64::from(limit).checked_sub(count).ok_or(Refusal::GlobalLimit { item, limit })?;
    Ok(add(Role::Count { item, limit }, keys::count(item), SOLD, count)
        .only_if("attribute_not_exists(#added) OR #added <= :room")
        .number(":room", room))
}

/// The ledger of a user that lines count for, guarded by every limit for one user.
fn own(user: UserId, lines: &BTreeMap<ItemId, (u64, Money)>, inputs: &OrderInputs) -> Result<Write, Refusal> {
    let limit_of = |item: &ItemId| inputs.items.get(item).and_then(|published| published.item.user_limit);
    let (mut limits, mut condition, mut rooms) = (Vec::new(), String::new(), Vec::new());
    for (place, (item, (count, _))) in lines.iter().enumerate() {
        let Some(limit) = limit_of(item) else { continue };
        let room = u64::from(limit).checked_sub(*count).ok_or(Refusal::UserLimit { item: *item, limit })?;
        limits.push(UserLimit { item: *item, count: *count, limit });
        rooms.push((place, room));
        let and = if condition.is_empty() { "" } else { " AND " };
        // Writing to a text cannot fail.
        _ = write!(condition, "{and}(attribute_not_exists(#u{place}) OR #u{place} <= :r{place})");
    }
    let holdings = lines.iter().map(|(item, (count, total))| (*item, i128::from(*count), total.minor()));
    let mut write = book(Role::Ledger(limits), user, holdings);
    if !condition.is_empty() {
        write = write.only_if(condition);
    }
    Ok(rooms.into_iter().fold(write, |write, (place, room)| write.number(format!(":r{place}"), room)))
}

/// Adds units and sums to a ledger. Names are short: fifty lines stay below the 4 KB of an expression.
fn book(role: Role, user: UserId, holdings: impl Iterator<Item = (ItemId, i128, i64)>) -> Write {
    let holdings: Vec<(ItemId, i128, i64)> = holdings.collect();
    let terms = (0..holdings.len()).map(|place| format!("#u{place} :u{place}, #p{place} :p{place}"));
    let expression = format!("ADD {}", terms.collect::<Vec<_>>().join(", "));
    let write = Write::new(role, keys::ledger(user), Change::Update(expression));
    holdings.into_iter().enumerate().fold(write, |write, (place, (item, units, paid))| {
        write
            .name(format!("#u{place}"), format!("u{item}"))
            .name(format!("#p{place}"), format!("p{item}"))
            .number(format!(":u{place}"), units)
            .number(format!(":p{place}"), paid)
    })
}

/// Uses a coupon, in all and by the owner. The limit per user stands on the coupon, not on the use: the coupon's
/// condition makes sure that it is still the one that was read.
fn use_up(coupon: &Coupon, owner: Option<UserId>) -> Result<Vec<Write>, Refusal> {
    let each = coupon.max_uses_per_user;
    if coupon.max_uses == Some(0) {
        return Err(Refusal::CouponUsedUp);
    }
    if each == Some(0) && owner.is_some() {
        return Err(Refusal::CouponUsedUpByUser);
    }
    let unchanged = if each.is_some() { "#each = :each" } else { "attribute_not_exists(#each)" };
    let in_all = add(Role::Coupon, keys::code(&coupon.code), USES, 1)
        .only_if(format!(
            "#kind = :coupon AND {unchanged} AND \
             (attribute_not_exists(#most) OR attribute_not_exists(#added) OR #added < #most)"
        ))
        .name("#kind", "kind")
        .name("#each", "max_uses_per_user")
        .name("#most", "max_uses")
        .value(":coupon", text("coupon"));
    let in_all = each.into_iter().fold(in_all, |write, each| write.number(":each", each));
    let by_user = owner.map(|user| {
        let write = add(Role::Use, keys::code_use(&coupon.code, user), USES, 1);
        let Some(each) = each else { return write };
        write.only_if("attribute_not_exists(#added) OR #added < :each").number(":each", each)
    });
    Ok(std::iter::once(in_all).chain(by_user).collect())
}
