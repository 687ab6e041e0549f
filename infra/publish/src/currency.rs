//! Currencies by their ISO 4217 code, about how many units of each one US dollar buys, and which of them and which amounts payment
//! providers can charge.
//!
//! The rates are those of early 2025, rounded. They are for noticing a rate that is the wrong way round and are never
//! calculated with. What providers charge is from <https://docs.stripe.com/currencies>, "Zero-decimal currencies", "Three-decimal
//! currencies", "Special cases" and "Minimum and maximum charge amounts", as of 2025.

use crate::publish::PublishError;
use shared::model::Money;
use shared::table::bulk::each;
use shared::table::codec::key_of;
use shared::table::keys::prefix;
use shared::table::published::read_active_version;
use shared::table::{Db, StoreError};
use std::collections::BTreeSet;

/// The code of the currency whose rate is 1.
pub(crate) const US_DOLLAR: &str = "USD";
/// How many times larger or smaller than expected a rate may be before it looks wrong.
const PLAUSIBLE: i64 = 3;

/// Code, and units per US dollar in thousandths. By code.
#[rustfmt::skip]
const CURRENCIES: &[(&str, i64)] = &[
    ("AED", 3_673), ("AFN", 71_000), ("ALL", 92_000), ("AMD", 392_000), ("ANG", 1_790), ("AOA", 915_000),
    ("ARS", 1_080_000), ("AUD", 1_570), ("AWG", 1_790), ("AZN", 1_700), ("BAM", 1_800), ("BBD", 2_000),
    ("BDT", 121_000), ("BGN", 1_800), ("BHD", 376), ("BIF", 2_950_000), ("BMD", 1_000), ("BND", 1_340),
    ("BOB", 6_900), ("BRL", 5_750), ("BSD", 1_000), ("BTN", 86_000), ("BWP", 13_700), ("BYN", 3_270),
    ("BZD", 2_000), ("CAD", 1_420), ("CDF", 2_850_000), ("CHF", 890), ("CLP", 945_000), ("CNY", 7_270),
    ("COP", 4_130_000), ("CRC", 505_000), ("CUP", 24_000), ("CVE", 102_000), ("CZK", 23_800), ("DJF", 178_000),
    ("DKK", 6_950), ("DOP", 62_000), ("DZD", 134_000), ("EGP", 50_600), ("ERN", 15_000), ("ETB", 128_000),
    ("EUR", 930), ("FJD", 2_300), ("FKP", 790), ("GBP", 790), ("GEL", 2_780), ("GHS", 15_400),
    ("GIP", 790), ("GMD", 72_000), ("GNF", 8_600_000), ("GTQ", 7_700), ("GYD", 209_000), ("HKD", 7_780),
    ("HNL", 25_500), ("HTG", 131_000), ("HUF", 375_000), ("IDR", 16_300_000), ("ILS", 3_600), ("INR", 86_500),
    ("IQD", 1_310_000), ("IRR", 42_000_000), ("ISK", 138_000), ("JMD", 157_000), ("JOD", 709), ("JPY", 150_000),
    ("KES", 129_000), ("KGS", 87_400), ("KHR", 4_010_000), ("KMF", 457_000), ("KPW", 900_000), ("KRW", 1_440_000),
    ("KWD", 308), ("KYD", 833), ("KZT", 505_000), ("LAK", 21_700_000), ("LBP", 89_500_000), ("LKR", 296_000),
    ("LRD", 199_000), ("LSL", 18_400), ("LYD", 4_900), ("MAD", 9_950), ("MDL", 18_600), ("MGA", 4_700_000),
    ("MKD", 57_000), ("MMK", 2_100_000), ("MNT", 3_470_000), ("MOP", 8_010), ("MRU", 39_800), ("MUR", 46_500),
    ("MVR", 15_400), ("MWK", 1_734_000), ("MXN", 20_400), ("MYR", 4_430), ("MZN", 63_900), ("NAD", 18_400),
    ("NGN", 1_500_000), ("NIO", 36_800), ("NOK", 11_100), ("NPR", 138_000), ("NZD", 1_750), ("OMR", 385),
    ("PAB", 1_000), ("PEN", 3_690), ("PGK", 4_050), ("PHP", 57_900), ("PKR", 280_000), ("PLN", 3_950),
    ("PYG", 7_900_000), ("QAR", 3_640), ("RON", 4_700), ("RSD", 110_000), ("RUB", 90_000), ("RWF", 1_410_000),
    ("SAR", 3_750), ("SBD", 8_450), ("SCR", 14_400), ("SDG", 600_000), ("SEK", 10_600), ("SGD", 1_340),
    ("SHP", 790), ("SLE", 22_800), ("SOS", 571_000), ("SRD", 35_500), ("SSP", 4_400_000), ("STN", 23_000),
    ("SVC", 8_750), ("SYP", 13_000_000), ("SZL", 18_400), ("THB", 33_800), ("TJS", 10_900), ("TMT", 3_500),
    ("TND", 3_160), ("TOP", 2_400), ("TRY", 36_400), ("TTD", 6_790), ("TWD", 32_800), ("TZS", 2_600_000),
    ("UAH", 41_500), ("UGX", 3_670_000), ("USD", 1_000), ("UYU", 42_800), ("UZS", 12_900_000), ("VED", 64_000),
    ("VES", 64_000), ("VND", 25_500_000), ("VUV", 123_000), ("WST", 2_800), ("XAF", 610_000), ("XCD", 2_700),
    ("XCG", 1_790), ("XOF", 610_000), ("XPF", 111_000), ("YER", 248_000), ("ZAR", 18_400), ("ZMW", 28_500),
    ("ZWG", 26_500),
];

