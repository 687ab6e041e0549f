//! The life of a subscription: its session is paid, it is renewed or not, and it ends.

use super::billing::{Customer, Invoice, Subscription, Terms};
use super::objects::{Line, Recurring, Session};
use super::pay::NewIntent;
use super::state::State;

/// The states of a subscription that has begun and has not ended.
pub(super) const RUNNING: &[&str] = &["active", "trialing", "past_due", "unpaid", "paused"];
/// How long after a failed renewal it is tried again, in seconds.
const RETRY: i64 = 3 * 24 * 60 * 60;

impl State {
    /// The subscription that a session has created, or that an invoice is of.
    pub(super) fn subscription_of(&self, id: &str) -> Result<String, String> {
        let session = self.sessions.get(id).and_then(|session| session.subscription.clone());
        let invoice = || self.billing.invoices.get(id).map(|invoice| invoice.terms.subscription.clone());
        session.or_else(invoice).ok_or_else(|| "There is no subscription.".to_owned())
    }

    /// Pays a session of a subscription by a method, at once or not: customer, subscription and first invoice are made, if they
    /// are not yet.
    pub(super) fn subscribe(
        &mut self,
        session: &Session,
        recurring: &Recurring,
        (method, status): (&'static str, &'static str),
        now: i64,
    ) {
        let (id, invoice) = self.unconfirmed(session).unwrap_or_else(|| self.new_subscription(session, recurring, now));
        let customer = self.billing.subscriptions.get(&id).map(|found| found.terms.customer.clone());
        self.charge_invoice(&invoice, method, status, now);
        if status == "succeeded" {
            self.invoice_is_paid(&invoice, now);
        }
        self.change_session(&session.id, |session| {
            (session.customer, session.subscription, session.invoice) = (customer, Some(id), Some(invoice));
        });
    }

    /// The subscription of a session whose payment was not confirmed yet, and its invoice.
    pub(super) fn unconfirmed(&self, session: &Session) -> Option<(String, String)> {
        let is_own =
            |found: &&Subscription| found.status == "incomplete" && found.terms.metadata == session.intent_metadata;
        let found = self.billing.subscriptions.values().find(is_own)?;
        Some((found.id().clone(), found.latest_invoice.clone()?))
    }

    /// Makes a subscription whose first invoice is not paid.
    pub(super) fn new_subscription(&mut self, session: &Session, recurring: &Recurring, now: i64) -> (String, String) {
        let customer = session.customer.clone().unwrap_or_else(|| self.new_customer(now));
        let id = self.id("sub");
        let terms = Terms {
            subscription: id.clone(),
            since: now,
            livemode: session.livemode,
            customer,
            currency: session.currency.clone(),
            metadata: session.intent_metadata.clone(),
            recurring: recurring.clone(),
            tax: session.tax.clone(),
        };
        let subscription = Subscription {
            terms,
            status: "incomplete",
            flexible: true,
            lines: session.lines.iter().filter(|line| line.recurring).cloned().collect(),
            periods: 0,
            trial: None,
            pause: None,
            cancel_at_period_end: false,
            cancel_at: None,
            canceled_at: None,
            ended_at: None,
            reason: None,
            latest_invoice: None,
        };
        self.billing.subscriptions.insert(id.clone(), subscription);
        self.subscription_happens(&id, "customer.subscription.created", now);
        let invoice = self.new_invoice(&id, "subscription_create", session.lines.clone(), now);
        (id, invoice)
    }

    fn new_customer(&mut self, now: i64) -> String {
        let id = self.id("cus");
        let customer = Customer { id: id.clone(), created: now, livemode: self.livemode() };
        let object = customer.json();
        self.billing.customers.insert(id.clone(), customer);
        self.happen("customer.created", &object, now);
        id
    }

