//! Decimal numbers that people and clients write, read digit by digit: they never pass through binary floating point.

use super::{Money, Percent, Rate};

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
