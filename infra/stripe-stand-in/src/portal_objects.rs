//! Configurations and sessions of the customer portal, and the shape in which a configuration is sent.

use super::objects::sent;
use super::parameters::{boolean, text};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

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
        sent(
            "billing_portal.configuration",
            json!({
                "id": self.id,
                "active": self.active,
                "created": self.created,
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
                "is_default": self.is_default,
                "livemode": self.livemode,
                "login_page": {
                    "enabled": self.login_page,
                    "url": self.login_page.then(|| format!("{base}/p/login/{}", self.id)),
                },
                "updated": self.updated,
            }),
        )
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
