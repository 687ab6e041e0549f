//! The calls about customers, subscriptions and invoices, and the states of a subscription that the account's owner
//! makes in the dashboard, or a buyer by not confirming a payment.

use super::billing::{Customer, Invoice, Pause, Subscription, Trial};
use super::calls::page;
use super::parameters::{ApiError, EXPAND, Input, Parameter, Shape, boolean, integer, text};
use super::renew::RUNNING;
use super::state::State;
use serde_json::Value;

pub(super) const INVOICES: &[Parameter] = &[
    ("subscription", false, Shape::Text(255)),
    ("customer", false, Shape::Text(255)),
    ("status", false, Shape::Word(&["draft", "open", "paid", "uncollectible", "void"])),
    ("limit", false, Shape::Integer),
    ("starting_after", false, Shape::Text(255)),
    EXPAND,
];

pub(super) const INVOICE_PAYMENTS: &[Parameter] = &[
    ("invoice", false, Shape::Text(255)),
    (
        "payment",
        false,
        Shape::Object(&[
            ("type", true, Shape::Word(&["payment_intent", "payment_record"])),
            ("payment_intent", false, Shape::Text(255)),
            ("payment_record", false, Shape::Text(255)),
        ]),
    ),
    ("status", false, Shape::Word(&["canceled", "open", "paid"])),
    ("limit", false, Shape::Integer),
    ("starting_after", false, Shape::Text(255)),
    EXPAND,
];

pub(super) const SUBSCRIPTIONS: &[Parameter] = &[
    ("customer", false, Shape::Text(255)),
    (
        "status",
        false,
        Shape::Word(&[
            "incomplete",
            "incomplete_expired",
            "trialing",
            "active",
            "past_due",
            "canceled",
            "unpaid",
            "paused",
            "all",
            "ended",
        ]),
    ),
    ("limit", false, Shape::Integer),
    ("starting_after", false, Shape::Text(255)),
    EXPAND,
];

pub(super) const CHANGED_SUBSCRIPTION: &[Parameter] = &[
    ("cancel_at_period_end", false, Shape::Boolean),
    ("cancel_at", false, Shape::Integer),
    ("trial_end", false, Shape::Integer),
    (
        "pause_collection",
        false,
        Shape::Object(&[
            ("behavior", true, Shape::Word(&["keep_as_draft", "mark_uncollectible", "void"])),
            ("resumes_at", false, Shape::Integer),
        ]),
    ),
    EXPAND,
];

pub(super) const CANCEL: &[Parameter] =
    &[("invoice_now", false, Shape::Boolean), ("prorate", false, Shape::Boolean), EXPAND];

pub(super) fn retrieve_customer(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let customer = state.billing.customers.get(input.seen).map(Customer::json);
    customer.ok_or_else(|| ApiError::missing("customer", "id", input.id))
}

pub(super) fn retrieve_invoice(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let invoice = state.billing.invoices.get(input.seen).map(Invoice::json);
    invoice.ok_or_else(|| ApiError::missing("invoice", "id", input.id))
}

pub(super) fn list_invoices(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let asked = |name: &str, value: &str| text(input.tree, &[name]).is_none_or(|asked| asked == value);
    let is_asked_for = |invoice: &&Invoice| {
        state.sees(&invoice.id)
            && asked("subscription", &invoice.terms.subscription)
            && asked("customer", &invoice.terms.customer)
            && asked("status", invoice.status)
    };
    let all = state.billing.invoices.values().rev().filter(is_asked_for).collect();
    page("/v1/invoices", all, input, Invoice::json)
}

/// The payments of invoices. None is a record of a payment outside Stripe.
pub(super) fn list_invoice_payments(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let asked = |path: &[&str], value: &str| text(input.tree, path).is_none_or(|asked| asked == value);
    let is_asked_for = |invoice: &&Invoice| {
        let intent = invoice.intent.as_deref();
        state.sees(&invoice.id)
            && intent.is_some_and(|intent| asked(&["payment", "payment_intent"], intent))
            && asked(&["payment", "type"], "payment_intent")
            && asked(&["invoice"], &invoice.id)
            && asked(&["status"], invoice.payment_status())
    };
    let all = state.billing.invoices.values().rev().filter(is_asked_for).collect();
    page("/v1/invoice_payments", all, input, Invoice::payment)
}

