//! Taxes: what `payments` of store.yaml says of them, and the tax codes of items.

use super::catalog::Category;
use super::item_reader::ItemReader;
use crate::fault::Report;
use crate::files::{At, PaymentsFile};
use crate::provider::MANAGED_CODES;
use shared::model::{TaxMode, TaxPrices, ThreeDSecure};

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
