//! The customer portal: its configurations, the sessions of it, and their calls.

use super::billing::Subscription;
use super::calls::page;
use super::objects::sent;
use super::parameters::{ApiError, EXPAND, Input, Parameter, Shape, boolean, text};
use super::state::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

const SWITCH: Shape = Shape::Object(&[("enabled", true, Shape::Boolean)]);

const FEATURES: Shape = Shape::Object(&[
    ("customer_update", false, SWITCH),
    ("invoice_history", false, SWITCH),
    ("payment_method_update", false, SWITCH),
    (
        "subscription_cancel",
        false,
        Shape::Object(&[
            ("enabled", true, Shape::Boolean),
            ("mode", false, Shape::Word(&["at_period_end", "immediately"])),
        ]),
    ),
    ("subscription_update", false, SWITCH),
]);

pub(super) const NEW_CONFIGURATION: &[Parameter] = &[
    ("features", true, FEATURES),
    ("default_return_url", false, Shape::Text(5_000)),
    ("login_page", false, SWITCH),
    EXPAND,
];

pub(super) const CHANGED_CONFIGURATION: &[Parameter] = &[
    ("features", false, FEATURES),
    ("default_return_url", false, Shape::Text(5_000)),
    ("login_page", false, SWITCH),
    ("active", false, Shape::Boolean),
    EXPAND,
];

pub(super) const CONFIGURATIONS: &[Parameter] = &[
    ("active", false, Shape::Boolean),
    ("is_default", false, Shape::Boolean),
    ("limit", false, Shape::Integer),
    ("starting_after", false, Shape::Text(255)),
    EXPAND,
];

pub(super) const NEW_VISIT: &[Parameter] = &[
    ("customer", true, Shape::Text(255)),
    ("configuration", false, Shape::Text(255)),
    ("return_url", false, Shape::Text(5_000)),
    EXPAND,
];

impl State {
    /// The default configuration of the account that calls, as if its owner had saved one in the dashboard.
    fn default_configuration(&mut self, now: i64) -> String {
        let mut all = self.billing.configurations.values();
        let found = all.find(|found| found.is_default && self.sees(&found.id)).map(|found| found.id.clone());
        found.unwrap_or_else(|| self.new_configuration(true, &Map::new(), now))
    }

    pub(super) fn set_up_portal(&mut self, now: i64) {
        let default = self.default_configuration(now);
        if let Some(found) = self.billing.configurations.get_mut(&default) {
            (found.login_page, found.cancel) = (true, true);
            (found.invoice_history, found.payment_method_update) = (true, true);
        }
    }

    fn new_configuration(&mut self, is_default: bool, tree: &Map<String, Value>, now: i64) -> String {
        let id = self.id("bpc");
        let mut configuration = Configuration {
            id: id.clone(),
            created: now,
            updated: now,
            livemode: self.livemode(),
            active: true,
            is_default,
            return_url: None,
            login_page: false,
            customer_update: false,
            invoice_history: false,
            payment_method_update: false,
            cancel: false,
            cancels_now: false,
            subscription_update: false,
        };
        configuration.change(tree, now);
        self.billing.configurations.insert(id.clone(), configuration);
        id
    }

    fn configuration_json(&self, id: &str) -> Value {
        self.billing.configurations.get(id).map(|found| found.json(&self.base)).unwrap_or_default()
    }

    /// Cancels or resumes a subscription as a buyer does in the portal, or pays its open invoice.
    pub(super) fn act_in_portal(
        &mut self,
        configuration: &Configuration,
        subscription: &str,
        action: &str,
        now: i64,
    ) -> Result<(), String> {
        self.act_for(subscription);
        match action {
            "cancel" if !configuration.cancel => Err("This portal does not let a buyer cancel.".to_owned()),
            "cancel" if configuration.cancels_now => self.cancel_now(subscription, now),
            "cancel" => self.cancel_in_portal(subscription, now),
            "resume" => self.cancel_at_period_end(subscription, false, now),
            "pay" => self.recover(subscription, now),
            _ => Err("There is no such action.".to_owned()),
        }
    }