/// Only an invoice that waits for a payment, or is not expected to be paid, can be voided.
pub(super) fn void_invoice(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    retrieve_invoice(state, input)?;
    state.void_invoice(input.id, input.now).map_err(ApiError::request)?;
    retrieve_invoice(state, input)
}

fn missing(id: &str) -> ApiError {
    ApiError::missing("subscription", "id", id)
}

pub(super) fn retrieve_subscription(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    state.billing.subscriptions.get(input.seen).map(Subscription::json).ok_or_else(|| missing(input.id))
}

/// Without a status, those that have ended are left out.
pub(super) fn list_subscriptions(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let (customer, status) = (text(input.tree, &["customer"]), text(input.tree, &["status"]));
    let is_asked_for = |found: &&Subscription| {
        state.sees(found.id())
            && customer.is_none_or(|customer| found.terms.customer == customer)
            && match status {
                None => found.status != "canceled",
                Some("all") => true,
                Some("ended") => found.status == "canceled",
                Some(status) => found.status == status,
            }
    };
    let all = state.billing.subscriptions.values().rev().filter(is_asked_for).collect();
    page("/v1/subscriptions", all, input, Subscription::json)
}

pub(super) fn update_subscription(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    retrieve_subscription(state, input)?;
    let (ends, at) = (boolean(input.tree, &["cancel_at_period_end"]), integer(input.tree, &["cancel_at"]));
    if ends.is_some() && at.is_some() {
        let message = "You may only specify one of these parameters: cancel_at, cancel_at_period_end.";
        return Err(ApiError::parameter("cancel_at", message));
    }
    let is_past = |at: i64| at <= input.now;
    for (name, at) in [("cancel_at", at), ("trial_end", integer(input.tree, &["trial_end"]))] {
        if at.is_some_and(is_past) {
            return Err(ApiError::parameter(name, format!("{name} must be a time in the future.")));
        }
    }
    let is_over =
        |_| ApiError::request("A canceled subscription can only update its cancellation_details and metadata.");
    if let Some(ends) = ends {
        state.cancel_at_period_end(input.id, ends, input.now).map_err(is_over)?;
    }
    if let Some(at) = at {
        state.cancel_at(input.id, at, input.now).map_err(is_over)?;
    }
    if let Some(end) = integer(input.tree, &["trial_end"]) {
        state.trial(input.id, end, input.now).map_err(is_over)?;
    }
    if let Some(behavior) = text(input.tree, &["pause_collection", "behavior"]) {
        let pause = Pause {
            behavior: behavior.to_owned(),
            resumes_at: integer(input.tree, &["pause_collection", "resumes_at"]),
        };
        state.pause_collection(input.id, Some(pause), input.now).map_err(is_over)?;
    }
    retrieve_subscription(state, input)
}

/// A subscription that has ended is missing, as at Stripe.
pub(super) fn cancel_subscription(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    retrieve_subscription(state, input)?;
    state.cancel_now(input.id, input.now).map_err(|_| missing(input.id))?;
    retrieve_subscription(state, input)
}

/// How long a first payment can be confirmed, in seconds.
const CONFIRMABLE: i64 = 23 * 60 * 60;

impl State {
    /// Begins a free time that ends at a second, with an invoice of nothing. The periods after it are counted from its end.
    pub(super) fn trial(&mut self, id: &str, end: i64, now: i64) -> Result<(), String> {
        let mut lines = self.subscription_in(id, RUNNING)?.lines.clone();
        for line in &mut lines {
            line.unit_amount = 0;
        }
        self.change_subscription(id, now, |found| {
            let own = found.trial.filter(|trial| trial.period == found.periods);
            found.periods += i64::from(own.is_none());
            let start = own.map_or(now, |trial| trial.start);
            found.trial = Some(Trial { start, end, period: found.periods });
            found.status = "trialing";
        });
        let invoice = self.new_invoice(id, "subscription_update", lines, now);
        self.charge_invoice(&invoice, "card", "succeeded", now);
        let object = self.billing.object(&invoice).unwrap_or_default();
        self.happen("invoice.paid", &object, now);
        Ok(())
    }

