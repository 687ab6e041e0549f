//! The ways to pay that an account's owner has switched on in the dashboard.

use crate::call::Call;
use crate::form::Form;
use crate::list::List;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// A choice of ways to pay. Checkout uses the account's default.
#[derive(Debug, Clone, Deserialize)]
pub struct PaymentMethodConfiguration {
    pub active: bool,
    pub is_default: bool,
    #[serde(flatten)]
    methods: BTreeMap<String, Field>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Field {
    Method { available: bool },
    Other(IgnoredAny),
}

impl PaymentMethodConfiguration {
    /// Lists the configurations of the account.
    pub fn list() -> Call<List<Self>> {
        Call::get("/v1/payment_method_configurations", Form::default().with("limit", &100))
    }

    /// Whether buyers are shown a method: it is switched on, and the account may use it.
    pub fn offers(&self, word: &str) -> bool {
        matches!(self.methods.get(word), Some(Field::Method { available: true }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_offers_what_is_available() {
        let text = r#"{"id": "pmc_1", "active": true, "is_default": true, "name": "Default", "parent": null,
            "card": {"available": true, "display_preference": {"preference": "on", "value": "on"}},
            "klarna": {"available": false, "display_preference": {}}}"#;
        let found: PaymentMethodConfiguration = serde_json::from_str(text).unwrap();
        assert_eq!(["card", "klarna", "paypal", "name"].map(|word| found.offers(word)), [true, false, false, false]);
    }
}
