//! The sums of orders. Only paid orders count; a refunded order does not.

use crate::model::{Donations, Donor, Goal, ItemId, Ledger, Money, Order, OrderStatus, RecentDonation, User, UserId};
use crate::rules::goals;
use crate::rules::ownership::Ownership;
use std::cmp::Reverse;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Derived {
    /// The items that every user owns: what they bought for themselves, and what others gave them.
    pub ledgers: BTreeMap<UserId, Ledger>,
    /// Units of every item sold in all, guests' and gifts included.
    pub sold: BTreeMap<ItemId, u64>,
    /// Goals, the month's top donators, recent donators.
    pub donations: Donations,
    /// Every user's all-time sum in the store's currency, if it is not zero.
    pub patrons: Vec<Donor>,
}

/// Adds up orders. `users` has the players' names. The top donators are those of the month of `now`, in seconds since
/// 1970 UTC.
pub fn derive(orders: &[Order], users: &BTreeMap<UserId, &User>, goals: &[Goal], now: i64) -> Derived {
    let paid: Vec<&Order> = orders.iter().filter(|order| order.status == OrderStatus::Paid).collect();
    let mut ownership = Ownership::default();
    for order in orders {
        ownership.add(order);
    }
    let this_month = Donations::month_of(now);
    let of_month = paid.iter().copied().filter(|order| Donations::month_of(order.created_at) == this_month);
    let mut top = donors(of_month, users);
    top.sort_by_key(|donor| (Reverse(donor.amount), donor.user));
    top.truncate(Donations::TOP);
    let sums = goals::sums(goals, paid.iter().copied());
    let reached = goals.iter().map(|goal| (goal, sums.get(&goal.id.to_string()).copied().unwrap_or_default()));
    let reached = reached.map(|(goal, sum)| (goal.id.to_string(), goals::reached(goal, sum)));
    Derived {
        ledgers: ownership.ledgers(),
        sold: sold(&paid),
        donations: Donations {
            // What adds up to it is not told again.
            reached: reached.filter(|(_, sum)| *sum > Money::ZERO).collect(),
            goals: sums,
            delivery: None,
            month: this_month,
            top,
            recent: recent(&paid, users),
        },
        patrons: donors(paid.iter().copied(), users),
    }
}

fn sold(paid: &[&Order]) -> BTreeMap<ItemId, u64> {
    let mut sold = BTreeMap::new();
    for line in paid.iter().flat_map(|order| &order.lines) {
        *sold.entry(line.item).or_default() += u64::from(line.units());
    }
    sold
}

/// The players of these orders with their sums, by user. Those with a sum of zero are left out.
fn donors<'a>(orders: impl Iterator<Item = &'a Order>, users: &BTreeMap<UserId, &User>) -> Vec<Donor> {
    let mut sums: BTreeMap<UserId, Money> = BTreeMap::new();
    for order in orders {
        if let Some(player) = order.player() {
            let sum = sums.entry(player).or_default();
            *sum = *sum + order.total();
        }
    }
    let given = sums.into_iter().filter(|(_, amount)| *amount > Money::ZERO);
    let donor = |(user, amount)| {
        let (username, avatar) = face(user, users);
        Donor { user, username, avatar, amount }
    };
    given.map(donor).collect()
}

/// The last paid orders with an owner and an amount above zero, newest first; of two in the same second the one with
/// the larger number.
fn recent(paid: &[&Order], users: &BTreeMap<UserId, &User>) -> Vec<RecentDonation> {
    let shown = paid.iter().filter(|order| order.price > Money::ZERO);
    let mut owned: Vec<(&Order, UserId)> = shown.filter_map(|order| Some((*order, order.player()?))).collect();
    owned.sort_by_key(|(order, _)| Reverse((order.created_at, order.id)));
    owned.truncate(Donations::RECENT);
    let donation = |(order, user): (&Order, UserId)| {
        let (username, avatar) = face(user, users);
        RecentDonation {
            order: order.internal_id.clone(),
            user,
            username,
            avatar,
            amount: order.price,
            currency: order.currency.clone(),
            at: order.created_at,
        }
    };
    owned.into_iter().map(donation).collect()
}

/// A user's name and image; both are empty for an unknown user.
fn face(id: UserId, users: &BTreeMap<UserId, &User>) -> (String, String) {
    users.get(&id).map(|user| (user.username.clone(), user.avatar.clone())).unwrap_or_default()
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
