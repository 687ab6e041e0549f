//! The objects that are kept, and the shapes in which they are sent.

use super::billing::Recurring;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) expires_at: i64,
    pub(super) livemode: bool,
    pub(super) status: &'static str,
    pub(super) payment_status: &'static str,
    pub(super) amount: i64,
    pub(super) currency: String,
    pub(super) reference: Option<String>,
    pub(super) metadata: Map<String, Value>,
    /// The metadata of the payment, or of the subscription.
    pub(super) intent_metadata: Map<String, Value>,
    pub(super) intent: Option<String>,
    pub(super) success_url: String,
    pub(super) cancel_url: Option<String>,
    pub(super) methods: Vec<String>,
    pub(super) lines: Vec<Line>,
    pub(super) adaptive: bool,
    /// How often it is paid; `None` in mode payment.
    pub(super) recurring: Option<Recurring>,
    pub(super) customer: Option<String>,
    pub(super) subscription: Option<String>,
    pub(super) invoice: Option<String>,
}

/// The fields of a session that are always null here.
const NULL: &str = "after_expiration allow_promotion_codes billing_address_collection client_secret \
    collected_information consent consent_collection currency_conversion customer_details \
    customer_email locale payment_link recovered_from setup_intent shipping_address_collection \
    shipping_cost shipping_details submit_type";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) quantity: i64,
    pub(super) unit_amount: i64,
    /// Whether it is paid in every period of a subscription.
    #[serde(default)]
    pub(super) recurring: bool,
}

impl Session {
    pub(super) fn url(&self, base: &str) -> String {
        format!("{base}/c/pay/{}", self.id)
    }

    /// The address that the buyer returns to after paying.
    pub(super) fn return_url(&self) -> String {
        self.success_url.replace("{CHECKOUT_SESSION_ID}", &self.id)
    }

    /// Whether it offers a method that pays after days.
    pub(super) fn has_delayed_methods(&self) -> bool {
        self.methods.iter().any(|method| method != "card")
    }

