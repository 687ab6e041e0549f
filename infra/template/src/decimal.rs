//! Decimal numbers for `MinValue` and `MaxValue`, compared digit by digit: exact at any length.

use std::cmp::Ordering;

/// A number such as `-12.50`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    is_negative: bool,
    /// Digits before the point, without leading zeros.
    whole: String,
    /// Digits after the point, without trailing zeros.
    fraction: String,
}

impl Decimal {
    /// Reads digits with an optional sign and fraction; anything else is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (is_negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let are_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        let whole = whole.trim_start_matches('0').to_owned();
        let fraction = fraction.trim_end_matches('0').to_owned();
        let is_zero = whole.is_empty() && fraction.is_empty();
        Some(Self { is_negative: is_negative && !is_zero, whole, fraction })
    }
}

impl From<usize> for Decimal {
    fn from(count: usize) -> Self {
        Self {
            is_negative: false,
            whole: count.to_string().trim_start_matches('0').to_owned(),
            fraction: String::new(),
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let magnitudes = || {
            let whole = |number: &Self| (number.whole.len(), number.whole.clone());
            whole(self).cmp(&whole(other)).then_with(|| self.fraction.cmp(&other.fraction))
        };
        match (self.is_negative, other.is_negative) {
            (false, false) => magnitudes(),
            (true, true) => magnitudes().reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    fn number(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn numbers_compare_by_value_and_not_by_spelling() {
        let ascending = ["-100", "-9.5", "-9", "-0.1", "0", "0.05", "0.5", "1", "9.99", "10", "10000"];
        for pair in ascending.windows(2) {
            assert!(number(pair[0]) < number(pair[1]), "{pair:?}");
        }
        assert_eq!(Decimal::from(0), number("0"));
        assert_eq!(Decimal::from(100), number("100.0"));
        for (left, right) in [("7", "007.00"), ("-0", "0"), ("+1.50", "1.5")] {
            assert_eq!(number(left), number(right));
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", "1.", ".5", "1e3", "0x10", "1,5", " 1", "--1", "NaN", "١"] {
            assert_eq!(Decimal::parse(text), None, "{text:?}");
        }
    }
}
