//! The connection of a store with an account: its key, the endpoint of its webhooks, the ways to pay that the account's
//! owner has switched on in the dashboard, and the customer portal, which is Stripe's page on which buyers cancel a
//! subscription, change their card and see their invoices.

use crate::API_VERSION;
use crate::call::{Call, Form, path};
use crate::event::EventKind;
use crate::values::{IdempotencyKey, List, ObjectId, WebhookSecret, names};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

const ENDPOINTS: &str = "/v1/webhook_endpoints";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Account {
    /// Its id, `acct_…`.
    pub id: ObjectId,
    #[serde(default)]
    pub charges_enabled: bool,
    /// In two letters.
    pub country: Option<String>,
}

impl Account {
    /// Fetches the account. A restricted key may have no right to it.
    pub fn retrieve() -> Call<Self> {
        Call::get("/v1/account", Form::default())
    }
}

/// A kind of goods, as taxes know them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaxCode {
    /// Its id, `txcd_…`.
    pub id: ObjectId,
}

impl TaxCode {
    /// Fetches a tax code, which says that there is one.
    pub fn retrieve(id: &ObjectId) -> Call<Self> {
        Call::get(path("tax_codes", id), Form::default())
    }
}

/// Whether Stripe can work out taxes for the account.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaxSettings {
    status: String,
}

impl TaxSettings {
    pub fn retrieve() -> Call<Self> {
        Call::get("/v1/tax/settings", Form::default())
    }

    /// Whether everything that Stripe needs is there.
    pub fn is_active(&self) -> bool {
        self.status == "active"
    }
}

/// The account's balance, which is only used to see that a key is valid.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Balance {
    /// Whether the money is real.
    pub livemode: bool,
}

impl Balance {
    /// Fetches the balance. A restricted key may have no right to it.
    pub fn retrieve() -> Call<Self> {
        Call::get("/v1/balance", Form::default())
    }
}

/// An endpoint to create. It is sent events of [`API_VERSION`].
#[derive(Debug, Clone, Copy)]
pub struct NewWebhookEndpoint<'a> {
    pub url: &'a str,
    pub kinds: &'a [EventKind],
    pub description: &'a str,
}

names! {
    EndpointStatus {
        /// Events are sent to it.
        Enabled = "enabled",
        /// It was switched off, by a person or after days of failures.
        Disabled = "disabled",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WebhookEndpoint {
    /// Its id, `we_…`.
    pub id: ObjectId,
    pub url: String,
    pub status: EndpointStatus,
    pub enabled_events: Vec<EventKind>,
    pub description: Option<String>,
    /// The version of the events; `None` for the account's.
    pub api_version: Option<String>,
    /// Whether the money is real.
    pub livemode: bool,
    /// The secret that its requests are signed with. Only the reply to its creation has it.
    pub secret: Option<WebhookSecret>,
}

impl WebhookEndpoint {
    pub fn create(new: &NewWebhookEndpoint<'_>, key: IdempotencyKey) -> Call<Self> {
        let form =
            Form::default().with("url", new.url).with("description", new.description).with("api_version", API_VERSION);
        let form = new.kinds.iter().fold(form, |form, kind| form.with("enabled_events[]", kind.as_str()));
        Call::post(ENDPOINTS, form, Some(key))
    }

    /// Changes the events that an endpoint is sent. Its secret stays.
    pub fn update(id: &ObjectId, kinds: &[EventKind]) -> Call<Self> {
        let form = kinds.iter().fold(Form::default(), |form, kind| form.with("enabled_events[]", kind.as_str()));
        Call::post(path("webhook_endpoints", id), form, None)
    }

    /// Lists the endpoints, newest first. An account has 16 at most, which fit on a page.
    pub fn list() -> Call<List<Self>> {
        Call::get(ENDPOINTS, Form::default().with("limit", &100))
    }

    pub fn delete(id: &ObjectId) -> Call<Deleted> {
        Call::delete(path("webhook_endpoints", id))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Deleted {
    pub id: ObjectId,
    pub deleted: bool,
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_created_for_the_pinned_version() {
        let kinds = [EventKind::ChargeRefunded, EventKind::SessionExpired];
        let new = NewWebhookEndpoint { url: "https://a.example/b", kinds: &kinds, description: "Store" };
        let call = WebhookEndpoint::create(&new, IdempotencyKey::parse("k").unwrap());
        let sent: Vec<(&str, &str)> = call.parameters().iter().map(|(name, value)| (&**name, &**value)).collect();
        let wanted = [
            ("url", "https://a.example/b"),
            ("description", "Store"),
            ("api_version", API_VERSION),
            ("enabled_events[]", "charge.refunded"),
            ("enabled_events[]", "checkout.session.expired"),
        ];
        assert_eq!(sent, wanted);
    }

    #[test]
    fn the_secret_is_in_the_first_reply_and_never_printed() {
        let text = r#"{"id": "we_1", "url": "https://a.example", "status": "enabled", "enabled_events": ["*"],
            "api_version": null, "livemode": false, "secret": "whsec_hidden"}"#;
        let endpoint: WebhookEndpoint = serde_json::from_str(text).unwrap();
        assert_eq!(endpoint.secret.as_ref().unwrap().expose(), "whsec_hidden");
        assert!(!format!("{endpoint:?}").contains("hidden"));
    }

    #[test]
    fn a_configuration_offers_what_is_available() {
        let text = r#"{"id": "pmc_1", "active": true, "is_default": true, "name": "Default", "parent": null,
            "card": {"available": true, "display_preference": {"preference": "on", "value": "on"}},
            "klarna": {"available": false, "display_preference": {}}}"#;
        let found: PaymentMethodConfiguration = serde_json::from_str(text).unwrap();
        assert_eq!(["card", "klarna", "paypal", "name"].map(|word| found.offers(word)), [true, false, false, false]);
    }
}