/// Whether a code is that of a currency in use.
pub(crate) fn is_known(code: &str) -> bool {
    usual(code).is_some()
}

/// About how many millionths of a unit one US dollar buys; `None` for an unknown code.
fn usual(code: &str) -> Option<i64> {
    let place = CURRENCIES.binary_search_by_key(&code, |(code, _)| code).ok()?;
    CURRENCIES.get(place).map(|(_, thousandths)| thousandths * 1_000)
}

/// The usual rate in millionths of a unit per US dollar, if the given one is more than three times larger or smaller, or
/// nearer to dollars per unit than to units per dollar.
pub(crate) fn usual_if_far_from(code: &str, millionths: i64) -> Option<i64> {
    let usual = usual(code)?;
    let is_far = millionths > usual.saturating_mul(PLAUSIBLE) || usual > millionths.saturating_mul(PLAUSIBLE);
    (is_far || is_inverted(usual, millionths)).then_some(usual)
}

/// Whether a rate is nearer to the inverse of the usual one. Currencies that are worth about a dollar look the same both ways.
fn is_inverted(usual: i64, millionths: i64) -> bool {
    const ONE: i64 = 1_000_000;
    let is_about_a_dollar = (usual - ONE).abs() < ONE / 20;
    let on_other_side = (usual < ONE) != (millionths < ONE) && millionths != ONE;
    // Between the two, the middle is a dollar: the rate is on the other side of it.
    !is_about_a_dollar && on_other_side
}

/// Refuses to publish `digits` if the published store has others and the table has live rows. A table whose orders
/// were all recorded with `digits` is let back to them. Fails with [`PublishError::Digits`].
pub async fn check_digits(db: &Db, digits: u8) -> Result<(), PublishError> {
    let Some(published) = read_active_version(db).await?.map(|active| active.config.digits) else { return Ok(()) };
    if published == digits {
        return Ok(());
    }
    // Reads the whole table, which only a change of digits needs.
    let (mut is_live, mut of_orders) = (false, BTreeSet::new());
    each(db, "", |item| {
        let key = key_of(&item)?;
        is_live |= prefix::LIVE.iter().any(|kind| key.pk.starts_with(kind));
        if key.pk.starts_with(prefix::ORDER) {
            let digits = item.get("digits").and_then(|value| value.as_n().ok());
            of_orders.extend(digits.and_then(|digits| digits.parse::<u8>().ok()));
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    if !is_live || of_orders == BTreeSet::from([digits]) {
        return Ok(());
    }
    Err(PublishError::Digits { published, wanted: digits })
}

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

    #[test]
    fn the_table_is_sorted_by_code_as_the_search_needs() {
        assert!(CURRENCIES.is_sorted_by(|one, other| one.0 < other.0));
    }

    #[test]
    fn a_rate_that_is_the_wrong_way_round_is_far_from_the_usual_one() {
        assert_eq!(usual_if_far_from("PLN", 251_306), Some(3_950_000));
        assert_eq!(usual_if_far_from("JPY", 6_600), Some(150_000_000));
        assert_eq!(usual_if_far_from("PLN", 3_979_213), None);
        assert_eq!(usual_if_far_from("KWD", 3_250_000), Some(308_000));
        assert_eq!(usual_if_far_from("ZZZ", 1), None);
        assert_eq!(usual_if_far_from("EUR", 1_085_000), Some(930_000));
        assert_eq!(usual_if_far_from("EUR", 920_000), None);
        assert_eq!(usual_if_far_from("BBD", 500_000), Some(2_000_000));
        assert_eq!(usual_if_far_from("PAB", 1_010_000), None);
    }

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