    /// Ends the free time of a subscription whose buyer has no card: it waits for one.
    pub(super) fn pause_trial(&mut self, id: &str, now: i64) -> Result<(), String> {
        self.subscription_in(id, &["trialing"])?;
        self.change_subscription(id, now, |found| {
            found.status = "paused";
            if let Some(trial) = &mut found.trial {
                trial.end = now;
            }
        });
        Ok(())
    }

    /// From now on invoices are made and no payment is asked for; without a pause, payments are asked for again.
    pub(super) fn pause_collection(&mut self, id: &str, pause: Option<Pause>, now: i64) -> Result<(), String> {
        self.subscription_in(id, RUNNING)?;
        self.change_subscription(id, now, |found| found.pause = pause);
        Ok(())
    }

    /// Lets a subscription end at a second that need not be the end of its period.
    pub(super) fn cancel_at(&mut self, id: &str, at: i64, now: i64) -> Result<(), String> {
        self.subscription_in(id, RUNNING)?;
        self.change_subscription(id, now, |found| {
            (found.cancel_at_period_end, found.cancel_at) = (false, Some(at));
            found.canceled_at = Some(now);
            found.reason = Some("cancellation_requested".to_owned());
        });
        Ok(())
    }

    /// The open invoice is not tried again, and the subscription stays.
    pub(super) fn mark_unpaid(&mut self, id: &str, now: i64) -> Result<(), String> {
        self.subscription_in(id, &["past_due"])?;
        for invoice in self.billing.invoices.values_mut().filter(|invoice| invoice.terms.subscription == id) {
            invoice.next_attempt = None;
        }
        self.change_subscription(id, now, |found| found.status = "unpaid");
        Ok(())
    }

    /// Lets an invoice never be paid.
    pub(super) fn void_invoice(&mut self, id: &str, now: i64) -> Result<(), String> {
        let Some(found) = self.billing.invoices.get_mut(id) else { return Err(format!("There is no invoice {id}.")) };
        if !matches!(found.status, "open" | "uncollectible") {
            let status = found.status;
            return Err(format!("You can only void open or uncollectible invoices. This invoice is {status}."));
        }
        (found.status, found.voided_at, found.next_attempt) = ("void", Some(now), None);
        let (intent, object) = (found.intent.clone(), found.json());
        if let Some(intent) = intent {
            self.change_intent(&intent, "canceled", false);
        }
        self.happen("invoice.voided", &object, now);
        Ok(())
    }

    /// The buyer begins to pay a session of a subscription and does not confirm it: the subscription is there, and the
    /// session stays open.
    pub(super) fn leave_unconfirmed(&mut self, session: &str, now: i64) -> Result<(), String> {
        let found = self.sessions.get(session).filter(|found| found.status == "open").cloned();
        let session = found.ok_or("The session is not open.")?;
        let recurring = session.recurring.clone().ok_or("The session is not one of a subscription.")?;
        if self.unconfirmed(&session).is_none() {
            self.new_subscription(&session, &recurring, now);
        }
        Ok(())
    }

    /// Ends the subscriptions whose first payment was not confirmed in time. Returns whether there were any.
    pub(super) fn expire_unconfirmed(&mut self, now: i64) -> bool {
        let all = self.billing.subscriptions.values();
        let is_due = |found: &&super::billing::Subscription| {
            let invoice = found.latest_invoice.as_ref().and_then(|invoice| self.billing.invoices.get(invoice));
            let intent = invoice.and_then(|invoice| self.intents.get(invoice.intent.as_ref()?));
            let is_debited = intent.is_some_and(|intent| intent.status == "processing");
            found.status == "incomplete" && !is_debited && found.terms.since + CONFIRMABLE <= now
        };
        let due: Vec<(String, Option<String>)> =
            all.filter(is_due).map(|found| (found.id().clone(), found.latest_invoice.clone())).collect();
        for (id, invoice) in &due {
            self.act_for(id);
            if let Some(invoice) = invoice {
                _ = self.void_invoice(invoice, now);
            }
            self.change_subscription(id, now, |found| {
                (found.status, found.ended_at) = ("incomplete_expired", Some(now));
            });
        }
        !due.is_empty()
    }
}
