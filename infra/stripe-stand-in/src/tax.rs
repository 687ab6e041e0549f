//! Tax: what a session and its invoices are taxed with, once it is known from where the buyer pays.

use super::objects::Line;
use super::parameters::{ApiError, Input, boolean, list, text};
use super::state::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The countries from which buyers pay, with the rates in percent.
pub(super) const RATES: &[(&str, i64)] = &[("DE", 19), ("FR", 20), ("AT", 20), ("US", 0)];
/// What a session that is sold in Stripe's own name refuses.
const NOT_MANAGED: &[&str] = &[
    "adaptive_pricing",
    "automatic_tax",
    "allowed_payment_method_types",
    "excluded_payment_method_types",
    "payment_method_options",
    "customer_update",
];
/// A code that looks like one and does not exist.
const UNKNOWN: &str = "txcd_99999998";

/// How a session is taxed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Taxed {
    /// Whether it is sold in Stripe's own name.
    pub(super) managed: bool,
    /// Whether the tax comes on top.
    exclusive: bool,
    pub(super) country: Option<String>,
}

impl Taxed {
    fn rate(&self) -> i64 {
        let country = self.country.as_deref();
        RATES.iter().find(|(known, _)| Some(*known) == country).map_or(0, |(_, rate)| *rate)
    }

    /// The tax of an amount, half up.
    fn of(&self, amount: i64) -> i64 {
        let rate = self.rate();
        let whole = if self.exclusive { 100 } else { 100 + rate };
        (amount * rate * 2 + whole) / (whole * 2)
    }

    pub(super) fn of_lines(&self, lines: &[Line]) -> i64 {
        lines.iter().map(|line| self.of(line.unit_amount * line.quantity)).sum()
    }

    /// The tax that comes on top of what the lines cost.
    pub(super) fn on_top(&self, lines: &[Line]) -> i64 {
        if self.exclusive { self.of_lines(lines) } else { 0 }
    }

    /// The tax of lines, as an invoice and its lines say it.
    pub(super) fn taxes(&self, lines: &[Line]) -> Value {
        if self.rate() == 0 {
            return json!([]);
        }
        let (sum, tax) = (lines.iter().map(|line| line.unit_amount * line.quantity).sum::<i64>(), self.of_lines(lines));
        json!([{
            "amount": tax,
            "tax_behavior": if self.exclusive { "exclusive" } else { "inclusive" },
            "tax_rate_details": { "tax_rate": self.rate_id() },
            "taxability_reason": "standard_rated",
            "taxable_amount": if self.exclusive { sum } else { sum - tax },
            "type": "tax_rate_details",
        }])
    }

    fn rate_id(&self) -> String {
        format!("txr_{}", self.country.as_deref().unwrap_or_default())
    }

    /// The parts of a session's tax, which it has only if they are asked for.
    pub(super) fn breakdown(&self, lines: &[Line], livemode: bool) -> Value {
        let percentage: Option<serde_json::Number> = format!("{}.0", self.rate()).parse().ok();
        let rate = json!({
            "id": self.rate_id(), "object": "tax_rate", "active": false, "country": self.country, "created": 0,
            "description": null, "display_name": "VAT", "effective_percentage": null, "flat_amount": null,
            "inclusive": !self.exclusive, "jurisdiction": self.country, "jurisdiction_level": "country",
            "livemode": livemode, "metadata": {}, "percentage": percentage, "rate_type": "percentage", "state": null,
            "tax_type": "vat",
        });
        let taxes = self.taxes(lines);
        let parts = taxes.as_array().into_iter().flatten().map(|tax| {
            json!({
                "amount": tax["amount"], "rate": rate, "taxability_reason": tax["taxability_reason"],
                "taxable_amount": tax["taxable_amount"],
            })
        });
        json!({ "discounts": [], "taxes": parts.collect::<Vec<_>>() })
    }