    /// An open invoice of the present period.
    pub(super) fn new_invoice(
        &mut self,
        subscription: &str,
        reason: &'static str,
        lines: Vec<Line>,
        now: i64,
    ) -> String {
        let id = self.id("in");
        let url = Some(format!("{}/invoices/{id}", self.base));
        let Some(subscription) = self.billing.subscriptions.get_mut(subscription) else { return id };
        subscription.latest_invoice = Some(id.clone());
        let invoice = Invoice {
            id: id.clone(),
            created: now,
            terms: subscription.terms.clone(),
            status: "open",
            reason,
            amount: lines.iter().map(|line| line.unit_amount * line.quantity).sum::<i64>()
                + subscription.terms.tax.as_ref().map_or(0, |tax| tax.on_top(&lines)),
            lines,
            period: subscription.period(),
            previous: subscription.terms.recurring.after(subscription.terms.since, (subscription.periods - 1).max(0)),
            voided_at: None,
            intent: None,
            attempts: 0,
            next_attempt: None,
            paid_at: None,
            url,
        };
        self.billing.invoices.insert(id.clone(), invoice);
        id
    }

    /// Makes the invoice of what was paid once, if the session asked for it.
    pub(super) fn invoice_once(&mut self, session: &str, now: i64) {
        let Some(session) = self.sessions.get(session).filter(|session| session.has_invoice).cloned() else { return };
        let (customer, id) = (self.new_customer(now), self.id("in"));
        let invoice = Invoice {
            id: id.clone(),
            created: now,
            terms: Terms {
                subscription: String::new(),
                since: now,
                livemode: session.livemode,
                customer: customer.clone(),
                currency: session.currency,
                metadata: serde_json::Map::new(),
                recurring: Recurring { interval: String::new(), count: 0 },
                tax: session.tax,
            },
            status: "paid",
            reason: "manual",
            amount: session.amount,
            lines: session.lines,
            period: (now, now),
            previous: now,
            voided_at: None,
            intent: session.intent,
            attempts: 1,
            next_attempt: None,
            paid_at: Some(now),
            url: Some(format!("{}/invoices/{id}", self.base)),
        };
        let object = invoice.json();
        self.billing.invoices.insert(id.clone(), invoice);
        self.change_session(&session.id, |session| (session.customer, session.invoice) = (Some(customer), Some(id)));
        self.happen("invoice.paid", &object, now);
    }

    /// Tries to charge an invoice, whose payment then has a status. One of nothing is paid without a payment.
    pub(super) fn charge_invoice(&mut self, id: &str, method: &'static str, status: &'static str, now: i64) {
        let Some(invoice) = self.billing.invoices.get(id).cloned() else { return };
        let (succeeds, fails) = (status == "succeeded", status == "requires_payment_method");
        let (payment, charged) = match status {
            "succeeded" => ("payment_intent.succeeded", "charge.succeeded"),
            "processing" => ("payment_intent.processing", "charge.pending"),
            _ => ("payment_intent.payment_failed", "charge.failed"),
        };
        let intent = invoice.intent.clone().or_else(|| {
            let new = NewIntent {
                amount: invoice.amount,
                currency: invoice.terms.currency.clone(),
                metadata: serde_json::Map::new(),
                methods: vec![method.to_owned()],
                livemode: invoice.terms.livemode,
                customer: Some(invoice.terms.customer.clone()),
            };
            (invoice.amount > 0).then(|| self.new_intent(new, now))
        });
        if let Some(intent) = &intent {
            self.change_intent(intent, status, fails);
            self.charge(intent, charged.trim_start_matches("charge."), method, now);
        }
        if let Some(invoice) = self.billing.invoices.get_mut(id) {
            invoice.intent.clone_from(&intent);
            invoice.attempts += 1;
            invoice.status = if succeeds { "paid" } else { "open" };
            invoice.paid_at = succeeds.then_some(now);
            invoice.next_attempt = fails.then_some(now + RETRY);
        }
        if let Some(intent) = intent {
            self.payment_happens(&intent, payment, Some(charged), now);
        }
    }

    fn pay_invoice(&mut self, id: &str, now: i64) {
        self.charge_invoice(id, "card", "succeeded", now);
        self.invoice_is_paid(id, now);
    }

