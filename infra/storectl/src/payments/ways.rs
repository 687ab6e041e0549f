//! What buyers can pay with, as far as account, currency and store.yaml allow it, and what `payments.tax` of store.yaml needs of the
//! account.

use crate::prelude::*;
use serde::Serialize;
use shared::model::{Payments, TaxMode};
use shared::rules::payment_methods::{CARD, Method, offered};
use stripe::{Account, Client, ObjectId, PaymentMethodConfiguration, TaxCode, TaxSettings};

/// The ways to pay, by Stripe's words.
#[derive(Debug, Serialize)]
pub struct Ways {
    pub once: Vec<String>,
    pub subscriptions: Vec<String>,
    /// Words of `payments.only` that the account does not offer in the store's currency.
    pub not_offered: Vec<String>,
    has_cards: bool,
}

/// Asks Stripe what the account offers; `None` if the key may not, or the account has no configuration.
pub async fn ways(client: &Client, payments: &Payments) -> Option<Ways> {
    let all = client.send(&PaymentMethodConfiguration::list()).await.ok()?.data;
    let found = all.into_iter().find(|configuration| configuration.is_default && configuration.active)?;
    let can =
        |word: &String| found.offers(word) && Method::of(word).is_some_and(|method| method.takes(&payments.currency));
    let of = |is_subscription| offered(payments, false, is_subscription).into_iter().filter(can).collect();
    let not_offered = payments.only.iter().filter(|word| !can(word)).cloned().collect();
    Some(Ways { once: of(false), subscriptions: of(true), not_offered, has_cards: found.offers(CARD) })
}

impl Ways {
    /// What buyers see.
    pub fn said(&self) -> String {
        let named = |list: &[String]| if list.is_empty() { "nothing".to_owned() } else { list.join(", ") };
        format!("Buyers can pay with {}; subscriptions with {}", named(&self.once), named(&self.subscriptions))
    }

    /// What the owner should change.
    pub fn problem(&self) -> Option<String> {
        if !self.has_cards {
            return Some("cards are switched off at Stripe, and a checkout falls back to them".to_owned());
        }
        let words = self.not_offered.join(", ");
        (!words.is_empty())
            .then(|| format!("payments.only has {words}, which the account does not offer in this currency"))
    }
}

/// The advice for what is not offered.
pub const SWITCH_ON: &str = "see Stripe's dashboard: Settings, Payment methods";

/// The lines of `connect` and `show`.
pub fn lines(ways: Option<&Ways>) -> Vec<String> {
    let Some(ways) = ways else {
        return vec![note!(
            "What buyers can pay with is not known: the key has no right to read Payment Method Configurations."
        )];
    };
    let problem = ways.problem().map(|problem| note!("{problem}: {SWITCH_ON}."));
    std::iter::once(ok!("{}.", ways.said())).chain(problem).collect()
}

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
pub async fn tax_problem(client: &Client, payments: &Payments) -> Option<String> {
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
pub fn tax_line(problem: Option<&String>) -> Option<String> {
    problem.map(|problem| note!("{problem}: {TAXES}."))
}
