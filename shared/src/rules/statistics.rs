//! The sums of orders, of which only paid ones count, and how one order changes the statistics: goals, the month's top, the recent
//! donations.

use crate::model::{
    Donations, Donor, Goal, ItemId, Ledger, Money, MonthSum, Order, OrderStatus, RecentDonation, User, UserId,
};
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adjustment {
    /// It is counted from now on.
    Add,
    /// A part of it was refunded; the rest is still counted.
    Reduce,
    /// A part of it that was refunded is counted again: the refund failed.
    Restore,
    /// It is no longer counted.
    Remove,
}

impl Adjustment {
    /// A sum after `amount` was added or taken off; never negative.
    #[must_use]
    pub fn apply(self, sum: Money, amount: Money) -> Money {
        match self {
            Self::Add | Self::Restore => sum + amount,
            Self::Reduce | Self::Remove => sum.less(amount),
        }
    }
}

/// Adds `amount` to some goals, or takes it off.
pub fn apply_to_goals(sums: &mut BTreeMap<String, Money>, goals: &[String], adjustment: Adjustment, amount: Money) {
    for goal in goals {
        let sum = sums.entry(goal.clone()).or_default();
        *sum = adjustment.apply(*sum, amount);
    }
}

/// Gives a user a new sum in the top. Returns `false` if a user who is not in the top may belong in it now, so that it
/// has to be found again.
pub fn rank(top: &mut Vec<Donor>, changed: Donor) -> bool {
    let before = top.iter().position(|donor| donor.user == changed.user).map(|place| top.remove(place));
    let was_full = top.len() + usize::from(before.is_some()) >= Donations::TOP;
    let sank = before.is_some_and(|before| before.amount > changed.amount);
    if changed.amount > Money::ZERO {
        top.push(changed);
    }
    top.sort_unstable_by_key(|donor| (Reverse(donor.amount), donor.user));
    top.truncate(Donations::TOP);
    !(was_full && sank)
}

/// A month's users by their sums, largest first and then by id, with some sums replaced.
pub fn ranking(sums: Vec<MonthSum>, changed: &BTreeMap<UserId, MonthSum>) -> Vec<MonthSum> {
    let others = sums.into_iter().filter(|sum| !changed.contains_key(&sum.user));
    let given = others.chain(changed.values().copied()).filter(|sum| sum.amount > Money::ZERO);
    let mut given: Vec<MonthSum> = given.collect();
    given.sort_unstable_by_key(|sum| (Reverse(sum.amount), sum.user));
    given
}

/// Removes a user from what is shown. Returns whether the user was shown.
pub fn forget(donations: &mut Donations, user: UserId) -> bool {
    let shown = donations.top.len() + donations.recent.len();
    donations.top.retain(|donor| donor.user != user);
    donations.recent.retain(|donation| donation.user != user);
    donations.top.len() + donations.recent.len() < shown
}

