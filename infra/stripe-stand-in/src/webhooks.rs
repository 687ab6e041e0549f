//! Events, the endpoints that they are posted to, and lists.

use super::API_VERSION;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// An event, with the bytes that are posted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Event {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) kind: &'static str,
    pub(super) body: String,
    /// The outcomes of posting it, oldest first.
    pub(super) attempts: Vec<String>,
    pub(super) is_accepted: bool,
}

impl Event {
    pub(super) fn new(id: String, kind: &'static str, created: i64, livemode: bool, object: &Value) -> Self {
        let event = json!({
            "id": id,
            "object": "event",
            "api_version": API_VERSION,
            "created": created,
            "data": { "object": object },
            "livemode": livemode,
            "pending_webhooks": 1,
            "request": { "id": null, "idempotency_key": null },
            "type": kind,
        });
        // Stripe sends events in several lines.
        let body = serde_json::to_string_pretty(&event).unwrap_or_default();
        Self { id, created, kind, body, attempts: Vec::new(), is_accepted: false }
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Endpoint {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) livemode: bool,
    pub(super) url: String,
    pub(super) events: Vec<String>,
    pub(super) api_version: Option<String>,
    pub(super) description: Option<String>,
    pub(super) metadata: Map<String, Value>,
    pub(super) secret: String,
    /// Whether it was switched off.
    #[serde(default)]
    pub(super) disabled: bool,
}

impl Endpoint {
    /// Whether it is sent events of a kind.
    pub(super) fn wants(&self, kind: &str) -> bool {
        !self.disabled && self.events.iter().any(|event| event == "*" || event == kind)
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "id": self.id,
            "object": "webhook_endpoint",
            "api_version": self.api_version,
            "application": null,
            "created": self.created,
            "description": self.description,
            "enabled_events": self.events,
            "livemode": self.livemode,
            "metadata": self.metadata,
            "status": if self.disabled { "disabled" } else { "enabled" },
            "url": self.url,
        })
    }
}

pub(super) fn list(url: &str, data: &[Value], has_more: bool) -> Value {
    json!({ "object": "list", "data": data, "has_more": has_more, "url": url })
}
