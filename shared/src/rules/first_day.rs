//! The most that can be paid on a first day (rules.md, "First day").

use crate::model::{Money, Spent};

/// The length of a first day in seconds.
const DAY: i64 = 86_400;

/// The reason why a sum cannot be paid yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstDay {
    /// The most that can be paid in all.
    pub most: Money,
    /// What is left of that.
    pub left: Money,
    /// When more can be paid, seconds since 1970 UTC; `None` if it is a day after a first payment that is not made.
    pub until: Option<i64>,
    /// Whether it is the first day of the buyer's address, and not of the buyer.
    pub of_address: bool,
}

/// Whether nothing was paid, or the first day has not ended.
pub fn is_first(spent: Spent, now: i64) -> bool {
    spent.since.is_none_or(|since| now < since.saturating_add(DAY))
}

/// The reason why `price` cannot be paid at `now` (seconds since 1970 UTC) by who has `spent` so much; `None` if it can.
pub fn refused(most: Money, spent: Spent, price: Money, now: i64) -> Option<FirstDay> {
    let is_too_much = price > Money::ZERO && spent.sum + price > most && is_first(spent, now);
    is_too_much.then(|| FirstDay {
        most,
        left: most.less(spent.sum),
        until: spent.since.map(|since| since.saturating_add(DAY)),
        of_address: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_day_ends_a_day_after_the_first_payment_and_not_before() {
        let money = Money::from_minor;
        let of = |since, sum, price, now| {
            let refused = refused(money(50), Spent { since, sum: money(sum) }, money(price), now);
            refused.map(|first| (first.left.minor(), first.until))
        };
        assert_eq!((of(None, 0, 50, 9), of(None, 0, 51, 9)), (None, Some((50, None))));
        assert_eq!((of(Some(5), 30, 20, 9), of(Some(5), 30, 21, 9)), (None, Some((20, Some(5 + DAY)))));
        assert_eq!(of(Some(5), 70, 1, 4 + DAY), Some((0, Some(5 + DAY))), "more was paid before the owner set it");
        assert_eq!((of(Some(5), 70, 900, 5 + DAY), of(Some(5), 70, 0, 9)), (None, None));
    }
}
