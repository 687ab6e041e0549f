//! Customers, subscriptions and invoices: what is kept of them, and the shapes in which they are sent.

use super::objects::{Line, Recurring, sent};
use super::portal::{Configuration, PortalSession};
use super::tax::Taxed;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Everything about subscriptions, in the order of creation: ids begin with a counter.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub(super) struct Billing {
    pub(super) customers: BTreeMap<String, Customer>,
    pub(super) subscriptions: BTreeMap<String, Subscription>,
    pub(super) invoices: BTreeMap<String, Invoice>,
    pub(super) configurations: BTreeMap<String, Configuration>,
    #[serde(rename = "visits")]
    pub(super) portal_sessions: BTreeMap<String, PortalSession>,
}

impl Billing {
    pub(super) fn object(&self, id: &str) -> Option<Value> {
        let customer = self.customers.get(id).map(Customer::json);
        customer
            .or_else(|| self.subscriptions.get(id).map(Subscription::json))
            .or_else(|| self.invoices.get(id).map(Invoice::json))
    }

    /// The invoices of a subscription, newest first.
    pub(super) fn invoices_of<'a>(&'a self, subscription: &'a str) -> impl Iterator<Item = &'a Invoice> {
        self.invoices.values().rev().filter(move |invoice| invoice.terms.subscription == subscription)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Customer {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) livemode: bool,
}

impl Customer {
    pub(super) fn json(&self) -> Value {
        sent!("customer", self => [id, created, livemode], {})
    }
}

/// The fields that a subscription and its invoices share.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Terms {
    pub(super) subscription: String,
    /// When the subscription was created.
    pub(super) since: i64,
    pub(super) livemode: bool,
    pub(super) customer: String,
    pub(super) currency: String,
    pub(super) metadata: Map<String, Value>,
    pub(super) recurring: Recurring,
    #[serde(default)]
    pub(super) tax: Option<Taxed>,
}

impl Terms {
    /// The id of something that a line has, such as its price.
    fn id_of(&self, kind: &str, n: usize) -> String {
        format!("{kind}{}{n}", self.subscription.trim_start_matches("sub"))
    }

    fn price(&self, n: usize, line: &Line) -> Value {
        let recurring = json!({
            "interval": self.recurring.interval, "interval_count": self.recurring.count,
            "meter": null, "trial_period_days": null, "usage_type": "licensed",
        });
        sent!("price", self => [currency, livemode], {
            "id": self.id_of("price", n),
            "created": self.since,
            "product": self.id_of("prod", n),
            "recurring": line.recurring.then_some(recurring),
            "type": if line.recurring { "recurring" } else { "one_time" },
            "unit_amount": line.unit_amount,
            "unit_amount_decimal": line.unit_amount.to_string(),
        })
    }

    fn plan(&self, n: usize, line: &Line) -> Value {
        sent!("plan", self => [currency, livemode], {
            "id": self.id_of("price", n),
            "amount": line.unit_amount,
            "amount_decimal": line.unit_amount.to_string(),
            "created": self.since,
            "interval": self.recurring.interval,
            "interval_count": self.recurring.count,
            "product": self.id_of("prod", n),
        })
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Subscription {
    pub(super) terms: Terms,
    pub(super) status: &'static str,
    /// Whether its billing mode is flexible, as that of every new one is. One that was kept without this field is classic.
    #[serde(default)]
    pub(super) flexible: bool,
    /// The lines that are paid in every period.
    pub(super) lines: Vec<Line>,
    /// How many periods are over.
    pub(super) periods: i64,
    /// When the present trial ends, or the last one ended. The next period begins with it.
    #[serde(default)]
    pub(super) trial: Option<Trial>,
    #[serde(default)]
    pub(super) pause: Option<Pause>,
    pub(super) cancel_at_period_end: bool,
    /// When it ends, if that is not with its period.
    #[serde(default)]
    pub(super) cancel_at: Option<i64>,
    pub(super) canceled_at: Option<i64>,
    pub(super) ended_at: Option<i64>,
    pub(super) reason: Option<String>,
    pub(super) latest_invoice: Option<String>,
}

/// A time for which nothing is paid, in seconds since 1970 UTC.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Trial {
    pub(super) start: i64,
    pub(super) end: i64,
    /// The period in which it is: those after it are counted from its end.
    pub(super) period: i64,
}

/// While it lasts, invoices are made and no payment is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pause {
    pub(super) behavior: String,
    pub(super) resumes_at: Option<i64>,
}

impl Subscription {
    pub(super) const fn id(&self) -> &String {
        &self.terms.subscription
    }

