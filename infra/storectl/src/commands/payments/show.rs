//! `payments show`: what is connected, without any secret.

use super::{of_stripe, portal, webhook_url};
use crate::answer::{Answer, BAD, GOOD, WARN, paint};
use crate::commands::common::published;
use crate::error::Failure;
use crate::target::Target;
use serde::Serialize;
use serde_json::{Value, json};
use shared::config::StripeKeys;
use stripe::{API_VERSION, Account, EndpointStatus, EventKind, ObjectId, WebhookEndpoint};

/// An endpoint that webhooks are sent to, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) struct Endpoint {
    pub(in crate::commands) id: ObjectId,
    is_enabled: bool,
    has_version: bool,
    enabled: Vec<EventKind>,
    missing: Vec<EventKind>,
}

pub(in crate::commands) fn endpoint_of(endpoint: &WebhookEndpoint) -> Endpoint {
    let wants =
        |kind: &&EventKind| endpoint.enabled_events.iter().any(|enabled| enabled == *kind || enabled.as_str() == "*");
    Endpoint {
        id: endpoint.id.clone(),
        is_enabled: endpoint.status == EndpointStatus::Enabled,
        has_version: endpoint.api_version.as_deref() == Some(API_VERSION),
        enabled: endpoint.enabled_events.clone(),
        missing: EventKind::ALL.into_iter().filter(|kind| !wants(&kind)).collect(),
    }
}

impl Endpoint {
    /// The events that it should be sent in place of its present ones, if nothing else is wrong with it.
    pub(in crate::commands) fn update(&self) -> Option<Vec<EventKind>> {
        let is_sound = self.is_enabled && self.has_version;
        (is_sound && !self.missing.is_empty()).then(|| self.enabled.iter().chain(&self.missing).cloned().collect())
    }

    /// The events that it is not sent.
    pub(in crate::commands) fn missing(&self) -> String {
        let missing: Vec<&str> = self.missing.iter().map(EventKind::as_str).collect();
        missing.join(", ")
    }

    /// Reason why events do not arrive; `None` if they do.
    pub(in crate::commands) fn problem(&self) -> Option<String> {
        if !self.is_enabled {
            Some("is switched off".to_owned())
        } else if !self.missing.is_empty() {
            Some(format!("is not sent {}", self.missing()))
        } else if !self.has_version {
            Some(format!("is not sent events of version {API_VERSION}"))
        } else {
            None
        }
    }
}

/// A key and the endpoints of an address, as Stripe reports them.
#[derive(Debug, Serialize)]
struct AtStripe {
    account: Option<String>,
    charges_enabled: Option<bool>,
    endpoints: Vec<Value>,
    portal: Value,
    #[serde(skip)]
    lines: Vec<String>,
}

pub(in crate::commands) async fn show(target: &Target) -> Result<Answer, Failure> {
    let payments = published(target).await?.config.payments;
    let keys = target.payments.read().await?.stripe;
    let methods = if payments.methods.is_empty() { "none".to_owned() } else { payments.methods.join(", ") };
    let mut lines = vec![format!("Methods in store.yaml: {methods}")];
    if let Some(stack) = &target.stack {
        lines.push(format!("Parameter Payments of {}: {}", stack.name, stack.takes_payments));
    }
    let at_stripe = match &keys {
        Some(keys) => Some(ask(target, keys).await?),
        None => None,
    };
    match (&keys, &at_stripe) {
        (Some(keys), Some(at_stripe)) => {
            let mode = if keys.key.is_live() { "real" } else { "test" };
            lines.push(format!("Stripe: a key for {mode} money, {} webhook secrets", keys.webhook.len()));
            lines.extend(at_stripe.lines.clone());
        }
        _ => lines.push(format!("{} No keys: `storectl payments connect stripe`.", paint(WARN, "note"))),
    }
    let json = json!({
        "methods": payments.methods, "deployed": target.stack.as_ref().map(|stack| stack.takes_payments),
        "stripe": keys.map(|keys| json!({ "webhook_secrets": keys.webhook.len(), "at_stripe": at_stripe })),
    });
    Ok(Answer::new(lines.join("\n"), json))
}

async fn ask(target: &Target, keys: &StripeKeys) -> Result<AtStripe, Failure> {
    let client = target.payments.client(keys.key.clone()).await?;
    let all = client.send(&WebhookEndpoint::list()).await.map_err(|error| of_stripe(&error))?;
    // A restricted key may have no right to its account.
    let account = client.send(&Account::retrieve()).await.ok();
    let url = webhook_url(target, None);
    let ours = all.data.iter().filter(|endpoint| url.as_ref().is_none_or(|url| endpoint.url == *url));
    let id = account.as_ref().map(|account| account.id.to_string()).or_else(|| keys.account.clone());
    let mut lines: Vec<String> = id.iter().map(|id| format!("Account {id}")).collect();
    let mut endpoints = Vec::new();
    for endpoint in ours {
        let problem = endpoint_of(endpoint).problem();
        lines.push(match &problem {
            None => format!("{} Endpoint {} at {}", paint(GOOD, "ok"), endpoint.id, endpoint.url),
            Some(problem) => format!("{} Endpoint {} at {} {problem}", paint(BAD, "bad"), endpoint.id, endpoint.url),
        });
        endpoints.push(json!({ "id": endpoint.id.as_str(), "url": endpoint.url, "problem": problem }));
    }
    if endpoints.is_empty() {
        lines.push(format!("{} No endpoint: webhooks are sent nowhere.", paint(BAD, "bad")));
    }
    let charges_enabled = account.as_ref().map(|account| account.charges_enabled);
    let portal = portal::default(&client).await;
    lines.push(portal::line(&portal));
    Ok(AtStripe { account: id, charges_enabled, endpoints, portal: portal::facts(&portal), lines })
}
