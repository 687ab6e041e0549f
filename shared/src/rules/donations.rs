//! How one order changes the statistics: goals, the month's top, the recent donations.

use crate::model::{Donations, Donor, Money, MonthSum, User, UserId};
use std::cmp::Reverse;
use std::collections::BTreeMap;

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
    use proptest::prelude::*;

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