    /// The payment of an invoice that was being processed succeeds or fails.
    pub(super) fn settle_invoice(&mut self, id: &str, succeeds: bool, now: i64) -> Result<(), String> {
        let waits = |intent: &String| self.intents.get(intent).is_some_and(|intent| intent.status == "processing");
        let intent = self.billing.invoices.get(id).and_then(|invoice| invoice.intent.clone()).filter(waits);
        let intent = intent.ok_or("The invoice has no payment that is waiting.")?;
        let (status, charge) =
            if succeeds { ("succeeded", "succeeded") } else { ("requires_payment_method", "failed") };
        self.change_intent(&intent, status, !succeeds);
        self.change_charge(&intent, charge, now);
        if let Some(invoice) = self.billing.invoices.get_mut(id).filter(|_| succeeds) {
            (invoice.status, invoice.paid_at) = ("paid", Some(now));
        }
        if succeeds {
            self.payment_happens(&intent, "payment_intent.succeeded", Some("charge.succeeded"), now);
            let session = self.sessions.values().find(|session| session.invoice.as_deref() == Some(id));
            if let Some(session) = session.map(|session| session.id.clone()) {
                self.change_session(&session, |session| session.payment_status = "paid");
            }
            self.invoice_is_paid(id, now);
        } else {
            self.payment_happens(&intent, "payment_intent.payment_failed", Some("charge.failed"), now);
            self.invoice_fails(id, now);
        }
        Ok(())
    }

    fn invoice_fails(&mut self, id: &str, now: i64) {
        let object = self.billing.object(id).unwrap_or_default();
        self.happen("invoice.payment_failed", &object, now);
        let of_running = self.billing.invoices.get(id).map(|invoice| invoice.terms.subscription.clone());
        let of_running = of_running.filter(|id| self.subscription_in(id, &["active"]).is_ok());
        if let Some(subscription) = of_running {
            self.change_subscription(&subscription, now, |subscription| subscription.status = "past_due");
        }
    }

    /// What follows from an invoice that is paid.
    fn invoice_is_paid(&mut self, id: &str, now: i64) {
        let Some(invoice) = self.billing.invoices.get(id).cloned() else { return };
        self.happen("invoice.paid", &invoice.json(), now);
        let subscription = invoice.terms.subscription;
        let is_waiting = |found: &Subscription| !matches!(found.status, "active" | "canceled" | "incomplete_expired");
        if self.billing.subscriptions.get(&subscription).is_some_and(is_waiting) {
            self.change_subscription(&subscription, now, |subscription| subscription.status = "active");
        }
    }

    /// The subscription, if it is in one of some states.
    pub(super) fn subscription_in(&self, id: &str, states: &[&str]) -> Result<&Subscription, String> {
        match self.billing.subscriptions.get(id) {
            Some(found) if states.contains(&found.status) => Ok(found),
            Some(found) => Err(format!("The subscription is {}.", found.status)),
            None => Err(format!("There is no subscription {id}.")),
        }
    }

    pub(super) fn change_subscription(&mut self, id: &str, now: i64, change: impl FnOnce(&mut Subscription)) {
        if let Some(subscription) = self.billing.subscriptions.get_mut(id) {
            change(subscription);
        }
        self.subscription_happens(id, "customer.subscription.updated", now);
    }

    fn subscription_happens(&mut self, id: &str, kind: &'static str, now: i64) {
        let object = self.billing.subscriptions.get(id).map(Subscription::json).unwrap_or_default();
        self.happen(kind, &object, now);
    }

    /// Begins the next period, with an invoice that is not paid yet.
    fn next_period(&mut self, id: &str, now: i64) -> Result<String, String> {
        let found = self.subscription_in(id, &["active", "trialing"])?;
        if found.ends_with_period() {
            return Err("The subscription ends with its period.".to_owned());
        }
        let lines = found.lines.clone();
        self.change_subscription(id, now, |subscription| subscription.periods += 1);
        Ok(self.new_invoice(id, "subscription_cycle", lines, now))
    }

    pub(super) fn renew(&mut self, id: &str, now: i64) -> Result<(), String> {
        let invoice = self.next_period(id, now)?;
        if self.billing.subscriptions.get(id).is_some_and(|found| found.pause.is_some()) {
            // The period goes on, and nothing is paid for it.
            return self.void_invoice(&invoice, now);
        }
        self.pay_invoice(&invoice, now);
        Ok(())
    }

    /// Begins the next period by a debit, whose money is not there yet.
    pub(super) fn renew_late(&mut self, id: &str, now: i64) -> Result<(), String> {
        let invoice = self.next_period(id, now)?;
        self.charge_invoice(&invoice, "sepa_debit", "processing", now);
        Ok(())
    }

