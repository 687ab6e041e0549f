//! The states of a subscription that the account's owner makes in the dashboard, or a buyer by not confirming a payment.

use super::billing::{Pause, Trial};
use super::renew::RUNNING;
use super::state::State;

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
