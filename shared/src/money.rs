//! Numbers and times in responses. This is the only place that uses binary floating point: an integer of up to 15
//! significant digits divided by a power of ten prints exactly (rules.md, "Money and rounding").

#![expect(clippy::disallowed_types, reason = "JSON numbers are floating point; nothing is calculated with them here")]

use crate::model::{Money, Order, Percent, Rate};
use jiff::Timestamp;
use jiff::tz::Offset;
use serde::{Serialize, Serializer};
use std::fmt;

/// A decimal number: `unscaled` / 10^`digits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    unscaled: i64,
    digits: u8,
}

/// The format of money: minor units with the store's number of digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrencyFormat {
    digits: u8,
}

impl CurrencyFormat {
    /// Money of a currency with `digits` digits in its minor unit.
    pub const fn new(digits: u8) -> Self {
        Self { digits }
    }

    /// An order's money, in the digits with which it was recorded.
    pub const fn of(order: &Order) -> Self {
        Self::new(order.digits)
    }

    pub const fn money(self, money: Money) -> Decimal {
        Decimal { unscaled: money.minor(), digits: self.digits }
    }
}

/// A percentage, 12.5 for 12.5 %.
pub fn percent(percent: Percent) -> Decimal {
    Decimal { unscaled: i64::from(percent.hundredths()), digits: 2 }
}

pub const fn rate(rate: Rate) -> Decimal {
    Decimal { unscaled: rate.millionths(), digits: 6 }
}

/// A number of thousandths: microseconds as milliseconds.
pub const fn thousandths(number: i64) -> Decimal {
    Decimal { unscaled: number, digits: 3 }
}

/// A second since 1970 UTC in ISO 8601, with Z: `2026-06-15T09:00:00Z`.
pub fn iso_8601(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

/// A second since 1970 UTC as people read it: `2026-06-15 09:00:00`.
pub fn date_and_time(seconds: i64) -> String {
    let at = Offset::UTC.to_datetime(Timestamp::from_second(seconds).unwrap_or_default());
    format!("{} {}", at.date(), at.time())
}

/// Zero, for a number that does not apply.
pub const ZERO: Decimal = Decimal { unscaled: 0, digits: 0 };

impl fmt::Display for Decimal {
    /// With every digit, for people: `5.00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = self.scale();
        let sign = if self.unscaled < 0 { "-" } else { "" };
        let (whole, part) = (self.unscaled / scale, self.unscaled % scale);
        write!(f, "{sign}{}", whole.abs())?;
        if self.digits > 0 { write!(f, ".{:0width$}", part.abs(), width = usize::from(self.digits)) } else { Ok(()) }
    }
}

impl Decimal {
    fn scale(self) -> i64 {
        10_i64.pow(u32::from(self.digits.min(9)))
    }
}

impl schemars::JsonSchema for Decimal {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Decimal".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "number",
            "description": "A decimal number. Money is in major units and has at most the currency's number of digits."
        })
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let scale = self.scale();
        if self.unscaled % scale == 0 {
            return serializer.serialize_i64(self.unscaled / scale);
        }
        #[expect(clippy::cast_precision_loss, reason = "amounts stay below 10^15, see Money::LARGEST")]
        let number = self.unscaled as f64 / scale as f64;
        serializer.serialize_f64(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(minor: i64, digits: u8) -> String {
        serde_json::to_string(&CurrencyFormat::new(digits).money(Money::from_minor(minor))).unwrap()
    }

    #[test]
    fn money_prints_exactly() {
        assert_eq!(print(1999, 2), "19.99");
        assert_eq!(print(10, 2), "0.1");
        assert_eq!(print(1000, 2), "10");
        assert_eq!(print(-5, 2), "-0.05");
        assert_eq!(print(123, 0), "123");
        assert_eq!(print(1, 3), "0.001");
        assert_eq!(print(999_999_999_999_999, 2), "9999999999999.99");
    }

    #[test]
    fn people_read_every_digit() {
        assert_eq!(CurrencyFormat::new(2).money(Money::from_minor(-505)).to_string(), "-5.05");
        assert_eq!(CurrencyFormat::new(0).money(Money::from_minor(7)).to_string(), "7");
    }

    #[test]
    fn every_cent_up_to_a_thousand_prints_exactly() {
        for minor in 0..100_000 {
            let text = format!("{}.{:02}", minor / 100, minor % 100);
            let printed = print(minor, 2);
            assert_eq!(printed, text.trim_end_matches('0').trim_end_matches('.'), "{minor}");
        }
    }
}
