//! Amounts of money, percentages and rates, and how they are read.

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
    pub const SMALLEST: Self = Self(1);
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

    /// This amount times `part` / `whole`, rounded down to the minor unit; zero if `whole` is zero.
    #[must_use]
    pub fn portion_down(self, part: Self, whole: Self) -> Self {
        let exact = (i128::from(self.0) * i128::from(part.0)).checked_div_euclid(whole.0.into()).unwrap_or_default();
        Self(i64::try_from(exact).unwrap_or(i64::MAX))
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

/// The reason why a text is not a decimal of the wanted kind. The text continues a sentence that begins with the
/// field's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    #[error("must be a plain decimal number such as 9.99")]
    NotADecimal,
    /// A zero in front, which some readers take for base eight.
    #[error("must not begin with a needless 0")]
    LeadingZero,
    #[error("must not be negative")]
    Negative,
    #[error("has more than {0} digits after the point")]
    TooManyDigits(u8),
    #[error("is larger than the largest amount, {0} minor units")]
    TooLarge(i64),
    #[error("must be more than 0 and at most 100 percent")]
    NoPercentage,
    /// Zero, which is not an amount here.
    #[error("must be more than 0")]
    Zero,
}

impl Money {
    /// Reads an amount in a currency of `digits` digits: `9.99` is 999 minor units if there are 2. Blanks around it do
    /// not matter. Fails also above [`Money::LARGEST`].
    pub fn parse(text: &str, digits: u8) -> Result<Self, DecimalError> {
        scaled(text, digits, Self::LARGEST.minor()).map(Self::from_minor)
    }
}

impl Percent {
    /// Reads a percentage with at most two digits. Fails for 0 and above 100.
    pub fn parse(text: &str) -> Result<Self, DecimalError> {
        let whole = i64::from(Self::WHOLE.hundredths());
        let hundredths = match scaled(text, 2, whole) {
            Err(DecimalError::TooLarge(_) | DecimalError::Negative) | Ok(0) => Err(DecimalError::NoPercentage),
            other => other,
        }?;
        let hundredths = u32::try_from(hundredths).map_err(|_| DecimalError::NoPercentage)?;
        Ok(Self::from_hundredths(hundredths))
    }
}

impl Rate {
    /// Reads an exchange rate with at most six digits. Fails for 0.
    pub fn parse(text: &str) -> Result<Self, DecimalError> {
        match scaled(text, 6, Money::LARGEST.minor())? {
            0 => Err(DecimalError::Zero),
            millionths => Ok(Self::from_millionths(millionths)),
        }
    }
}

/// Reads `9.99` as 999 if `digits` is 2.
fn scaled(text: &str, digits: u8, largest: i64) -> Result<i64, DecimalError> {
    let text = text.trim();
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(whole) || !plain(fraction) {
        return Err(DecimalError::NotADecimal);
    }
    if negative {
        return Err(DecimalError::Negative);
    }
    if whole.len() > 1 && whole.starts_with('0') {
        return Err(DecimalError::LeadingZero);
    }
    let fraction = if text.contains('.') { fraction } else { "" };
    if fraction.len() > usize::from(digits) {
        return Err(DecimalError::TooManyDigits(digits));
    }
    let padded = format!("{whole}{fraction:0<width$}", width = usize::from(digits));
    let number = padded.trim_start_matches('0');
    match number.parse::<i64>() {
        _ if number.is_empty() => Ok(0),
        Ok(number) if number <= largest => Ok(number),
        _ => Err(DecimalError::TooLarge(largest)),
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

    #[test]
    fn a_percentage_is_more_than_nothing_and_at_most_the_whole() {
        assert_eq!(Percent::parse("12.5"), Ok(Percent::from_hundredths(1_250)));
        assert_eq!(Percent::parse("100"), Ok(Percent::WHOLE));
        for text in ["0", "0.00", "100.01", "250", "-5"] {
            assert_eq!(Percent::parse(text), Err(DecimalError::NoPercentage), "{text}");
        }
    }
}
