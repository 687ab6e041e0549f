//! `payments` of `store.yaml`: how buyers pay.

use super::{amount, taxes};
use crate::fault::{Report, Unique, nearest};
use crate::files::{At, CategoryFile, Decimal, PaymentsFile, StoreFile, StoreFiles};
use crate::provider::{self, Charged, METHODS};
use shared::model::{Money, Payments, StoreConfig};
use shared::money::CurrencyFormat;
use shared::rules::payment_methods::{METHODS as WAYS, Method, NOT_OFFERED};

/// The shortest hold in minutes that is not none: providers end no checkout earlier.
const SHORTEST_HOLD: u32 = 30;
/// The longest hold in minutes, so that a checkout ends within the day that providers allow.
const LONGEST_HOLD: u32 = 1_400;

/// Reads how buyers pay. `digits` are those of the store's currency.
pub(super) fn payments(file: &StoreFile, digits: u8, report: &mut Report) -> Payments {
    let written = &file.payments;
    let usual = Payments::default();
    let methods = methods(file, report);
    let hold_minutes = written.hold_minutes.as_ref().map_or(usual.hold_minutes, |minutes| {
        if **minutes != 0 && !(SHORTEST_HOLD..=LONGEST_HOLD).contains(&**minutes) {
            let problem = format!("must be 0, which holds nothing, or from {SHORTEST_HOLD} to {LONGEST_HOLD}");
            report.fault(minutes.line, "payments.hold_minutes", problem);
        }
        **minutes
    });
    let hold_units = written.hold_units.as_ref().map_or(usual.hold_units, |units| {
        if **units == 0 {
            report.fault(units.line, "payments.hold_units", "must be at least 1");
        }
        **units
    });
    let charged = if methods.is_empty() { None } else { charged(file, digits, report) };
    let least = least(written, charged, digits, &file.currency.code, report);
    let currency = if methods.is_empty() { String::new() } else { file.currency.code.value.clone() };
    let (only, except) = chosen(written, report);
    taxes::check(written, report);
    Payments {
        methods,
        currency,
        hold_minutes,
        hold_units,
        delayed: written.delayed,
        only,
        except,
        adaptive: written.adaptive,
        three_d_secure: written.three_d_secure,
        invoices: written.invoices,
        least,
        tax: written.tax.value,
        tax_prices: written.tax_prices.as_ref().map_or_else(Default::default, |prices| prices.value),
        // Known with the items.
        tax_codes: Vec::new(),
        answer_disputes: written.answer_disputes,
        first_day: first_day(written, least, digits, report),
    }
}

/// The most that new buyers pay on their first day.
fn first_day(file: &PaymentsFile, least: Money, digits: u8, report: &mut Report) -> Option<Money> {
    const FIELD: &str = "payments.first_day.most";
    let written = &file.first_day.as_ref()?.most;
    let most = amount(written, digits, FIELD, report)?;
    if most < least.max(Money::from_minor(1)) {
        let least = CurrencyFormat::new(digits).money(least.max(Money::from_minor(1)));
        report.fault(written.line(), FIELD, format!("must be at least {least}, or no new buyer could pay anything"));
    }
    Some(most)
}

/// The methods that are switched on. Buyers return from a provider's page to the storefront, so they need its address.
fn methods(file: &StoreFile, report: &mut Report) -> Vec<String> {
    const FIELD: &str = "payments.methods";
    let mut names = Unique::new("method");
    for method in &file.payments.methods {
        if !METHODS.contains(&method.as_str()) {
            report.fault(method.line, FIELD, there_is_no("method", method, &METHODS));
        }
        names.take(report, method.value.clone(), method.line, FIELD);
    }
    if let Some(first) = file.payments.methods.first()
        && file.storefront.url.is_empty()
    {
        report.fault(first.line, FIELD, "need storefront.url, to which buyers return from the payment page");
    }
    file.payments.methods.iter().map(|method| method.value.clone()).collect()
}