    /// The subscriptions that are shown to a customer, or on the page to log in to all customers of the account.
    pub(super) fn in_portal(&self, configuration: &str, customer: Option<&str>) -> Vec<Subscription> {
        let is_shown = |found: &&Subscription| {
            self.is_same_account(found.id(), configuration)
                && customer.is_none_or(|customer| found.terms.customer == customer)
        };
        self.billing.subscriptions.values().rev().filter(is_shown).cloned().collect()
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a call like the others")]
pub(super) fn create_configuration(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let id = state.new_configuration(false, input.tree, input.now);
    Ok(state.configuration_json(&id))
}

pub(super) fn retrieve_configuration(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    if !state.billing.configurations.contains_key(input.seen) {
        return Err(ApiError::missing("configuration", "configuration", input.id));
    }
    Ok(state.configuration_json(input.id))
}

pub(super) fn update_configuration(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    if let Some(found) = state.billing.configurations.get_mut(input.seen) {
        found.change(input.tree, input.now);
    }
    retrieve_configuration(state, input)
}

pub(super) fn list_configurations(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    state.default_configuration(input.now);
    let (active, is_default) = (boolean(input.tree, &["active"]), boolean(input.tree, &["is_default"]));
    let is_asked_for = |found: &&Configuration| {
        state.sees(&found.id)
            && active.is_none_or(|active| found.active == active)
            && is_default.is_none_or(|is_default| found.is_default == is_default)
    };
    let all = state.billing.configurations.values().rev().filter(is_asked_for).collect();
    page("/v1/billing_portal/configurations", all, input, |found| found.json(&state.base))
}

pub(super) fn create_visit(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let missing = |object: &str, id: &str| ApiError::missing(object, object, id).status(StatusCode::BAD_REQUEST);
    let customer = text(input.tree, &["customer"]).unwrap_or_default();
    if !state.sees(customer) || !state.billing.customers.contains_key(customer) {
        return Err(missing("customer", customer));
    }
    let configuration = match text(input.tree, &["configuration"]) {
        Some(id) if !state.sees(id) || !state.billing.configurations.contains_key(id) => {
            return Err(missing("configuration", id));
        }
        Some(id) => id.to_owned(),
        None => state.default_configuration(input.now),
    };
    let found = state.billing.configurations.get(&configuration);
    let return_url = text(input.tree, &["return_url"]).map(str::to_owned);
    let return_url = return_url.or_else(|| found.and_then(|found| found.return_url.clone()));
    if !found.is_some_and(|found| found.active) {
        return Err(ApiError::parameter("configuration", "The configuration is not active."));
    }
    let id = state.id("bps");
    let (customer, livemode) = (customer.to_owned(), state.livemode());
    let session = PortalSession { id: id.clone(), created: input.now, livemode, customer, configuration, return_url };
    let reply = json!({
        "id": session.id,
        "object": "billing_portal.session",
        "configuration": session.configuration,
        "created": session.created,
        "customer": session.customer,
        "flow": null,
        "livemode": session.livemode,
        "locale": null,
        "on_behalf_of": null,
        "return_url": session.return_url,
        "url": format!("{}/p/session/{id}", state.base),
    });
    state.billing.portal_sessions.insert(id, session);
    Ok(reply)
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a portal")]
pub(super) struct Configuration {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) updated: i64,
    pub(super) livemode: bool,
    pub(super) active: bool,
    pub(super) is_default: bool,
    pub(super) return_url: Option<String>,
    pub(super) login_page: bool,
    pub(super) customer_update: bool,
    pub(super) invoice_history: bool,
    pub(super) payment_method_update: bool,
    pub(super) cancel: bool,
    pub(super) cancels_now: bool,
    pub(super) subscription_update: bool,
}

impl Configuration {
    pub(super) fn change(&mut self, tree: &Map<String, Value>, now: i64) {
        let set = |switch: &mut bool, path: &[&str]| *switch = boolean(tree, path).unwrap_or(*switch);
        set(&mut self.active, &["active"]);
        set(&mut self.login_page, &["login_page", "enabled"]);
        set(&mut self.customer_update, &["features", "customer_update", "enabled"]);
        set(&mut self.invoice_history, &["features", "invoice_history", "enabled"]);
        set(&mut self.payment_method_update, &["features", "payment_method_update", "enabled"]);
        set(&mut self.cancel, &["features", "subscription_cancel", "enabled"]);
        set(&mut self.subscription_update, &["features", "subscription_update", "enabled"]);
        if let Some(mode) = text(tree, &["features", "subscription_cancel", "mode"]) {
            self.cancels_now = mode == "immediately";
        }
        if let Some(url) = text(tree, &["default_return_url"]) {
            self.return_url = Some(url.to_owned());
        }
        self.updated = now;
    }

    pub(super) fn json(&self, base: &str) -> Value {
        sent!("billing_portal.configuration", self => [id, active, created, is_default, livemode, updated], {
            "default_return_url": self.return_url,
            "features": {
                "customer_update": { "allowed_updates": [], "enabled": self.customer_update },
                "invoice_history": { "enabled": self.invoice_history },
                "payment_method_update": { "enabled": self.payment_method_update },
                "subscription_cancel": {
                    "cancellation_reason": { "enabled": false, "options": [] },
                    "enabled": self.cancel,
                    "mode": if self.cancels_now { "immediately" } else { "at_period_end" },
                    "proration_behavior": "none",
                },
                "subscription_update": {
                    "default_allowed_updates": [], "enabled": self.subscription_update, "proration_behavior": "none",
                    "schedule_at_period_end": { "conditions": [] }, "trial_update_behavior": "end_trial",
                },
            },
            "login_page": {
                "enabled": self.login_page,
                "url": self.login_page.then(|| format!("{base}/p/login/{}", self.id)),
            },
        })
    }
}

/// A session of the portal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PortalSession {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) livemode: bool,
    pub(super) customer: String,
    pub(super) configuration: String,
    pub(super) return_url: Option<String>,
}