    pub(super) fn json(&self, base: &str) -> Value {
        let url = (self.status == "open").then(|| self.url(base));
        let (mode, customer_creation) = match &self.recurring {
            None => ("payment", Some("if_required")),
            Some(_) => ("subscription", self.customer.is_none().then_some("always")),
        };
        let mut session = json!({
            "id": self.id,
            "object": "checkout.session",
            "adaptive_pricing": { "enabled": self.adaptive },
            "amount_subtotal": self.amount,
            "amount_total": self.amount,
            "automatic_tax": { "enabled": false, "liability": null, "status": null },
            "cancel_url": self.cancel_url,
            "client_reference_id": self.reference,
            "created": self.created,
            "currency": self.currency,
            "custom_fields": [],
            "custom_text": {
                "after_submit": null, "shipping_address": null, "submit": null, "terms_of_service_acceptance": null,
            },
            "customer": self.customer,
            "customer_creation": customer_creation,
            "discounts": [],
            "expires_at": self.expires_at,
            "invoice": self.invoice,
            "livemode": self.livemode,
            "metadata": self.metadata,
            "mode": mode,
            "payment_intent": self.intent,
            "payment_method_collection": if self.recurring.is_some() { "always" } else { "if_required" },
            "payment_method_options": { "card": { "request_three_d_secure": "automatic" } },
            "payment_method_types": self.methods,
            "payment_status": self.payment_status,
            "phone_number_collection": { "enabled": false },
            "shipping_options": [],
            "status": self.status,
            "subscription": self.subscription,
            "success_url": self.success_url,
            "total_details": { "amount_discount": 0, "amount_shipping": 0, "amount_tax": 0 },
            "ui_mode": "hosted",
            "url": url,
        });
        nulls(&mut session, NULL);
        session
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Intent {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) livemode: bool,
    pub(super) status: &'static str,
    pub(super) amount: i64,
    pub(super) currency: String,
    pub(super) metadata: Map<String, Value>,
    pub(super) charge: Option<String>,
    pub(super) methods: Vec<String>,
    pub(super) declined: bool,
    pub(super) canceled_at: Option<i64>,
    pub(super) customer: Option<String>,
    pub(super) invoice: Option<String>,
}

impl Intent {
    pub(super) fn json(&self) -> Value {
        let error = self.declined.then(|| {
            json!({ "type": "card_error", "code": "card_declined", "decline_code": "generic_decline",
                "message": "Your card was declined." })
        });
        let mut intent = json!({
            "id": self.id,
            "object": "payment_intent",
            "amount": self.amount,
            "amount_capturable": 0,
            "amount_details": { "tip": {} },
            "amount_received": if self.status == "succeeded" { self.amount } else { 0 },
            "canceled_at": self.canceled_at,
            "cancellation_reason": self.canceled_at.map(|_| "automatic"),
            "capture_method": "automatic_async",
            "client_secret": format!("{}_secret_standin", self.id),
            "confirmation_method": "automatic",
            "created": self.created,
            "currency": self.currency,
            "customer": self.customer,
            "invoice": self.invoice,
            "last_payment_error": error,
            "latest_charge": self.charge,
            "livemode": self.livemode,
            "metadata": self.metadata,
            "payment_method_options": {},
            "payment_method_types": self.methods,
            "status": self.status,
        });
        nulls(
            &mut intent,
            "application application_fee_amount automatic_payment_methods description \
             next_action on_behalf_of payment_method payment_method_configuration_details processing \
             receipt_email review setup_future_usage shipping source statement_descriptor \
             statement_descriptor_suffix transfer_data transfer_group",
        );
        intent
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Charge {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) livemode: bool,
    pub(super) status: &'static str,
    pub(super) amount: i64,
    pub(super) refunded: i64,
    pub(super) disputed: bool,
    pub(super) currency: String,
    pub(super) intent: String,
    pub(super) metadata: Map<String, Value>,
    pub(super) method: &'static str,
    pub(super) customer: Option<String>,
    pub(super) invoice: Option<String>,
}

impl Charge {
    pub(super) fn json(&self) -> Value {
        let is_paid = self.status == "succeeded";
        let details = match self.method {
            "card" => json!({ "brand": "visa", "exp_month": 12, "exp_year": 2_050, "last4": "4242" }),
            _ => json!({ "last4": "3201" }),
        };
        let mut charge = json!({
            "id": self.id,
            "object": "charge",
            "amount": self.amount,
            "amount_captured": if is_paid { self.amount } else { 0 },
            "amount_refunded": self.refunded,
            "billing_details": { "address": null, "email": null, "name": null, "phone": null },
            "captured": is_paid,
            "created": self.created,
            "currency": self.currency,
            "customer": self.customer,
            "disputed": self.disputed,
            "failure_code": (self.status == "failed").then_some("card_declined"),
            "failure_message": (self.status == "failed").then_some("Your card was declined."),
            "fraud_details": {},
            "invoice": self.invoice,
            "livemode": self.livemode,
            "metadata": self.metadata,
            "paid": is_paid,
            "payment_intent": self.intent,
            "payment_method_details": { "type": self.method, self.method: details },
            "refunded": self.refunded == self.amount,
            "status": self.status,
        });
        nulls(
            &mut charge,
            "application application_fee application_fee_amount balance_transaction \
             calculated_statement_descriptor description failure_balance_transaction \
             on_behalf_of outcome payment_method receipt_email receipt_number receipt_url review shipping source \
             source_transfer statement_descriptor statement_descriptor_suffix transfer transfer_data \
             transfer_group",
        );
        charge
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Refund {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) amount: i64,
    pub(super) currency: String,
    pub(super) charge: String,
    pub(super) intent: String,
    pub(super) metadata: Map<String, Value>,
    pub(super) reason: Option<String>,
    pub(super) failed: bool,
}

impl Refund {
    pub(super) fn json(&self) -> Value {
        let mut refund = json!({
            "id": self.id,
            "object": "refund",
            "amount": self.amount,
            "charge": self.charge,
            "created": self.created,
            "currency": self.currency,
            "metadata": self.metadata,
            "payment_intent": self.intent,
            "reason": self.reason,
            "status": if self.failed { "failed" } else { "succeeded" },
        });
        if self.failed {
            refund["failure_reason"] = "expired_or_canceled_card".into();
        }
        nulls(
            &mut refund,
            "balance_transaction failure_balance_transaction receipt_number source_transfer_reversal \
             transfer_reversal",
        );
        refund
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Dispute {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) livemode: bool,
    pub(super) status: &'static str,
    pub(super) amount: i64,
    pub(super) currency: String,
    pub(super) charge: String,
    pub(super) intent: String,
}

impl Dispute {
    pub(super) fn is_inquiry(&self) -> bool {
        self.status.starts_with("warning_")
    }

    pub(super) fn is_open(&self) -> bool {
        self.status.ends_with("needs_response")
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "id": self.id,
            "object": "dispute",
            "amount": self.amount,
            "balance_transactions": [],
            "charge": self.charge,
            "created": self.created,
            "currency": self.currency,
            "enhanced_eligibility_types": [],
            "evidence": { "enhanced_evidence": {} },
            "evidence_details": {
                "due_by": self.created + 7 * 24 * 60 * 60, "enhanced_eligibility": {}, "has_evidence": false, "past_due": false,
                "submission_count": 0,
            },
            "is_charge_refundable": self.is_inquiry(),
            "livemode": self.livemode,
            "metadata": {},
            "payment_intent": self.intent,
            "reason": "fraudulent",
            "status": self.status,
        })
    }
}

/// Adds fields that are always null here, separated by spaces.
pub(super) fn nulls(object: &mut Value, names: &str) {
    fill(object, names, &Value::Null);
}

/// Adds fields that always have the same value here, separated by spaces.
pub(super) fn fill(object: &mut Value, names: &str, value: &Value) {
    for name in names.split_whitespace() {
        object[name] = value.clone();
    }
}
