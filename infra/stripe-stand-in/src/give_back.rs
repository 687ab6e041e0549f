//! Refunds and disputes.

use super::new_session::FINAL;
use super::objects::{Charge, Dispute, Refund};
use super::parameters::ApiError;
use super::state::State;
use serde_json::{Map, Value, json};

/// Metadata and reason of a new refund.
#[derive(Debug, Default)]
pub(super) struct Note {
    pub(super) metadata: Map<String, Value>,
    pub(super) reason: Option<String>,
}

impl State {
    /// The newest charge of a session, which may be that of its first invoice, or of an invoice.
    pub(super) fn charge_of(&self, id: &str) -> Result<String, String> {
        let session = self.sessions.get(id);
        let invoice = session.and_then(|session| session.invoice.as_deref()).unwrap_or(id);
        let of_invoice = || self.billing.invoices.get(invoice).and_then(|invoice| invoice.intent.as_ref());
        let intent = session.and_then(|session| session.intent.as_ref()).or_else(of_invoice);
        let paid = intent.and_then(|intent| self.intents.get(intent)).filter(|intent| intent.status == "succeeded");
        let kind = if session.is_some() { "session" } else { "invoice" };
        paid.and_then(|intent| intent.charge.clone()).ok_or_else(|| format!("This {kind} is not paid."))
    }

    /// Refunds a charge, in part or all that is left.
    pub(super) fn refund(
        &mut self,
        charge: &str,
        amount: Option<i64>,
        note: Option<Note>,
        now: i64,
    ) -> Result<Refund, ApiError> {
        let id = self.id("re");
        let note = note.unwrap_or_default();
        let mut disputes = self.disputes.values().filter(|dispute| dispute.charge == charge);
        let is_charged_back = disputes.any(|dispute| !dispute.is_inquiry() && dispute.status != "won");
        let found = self.charges.get_mut(charge).ok_or_else(|| ApiError::missing("charge", "charge", charge))?;
        let amount = refundable(found, is_charged_back, amount)?;
        found.refunded += amount;
        let refund = Refund {
            id: id.clone(),
            created: now,
            amount,
            currency: found.currency.clone(),
            charge: found.id.clone(),
            intent: found.intent.clone(),
            metadata: note.metadata,
            reason: note.reason,
            failed: false,
            failed_at: 0,
        };
        let object = found.json();
        self.refunds.insert(id, refund.clone());
        self.happen("refund.created", &refund.json(), now);
        self.happen("charge.refunded", &object, now);
        Ok(refund)
    }

    /// Lets the newest refund of a session fail that has not failed yet: the buyer's bank sends the money back.
    pub(super) fn fail_refund(&mut self, session: &str, now: i64) -> Result<(), String> {
        let charge = self.charge_of(session)?;
        let mut newest = self.refunds.values_mut().rev();
        let Some(refund) = newest.find(|refund| refund.charge == charge && !refund.failed) else {
            return Err("There is no refund that could fail.".to_owned());
        };
        (refund.failed, refund.failed_at) = (true, now);
        let refund = refund.clone();
        if let Some(charge) = self.charges.get_mut(&charge) {
            charge.refunded -= refund.amount;
        }
        self.happen("refund.updated", &refund.json(), now);
        self.happen("refund.failed", &refund.json(), now);
        Ok(())
    }

    /// The refunds of a charge, newest first.
    pub(super) fn refunds_of(&self, charge: &str) -> Vec<&Refund> {
        self.refunds.values().rev().filter(|refund| refund.charge == charge).collect()
    }

