//! Webhooks: events and lists of them, the endpoints that they are posted to, their signature, and how they are posted.

use super::API_VERSION;
use super::kept::Shared;
use super::state::Posting;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::Request;
use http::header::CONTENT_TYPE;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::Sha256;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;

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

/// How long an event waits for a later one that is to overtake it.
const HOLD: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    pub header: String,
    pub body: String,
}

impl Signed {
    pub(super) fn new(body: String, secret: &str, at: i64) -> Self {
        let mut header = format!("t={at}");
        // A key of any length is accepted.
        if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) {
            mac.update(format!("{at}.{body}").as_bytes());
            header = format!("{header},v1={}", hex::encode(mac.finalize().into_bytes()));
        }
        Self { header, body }
    }
}

/// Posts events as they come, until the server ends.
pub(super) async fn run(shared: Weak<Shared>, mut postings: UnboundedReceiver<Posting>) {
    let mut held: Option<Posting> = None;
    loop {
        let next = match &held {
            Some(_) => tokio::time::timeout(HOLD, postings.recv()).await,
            None => Ok(postings.recv().await),
        };
        let Some(shared) = shared.upgrade() else { return };
        let due = match next {
            Ok(None) => return,
            Ok(Some(posting)) if receivers(&shared, &posting.event).is_empty() => continue,
            Ok(Some(posting)) if posting.switches.out_of_order => match held.take() {
                Some(earlier) => vec![posting, earlier],
                None => {
                    held = Some(posting);
                    continue;
                }
            },
            Ok(Some(posting)) => held.take().into_iter().chain([posting]).collect(),
            // No other event has come.
            Err(_) => held.take().into_iter().collect(),
        };
        for posting in due {
            send(&shared, posting).await;
        }
    }
}

/// The endpoints that an event is for.
fn receivers(shared: &Shared, event: &str) -> Vec<Endpoint> {
    let state = shared.state();
    let Some(kind) = state.event(event).map(|event| event.kind) else { return Vec::new() };
    let is_for = |endpoint: &&Endpoint| endpoint.wants(kind) && state.is_same_account(&endpoint.id, event);
    state.endpoints.values().filter(is_for).cloned().collect()
}

async fn send(shared: &Arc<Shared>, posting: Posting) {
    let Posting { event, switches } = posting;
    if switches.late {
        let (late, shared) = (shared.options.late, Arc::downgrade(shared));
        tokio::spawn(async move {
            tokio::time::sleep(late).await;
            if let Some(shared) = shared.upgrade() {
                post(&shared, &event, switches.twice).await;
            }
        });
    } else {
        post(shared, &event, switches.twice).await;
    }
}

/// Posts an event to the endpoints that it is for. What is not accepted is posted again later.
async fn post(shared: &Arc<Shared>, event: &str, twice: bool) {
    for endpoint in receivers(shared, event) {
        for _ in 0..=usize::from(twice) {
            if attempt(shared, &endpoint, event).await {
                continue;
            }
            let (pauses, shared) = (shared.options.retries.clone(), Arc::downgrade(shared));
            let (endpoint, event) = (endpoint.clone(), event.to_owned());
            tokio::spawn(async move {
                for pause in pauses {
                    tokio::time::sleep(pause).await;
                    let Some(shared) = shared.upgrade() else { return };
                    if attempt(&shared, &endpoint, &event).await {
                        return;
                    }
                }
            });
        }
    }
}

/// Posts an event once; returns whether it was accepted.
async fn attempt(shared: &Shared, endpoint: &Endpoint, event: &str) -> bool {
    let Some(body) = shared.state().event(event).map(|event| event.body.clone()) else { return true };
    let signed = Signed::new(body, &endpoint.secret, shared.now());
    let request = Request::post(&endpoint.url)
        .header(CONTENT_TYPE, "application/json; charset=utf-8")
        .header("stripe-signature", signed.header)
        .body(Bytes::from(signed.body));
    let (accepted, outcome) = match request {
        Err(_) => (false, "the URL is not valid".to_owned()),
        Ok(request) => match shared.http.send(request).await {
            Ok(response) => (response.status().is_success(), response.status().as_u16().to_string()),
            Err(error) => (false, error.to_string()),
        },
    };
    let mut state = shared.state();
    if let Some(event) = state.events.iter_mut().find(|found| found.id == event) {
        event.attempts.push(format!("{}: {outcome}", endpoint.url));
        event.is_accepted |= accepted;
    }
    accepted
}
