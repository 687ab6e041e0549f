//! The ways to pay that an account's owner has switched on in the dashboard.

use crate::call::Call;
use crate::form::Form;
use crate::list::List;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A choice of ways to pay. Checkout uses the account's default.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Map<String, Value>")]
pub struct PaymentMethodConfiguration {
    pub active: bool,
    pub is_default: bool,
    offered: BTreeSet<String>,
}

impl From<Map<String, Value>> for PaymentMethodConfiguration {
    fn from(sent: Map<String, Value>) -> Self {
        let is = |field: &str| sent.get(field) == Some(&Value::Bool(true));
        let is_offered = |(_, field): &(&String, &Value)| field["available"] == true;
        Self {
            active: is("active"),
            is_default: is("is_default"),
            offered: sent.iter().filter(is_offered).map(|(word, _)| word.clone()).collect(),
        }
    }
}

impl PaymentMethodConfiguration {
    /// Lists the configurations of the account.
    pub fn list() -> Call<List<Self>> {
        Call::get("/v1/payment_method_configurations", Form::default().with("limit", &100))
    }

    /// Whether buyers are shown a method: it is switched on, and the account may use it.
    pub fn offers(&self, word: &str) -> bool {
        self.offered.contains(word)
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