/// Shows a user's present name and image among the donators. Returns whether others were shown.
pub fn rename(donations: &mut Donations, user: &User) -> bool {
    let before = donations.clone();
    for donor in donations.top.iter_mut().filter(|donor| donor.user == user.id) {
        (donor.username, donor.avatar) = (user.username.clone(), user.avatar.clone());
    }
    for donation in donations.recent.iter_mut().filter(|donation| donation.user == user.id) {
        (donation.username, donation.avatar) = (user.username.clone(), user.avatar.clone());
    }
    *donations != before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{InternalId, OrderLine, OrderNumber};
    use proptest::prelude::*;

    /// 2031-03-15T12:00:00Z.
    const NOW: i64 = 1_931_342_400;
    const DAY: i64 = 86_400;

    fn order(id: u64, status: OrderStatus, owner: Option<u64>, created_at: i64, lines: &[(u64, u32, i64)]) -> Order {
        let line = |&(item, count, total)| OrderLine::new(ItemId::new(item), count, Money::from_minor(total));
        let lines: Vec<OrderLine> = lines.iter().map(line).collect();
        Order {
            id: OrderNumber::new(id),
            internal_id: InternalId::new(&format!("order-{id}")),
            price: lines.iter().map(|line| line.total).sum(),
            currency: "EUR".to_owned(),
            digits: 2,
            status,
            gateway: "g".to_owned(),
            created_at,
            owner: owner.map(UserId::new),
            moved_to: None,
            lines,
            tax: None,
        }
    }

    fn goals() -> Vec<Goal> {
        [1, 2].map(|id| Goal { id, goal_amount: Money::from_minor(100), ..Goal::default() }).to_vec()
    }

    fn sums(orders: &[Order], now: i64) -> Derived {
        derive(orders, &BTreeMap::new(), &goals(), now)
    }

    #[test]
    fn the_top_is_of_this_month_in_utc_and_largest_first() {
        let first = NOW - 14 * DAY - 12 * 3_600;
        let orders = [
            order(1, OrderStatus::Paid, Some(5), first - 1, &[(7, 1, 900)]),
            order(2, OrderStatus::Paid, Some(5), first, &[(7, 1, 100)]),
            order(3, OrderStatus::Paid, Some(6), NOW, &[(8, 1, 200)]),
        ];
        let donations = sums(&orders, NOW).donations;
        assert_eq!(donations.month, "2031-03");
        let top: Vec<(u64, i64)> = donations.top.iter().map(|donor| (donor.user.get(), donor.amount.minor())).collect();
        assert_eq!(top, [(6, 200), (5, 100)]);
    }

    prop_compose! {
        fn some_order()(
            id in 1_u64..1_000,
            status in prop::sample::select(OrderStatus::ALL.to_vec()),
            owner in prop::option::of(1_u64..4),
            age in 0_i64..90,
            lines in prop::collection::vec((5_u64..9, 1_u32..4, 0_i64..10_000), 0..4),
        ) -> Order {
            order(id, status, owner, NOW - age * DAY, &lines)
        }
    }

    proptest! {
        #[test]
        fn the_order_of_orders_does_not_matter(mut orders in prop::collection::vec(some_order(), 0..20)) {
            orders.sort_by_key(|order| order.id);
            orders.dedup_by_key(|order| order.id);
            let sorted = sums(&orders, NOW);
            orders.reverse();
            prop_assert_eq!(sums(&orders, NOW), sorted);
        }

        #[test]
        fn what_is_not_paid_changes_nothing(orders in prop::collection::vec(some_order(), 0..20)) {
            let paid: Vec<Order> = orders.iter().filter(|order| order.status == OrderStatus::Paid).cloned().collect();
            prop_assert_eq!(sums(&orders, NOW), sums(&paid, NOW));
        }

        #[test]
        fn ledgers_and_patrons_agree_and_stay_within_the_goals(orders in prop::collection::vec(some_order(), 0..20)) {
            let sums = sums(&orders, NOW);
            let held: Money = sums.ledgers.values().flat_map(Ledger::iter).map(|(_, held)| held.all.paid).sum();
            let given: Money = sums.patrons.iter().map(|donor| donor.amount).sum();
            prop_assert_eq!(held, given);
            prop_assert!(given <= sums.donations.goals["1"]);
            let month: Money = sums.donations.top.iter().map(|donor| donor.amount).sum();
            prop_assert!(month <= given);
        }
    }

    fn plain(user: u64, amount: i64) -> Donor {
        let (username, avatar) = (String::new(), String::new());
        Donor { user: UserId::new(user), username, avatar, amount: Money::from_minor(amount) }
    }

    proptest! {
        #[test]
        fn ranking_one_change_at_a_time_agrees_with_ranking_all(
            changes in prop::collection::vec((1_u64..16, 0_i64..50), 0..60),
        ) {
            let mut sums: BTreeMap<u64, i64> = BTreeMap::new();
            let mut top = Vec::new();
            for (user, amount) in changes {
                let rows = sums.iter().map(|(user, amount)| MonthSum {
                    user: UserId::new(*user),
                    amount: Money::from_minor(*amount),
                });
                let changed = MonthSum { user: UserId::new(user), amount: Money::from_minor(amount) };
                let mut all = ranking(rows.collect(), &BTreeMap::from([(changed.user, changed)]));
                all.truncate(Donations::TOP);
                let all: Vec<Donor> = all.iter().map(|sum| plain(sum.user.get(), sum.amount.minor())).collect();
                if rank(&mut top, plain(user, amount)) {
                    prop_assert_eq!(&top, &all);
                }
                top = all;
                sums.insert(user, amount);
            }
        }
    }

    #[test]
    fn a_goal_is_never_negative() {
        let mut sums = BTreeMap::from([("1".to_owned(), Money::from_minor(5))]);
        apply_to_goals(&mut sums, &["1".to_owned()], Adjustment::Remove, Money::from_minor(7));
        assert_eq!(sums["1"], Money::ZERO);
    }
}