    pub(super) fn dispute(
        &mut self,
        session: &str,
        status: &'static str,
        amount: Option<i64>,
        now: i64,
    ) -> Result<(), String> {
        let charge = self.charge_of(session)?;
        let id = self.id("du");
        let is_open = self.disputes.values().any(|dispute| dispute.charge == charge && dispute.is_open());
        let lost = self.disputes.values().filter(|dispute| dispute.charge == charge && dispute.is_lost());
        let lost: i64 = lost.map(|dispute| dispute.amount).sum();
        let Some(charge) = self.charges.get_mut(&charge).filter(|_| !is_open) else {
            return Err("The charge has a dispute that is open.".to_owned());
        };
        let left = charge.amount - charge.refunded - lost;
        if left <= 0 {
            return Err("Nothing is left of the charge.".to_owned());
        }
        charge.disputed = true;
        let dispute = Dispute {
            id: id.clone(),
            created: now,
            livemode: charge.livemode,
            status,
            amount: amount.unwrap_or(left).min(left),
            currency: charge.currency.clone(),
            charge: charge.id.clone(),
            intent: charge.intent.clone(),
            evidence: Map::new(),
            submissions: 0,
            changed_at: now,
            taken_at: now,
        };
        let object = dispute.json();
        self.disputes.insert(id, dispute);
        self.happen("charge.dispute.created", &object, now);
        Ok(())
    }

    /// Changes the charge's open dispute. An inquiry that is closed has another state.
    pub(super) fn change_dispute(
        &mut self,
        session: &str,
        status: &'static str,
        kind: &'static str,
        now: i64,
    ) -> Result<(), String> {
        let charge = self.charge_of(session)?;
        let mut disputes = self.disputes.values_mut();
        let Some(open) = disputes.find(|dispute| dispute.charge == charge && dispute.is_open()) else {
            return Err("There is no open dispute.".to_owned());
        };
        let closes_inquiry = open.is_inquiry() && kind == "charge.dispute.closed";
        if open.is_inquiry() {
            open.taken_at = now;
        }
        open.status = if closes_inquiry { "warning_closed" } else { status };
        open.changed_at = now;
        let object = open.json();
        self.happen(kind, &object, now);
        Ok(())
    }

    /// The account's owner writes evidence in the dashboard, and does not submit it yet.
    pub(super) fn stage_evidence(&mut self, session: &str, now: i64) -> Result<(), String> {
        let charge = self.charge_of(session)?;
        let mut disputes = self.disputes.values_mut();
        let found = disputes.find(|dispute| dispute.charge == charge && dispute.needs_response());
        let dispute = found.ok_or("There is no dispute that waits for evidence.")?;
        dispute.evidence.insert("uncategorized_text".to_owned(), "The owner's words.".into());
        let object = dispute.json();
        self.happen("charge.dispute.updated", &object, now);
        Ok(())
    }

    pub(super) fn warn_of_fraud(&mut self, session: &str, now: i64) -> Result<(), String> {
        let charge = self.charge_of(session)?;
        let id = self.id("issfr");
        let charge = self.charges.get(&charge).ok_or("There is no charge.")?;
        let object = json!({
            "id": id,
            "object": "radar.early_fraud_warning",
            "actionable": !charge.disputed && charge.refunded == 0,
            "charge": charge.id,
            "created": now,
            "fraud_type": "unauthorized_use_of_card",
            "livemode": charge.livemode,
            "payment_intent": charge.intent,
        });
        self.happen("radar.early_fraud_warning.created", &object, now);
        Ok(())
    }
}

/// The amount to refund, if the charge allows it.
fn refundable(charge: &Charge, is_charged_back: bool, amount: Option<i64>) -> Result<i64, ApiError> {
    let id = &charge.id;
    let left = charge.amount - charge.refunded;
    if charge.status != "succeeded" {
        return Err(ApiError::request(format!("Charge {id} does not have a successful payment to refund.")));
    }
    if FINAL.contains(&charge.method) {
        return Err(ApiError::request(format!(
            "Charge {id} cannot be refunded: its payment method does not support it."
        )));
    }
    if is_charged_back {
        let message = format!("Charge {id} has been charged back; cannot issue a refund.");
        return Err(ApiError::request(message).code("charge_disputed"));
    }
    if left == 0 {
        let message = format!("Charge {id} has already been refunded.");
        return Err(ApiError::request(message).code("charge_already_refunded"));
    }
    match amount.unwrap_or(left) {
        amount if amount < 1 => {
            let message = "This value must be greater than or equal to 1.";
            Err(ApiError::parameter("amount", message).code("parameter_invalid_integer"))
        }
        amount if amount > left => {
            let message = format!("Refund amount ({amount}) is greater than unrefunded amount on charge ({left})");
            Err(ApiError::parameter("amount", message))
        }
        amount => Ok(amount),
    }
}
