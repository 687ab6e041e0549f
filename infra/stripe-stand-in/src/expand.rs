//! The parameter `expand`: objects in the place of their ids, and lists that a reply has only if they are asked for.

use super::parameters::ApiError;
use super::state::State;
use super::webhooks::list;
use serde_json::Value;

/// How deep a property that is expanded can be; `data` of a list counts.
const LEVELS: usize = 4;
/// How many refunds an expanded charge has.
const NEWEST: usize = 10;

/// What can be expanded: a property of a kind of object, and the kind that is found there, or its list. A kind that begins
/// with a dot is a part of an object, and only leads to others.
const PROPERTIES: &[(&str, &str, &str)] = &[
    ("checkout.session", "customer", "customer"),
    ("checkout.session", "invoice", "invoice"),
    ("checkout.session", "payment_intent", "payment_intent"),
    ("checkout.session", "subscription", "subscription"),
    ("checkout.session", "total_details", ".total_details"),
    (".total_details", "breakdown", "breakdown"),
    ("payment_intent", "customer", "customer"),
    ("payment_intent", "latest_charge", "charge"),
    ("balance_transaction", "source", "charge"),
    ("charge", "balance_transaction", "balance_transaction"),
    ("charge", "customer", "customer"),
    ("charge", "payment_intent", "payment_intent"),
    ("charge", "refunds", "list refund"),
    ("refund", "charge", "charge"),
    ("refund", "payment_intent", "payment_intent"),
    ("dispute", "charge", "charge"),
    ("dispute", "payment_intent", "payment_intent"),
    ("subscription", "customer", "customer"),
    ("subscription", "latest_invoice", "invoice"),
    ("invoice", "customer", "customer"),
    ("invoice", "payments", "list invoice_payment"),
    ("invoice", "parent", ".parent"),
    (".parent", "subscription_details", ".subscription_details"),
    (".subscription_details", "subscription", "subscription"),
    ("invoice_payment", "invoice", "invoice"),
    ("invoice_payment", "payment", ".payment"),
    (".payment", "payment_intent", "payment_intent"),
];

fn refused(path: &str) -> ApiError {
    ApiError::request(format!("This property cannot be expanded ({path})."))
}

/// Refuses a path that names a property which the objects of a call do not have, whether there is such an object or not.
pub(super) fn check(call: &str, is_list: bool, path: &str) -> Result<(), ApiError> {
    if path.split('.').count() > LEVELS {
        let message = format!("You cannot expand more than 4 levels of a property. Property: {path}");
        return Err(ApiError::request(message));
    }
    // A call has the name of its objects: `/v1/checkout/sessions/*` that of a `checkout.session`.
    let objects = call.trim_start_matches("/v1/").split("/*").next().unwrap_or_default();
    let object = objects.trim_end_matches('s').replace('/', ".");
    let first = if is_list { format!("list {object}") } else { object };
    let mut kind = first.as_str();
    for name in path.split('.') {
        kind = match kind.strip_prefix("list ") {
            Some(objects) if name == "data" => objects,
            _ => {
                let found = PROPERTIES.iter().find(|(of, property, _)| (*of, *property) == (kind, name));
                found.ok_or_else(|| refused(path))?.2
            }
        };
    }
    if kind.starts_with('.') { Err(refused(path)) } else { Ok(()) }
}

/// Expands a property of an object, or of all objects of a list. The path was checked.
pub(super) fn expand(state: &State, body: &mut Value, path: &str) -> Result<(), ApiError> {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let id = body["id"].as_str().unwrap_or_default().to_owned();
    match (body["object"].as_str(), name) {
        (Some("charge"), "refunds") => {
            let all = state.refunds_of(&id);
            let newest: Vec<Value> = all.iter().take(NEWEST).map(|refund| refund.json()).collect();
            body["refunds"] = list(&format!("/v1/charges/{id}/refunds"), &newest, all.len() > NEWEST);
        }
        (Some("checkout.session"), "total_details") => {
            let session = state.sessions.get(&id);
            let tax = session.and_then(|session| Some((session, session.tax.as_ref()?)));
            body["total_details"]["breakdown"] = match tax {
                Some((session, tax)) => tax.breakdown(&session.lines, session.livemode),
                None => serde_json::json!({ "discounts": [], "taxes": [] }),
            };
        }
        (Some("invoice"), "payments") if body["payments"].is_null() => {
            let invoice = state.billing.invoices.get(&id).filter(|invoice| invoice.intent.is_some());
            let payments: Vec<Value> = invoice.map(super::billing::Invoice::payment).into_iter().collect();
            body["payments"] = list(&format!("/v1/invoices/{id}/payments"), &payments, false);
        }
        _ => {}
    }
    let field = &mut body[name];
    if let Some(id) = field.as_str() {
        *field = state.object(id).ok_or_else(|| refused(path))?;
    }
    match (field, rest) {
        (Value::Array(objects), Some(rest)) => objects.iter_mut().try_for_each(|object| expand(state, object, rest)),
        (Value::Null, _) | (_, None) => Ok(()),
        (field, Some(rest)) => expand(state, field, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn only_what_an_object_has_can_be_expanded() {
        let (session, invoice) = ("/v1/checkout/sessions/*", "/v1/invoices/*");
        for (call, is_list, path) in [
            (session, false, "payment_intent.latest_charge.refunds"),
            (session, false, "invoice.payments"),
            ("/v1/checkout/sessions", true, "data.invoice.payments"),
            ("/v1/checkout/sessions/*/expire", false, "payment_intent"),
            (invoice, false, "payments.data.payment.payment_intent"),
            (invoice, false, "parent.subscription_details.subscription"),
            ("/v1/invoice_payments", true, "data.payment.payment_intent"),
            ("/v1/payment_intents/*", false, "latest_charge.refunds"),
        ] {
            assert_eq!(check(call, is_list, path), Ok(()), "{path} of {call}");
        }
        for (call, is_list, path) in [
            (session, false, "invoice.payment_intent"),
            (session, false, "invoice.payments.data.payment.payment_intent"),
            (session, false, "status"),
            ("/v1/checkout/sessions", true, "invoice"),
            ("/v1/payment_intents/*", false, "invoice"),
            ("/v1/charges/*", false, "invoice"),
            (invoice, false, "payment_intent"),
            (invoice, false, "charge"),
            (invoice, false, "subscription"),
            (invoice, false, "parent"),
            (invoice, false, "data.payments"),
            ("/v1/balance", false, "available"),
        ] {
            assert!(check(call, is_list, path).is_err(), "{path} of {call}");
        }
    }
}
