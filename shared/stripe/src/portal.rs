//! The customer portal: Stripe's page on which buyers cancel a subscription, change their card and see their invoices.

use crate::call::{Call, path};
use crate::form::Form;
use crate::list::List;
use crate::values::{IdempotencyKey, ObjectId};
use serde::Deserialize;

const CONFIGURATIONS: &str = "/v1/billing_portal/configurations";

/// The features of a portal, and the page on which a buyer logs in by e-mail.
const SETTINGS: [(&str, &str); 6] = [
    ("features[invoice_history][enabled]", "true"),
    ("features[payment_method_update][enabled]", "true"),
    ("features[subscription_cancel][enabled]", "true"),
    ("features[subscription_cancel][mode]", "at_period_end"),
    ("features[subscription_update][enabled]", "false"),
    ("login_page[enabled]", "true"),
];

/// A visit of one buyer, who is logged in by its address.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PortalSession {
    /// The page's address, which is valid for a few minutes.
    pub url: String,
}

impl PortalSession {
    /// Opens the portal for a customer, as the account's default configuration has it. `return_url` is the address that the
    /// buyer returns to.
    pub fn create(customer: &ObjectId, return_url: &str) -> Call<Self> {
        let form = Form::default().with("customer", customer).with("return_url", return_url);
        Call::post("/v1/billing_portal/sessions", form, None)
    }
}

/// A configuration of the portal. Sessions use the account's default, which only the dashboard creates.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PortalConfiguration {
    /// Its id, `bpc_…`.
    pub id: ObjectId,
    pub active: bool,
    /// Whether sessions use it.
    pub is_default: bool,
    pub login_page: LoginPage,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LoginPage {
    pub enabled: bool,
    /// The page's address, if it is enabled. It is the same for all buyers, who log in by e-mail.
    pub url: Option<String>,
}

impl PortalConfiguration {
    /// Creates a configuration with which a buyer cancels at the end of the period, changes the card and sees invoices.
    pub fn create(key: IdempotencyKey) -> Call<Self> {
        Call::post(CONFIGURATIONS, settings(), Some(key))
    }

    /// Gives a configuration the same settings, and makes it active.
    pub fn update(id: &ObjectId) -> Call<Self> {
        Call::post(path("billing_portal/configurations", id), settings().with("active", &true), None)
    }

    /// Lists the active configurations, newest first.
    pub fn list() -> Call<List<Self>> {
        Call::get(CONFIGURATIONS, Form::default().with("active", &true).with("limit", &100))
    }
}

fn settings() -> Form {
    SETTINGS.iter().fold(Form::default(), |form, (name, value)| form.with(*name, *value))
}
