//! The calls: what each knows and does.

use super::give_back::Note;
use super::new_session::METHODS;
use super::objects::{Charge, Dispute, Intent, Refund, Session};
use super::parameters::{ApiError, EXPAND, Input, Parameter, Shape, boolean, integer, metadata, text, texts};
use super::state::State;
use super::webhooks::{Endpoint, Event, list};
use serde_json::{Value, json};

pub(super) use super::new_session::{NEW_SESSION, create_session};

pub(super) const NEW_REFUND: &[Parameter] = &[
    ("payment_intent", false, Shape::Text(255)),
    ("charge", false, Shape::Text(255)),
    ("amount", false, Shape::Integer),
    ("reason", false, Shape::Word(&["duplicate", "fraudulent", "requested_by_customer"])),
    ("metadata", false, Shape::Metadata),
    EXPAND,
];

pub(super) const REFUNDS: &[Parameter] = &[
    ("payment_intent", false, Shape::Text(255)),
    ("charge", false, Shape::Text(255)),
    ("limit", false, Shape::Integer),
    ("starting_after", false, Shape::Text(255)),
    EXPAND,
];

const EVIDENCE_TEXT: Shape = Shape::Text(20_000);

/// The fields of evidence that are texts; the others are files.
pub(super) const ANSWER: &[Parameter] = &[
    (
        "evidence",
        false,
        Shape::Object(&[
            ("access_activity_log", false, EVIDENCE_TEXT),
            ("billing_address", false, EVIDENCE_TEXT),
            ("cancellation_policy_disclosure", false, EVIDENCE_TEXT),
            ("cancellation_rebuttal", false, EVIDENCE_TEXT),
            ("customer_email_address", false, EVIDENCE_TEXT),
            ("customer_name", false, EVIDENCE_TEXT),
            ("customer_purchase_ip", false, EVIDENCE_TEXT),
            ("duplicate_charge_explanation", false, EVIDENCE_TEXT),
            ("duplicate_charge_id", false, EVIDENCE_TEXT),
            ("product_description", false, EVIDENCE_TEXT),
            ("refund_policy_disclosure", false, EVIDENCE_TEXT),
            ("refund_refusal_explanation", false, EVIDENCE_TEXT),
            ("service_date", false, EVIDENCE_TEXT),
            ("shipping_address", false, EVIDENCE_TEXT),
            ("shipping_carrier", false, EVIDENCE_TEXT),
            ("shipping_date", false, EVIDENCE_TEXT),
            ("shipping_tracking_number", false, EVIDENCE_TEXT),
            ("uncategorized_text", false, EVIDENCE_TEXT),
        ]),
    ),
    ("submit", false, Shape::Boolean),
    EXPAND,
];

const TIMES: Shape = Shape::Object(&[
    ("gt", false, Shape::Integer),
    ("gte", false, Shape::Integer),
    ("lt", false, Shape::Integer),
    ("lte", false, Shape::Integer),
]);

pub(super) const EVENTS: &[Parameter] = &[
    ("types", false, Shape::List(&Shape::Text(100))),
    ("type", false, Shape::Text(100)),
    ("created", false, TIMES),
    ("limit", false, Shape::Integer),
    ("starting_after", false, Shape::Text(255)),
    EXPAND,
];

pub(super) const SESSIONS: &[Parameter] = &[
    ("created", false, TIMES),
    ("status", false, Shape::Word(&["open", "complete", "expired"])),
    ("limit", false, Shape::Integer),
    ("starting_after", false, Shape::Text(255)),
    EXPAND,
];

pub(super) const CHANGES: &[Parameter] =
    &[("created", false, TIMES), ("limit", false, Shape::Integer), ("starting_after", false, Shape::Text(255)), EXPAND];

pub(super) const LIST: &[Parameter] =
    &[("limit", false, Shape::Integer), ("starting_after", false, Shape::Text(255)), EXPAND];

pub(super) const NEW_ENDPOINT: &[Parameter] = &[
    ("url", true, Shape::Text(5_000)),
    ("enabled_events", true, Shape::List(&Shape::Text(100))),
    ("api_version", false, Shape::Word(&[super::API_VERSION])),
    ("description", false, Shape::Text(500)),
    ("metadata", false, Shape::Metadata),
    EXPAND,
];

