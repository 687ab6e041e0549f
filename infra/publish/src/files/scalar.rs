//! The smallest parts of the format: values that remember their line, and decimals kept as text.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_saphyr::Spanned;
use shared::model::{Money, Percent, Rate};
use std::ops::Deref;

/// A value and the line it was read from. Two are equal when their values are.
#[derive(Debug, Clone, Default)]
pub struct At<T> {
    /// The value.
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

impl<T: Serialize> Serialize for At<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

/// A decimal number as its owner wrote it, such as `9.99`. It stays text until the number of digits is known,
/// so that it never passes through binary floating point.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Decimal(pub At<String>);

/// Why a text is not a decimal of the wanted kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// Not a number.
    #[error("must be a plain decimal number such as 9.99")]
    NotADecimal,
    /// A zero in front, which some readers take for base eight.
    #[error("must not begin with a needless 0")]
    LeadingZero,
    /// Below zero.
    #[error("must not be negative")]
    Negative,
    /// Too fine.
    #[error("has more than {0} digits after the point")]
    TooManyDigits(u8),
    /// Too large.
    #[error("is larger than the largest amount, {0} minor units")]
    TooLarge(i64),
    /// Outside of 0 < p ≤ 100.
    #[error("must be more than 0 and at most 100 percent")]
    NoPercentage,
    /// Zero, which is not an amount here.
    #[error("must be more than 0")]
    Zero,
}

impl Decimal {
    /// The line it is in.
    #[must_use]
    pub const fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// The amount of money in a currency of `digits` digits.
    ///
    /// # Errors
    /// If the text is not such an amount, or above [`Money::LARGEST`].
    pub fn money(&self, digits: u8) -> Result<Money, DecimalError> {
        scaled(&self.0, digits, Money::LARGEST.minor()).map(Money::from_minor)
    }

    /// The percentage, with at most two digits.
    ///
    /// # Errors
    /// If the text is none, 0 or above 100.
    pub fn percent(&self) -> Result<Percent, DecimalError> {
        let whole = i64::from(Percent::WHOLE.hundredths());
        let hundredths = match scaled(&self.0, 2, whole) {
            Err(DecimalError::TooLarge(_) | DecimalError::Negative) | Ok(0) => Err(DecimalError::NoPercentage),
            other => other,
        }?;
        let hundredths = u32::try_from(hundredths).map_err(|_| DecimalError::NoPercentage)?;
        Ok(Percent::from_hundredths(hundredths))
    }

    /// The exchange rate, with at most six digits.
    ///
    /// # Errors
    /// If the text is none, or 0.
    pub fn rate(&self) -> Result<Rate, DecimalError> {
        match scaled(&self.0, 6, Money::LARGEST.minor())? {
            0 => Err(DecimalError::Zero),
            millionths => Ok(Rate::from_millionths(millionths)),
        }
    }

    /// Writes an amount of money as an owner would.
    #[must_use]
    pub fn from_money(amount: Money, digits: u8) -> Self {
        Self(unscaled(amount.minor(), digits, digits).into())
    }

    /// Writes a percentage as an owner would.
    #[must_use]
    pub fn from_percent(percent: Percent) -> Self {
        Self(unscaled(i64::from(percent.hundredths()), 2, 0).into())
    }

    /// Writes an exchange rate as an owner would.
    #[must_use]
    pub fn from_rate(rate: Rate) -> Self {
        Self(unscaled(rate.millionths(), 6, 0).into())
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

/// Writes 999 as `9.99` if `digits` is 2, with at least `least` digits after the point.
fn unscaled(number: i64, digits: u8, least: u8) -> String {
    let (digits, least) = (usize::from(digits), usize::from(least));
    let text = format!("{number:0>width$}", width = digits + 1);
    let (whole, fraction) = text.split_at(text.len() - digits);
    let kept = fraction.trim_end_matches('0').len().max(least);
    if kept == 0 { whole.to_owned() } else { format!("{whole}.{}", &fraction[..kept]) }
}

/// Default of a switch that is on unless its owner says otherwise.
pub(crate) const fn yes() -> bool {
    true
}

/// Whether a switch that is on by default may be left out when it is written.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a field over by reference")]
pub(crate) const fn is_yes(switch: &bool) -> bool {
    *switch
}

/// Whether a field may be left out when it is written.
pub(crate) fn is_default<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn a_percentage_is_more_than_nothing_and_at_most_the_whole() {
        assert_eq!(decimal("12.5").percent(), Ok(Percent::from_hundredths(1_250)));
        assert_eq!(decimal("100").percent(), Ok(Percent::WHOLE));
        for text in ["0", "0.00", "100.01", "250", "-5"] {
            assert_eq!(decimal(text).percent(), Err(DecimalError::NoPercentage), "{text}");
        }
    }

    #[test]
    fn a_rate_has_six_digits_and_is_never_nothing() {
        assert_eq!(decimal("1.084512").rate(), Ok(Rate::from_millionths(1_084_512)));
        assert_eq!(decimal("0.0000001").rate(), Err(DecimalError::TooManyDigits(6)));
        assert_eq!(decimal("0").rate(), Err(DecimalError::Zero));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_the_same(minor in 0..=Money::LARGEST.minor(), digits in 0_u8..=4) {
            let amount = Money::from_minor(minor);
            prop_assert_eq!(Decimal::from_money(amount, digits).money(digits), Ok(amount));
            let rate = Rate::from_millionths(minor.max(1));
            prop_assert_eq!(Decimal::from_rate(rate).rate(), Ok(rate));
        }
    }
}
