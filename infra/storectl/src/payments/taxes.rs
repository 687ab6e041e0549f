//! What `payments.tax` of store.yaml needs of the account.

use crate::prelude::*;
use shared::model::{Payments, TaxMode};
use stripe::{Account, Client, ObjectId, TaxCode, TaxSettings};

/// The countries of the accounts for which Stripe sells in its own name.
///
/// Source: <https://docs.stripe.com/payments/managed-payments/eligibility>, as of 2026.
#[rustfmt::skip]
const MANAGED_COUNTRIES: &[&str] = &[
    "CA", "US", "AT", "BE", "BG", "CH", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GB", "GI", "GR", "HR", "HU", "IE", "IT",
    "LI", "LT", "LU", "LV", "MT", "NL", "NO", "PL", "PT", "RO", "SE", "SI", "SK", "AU", "HK",
];

/// The advice about taxes.
pub const TAXES: &str = "see operations.md, \"Taxes\"";

/// What the account lacks for the taxes that store.yaml asks for; `None` if nothing is known to be missing. A key may have no
/// right to ask.
pub async fn problem(client: &Client, payments: &Payments) -> Option<String> {
    match payments.tax {
        TaxMode::None => return None,
        TaxMode::Stripe => {
            let settings = client.send(&TaxSettings::retrieve()).await.ok();
            if settings.is_some_and(|settings| !settings.is_active()) {
                return Some(
                    "tax: stripe needs Stripe Tax, which the account has not set up: no checkout opens".to_owned(),
                );
            }
        }
        TaxMode::Managed => {
            let country = client.send(&Account::retrieve()).await.ok().and_then(|account| account.country);
            if let Some(country) = country.filter(|country| !MANAGED_COUNTRIES.contains(&country.as_str())) {
                return Some(format!("tax: managed is not offered to accounts in {country}"));
            }
        }
    }
    for code in &payments.tax_codes {
        let Ok(id) = ObjectId::parse(code) else { continue };
        let found = client.send(&TaxCode::retrieve(&id)).await;
        if found.is_err_and(|error| error.refusal().is_some_and(|refusal| refusal.status == 404)) {
            return Some(format!("there is no tax code {code} at Stripe: no checkout of what has it opens"));
        }
    }
    None
}

/// The line of `connect` and `show`, if something is missing.
pub fn line(problem: Option<&String>) -> Option<String> {
    problem.map(|problem| note!("{problem}: {TAXES}."))
}