pub(super) const CHANGED_ENDPOINT: &[Parameter] = &[("enabled_events", false, Shape::List(&Shape::Text(100))), EXPAND];

impl State {
    pub(super) fn object(&self, id: &str) -> Option<Value> {
        let session = self.sessions.get(id).map(|session| session.json(&self.base));
        session
            .or_else(|| self.intents.get(id).map(Intent::json))
            .or_else(|| self.charges.get(id).map(Charge::json))
            .or_else(|| self.refunds.get(id).map(Refund::json))
            .or_else(|| self.disputes.get(id).map(Dispute::json))
            .or_else(|| self.billing.object(id))
            .or_else(|| Some(self.charges.get(id.strip_prefix("txn_")?)?.change()))
    }
}

impl State {
    /// Every change of the balance, newest first.
    pub(super) fn changes(&self) -> Vec<Value> {
        let charges = self.charges.values().filter(|charge| charge.status == "succeeded" && charge.has_fee);
        let mut all: Vec<Value> = charges.map(Charge::change).collect();
        all.extend(self.refunds.values().flat_map(Refund::changes));
        all.extend(self.disputes.values().flat_map(Dispute::changes));
        all.sort_by_key(|change| std::cmp::Reverse(change["created"].as_i64()));
        all
    }
}

pub(super) fn retrieve_session(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let session = state.sessions.get(input.seen).map(|session| session.json(&state.base));
    session.ok_or_else(|| ApiError::missing("checkout.session", "session", input.id))
}

pub(super) fn list_sessions(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let status = text(input.tree, &["status"]);
    let is_asked_for = |session: &&Session| {
        state.sees(&session.id)
            && is_in_time(input, session.created)
            && status.is_none_or(|status| session.status == status)
    };
    let all = state.sessions.values().rev().filter(is_asked_for).collect();
    page("/v1/checkout/sessions", all, input, |session| session.json(&state.base))
}

/// Whether a list that was asked for has an object of this second.
fn is_in_time(input: &Input<'_>, at: i64) -> bool {
    let bound = |name: &str| integer(input.tree, &["created", name]);
    bound("gt").is_none_or(|time| at > time)
        && bound("gte").is_none_or(|time| at >= time)
        && bound("lt").is_none_or(|time| at < time)
        && bound("lte").is_none_or(|time| at <= time)
}

pub(super) fn expire_session(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let Some(session) = state.sessions.get(input.seen) else {
        return Err(ApiError::missing("checkout.session", "session", input.id));
    };
    let status = session.status;
    state.expire(input.id, input.now).map_err(|_| {
        ApiError::request(format!(
            "Only Checkout Sessions with a status in [\"open\"] can be expired. This Checkout Session has a status of `{status}`."
        ))
    })?;
    Ok(state.session_json(input.id))
}

pub(super) fn retrieve_intent(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let intent = state.intents.get(input.seen).map(Intent::json);
    intent.ok_or_else(|| ApiError::missing("payment_intent", "intent", input.id))
}

pub(super) fn retrieve_charge(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    state.charges.get(input.seen).map(Charge::json).ok_or_else(|| ApiError::missing("charge", "id", input.id))
}

pub(super) fn retrieve_refund(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    state.refunds.get(input.seen).map(Refund::json).ok_or_else(|| ApiError::missing("refund", "id", input.id))
}

pub(super) fn retrieve_dispute(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    state.disputes.get(input.seen).map(Dispute::json).ok_or_else(|| ApiError::missing("dispute", "dispute", input.id))
}

/// Writes evidence, and submits all that is written unless that is not wanted: once.
pub(super) fn answer_dispute(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let found = state.disputes.get_mut(input.seen);
    let dispute = found.ok_or_else(|| ApiError::missing("dispute", "dispute", input.id))?;
    if !dispute.needs_response() || dispute.submissions > 0 || input.now > dispute.due_by() {
        return Err(ApiError::request(format!("Dispute {} no longer takes evidence.", dispute.id)));
    }
    dispute.evidence.extend(metadata(input.tree.get("evidence")));
    if boolean(input.tree, &["submit"]) != Some(false) && !dispute.evidence.is_empty() {
        dispute.submissions += 1;
        dispute.status = if dispute.is_inquiry() { "warning_under_review" } else { "under_review" };
    }
    let object = dispute.json();
    state.happen("charge.dispute.updated", &object, input.now);
    Ok(object)
}