    /// Whether the buyer's address is known, in the words of an object.
    pub(super) fn status(&self) -> &'static str {
        if self.country.is_some() { "complete" } else { "requires_location_inputs" }
    }

    pub(super) fn address(&self) -> Option<Value> {
        let country = self.country.as_ref()?;
        Some(json!({
            "city": null, "country": country, "line1": null, "line2": null, "postal_code": null, "state": null,
        }))
    }
}

/// How a new session is taxed, if it is at all.
pub(super) fn taxed(tree: &Map<String, Value>) -> Result<Option<Taxed>, ApiError> {
    let is_managed = boolean(tree, &["managed_payments", "enabled"]).unwrap_or_default();
    if let Some(refused) = NOT_MANAGED.iter().find(|name| is_managed && tree.contains_key(**name)) {
        let message = format!("You cannot use `{refused}` with Managed Payments.");
        return Err(ApiError::parameter(refused, message).early());
    }
    if !is_managed && !boolean(tree, &["automatic_tax", "enabled"]).unwrap_or_default() {
        return Ok(None);
    }
    let has_customer = tree.contains_key("customer") && !is_managed;
    if has_customer && text(tree, &["customer_update", "address"]) != Some("auto") {
        let message = "Automatic tax calculation in Checkout requires a valid address on the Customer.";
        return Err(ApiError::parameter("customer", message).code("customer_tax_location_invalid").early());
    }
    let mut behavior = None;
    for (n, line) in list(tree, "line_items").into_iter().filter_map(Value::as_object).enumerate() {
        let path = |name: &str| format!("line_items[{n}][price_data]{name}");
        let own = text(line, &["price_data", "tax_behavior"]);
        if own.is_none() || *behavior.get_or_insert(own) != own {
            let message = "The tax behavior is not specified, or is not that of the other lines.";
            return Err(ApiError::parameter(&path("[tax_behavior]"), message).early());
        }
        let code = text(line, &["price_data", "product_data", "tax_code"]);
        if code.is_some_and(|code| !exists(code)) || is_managed && code.is_none() {
            let message = format!("No such tax code: '{}'", code.unwrap_or_default());
            return Err(ApiError::parameter(&path("[product_data][tax_code]"), message).early());
        }
    }
    Ok(Some(Taxed { managed: is_managed, exclusive: behavior.flatten() == Some("exclusive"), country: None }))
}

fn exists(code: &str) -> bool {
    let digits = code.strip_prefix("txcd_").unwrap_or_default();
    code != UNKNOWN && digits.len() == 8 && digits.bytes().all(|digit| digit.is_ascii_digit())
}

pub(super) fn retrieve_code(_: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    if !exists(input.id) {
        return Err(ApiError::missing("tax_code", "id", input.id));
    }
    Ok(json!({
        "id": input.id, "object": "tax_code", "description": "A kind of goods.", "name": "Goods", "requirements": null,
    }))
}

#[expect(clippy::unnecessary_wraps, reason = "a call like the others")]
pub(super) fn settings(state: &mut State, _: &Input<'_>) -> Result<Value, ApiError> {
    Ok(json!({
        "object": "tax.settings", "defaults": { "provider": "stripe", "tax_behavior": null, "tax_code": null },
        "head_office": { "address": { "country": "DE" } }, "livemode": state.livemode(), "status": "active",
        "status_details": { "active": {} },
    }))
}

impl State {
    /// Notes from where the buyer of an open session pays, and what it costs there.
    pub(super) fn address(&mut self, session: &str, country: &str) {
        let Some(session) = self.sessions.get_mut(session).filter(|session| session.status == "open") else { return };
        let Some(tax) = &mut session.tax else { return };
        let before = tax.on_top(&session.lines);
        tax.country = Some(country.to_owned());
        session.amount += tax.on_top(&session.lines) - before;
        let intent = session.intent.as_ref().and_then(|intent| self.intents.get_mut(intent));
        if let Some(intent) = intent {
            intent.amount = session.amount;
        }
    }
}