    pub(super) fn period(&self) -> (i64, i64) {
        let (since, before) = self.anchor();
        let end = |periods| self.terms.recurring.after(since, periods - before);
        match &self.trial {
            Some(trial) if trial.period == self.periods => (trial.start, trial.end),
            _ => (end(self.periods), end(self.periods + 1)),
        }
    }

    /// The time from which periods are counted, and how many were before it.
    fn anchor(&self) -> (i64, i64) {
        self.trial.map_or((self.terms.since, 0), |trial| (trial.end, trial.period + 1))
    }

    /// When it ends, if that is decided.
    pub(super) fn ends_at(&self) -> Option<i64> {
        if self.cancel_at_period_end { Some(self.period().1) } else { self.cancel_at }
    }

    /// Whether no period follows the present one.
    pub(super) fn ends_with_period(&self) -> bool {
        self.ends_at().is_some_and(|end| end <= self.period().1)
    }

    fn item(&self, n: usize, line: &Line) -> Value {
        let (start, end) = self.period();
        sent!("subscription_item", {
            "id": self.terms.id_of("si", n),
            "created": self.terms.since,
            "current_period_end": end,
            "current_period_start": start,
            "plan": self.terms.plan(n, line),
            "price": self.terms.price(n, line),
            "quantity": line.quantity,
            "subscription": self.id(),
        })
    }

    pub(super) fn json(&self) -> Value {
        let items: Vec<Value> = self.lines.iter().enumerate().map(|(n, line)| self.item(n, line)).collect();
        let url = format!("/v1/subscription_items?subscription={}", self.id());
        sent!("subscription", self => [cancel_at_period_end, canceled_at, ended_at, latest_invoice, status], {
            "id": self.id(),
            "billing_cycle_anchor": self.anchor().0,
            "billing_mode": if self.flexible {
                json!({ "flexible": { "proration_discounts": "included" }, "type": "flexible", "updated_at": null })
            } else {
                json!({ "flexible": null, "type": "classic" })
            },
            "cancel_at": self.ends_at(),
            "cancellation_details": { "comment": null, "feedback": null, "reason": self.reason },
            "created": self.terms.since,
            "currency": self.terms.currency,
            "customer": self.terms.customer,
            "items": super::webhooks::list(&url, &items, false),
            "livemode": self.terms.livemode,
            "metadata": self.terms.metadata,
            "pause_collection": self.pause,
            "start_date": self.terms.since,
            "trial_end": self.trial.map(|trial| trial.end),
            "trial_start": self.trial.map(|trial| trial.start),
        })
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Invoice {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) terms: Terms,
    pub(super) status: &'static str,
    pub(super) reason: &'static str,
    pub(super) amount: i64,
    pub(super) lines: Vec<Line>,
    /// The period that it pays.
    pub(super) period: (i64, i64),
    /// The beginning of the period before it.
    pub(super) previous: i64,
    pub(super) intent: Option<String>,
    pub(super) attempts: u32,
    /// When it is tried again.
    pub(super) next_attempt: Option<i64>,
    pub(super) paid_at: Option<i64>,
    #[serde(default)]
    pub(super) voided_at: Option<i64>,
    #[serde(default)]
    pub(super) url: Option<String>,
}

impl Invoice {
    pub(super) fn is_paid(&self) -> bool {
        self.status == "paid"
    }

    /// Whether it is not one of what was paid once.
    const fn has_subscription(&self) -> bool {
        !self.terms.subscription.is_empty()
    }

    fn line(&self, n: usize, line: &Line) -> Value {
        let amount = line.unit_amount * line.quantity;
        let (start, end) = if line.recurring { self.period } else { (self.created, self.created) };
        let mut details = json!({
            "proration": false,
            "proration_details": { "credited_items": null },
            "subscription": self.terms.subscription,
        });
        let (item, kind) = if line.recurring { ("si", "subscription_item") } else { ("ii", "invoice_item") };
        details[kind] = self.terms.id_of(item, n).into();
        let kind = format!("{kind}_details");
        sent!("line_item", {
            "id": format!("il{}{n}", self.id.trim_start_matches("in")),
            "amount": amount,
            "currency": self.terms.currency,
            "description": format!("{} × {}", line.quantity, line.name),
            "invoice": self.id,
            "livemode": self.terms.livemode,
            "metadata": self.terms.metadata,
            "parent": self.has_subscription().then(|| json!({ "type": kind, kind: details })),
            "period": { "end": end, "start": start },
            "pricing": {
                "price_details": { "price": self.terms.id_of("price", n), "product": self.terms.id_of("prod", n) },
                "type": "price_details",
                "unit_amount_decimal": line.unit_amount.to_string(),
            },
            "quantity": line.quantity,
            "subscription": self.has_subscription().then_some(&self.terms.subscription),
            "subtotal": amount,
            "taxes": self.terms.tax.as_ref().map_or_else(|| json!([]), |tax| tax.taxes(std::slice::from_ref(line))),
        })
    }