pub(super) fn list_disputes(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let is_asked_for = |found: &&Dispute| state.sees(&found.id) && is_of_payment(input, &found.intent, &found.charge);
    page("/v1/disputes", state.disputes.values().rev().filter(is_asked_for).collect(), input, Dispute::json)
}

pub(super) fn create_refund(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let charge = match (text(input.tree, &["payment_intent"]), text(input.tree, &["charge"])) {
        (Some(id), None) => {
            let missing = || ApiError::missing("payment_intent", "payment_intent", id);
            let intent = state.intents.get(id).filter(|_| state.sees(id)).ok_or_else(missing)?;
            let message = format!("This PaymentIntent ({id}) does not have a successful charge to refund.");
            intent.charge.clone().ok_or_else(|| ApiError::request(message))?
        }
        (None, Some(charge)) if state.sees(charge) => charge.to_owned(),
        (None, Some(charge)) => return Err(ApiError::missing("charge", "charge", charge)),
        _ => {
            let message = "One of the following params should be provided for this request: payment_intent or charge.";
            return Err(ApiError::request(message).code("parameter_missing").early());
        }
    };
    let reason = text(input.tree, &["reason"]).map(str::to_owned);
    let note = Note { metadata: metadata(input.tree.get("metadata")), reason };
    let refund = state.refund(&charge, integer(input.tree, &["amount"]), Some(note), input.now)?;
    Ok(refund.json())
}

pub(super) fn list_refunds(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let is_asked_for = |found: &&Refund| state.sees(&found.id) && is_of_payment(input, &found.intent, &found.charge);
    page("/v1/refunds", state.refunds.values().rev().filter(is_asked_for).collect(), input, Refund::json)
}

/// Whether a list that was asked for has an object of this payment and charge.
fn is_of_payment(input: &Input<'_>, intent: &str, charge: &str) -> bool {
    let is_asked = |name: &str, value: &str| text(input.tree, &[name]).is_none_or(|asked| asked == value);
    is_asked("payment_intent", intent) && is_asked("charge", charge)
}

/// The part of a list that `limit` and `starting_after` ask for; it is newest first.
pub(super) fn page<T>(
    url: &str,
    all: Vec<&T>,
    input: &Input<'_>,
    json: impl Fn(&T) -> Value,
) -> Result<Value, ApiError> {
    let limit = integer(input.tree, &["limit"]).unwrap_or(10);
    let Some(limit) = usize::try_from(limit).ok().filter(|limit| (1..=100).contains(limit)) else {
        let message = format!("Invalid limit: {limit}; must be between 1 and 100");
        return Err(ApiError::parameter("limit", message).code("parameter_invalid_integer"));
    };
    let limit = limit.min(input.largest_page);
    let all: Vec<Value> = all.into_iter().map(json).collect();
    let skipped = match text(input.tree, &["starting_after"]) {
        None => 0,
        Some(after) => {
            let place = all.iter().position(|object| object["id"] == after);
            place.ok_or_else(|| ApiError::missing("object", "starting_after", after))? + 1
        }
    };
    let rest = all.get(skipped..).unwrap_or_default();
    Ok(list(url, &rest[..rest.len().min(limit)], rest.len() > limit))
}

pub(super) fn list_events(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let mut types = texts(input.tree, "types");
    types.extend(text(input.tree, &["type"]).map(str::to_owned));
    if types.len() > 20 {
        return Err(ApiError::parameter("types", "You can only provide up to 20 event types."));
    }
    let is_asked_for = |event: &&Event| {
        state.sees(&event.id)
            && (types.is_empty() || types.iter().any(|kind| kind == event.kind))
            && is_in_time(input, event.created)
    };
    page("/v1/events", state.events.iter().rev().filter(is_asked_for).collect(), input, Event::json)
}

pub(super) fn retrieve_event(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    state.event(input.seen).map(Event::json).ok_or_else(|| ApiError::missing("event", "id", input.id))
}

