//! Currencies and amounts that payment providers can charge.
//!
//! Source: <https://docs.stripe.com/currencies>, "Zero-decimal currencies", "Three-decimal currencies", "Special cases" and
//! "Minimum and maximum charge amounts", as of 2025.

use shared::model::Money;

/// The payment methods that there are, by the name that buyers see.
pub const METHODS: [&str; 1] = ["Stripe"];

/// Digits of a currency's minor unit at Stripe unless it is listed below.
const USUAL_DIGITS: u8 = 2;
/// Currencies that have no minor unit at Stripe.
const WITHOUT_DIGITS: [&str; 15] =
    ["BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"];
/// Currencies of which Stripe charges only amounts whose last digit is 0.
const THREE_DIGITS: [&str; 7] = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"];
/// Currencies that have two digits at Stripe, of which both must be 0.
const WHOLE: [&str; 2] = ["ISK", "UGX"];
/// Currencies that Stripe no longer charges, because they are gone, and what replaced each.
const GONE: [(&str, &str); 3] = [("ANG", "XCG"), ("BGN", "EUR"), ("HRK", "EUR")];
/// The least amount that Stripe charges, in minor units. By code.
#[rustfmt::skip]
const LEAST: [(&str, i64); 23] = [
    ("AED", 200), ("AUD", 50), ("BRL", 50), ("CAD", 50), ("CHF", 50), ("CZK", 1_500), ("DKK", 250),
    ("EUR", 50), ("GBP", 30), ("HKD", 400), ("HUF", 17_500), ("INR", 50), ("JPY", 50), ("MXN", 1_000), ("MYR", 200),
    ("NOK", 300), ("NZD", 50), ("PLN", 200), ("RON", 200), ("SEK", 300), ("SGD", 50), ("THB", 1_000), ("USD", 50),
];

/// The tax codes, without `txcd_`, of what Stripe sells in its own name.
///
/// Source: <https://docs.stripe.com/payments/managed-payments/eligibility>, as of July 2026.
#[rustfmt::skip]
pub const MANAGED_CODES: &[&str] = &[
    "10000000", "10010001", "10101000", "10102000", "10102001", "10103000", "10103001", "10103100", "10103101",
    "10105001", "10105002", "10105003", "10105004", "10201000", "10201001", "10201002", "10201003", "10201004",
    "10202000", "10202001", "10202003", "10301000", "10302000", "10302001", "10302002", "10302003", "10303000",
    "10303002", "10303100", "10303101", "10303102", "10303104", "10304000", "10304001", "10304002", "10304003",
    "10304100", "10304102", "10305000", "10305001", "10401000", "10401001", "10401100", "10401200", "10402000",
    "10402100", "10402110", "10402200", "10501000", "10503000", "10503001", "10503002", "10503003", "10503004",
    "10503005", "10504003", "10505000", "10505001", "10505002", "10506000", "10506001", "10506002", "10701100",
    "10701400", "10701401", "10701410", "10701411", "10804001", "10804002", "10804003", "10804010", "20060058",
    "20060158", "20060258", "20060358", "37071001",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charged {
    /// Digits of its minor unit.
    pub digits: u8,
    /// The least amount; `None` if the provider names none.
    pub least: Option<Money>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotCharged {
    #[error("currencies with three digits after the point are not supported")]
    ThreeDigits,
    #[error("it is no longer charged; its place was taken by {0}")]
    Gone(&'static str),
    #[error("Stripe charges only whole amounts of it, with two digits after the point, which is not supported")]
    WholeOnly,
}

/// How Stripe charges a currency. Fails if amounts of it cannot be sent as they are stored.
pub fn at_stripe(code: &str) -> Result<Charged, NotCharged> {
    if let Some((_, now)) = GONE.iter().find(|(gone, _)| *gone == code) {
        return Err(NotCharged::Gone(now));
    }
    if THREE_DIGITS.contains(&code) {
        return Err(NotCharged::ThreeDigits);
    }
    if WHOLE.contains(&code) {
        return Err(NotCharged::WholeOnly);
    }
    let least = LEAST.iter().find(|(known, _)| *known == code).map(|(_, least)| Money::from_minor(*least));
    Ok(Charged { digits: if WITHOUT_DIGITS.contains(&code) { 0 } else { USUAL_DIGITS }, least })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::currency::is_known;

    #[test]
    fn every_listed_code_is_a_currency_and_is_in_one_list() {
        let all: Vec<&str> = WITHOUT_DIGITS.iter().chain(&THREE_DIGITS).chain(&WHOLE).copied().collect();
        for (place, code) in all.iter().enumerate() {
            assert!(is_known(code) && !all[..place].contains(code), "{code}");
        }
        assert!(LEAST.is_sorted_by(|one, other| one.0 < other.0));
        for (code, least) in LEAST {
            assert!(is_known(code) && least > 0 && at_stripe(code).is_ok(), "{code}");
        }
    }

    #[test]
    fn a_currency_is_charged_with_the_digits_and_from_the_least_amount_of_the_provider() {
        let charged = |digits, least: Option<i64>| Ok(Charged { digits, least: least.map(Money::from_minor) });
        assert_eq!(at_stripe("EUR"), charged(2, Some(50)));
        assert_eq!(at_stripe("JPY"), charged(0, Some(50)));
        assert_eq!(at_stripe("KRW"), charged(0, None));
        assert_eq!(at_stripe("HUF"), charged(2, Some(17_500)));
        assert_eq!(at_stripe("BGN"), Err(NotCharged::Gone("EUR")));
        assert_eq!(at_stripe("KWD"), Err(NotCharged::ThreeDigits));
        assert_eq!(at_stripe("ISK"), Err(NotCharged::WholeOnly));
    }
}
