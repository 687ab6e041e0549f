//! The ends of a session: it is paid, declined, delayed or expires.

use super::new_session::{LATE_METHODS, METHODS};
use super::objects::{Charge, Intent, Session};
use super::state::State;
use serde_json::{Map, Value};

pub(super) struct NewIntent {
    pub(super) amount: i64,
    pub(super) currency: String,
    pub(super) metadata: Map<String, Value>,
    pub(super) methods: Vec<String>,
    pub(super) livemode: bool,
    pub(super) customer: Option<String>,
}

impl State {
    /// The session, if it can be paid.
    fn open(&mut self, session: &str) -> Result<Session, String> {
        match self.sessions.get(session) {
            Some(found) if found.status == "open" => Ok(found.clone()),
            Some(found) => Err(format!("This session is {}.", found.status)),
            None => Err(format!("There is no session {session}.")),
        }
    }

    /// The session's payment; a new one if the buyer has not tried before.
    fn intent(&mut self, session: &Session, now: i64) -> String {
        if let Some(intent) = &session.intent {
            return intent.clone();
        }
        let new = NewIntent {
            amount: session.amount,
            currency: session.currency.clone(),
            metadata: session.intent_metadata.clone(),
            methods: session.methods.clone(),
            livemode: session.livemode,
            customer: session.customer.clone(),
        };
        let id = self.new_intent(new, now);
        self.change_session(&session.id, |session| session.intent = Some(id.clone()));
        id
    }

    pub(super) fn new_intent(&mut self, new: NewIntent, now: i64) -> String {
        let id = self.id("pi");
        let NewIntent { amount, currency, metadata, methods, livemode, customer } = new;
        let intent = Intent {
            id: id.clone(),
            created: now,
            livemode,
            status: "requires_payment_method",
            amount,
            currency,
            metadata,
            charge: None,
            methods,
            declined: false,
            canceled_at: None,
            customer,
        };
        self.intents.insert(id.clone(), intent);
        id
    }

    pub(super) fn charge(&mut self, intent: &str, status: &'static str, method: &'static str, now: i64) {
        let id = self.id("ch");
        let (receipt_url, has_fee) = (Some(format!("{}/receipts/{id}", self.base)), !self.delays_fees);
        let receipt = self.sends_receipts.then(|| format!("1000-{}", self.charges.len()));
        let Some(intent) = self.intents.get_mut(intent) else { return };
        intent.charge = Some(id.clone());
        let charge = Charge {
            id: id.clone(),
            created: now,
            livemode: intent.livemode,
            status,
            amount: intent.amount,
            refunded: 0,
            disputed: false,
            currency: intent.currency.clone(),
            intent: intent.id.clone(),
            metadata: intent.metadata.clone(),
            method,
            customer: intent.customer.clone(),
            receipt,
            receipt_url,
            has_fee,
            settled_at: now,
            card: self.card,
        };
        self.charges.insert(id, charge);
    }

    pub(super) fn change_session(&mut self, id: &str, change: impl FnOnce(&mut Session)) {
        if let Some(session) = self.sessions.get_mut(id) {
            change(session);
        }
    }

    pub(super) fn change_intent(&mut self, id: &str, status: &'static str, declined: bool) {
        if let Some(intent) = self.intents.get_mut(id) {
            (intent.status, intent.declined) = (status, declined);
        }
    }

    pub(super) fn change_charge(&mut self, intent: &str, status: &'static str, now: i64) {
        let charge = self.intents.get(intent).and_then(|intent| intent.charge.clone()).unwrap_or_default();
        if let Some(charge) = self.charges.get_mut(&charge) {
            (charge.status, charge.settled_at) = (status, now);
        }
    }

    /// The fee of a payment becomes known.
    pub(super) fn settle_fee(&mut self, session: &str, now: i64) -> Result<(), String> {
        let id = self.charge_of(session)?;
        let charge = self.charges.get_mut(&id).filter(|charge| !charge.has_fee).ok_or("The fee is known.")?;
        (charge.has_fee, charge.settled_at) = (true, now);
        let object = charge.json();
        self.happen("charge.updated", &object, now);
        Ok(())
    }

    fn complete(&mut self, session: &str, payment_status: &'static str) {
        self.change_session(session, |session| (session.status, session.payment_status) = ("complete", payment_status));
    }

    /// Events about a payment and, after it, its charge.
    pub(super) fn payment_happens(&mut self, intent: &str, kind: &'static str, charge: Option<&'static str>, now: i64) {
        let Some(found) = self.intents.get(intent).cloned() else { return };
        self.happen(kind, &found.json(), now);
        let charged = found.charge.and_then(|charge| self.charges.get(&charge)).map(Charge::json);
        if let (Some(kind), Some(object)) = (charge, charged) {
            self.happen(kind, &object, now);
        }
    }

    fn session_happens(&mut self, session: &str, kind: &'static str, now: i64) {
        let object = self.session_json(session);
        self.happen(kind, &object, now);
    }

    /// Pays by a method, whose money is there at once or later.
    pub(super) fn pay_by(&mut self, session: &str, method: &str, now: i64) -> Result<(), String> {
        let open = self.open(session)?;
        let known = METHODS.iter().find(|known| **known == method && open.methods.iter().any(|one| one == method));
        let method = known.ok_or_else(|| format!("This session does not offer {method}."))?;
        if LATE_METHODS.contains(method) { self.pay_late(&open, method, now) } else { self.pay(session, method, now) }
    }

