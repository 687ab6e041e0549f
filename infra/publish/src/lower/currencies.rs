//! The store's currency and those that buyers may pay in.

use crate::currency::{US_DOLLAR, is_known, usual_if_far_from};
use crate::fault::{Report, Unique};
use crate::files::{At, Decimal, StoreFile};
use shared::model::{Currency, Rate};
use shared::money;

/// The rate of the US dollar, and of a store's currency if it is the only one.
const PAR: Rate = Rate::from_millionths(1_000_000);

pub(super) struct Currencies {
    pub(super) own: Currency,
    pub(super) listed: Vec<Currency>,
}

/// Reads the currencies and notes every code and rate that cannot be right.
pub(super) fn currencies(file: &StoreFile, report: &mut Report) -> Currencies {
    let code = &file.currency.code;
    check_code(code, code.line, "currency.code", report);
    let mut codes = Unique::new("currency");
    let mut rates = Vec::with_capacity(file.currencies.len());
    for entry in &file.currencies {
        check_code(&entry.code, entry.code.line, "currencies.code", report);
        codes.take(report, entry.code.value.clone(), entry.code.line, "currencies.code");
        rates.push(rate(&entry.code, &entry.per_usd, &listed_field(&entry.code), report));
    }
    let twin = file.currencies.iter().zip(&rates).find(|(entry, _)| entry.code == *code);
    let own = match (&file.currency.per_usd, twin) {
        (Some(written), twin) => {
            let own = rate(code, written, "currency.per_usd", report);
            if let (Some(own), Some((entry, Some(other)))) = (own, twin)
                && own != *other
            {
                let problem = format!("must be the same as currency.per_usd, {}", written.0.value);
                report.fault(entry.per_usd.line(), listed_field(code), problem);
            }
            own
        }
        (None, Some((_, listed))) => *listed,
        (None, None) => {
            if !file.currencies.is_empty() && code.value != US_DOLLAR {
                let problem = "is missing; prices in the other currencies are calculated from it";
                report.fault(code.line, "currency.per_usd", problem);
            }
            None
        }
    };
    if !file.currencies.is_empty() && twin.is_none() {
        let problem = format!("the store's own {} is not listed, so buyers cannot choose it", code.value);
        report.warn(code.line, "currencies", problem);
    }
    let currency =
        |code: &At<String>, rate: Option<Rate>| Currency { name: code.value.clone(), value: rate.unwrap_or(PAR) };
    let own = currency(code, own);
    let listed: Vec<Currency> =
        file.currencies.iter().zip(rates).map(|(entry, rate)| currency(&entry.code, rate)).collect();
    Currencies { listed: if listed.is_empty() { vec![own.clone()] } else { listed }, own }
}

fn listed_field(code: &str) -> String {
    format!("currencies[{code}].per_usd")
}

/// Notes a code that no currency has.
fn check_code(code: &str, line: Option<u64>, field: &str, report: &mut Report) {
    if code.trim().is_empty() {
        report.fault(line, field, "must not be blank");
    } else if !is_known(code) {
        report.fault(line, field, format!("there is no currency {code}; write an ISO 4217 code such as EUR"));
    }
}

/// Reads a rate; one that cannot be read is noted and is `None`.
fn rate(code: &At<String>, value: &Decimal, field: &str, report: &mut Report) -> Option<Rate> {
    let rate = match value.rate() {
        Ok(rate) => rate,
        Err(error) => {
            report.fault(value.line(), field, error.to_string());
            return None;
        }
    };
    if code.value == US_DOLLAR && rate != PAR {
        report.fault(value.line(), field, "must be 1: it is how many US dollars one US dollar buys");
    } else if let Some(usual) = usual_if_far_from(code, rate.millionths()) {
        let usual = shown_rate(Rate::from_millionths(usual));
        let problem = format!(
            "looks wrong: one US dollar buys about {usual} {}. Is it dollars per unit instead of units per dollar?",
            code.value
        );
        report.warn(value.line(), field, problem);
    }
    Some(rate)
}

/// A rate with no more digits than it needs.
pub(crate) fn shown_rate(rate: Rate) -> String {
    money::rate(rate).to_string().trim_end_matches('0').trim_end_matches('.').to_owned()
}
