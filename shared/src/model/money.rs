//! Money, percentages and exchange rates as integers (rules.md, "Money and rounding"). They are converted
//! to JSON numbers in [`crate::money`] only.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, Sub};

/// An amount in minor units (cents if the store has two digits), also of virtual currency.
///
/// Sums saturate instead of wrapping; the published format keeps every amount below
/// [`Money::LARGEST`], so that no store reaches the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(i64);

impl Money {
    pub const ZERO: Self = Self(0);
    /// The largest amount that a store may contain. Every sum over a full cart is still an exact JSON number.
    pub const LARGEST: Self = Self(1_000_000_000_000);

    /// An amount of `minor` minor units.
    pub const fn from_minor(minor: i64) -> Self {
        Self(minor)
    }

    /// The amount in minor units.
    pub const fn minor(self) -> i64 {
        self.0
    }

    /// This amount times `count`.
    #[must_use]
    pub const fn times(self, count: u32) -> Self {
        Self(self.0.saturating_mul(count as i64))
    }

    /// `self - other`, or zero if that is negative.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0).max(0))
    }

    /// The given share of this amount, half up to the minor unit (rules.md, "Money and rounding").
    #[must_use]
    pub fn share(self, percent: Percent) -> Self {
        self.fraction(percent.hundredths().into(), Percent::WHOLE.hundredths().into())
    }

    /// This amount times `part` / `whole`, half up to the minor unit; zero if `whole` is zero.
    #[must_use]
    pub fn portion(self, part: Self, whole: Self) -> Self {
        self.fraction(part.0.into(), whole.0.into())
    }

    fn fraction(self, part: i128, whole: i128) -> Self {
        let rounded = (i128::from(self.0) * part * 2 + whole).checked_div_euclid(whole * 2).unwrap_or_default();
        Self(i64::try_from(rounded).unwrap_or(i64::MAX))
    }

    /// This amount shared in proportion to `totals`, half up to the minor unit. The parts add up to it, and none of an
    /// amount up to the sum of the totals exceeds its total. If all totals are zero, so are the parts.
    #[must_use]
    pub fn spread(self, totals: &[Self]) -> Vec<Self> {
        let all = totals.iter().copied().sum();
        let upto = totals.iter().scan(Self::ZERO, |upto, total| {
            *upto = *upto + *total;
            Some(self.portion(*upto, all))
        });
        let mut before = Self::ZERO;
        upto.map(|upto| upto - std::mem::replace(&mut before, upto)).collect()
    }
}

impl Add for Money {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Money {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

/// A percentage in hundredths of a percent: 12.5 % is 1250.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Percent(u32);

impl Percent {
    pub const WHOLE: Self = Self(10_000);

    /// A percentage of `hundredths` hundredths of a percent; more than 100 % counts as 100 %.
    pub fn from_hundredths(hundredths: u32) -> Self {
        Self(hundredths.min(Self::WHOLE.0))
    }

    /// The percentage in hundredths of a percent.
    pub const fn hundredths(self) -> u32 {
        self.0
    }
}

/// Units of a currency that one US dollar buys, in millionths. It is only shown, never used in a calculation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(i64);

impl Rate {
    pub const fn from_millionths(millionths: i64) -> Self {
        Self(millionths)
    }

    pub const fn millionths(self) -> i64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_half_up_to_the_minor_unit() {
        let half = Percent::from_hundredths(5_000);
        assert_eq!(Money::from_minor(101).share(half), Money::from_minor(51));
        assert_eq!(Money::from_minor(100).share(half), Money::from_minor(50));
        assert_eq!(Money::from_minor(999).share(Percent::from_hundredths(1_250)), Money::from_minor(125));
        assert_eq!(Money::from_minor(333).share(Percent::from_hundredths(1_000)), Money::from_minor(33));
    }

    #[test]
    fn what_is_spread_is_rounded_half_up_and_adds_up() {
        let spread = |amount, totals: [i64; 3]| {
            Money::from_minor(amount)
                .spread(&totals.map(Money::from_minor))
                .into_iter()
                .map(Money::minor)
                .collect::<Vec<_>>()
        };
        assert_eq!(spread(1, [50, 50, 0]), [1, 0, 0]);
        assert_eq!(spread(100, [300, 300, 300]), [33, 34, 33]);
        assert_eq!(spread(900, [300, 300, 300]), [300, 300, 300]);
        assert_eq!(spread(5, [0, 0, 0]), [0, 0, 0]);
    }

    #[test]
    fn a_percentage_never_exceeds_the_whole() {
        assert_eq!(Percent::from_hundredths(20_000), Percent::WHOLE);
    }

    #[test]
    fn less_stops_at_zero() {
        assert_eq!(Money::from_minor(3).less(Money::from_minor(5)), Money::ZERO);
    }
}