    /// An invoice that is neither the first nor of a further period.
    pub(super) fn charge_change(&mut self, id: &str, now: i64) -> Result<(), String> {
        let lines = self.subscription_in(id, &["active"])?.lines.clone();
        let invoice = self.new_invoice(id, "subscription_update", lines, now);
        self.pay_invoice(&invoice, now);
        Ok(())
    }

    /// The period moves ahead as if it were paid: only status and invoice say that it is not.
    pub(super) fn fail_renewal(&mut self, id: &str, now: i64) -> Result<(), String> {
        let free =
            self.subscription_in(id, &["active"])?.lines.iter().all(|line| line.unit_amount * line.quantity == 0);
        if free {
            return Err("There is nothing to pay.".to_owned());
        }
        let invoice = self.next_period(id, now)?;
        self.charge_invoice(&invoice, "card", "requires_payment_method", now);
        self.invoice_fails(&invoice, now);
        Ok(())
    }

    /// Pays the invoice that failed; of a subscription that has ended from its e-mail, which brings nothing back.
    pub(super) fn recover(&mut self, id: &str, now: i64) -> Result<(), String> {
        self.subscription_in(id, &["past_due", "unpaid", "canceled"])?;
        let open = self.billing.invoices_of(id).find(|invoice| invoice.status == "open");
        let open = open.map(|invoice| invoice.id.clone());
        self.pay_invoice(&open.ok_or("There is no open invoice.")?, now);
        Ok(())
    }

    /// Ends a subscription whose invoice stays open.
    pub(super) fn give_up(&mut self, id: &str, now: i64) -> Result<(), String> {
        self.subscription_in(id, &["past_due", "unpaid"])?;
        self.end(id, now, "payment_failed", now);
        Ok(())
    }

    pub(super) fn cancel_at_period_end(&mut self, id: &str, ends: bool, now: i64) -> Result<(), String> {
        let found = self.subscription_in(id, RUNNING)?;
        if found.cancel_at_period_end == ends && found.cancel_at.is_none() {
            return Ok(());
        }
        self.change_subscription(id, now, |subscription| {
            (subscription.cancel_at_period_end, subscription.cancel_at) = (ends, None);
            subscription.canceled_at = ends.then_some(now);
            subscription.reason = ends.then(|| "cancellation_requested".to_owned());
        });
        Ok(())
    }

    /// What the portal does: a flexible subscription ends at the end that its period has now.
    pub(super) fn cancel_in_portal(&mut self, id: &str, now: i64) -> Result<(), String> {
        let found = self.subscription_in(id, RUNNING)?;
        if found.flexible {
            return self.cancel_at(id, found.period().1, now);
        }
        self.cancel_at_period_end(id, true, now)
    }

    /// Lets the period of a subscription end that ends with it.
    pub(super) fn end_period(&mut self, id: &str, now: i64) -> Result<(), String> {
        let found = self.subscription_in(id, RUNNING)?;
        let end = found.ends_at().ok_or("The subscription does not end with its period.")?;
        self.end(id, end, "cancellation_requested", now);
        Ok(())
    }

    pub(super) fn cancel_now(&mut self, id: &str, now: i64) -> Result<(), String> {
        self.subscription_in(id, RUNNING)?;
        self.end(id, now, "cancellation_requested", now);
        Ok(())
    }

    pub(super) fn end(&mut self, id: &str, at: i64, reason: &str, now: i64) {
        // What is open stays so, and is not tried again.
        for invoice in self.billing.invoices.values_mut().filter(|invoice| invoice.terms.subscription == id) {
            invoice.next_attempt = None;
        }
        if let Some(subscription) = self.billing.subscriptions.get_mut(id) {
            (subscription.status, subscription.ended_at) = ("canceled", Some(at));
            subscription.reason = Some(reason.to_owned());
            subscription.canceled_at.get_or_insert(now);
        }
        self.subscription_happens(id, "customer.subscription.deleted", now);
    }

    /// Ends the subscriptions whose last period is over. Returns whether there were any.
    pub(super) fn end_periods(&mut self, now: i64) -> bool {
        let is_due = |found: &&Subscription| found.ended_at.is_none() && found.ends_at().is_some_and(|end| end <= now);
        let due: Vec<String> =
            self.billing.subscriptions.values().filter(is_due).map(|found| found.id().clone()).collect();
        for id in &due {
            self.act_for(id);
            _ = self.end_period(id, now);
        }
        !due.is_empty()
    }
}
