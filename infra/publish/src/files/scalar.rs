//! The smallest parts of the format: values that remember their line, and decimals kept as text.

use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;
use shared::model::{DecimalError, Money, Rate};
use std::ops::Deref;

/// A value and the line it was read from. Two are equal when their values are.
#[derive(Debug, Clone, Default)]
pub struct At<T> {
    pub value: T,
    /// The line, counted from 1; `None` for a value that was not read from a file.
    pub line: Option<u64>,
}

impl<T> Deref for At<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> From<T> for At<T> {
    fn from(value: T) -> Self {
        Self { value, line: None }
    }
}

impl<T: PartialEq> PartialEq for At<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for At<T> {}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::deserialize(deserializer)?;
        Ok(Self { value, line: Some(referenced.line()).filter(|line| *line > 0) })
    }
}

/// A decimal number as its owner wrote it, such as `9.99`. It stays text until the number of digits is known,
/// so that it never passes through binary floating point.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(transparent)]
pub struct Decimal(pub At<String>);

impl Decimal {
    /// The line it is in.
    pub const fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// The amount of money in a currency of `digits` digits. Fails also above [`Money::LARGEST`].
    pub fn money(&self, digits: u8) -> Result<Money, DecimalError> {
        Money::parse(&self.0, digits)
    }

    /// The exchange rate, with at most six digits. Fails for 0.
    pub fn rate(&self) -> Result<Rate, DecimalError> {
        Rate::parse(&self.0)
    }
}

/// Default of a switch that is on unless its owner says otherwise.
pub const fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal(text.to_owned().into())
    }

    #[test]
    fn a_price_is_read_digit_by_digit() {
        for (text, minor) in [("9.99", 999), ("9.9", 990), ("9", 900), ("0", 0), ("0.07", 7)] {
            assert_eq!(decimal(text).money(2), Ok(Money::from_minor(minor)), "{text}");
        }
        assert_eq!(decimal("5").money(0), Ok(Money::from_minor(5)));
        assert_eq!(decimal("10000000000").money(2), Ok(Money::LARGEST));
    }

    #[test]
    fn what_is_no_price_is_refused_with_its_reason() {
        for text in ["", ".5", "5.", "1e3", "1_000", "1,5", "+1", "½", "٣"] {
            assert_eq!(decimal(text).money(2), Err(DecimalError::NotADecimal), "{text}");
        }
        assert_eq!(decimal("-1").money(2), Err(DecimalError::Negative));
        for text in ["017", "007.00", "00"] {
            assert_eq!(decimal(text).money(2), Err(DecimalError::LeadingZero), "{text}");
        }
        assert_eq!(decimal("9.999").money(2), Err(DecimalError::TooManyDigits(2)));
        assert_eq!(decimal("9.0").money(0), Err(DecimalError::TooManyDigits(0)));
        let largest = Money::LARGEST.minor();
        for text in ["10000000000.01", "99999999999999999999999999"] {
            assert_eq!(decimal(text).money(2), Err(DecimalError::TooLarge(largest)), "{text}");
        }
    }

    #[test]
    fn a_rate_has_six_digits_and_is_never_nothing() {
        assert_eq!(decimal("1.084512").rate(), Ok(Rate::from_millionths(1_084_512)));
        assert_eq!(decimal("0.0000001").rate(), Err(DecimalError::TooManyDigits(6)));
        assert_eq!(decimal("0").rate(), Err(DecimalError::Zero));
    }
}