    pub(super) fn payment_status(&self) -> &'static str {
        match self.status {
            "paid" => "paid",
            "void" => "canceled",
            _ => "open",
        }
    }

    /// The payment, once it was tried; an invoice has one at most.
    pub(super) fn payment(&self) -> Value {
        json!({
            "id": format!("inpay{}", self.id.trim_start_matches("in")),
            "object": "invoice_payment",
            "amount_paid": self.is_paid().then_some(self.amount),
            "amount_requested": self.amount,
            "created": self.created,
            "currency": self.terms.currency,
            "invoice": self.id,
            "is_default": true,
            "livemode": self.terms.livemode,
            "payment": { "payment_intent": self.intent, "type": "payment_intent" },
            "status": self.payment_status(),
            "status_transitions": { "canceled_at": self.voided_at, "paid_at": self.paid_at },
        })
    }

    pub(super) fn json(&self) -> Value {
        let paid = if self.is_paid() { self.amount } else { 0 };
        let tax = self.terms.tax.as_ref();
        let (all, on_top) = tax.map_or((0, 0), |tax| (tax.of_lines(&self.lines), tax.on_top(&self.lines)));
        let lines: Vec<Value> = self.lines.iter().enumerate().map(|(n, line)| self.line(n, line)).collect();
        sent!("invoice", self => [id, created, status], {
            "amount_due": self.amount,
            "amount_paid": paid,
            "amount_remaining": self.amount - paid,
            "attempt_count": self.attempts,
            "attempted": self.attempts > 0,
            "automatic_tax": {
                "disabled_reason": null, "enabled": tax.is_some(),
                "liability": tax.map(|_| json!({ "type": "self" })), "provider": tax.map(|_| "stripe"),
                "status": tax.map(Taxed::status),
            },
            "auto_advance": self.next_attempt.is_some(),
            "billing_reason": self.reason,
            "currency": self.terms.currency,
            "customer": self.terms.customer,
            "customer_address": tax.and_then(Taxed::address),
            "effective_at": self.created,
            "hosted_invoice_url": self.url,
            "lines": super::webhooks::list(&format!("/v1/invoices/{}/lines", self.id), &lines, false),
            "livemode": self.terms.livemode,
            "next_payment_attempt": self.next_attempt,
            "number": format!("STANDIN-{}", &self.id[3..9]),
            "parent": self.has_subscription().then(|| json!({
                "quote_details": null,
                "subscription_details": {
                    "metadata": self.terms.metadata, "subscription": self.terms.subscription,
                },
                "type": "subscription_details",
            })),
            // The period that is over; the lines have the one that is paid.
            "period_end": self.period.0,
            "period_start": self.previous,
            "status_transitions": {
                "finalized_at": self.created, "marked_uncollectible_at": null, "paid_at": self.paid_at,
                "voided_at": self.voided_at,
            },
            "subtotal": self.amount - on_top,
            "subtotal_excluding_tax": self.amount - all,
            "total": self.amount,
            "total_excluding_tax": self.amount - all,
            "total_taxes": tax.map_or_else(|| json!([]), |tax| tax.taxes(&self.lines)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn end(interval: &str, count: i64, from: &str, periods: i64) -> String {
        let recurring = Recurring { interval: interval.to_owned(), count };
        let end = recurring.after(from.parse::<Timestamp>().unwrap().as_second(), periods);
        Timestamp::from_second(end).unwrap().to_string()
    }

    #[test]
    fn a_period_ends_by_the_calendar() {
        for (interval, count, from, periods, wanted) in [
            ("month", 1, "2031-01-31T12:00:00Z", 1, "2031-02-28T12:00:00Z"),
            ("month", 1, "2031-01-31T12:00:00Z", 2, "2031-03-31T12:00:00Z"),
            ("month", 3, "2031-01-31T12:00:00Z", 1, "2031-04-30T12:00:00Z"),
            ("day", 10, "2031-01-31T12:00:00Z", 1, "2031-02-10T12:00:00Z"),
            ("week", 2, "2031-01-31T12:00:00Z", 1, "2031-02-14T12:00:00Z"),
            ("year", 1, "2032-02-29T12:00:00Z", 1, "2033-02-28T12:00:00Z"),
            ("year", 1, "2032-02-29T12:00:00Z", 0, "2032-02-29T12:00:00Z"),
        ] {
            assert_eq!(end(interval, count, from, periods), wanted, "{count} {interval} after {from}");
        }
    }
}