    /// Pays by card in another currency.
    pub(super) fn pay_abroad(&mut self, session: &str, now: i64) -> Result<(), String> {
        let open = self.open(session)?;
        if !open.adaptive || open.amount == 0 || open.recurring.is_some() {
            return Err("This session can be paid in its own currency only.".to_owned());
        }
        // A rate and a fee, as the page would show them.
        let abroad = Some((open.amount * 2 + 7, "cad".to_owned()));
        self.change_session(session, |session| session.abroad.clone_from(&abroad));
        self.pay(session, "card", now)
    }

    fn pay(&mut self, session: &str, method: &'static str, now: i64) -> Result<(), String> {
        let open = self.open(session)?;
        if let Some(recurring) = &open.recurring {
            self.subscribe(&open, recurring, (method, "succeeded"), now);
            self.complete(session, if open.amount == 0 { "no_payment_required" } else { "paid" });
        } else if open.amount == 0 {
            self.complete(session, "no_payment_required");
        } else {
            let intent = self.intent(&open, now);
            self.change_intent(&intent, "succeeded", false);
            self.charge(&intent, "succeeded", method, now);
            self.complete(session, "paid");
            self.payment_happens(&intent, "payment_intent.succeeded", Some("charge.succeeded"), now);
            self.invoice_once(session, now);
        }
        self.session_happens(session, "checkout.session.completed", now);
        Ok(())
    }

    fn pay_late(&mut self, open: &Session, method: &'static str, now: i64) -> Result<(), String> {
        if open.amount == 0 {
            return Err("There is nothing to pay.".to_owned());
        }
        if let Some(recurring) = &open.recurring {
            self.subscribe(open, recurring, (method, "processing"), now);
            self.complete(&open.id, "unpaid");
            self.session_happens(&open.id, "checkout.session.completed", now);
            return Ok(());
        }
        let (session, intent) = (&open.id, self.intent(open, now));
        self.change_intent(&intent, "processing", false);
        self.charge(&intent, "pending", method, now);
        self.complete(session, "unpaid");
        self.payment_happens(&intent, "payment_intent.processing", Some("charge.pending"), now);
        self.session_happens(session, "checkout.session.completed", now);
        Ok(())
    }

    /// The payment of a session, if it is in one of some states.
    fn intent_in(&self, session: &str, states: &[&str]) -> Result<String, String> {
        let session = self.sessions.get(session).filter(|session| session.status == "complete");
        let intent = session.and_then(|session| self.intents.get(session.intent.as_ref()?));
        match intent {
            Some(intent) if states.contains(&intent.status) => Ok(intent.id.clone()),
            Some(intent) => Err(format!("The payment is {}.", intent.status)),
            None => Err("The session has no payment that is waiting.".to_owned()),
        }
    }

    pub(super) fn settle(&mut self, session: &str, now: i64, succeeds: bool) -> Result<(), String> {
        let invoice = self.sessions.get(session).map_or(Some(session.to_owned()), |found| found.invoice.clone());
        if let Some(invoice) = invoice {
            return self.settle_invoice(&invoice, succeeds, now);
        }
        let intent = self.intent_in(session, &["processing"])?;
        if succeeds {
            self.change_intent(&intent, "succeeded", false);
            self.change_charge(&intent, "succeeded", now);
            self.change_session(session, |session| session.payment_status = "paid");
            self.payment_happens(&intent, "payment_intent.succeeded", Some("charge.succeeded"), now);
            self.invoice_once(session, now);
            self.session_happens(session, "checkout.session.async_payment_succeeded", now);
        } else {
            self.change_intent(&intent, "requires_payment_method", true);
            self.change_charge(&intent, "failed", now);
            self.payment_happens(&intent, "payment_intent.payment_failed", Some("charge.failed"), now);
            self.session_happens(session, "checkout.session.async_payment_failed", now);
        }
        Ok(())
    }

    pub(super) fn cancel_payment(&mut self, session: &str, now: i64) -> Result<(), String> {
        let intent = self.intent_in(session, &["processing", "requires_payment_method"])?;
        self.cancel_intent(&intent, now);
        Ok(())
    }

    fn cancel_intent(&mut self, intent: &str, now: i64) {
        if let Some(found) = self.intents.get_mut(intent) {
            (found.status, found.canceled_at) = ("canceled", Some(now));
        }
        self.change_charge(intent, "failed", now);
        self.payment_happens(intent, "payment_intent.canceled", None, now);
    }

    pub(super) fn decline(&mut self, session: &str, now: i64) -> Result<(), String> {
        let open = self.open(session)?;
        if open.amount == 0 {
            return Err("There is nothing to pay.".to_owned());
        }
        // A subscription is only created when it is paid.
        if open.recurring.is_some() {
            return Ok(());
        }
        let intent = self.intent(&open, now);
        self.change_intent(&intent, "requires_payment_method", true);
        self.charge(&intent, "failed", "card", now);
        self.payment_happens(&intent, "payment_intent.payment_failed", Some("charge.failed"), now);
        Ok(())
    }

    pub(super) fn expire(&mut self, session: &str, now: i64) -> Result<(), String> {
        let open = self.open(session)?;
        self.change_session(session, |session| session.status = "expired");
        if let Some(intent) = open.intent {
            self.cancel_intent(&intent, now);
        }
        self.session_happens(session, "checkout.session.expired", now);
        Ok(())
    }
}