#[expect(clippy::unnecessary_wraps, reason = "a call like the others")]
pub(super) fn account(state: &mut State, _: &Input<'_>) -> Result<Value, ApiError> {
    Ok(json!({
        "id": state.account().id,
        "object": "account",
        "charges_enabled": true,
        "country": "US",
        "default_currency": "usd",
        "details_submitted": true,
        "payouts_enabled": true,
    }))
}

#[expect(clippy::unnecessary_wraps, reason = "a call like the others")]
pub(super) fn balance(state: &mut State, _: &Input<'_>) -> Result<Value, ApiError> {
    let sum: i64 = state
        .charges
        .values()
        .filter(|charge| charge.status == "succeeded" && state.sees(&charge.id))
        .map(|charge| charge.amount - charge.refunded)
        .sum();
    let amount = |amount: i64| json!([{ "amount": amount, "currency": "usd", "source_types": { "card": amount } }]);
    Ok(json!({ "object": "balance", "available": amount(0), "livemode": state.livemode(), "pending": amount(sum) }))
}

/// The changes of the balance, newest first.
pub(super) fn list_changes(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let all = state.changes();
    let is_asked_for = |change: &&Value| {
        state.sees(change["source"].as_str().unwrap_or_default())
            && is_in_time(input, change["created"].as_i64().unwrap_or_default())
    };
    page("/v1/balance_transactions", all.iter().filter(is_asked_for).collect(), input, Value::clone)
}

/// The account's only configuration: everything that it has is switched on.
#[expect(clippy::unnecessary_wraps, reason = "a call like the others")]
pub(super) fn list_method_configurations(state: &mut State, _: &Input<'_>) -> Result<Value, ApiError> {
    let mut found = json!({
        "id": "pmc_standin", "object": "payment_method_configuration", "active": true, "application": null,
        "is_default": true, "livemode": state.livemode(), "name": "Default", "parent": null,
    });
    for method in METHODS {
        let preference = json!({ "overridable": null, "preference": "on", "value": "on" });
        found[*method] = json!({ "available": true, "display_preference": preference });
    }
    Ok(json!({ "object": "list", "data": [found], "has_more": false, "url": "/v1/payment_method_configurations" }))
}

pub(super) fn create_endpoint(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let address = text(input.tree, &["url"]).unwrap_or_default();
    if !url::Url::parse(address).is_ok_and(|url| ["http", "https"].contains(&url.scheme()) && url.has_host()) {
        return Err(ApiError::parameter("url", "Invalid URL: An explicit scheme (such as https) must be provided."));
    }
    let id = state.id("we");
    let secret = format!("whsec_{}{}", shared::random::id().unwrap_or_default(), id.trim_start_matches("we_"));
    let endpoint = Endpoint {
        id: id.clone(),
        created: input.now,
        livemode: state.livemode(),
        url: address.to_owned(),
        events: texts(input.tree, "enabled_events"),
        api_version: text(input.tree, &["api_version"]).map(str::to_owned),
        description: text(input.tree, &["description"]).map(str::to_owned),
        metadata: metadata(input.tree.get("metadata")),
        secret,
        disabled: false,
    };
    let mut reply = endpoint.json();
    reply["secret"] = endpoint.secret.as_str().into();
    state.endpoints.insert(id, endpoint);
    Ok(reply)
}

pub(super) fn update_endpoint(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let endpoint = state.endpoints.get_mut(input.seen);
    let endpoint = endpoint.ok_or_else(|| ApiError::missing("webhook endpoint", "id", input.id))?;
    let events = texts(input.tree, "enabled_events");
    if !events.is_empty() {
        endpoint.events = events;
    }
    Ok(endpoint.json())
}

pub(super) fn list_endpoints(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let own = state.endpoints.values().rev().filter(|endpoint| state.sees(&endpoint.id));
    page("/v1/webhook_endpoints", own.collect(), input, Endpoint::json)
}

pub(super) fn delete_endpoint(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    match state.endpoints.remove(input.seen) {
        Some(_) => Ok(json!({ "id": input.id, "object": "webhook_endpoint", "deleted": true })),
        None => Err(ApiError::missing("webhook endpoint", "id", input.id)),
    }
}