/// The ways to pay that are offered alone, and those that are not.
fn chosen(file: &PaymentsFile, report: &mut Report) -> (Vec<String>, Vec<String>) {
    if let (Some(_), Some(first)) = (file.only.first(), file.except.first()) {
        report.fault(first.line, "payments.except", "says what payments.only has left out already: write one of them");
    }
    for (field, list) in [("payments.only", &file.only), ("payments.except", &file.except)] {
        let mut words = Unique::new("way to pay");
        for word in list {
            check_word(word, field, report);
            words.take(report, word.value.clone(), word.line, field);
        }
    }
    let is_prompt = |word: &At<String>| Method::of(word).is_none_or(Method::is_prompt);
    if let Some(first) = file.only.first().filter(|_| !file.only.iter().any(is_prompt)) {
        let problem =
            "needs one way to pay that confirms at once and can be refunded, for what is limited: card, for example";
        report.fault(first.line, "payments.only", problem);
    }
    if let Some(late) = file.only.iter().find(|word| !file.delayed && !is_prompt(word)) {
        let problem = format!("{} confirms days later or cannot be refunded, and needs delayed: true", late.value);
        report.fault(late.line, "payments.only", problem);
    }
    let values = |list: &[At<String>]| list.iter().map(|word| word.value.clone()).collect();
    (values(&file.only), values(&file.except))
}

fn check_word(word: &At<String>, field: &str, report: &mut Report) {
    if Method::of(word).is_some() {
        return;
    }
    if let Some((_, reason)) = NOT_OFFERED.iter().find(|(known, _)| *known == word.as_str()) {
        report.fault(word.line, field, format!("{} is not offered: {reason}", word.value));
        return;
    }
    let words: Vec<&str> = WAYS.iter().map(|method| method.word).collect();
    report.fault(word.line, field, there_is_no("way to pay", word, &words));
}

/// The fault of a word that is not known: the one that is like it, or else all that are.
fn there_is_no(what: &str, word: &str, known: &[&str]) -> String {
    let meant = match nearest(word, known.iter().copied()) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("there are {}", known.join(", ")),
    };
    format!("there is no {what} {word}; {meant}")
}

/// How the provider charges the store's currency. Its amounts must be what the store's are.
fn charged(file: &StoreFile, digits: u8, report: &mut Report) -> Option<Charged> {
    let code = &file.currency.code;
    match provider::at_stripe(code) {
        Ok(charged) => {
            if charged.digits != digits {
                let line = file.currency.digits.as_ref().map_or(code.line, |digits| digits.line);
                let problem =
                    format!("must be {} if buyers pay through Stripe: it charges {} so", charged.digits, code.value);
                report.fault(line, "currency.digits", problem);
            }
            Some(charged)
        }
        Err(error) => {
            let problem = format!("buyers cannot pay {} through Stripe: {error}", code.value);
            report.fault(code.line, "currency.code", problem);
            None
        }
    }
}

/// Notes a least amount that is above most prices, as one in minor units is. Whether it is.
pub(super) fn check_least(files: &StoreFiles, config: &StoreConfig, report: &mut Report) -> bool {
    let prices: Vec<Money> = CategoryFile::items_of(&files.categories)
        .filter(|item| item.active && !item.virtual_only)
        .filter_map(|item| item.price.as_ref()?.money(config.digits).ok())
        .filter(|price| *price > Money::ZERO)
        .collect();
    let below = prices.iter().filter(|price| **price < config.payments.least).count();
    let is_doubtful = !config.payments.methods.is_empty() && 2 * below > prices.len();
    if is_doubtful {
        let line = files.store.content.payments.least.as_ref().and_then(Decimal::line);
        let problem = format!(
            "is above {below} of {} prices, of which one unit could not be paid; it is in major units, such as 0.50",
            prices.len()
        );
        report.fault(line, "payments.least", problem);
    }
    is_doubtful
}

/// The least amount that can be paid.
fn least(file: &PaymentsFile, charged: Option<Charged>, digits: u8, code: &str, report: &mut Report) -> Money {
    const FIELD: &str = "payments.least";
    let at_provider = charged.and_then(|charged| charged.least);
    let Some(written) = &file.least else {
        if let Some(first) = file.methods.first().filter(|_| charged.is_some() && at_provider.is_none()) {
            let problem = format!("is missing: the least amount that Stripe charges in {code} is not known here");
            report.fault(first.line, FIELD, problem);
        }
        return at_provider.unwrap_or(Money::ZERO);
    };
    let Some(least) = amount(written, digits, FIELD, report) else { return Money::ZERO };
    if charged.is_some_and(|charged| charged.digits == digits) && at_provider.is_some_and(|at| least < at) {
        let at = CurrencyFormat::new(digits).money(at_provider.unwrap_or_default()).to_string();
        report.warn(written.line(), FIELD, format!("is below {at}, the least amount that Stripe charges in {code}"));
    }
    least
}
