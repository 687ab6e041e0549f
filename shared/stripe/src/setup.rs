//! The connection of a store with an account: its key, and the endpoint of its webhooks.

use crate::API_VERSION;
use crate::call::{Call, path};
use crate::event::EventKind;
use crate::form::Form;
use crate::list::List;
use crate::names::names;
use crate::values::{IdempotencyKey, ObjectId, WebhookSecret};
use serde::Deserialize;

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
}
