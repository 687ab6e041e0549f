//! How buyers pay: the store's currency and those that they may pay in, `payments` of `store.yaml`, and taxes: what `payments`
//! says of them, and the tax codes of items.

use super::amount;
use super::catalog::Category;
use super::item::ItemReader;
use crate::currency::{self, Charged, MANAGED_CODES, METHODS, US_DOLLAR, is_known, usual_if_far_from};
use crate::fault::{Report, Unique, nearest};
use crate::files::{At, CategoryFile, Decimal, PaymentsFile, StoreFile, StoreFiles};
use shared::model::{Currency, Money, Payments, Rate, StoreConfig, TaxMode, TaxPrices, ThreeDSecure};
use shared::money::{self, CurrencyFormat};
use shared::rules::payment_methods::{METHODS as WAYS, Method, NOT_OFFERED};

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
    check(written, report);
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
    match currency::at_stripe(code) {
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

const TAX_CODE: &str = "payments.tax_code";

/// Notes what contradicts `tax`, and a tax code that is none.
pub(super) fn check(file: &PaymentsFile, report: &mut Report) {
    let prices = file.tax_prices.as_ref().filter(|prices| prices.value == TaxPrices::Exclusive);
    if let (Some(prices), TaxMode::None) = (prices, file.tax.value) {
        let problem = "exclusive needs tax: stripe or tax: managed, which work out what comes on top of the prices";
        report.fault(prices.line, "payments.tax_prices", problem);
    }
    if let Some(code) = file.tax_code.as_ref().filter(|code| !is_code(code)) {
        report.fault(code.line, TAX_CODE, not_a_code(code));
    }
    if file.tax.value != TaxMode::Managed {
        return;
    }
    for (field, is_written) in [
        ("only", !file.only.is_empty()),
        ("except", !file.except.is_empty()),
        ("invoices", file.invoices),
        ("three_d_secure", file.three_d_secure != ThreeDSecure::Auto),
    ] {
        if is_written {
            let problem = "is decided by Stripe where it sells in its own name: leave it out, or write tax: stripe";
            report.fault(file.tax.line, format!("payments.{field}"), problem);
        }
    }
}

/// The tax code of an item: its own or the store's. An item that Stripe sells in its own name needs one that it takes.
pub(super) fn code_of(reader: &mut ItemReader<'_>) -> Option<String> {
    let (file, site) = (reader.file, reader.category.site);
    if let Some(own) = file.tax_code.as_ref().filter(|own| !is_code(own)) {
        reader.fault(own.line, "tax_code", &not_a_code(own));
        return None;
    }
    let code = file.tax_code.as_ref().or(site.tax_code.as_ref()).filter(|code| is_code(code));
    let mode = site.config.payments.tax;
    if mode == TaxMode::Managed && !file.virtual_only && !code.is_some_and(is_managed) {
        let line = file.tax_code.as_ref().and_then(|own| own.line);
        let found = code.map_or_else(|| "is missing".to_owned(), |code| format!("{} is not digital goods", code.value));
        let problem = format!(
            "{found}: with tax: managed Stripe sells only what has one of its codes for digital goods, such as \
             txcd_10201000, here or in payments.tax_code"
        );
        reader.fault(line, "tax_code", &problem);
    }
    code.filter(|_| mode != TaxMode::None).map(|code| code.value.clone())
}

/// Every tax code of the store's items, once.
pub(super) fn codes(categories: &[Category]) -> Vec<String> {
    let mut codes: Vec<String> =
        Category::items_of(categories).values().filter_map(|item| item.tax_code.clone()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

fn is_code(code: &str) -> bool {
    code.strip_prefix("txcd_").is_some_and(|digits| digits.len() == 8 && digits.bytes().all(|one| one.is_ascii_digit()))
}

fn is_managed(code: &At<String>) -> bool {
    code.strip_prefix("txcd_").is_some_and(|digits| MANAGED_CODES.contains(&digits))
}

fn not_a_code(code: &str) -> String {
    format!(
        "{code} is not a tax code: write txcd_ and eight digits, such as txcd_10201000, from \
         https://docs.stripe.com/tax/tax-codes"
    )
}
