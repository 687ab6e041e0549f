//! The objects that are kept, and the shapes in which they are sent.

use super::new_session::LATE_METHODS;
use super::tax::Taxed;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// An object to send: fields as they are kept, fields that follow from others, and those of its kind that always have the same
/// value here.
macro_rules! sent {
    ($kind:literal, { $($field:tt)* }) => { $crate::objects::with_constants($kind, serde_json::json!({ $($field)* })) };
    ($kind:literal, $of:ident => [$($kept:ident),*], { $($field:tt)* }) => {
        sent!($kind, { $((stringify!($kept)): $of.$kept,)* $($field)* })
    };
}
pub(super) use sent;

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
    /// The methods that are offered.
    pub(super) methods: Vec<String>,
    /// The only methods that may be offered, or those that may not, if the session was created so.
    #[serde(default)]
    pub(super) allowed: Option<Vec<String>>,
    #[serde(default)]
    pub(super) excluded: Option<Vec<String>>,
    pub(super) lines: Vec<Line>,
    pub(super) adaptive: bool,
    /// The amount that was paid abroad, in minor units, and its currency.
    #[serde(default)]
    pub(super) abroad: Option<(i64, String)>,
    /// How often it is paid; `None` in mode payment.
    pub(super) recurring: Option<Recurring>,
    pub(super) customer: Option<String>,
    pub(super) subscription: Option<String>,
    pub(super) invoice: Option<String>,
    /// Its tax, which is in the amount once the buyer's country is known.
    #[serde(default)]
    pub(super) tax: Option<Taxed>,
    /// Whether it has an invoice once it is paid, in mode payment.
    #[serde(default)]
    pub(super) has_invoice: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) quantity: i64,
    pub(super) unit_amount: i64,
    /// Whether it is paid in every period of a subscription.
    #[serde(default)]
    pub(super) recurring: bool,
}

/// How often something is paid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Recurring {
    pub(super) interval: String,
    pub(super) count: i64,
}

impl Recurring {
    /// The end of so many periods by the calendar: the 31st becomes the last day of a shorter month.
    pub(super) fn after(&self, anchor: i64, periods: i64) -> i64 {
        let count = self.count * periods;
        let span = match self.interval.as_str() {
            "day" => Span::new().try_days(count),
            "week" => Span::new().try_weeks(count),
            "month" => Span::new().try_months(count),
            _ => Span::new().try_years(count),
        };
        let start = Timestamp::from_second(anchor).unwrap_or_default().to_zoned(TimeZone::UTC);
        let end = span.and_then(|span| start.checked_add(span));
        end.map_or(i64::MAX, |end| end.timestamp().as_second())
    }
}

/// What a buyer abroad paid.
fn presented(abroad: Option<&(i64, String)>) -> Value {
    abroad.map(|(amount, currency)| json!({ "presentment_amount": amount, "presentment_currency": currency })).into()
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
        self.methods.iter().any(|method| LATE_METHODS.contains(&method.as_str()))
    }

    pub(super) fn json(&self, base: &str) -> Value {
        let url = (self.status == "open").then(|| self.url(base));
        let (mode, customer_creation) = match &self.recurring {
            None => ("payment", Some("if_required")),
            Some(_) => ("subscription", self.customer.is_none().then_some("always")),
        };
        let tax = self.tax.as_ref();
        let address = tax.and_then(Taxed::address);
        let details = address.map(|address| {
            json!({
                "address": address, "business_name": null, "email": null, "individual_name": null, "name": null,
                "phone": null, "tax_exempt": "none", "tax_ids": [],
            })
        });
        sent!("checkout.session", self => [
            id, cancel_url, created, currency, customer, expires_at, invoice, livemode, metadata,
            payment_status, status, subscription, success_url
        ], {
            "adaptive_pricing": { "enabled": self.adaptive },
            "allowed_payment_method_types": self.allowed,
            "amount_subtotal": self.amount - tax.map_or(0, |tax| tax.on_top(&self.lines)),
            "amount_total": self.amount,
            "automatic_tax": {
                "enabled": tax.is_some(), "liability": tax.map(|_| json!({ "type": "self" })),
                "provider": tax.map(|_| "stripe"), "status": tax.map(Taxed::status),
            },
            "client_reference_id": self.reference,
            "customer_creation": customer_creation,
            "customer_details": details,
            "excluded_payment_method_types": self.excluded,
            "managed_payments": tax.filter(|tax| tax.managed).map(|_| json!({ "enabled": true })),
            "mode": mode,
            "payment_intent": self.intent,
            "payment_method_collection": if self.recurring.is_some() { "always" } else { "if_required" },
            "payment_method_types": self.methods,
            "presentment_details": presented(self.abroad.as_ref()),
            "total_details": {
                "amount_discount": 0, "amount_shipping": 0,
                "amount_tax": tax.map_or(0, |tax| tax.of_lines(&self.lines)),
            },
            "url": url,
        })
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
}

impl Intent {
    pub(super) fn json(&self) -> Value {
        let error = self.declined.then(|| {
            json!({ "type": "card_error", "code": "card_declined", "decline_code": "generic_decline",
                "message": "Your card was declined." })
        });
        sent!("payment_intent", self => [
            id, amount, canceled_at, created, currency, customer, livemode, metadata, status
        ], {
            "amount_received": if self.status == "succeeded" { self.amount } else { 0 },
            "cancellation_reason": self.canceled_at.map(|_| "automatic"),
            "client_secret": format!("{}_secret_standin", self.id),
            "last_payment_error": error,
            "latest_charge": self.charge,
            "payment_method_types": self.methods,
        })
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
    #[serde(default)]
    pub(super) receipt: Option<String>,
    #[serde(default)]
    pub(super) receipt_url: Option<String>,
    /// Whether its fee is known.
    #[serde(default)]
    pub(super) has_fee: bool,
    /// When it succeeded, or its fee became known.
    #[serde(default)]
    pub(super) settled_at: i64,
    /// The number of the card.
    #[serde(default)]
    pub(super) card: u64,
}

/// What a change of the balance is of.
struct Of<'a> {
    /// The id of the change.
    id: String,
    source: &'a str,
    currency: &'a str,
    category: &'a str,
}

impl<'a> Of<'a> {
    /// A refund or a dispute, whose changes have its id.
    fn by(source: &'a str, currency: &'a str, category: &'a str) -> Self {
        Self { id: format!("txn_{source}_{category}"), source, currency, category }
    }

    /// The change. The account is paid out in dollars: one for each unit of any currency.
    fn change(&self, amount: i64, fee: i64, at: i64) -> Value {
        let kind = match self.category {
            "dispute" | "dispute_reversal" => "adjustment",
            kind => kind,
        };
        sent!("balance_transaction", self => [id, source], {
            "amount": amount,
            "available_on": at,
            "created": at,
            "currency": "usd",
            "exchange_rate": (self.currency != "usd").then_some(1.0),
            "fee": fee,
            "net": amount - fee,
            "reporting_category": self.category,
            "type": kind,
        })
    }
}

impl Charge {
    /// The id of its change of the balance.
    fn change_id(&self) -> String {
        format!("txn_{}", self.id)
    }

    /// The change of the balance, once it is known. The account is paid out in dollars: one for each unit of any currency.
    pub(super) fn change(&self) -> Value {
        let fee = self.amount * 29 / 1_000 + 30;
        let of = Of { id: self.change_id(), source: &self.id, currency: &self.currency, category: "charge" };
        of.change(self.amount, fee, self.settled_at)
    }

    pub(super) fn json(&self) -> Value {
        let is_paid = self.status == "succeeded";
        let details = match self.method {
            "card" => json!({
                "brand": "visa", "country": "US", "exp_month": 12, "exp_year": 2_050, "fingerprint": format!("fp{:x}", self.card),
                "last4": format!("{:04}", self.card % 10_000),
            }),
            "sepa_debit" => json!({ "last4": "3201" }),
            _ => json!({}),
        };
        // Of a buyer who pays by card, no address is asked for.
        let address = (self.method != "card").then(|| {
            json!({ "city": null, "country": "DE", "line1": null, "line2": null, "postal_code": null, "state": null })
        });
        sent!("charge", self => [id, amount, created, currency, customer, disputed, livemode, metadata, status], {
            "amount_captured": if is_paid { self.amount } else { 0 },
            "amount_refunded": self.refunded,
            "balance_transaction": (is_paid && self.has_fee).then(|| self.change_id()),
            "billing_details": { "address": address, "email": null, "name": null, "phone": null, "tax_id": null },
            "captured": is_paid,
            "failure_code": (self.status == "failed").then_some("card_declined"),
            "failure_message": (self.status == "failed").then_some("Your card was declined."),
            "paid": is_paid,
            "payment_intent": self.intent,
            "payment_method_details": { "type": self.method, self.method: details },
            "receipt_number": self.receipt,
            "receipt_url": self.receipt_url.as_ref().filter(|_| is_paid),
            "refunded": self.refunded == self.amount,
        })
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
    #[serde(default)]
    pub(super) failed_at: i64,
}

impl Refund {
    /// The changes of the balance that it made.
    pub(super) fn changes(&self) -> Vec<Value> {
        let of = |category| Of::by(&self.id, &self.currency, category);
        let taken = of("refund").change(-self.amount, 0, self.created);
        let back = self.failed.then(|| of("refund_failure").change(self.amount, 0, self.failed_at));
        [taken].into_iter().chain(back).collect()
    }

    pub(super) fn json(&self) -> Value {
        let mut refund = sent!("refund", self => [id, amount, charge, created, currency, metadata, reason], {
            "payment_intent": self.intent,
            "status": if self.failed { "failed" } else { "succeeded" },
        });
        if self.failed {
            refund["failure_reason"] = "expired_or_canceled_card".into();
        }
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
    /// The evidence, written and maybe not submitted yet, by field.
    #[serde(default)]
    pub(super) evidence: Map<String, Value>,
    #[serde(default)]
    pub(super) submissions: u32,
    /// When its status changed last.
    #[serde(default)]
    pub(super) changed_at: i64,
    /// When the money was taken.
    #[serde(default)]
    pub(super) taken_at: i64,
}

/// What the bank's dispute costs, in minor units.
const DISPUTE_FEE: i64 = 1_500;

/// How long evidence is taken, in seconds.
const EVIDENCE: i64 = 7 * 24 * 60 * 60;

impl Dispute {
    pub(super) fn is_inquiry(&self) -> bool {
        self.status.starts_with("warning_")
    }

    pub(super) fn is_open(&self) -> bool {
        self.needs_response() || self.status.ends_with("under_review")
    }

    pub(super) fn needs_response(&self) -> bool {
        self.status.ends_with("needs_response")
    }

    /// Until when evidence is taken.
    pub(super) const fn due_by(&self) -> i64 {
        self.created + EVIDENCE
    }

    /// Whether the buyer keeps the money.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self.status, "lost" | "prevented")
    }

    /// The changes of the balance that it made.
    pub(super) fn changes(&self) -> Vec<Value> {
        let of = |category| Of::by(&self.id, &self.currency, category);
        let taken = || of("dispute").change(-self.amount, DISPUTE_FEE, self.taken_at);
        match self.status {
            "won" => vec![taken(), of("dispute_reversal").change(self.amount, 0, self.changed_at)],
            status if status.starts_with("warning_") => vec![],
            _ => vec![taken()],
        }
    }

    pub(super) fn json(&self) -> Value {
        let mut dispute = sent!("dispute", self => [id, amount, charge, created, currency, livemode, status], {
            "balance_transactions": self.changes(),
            "evidence_details": {
                "due_by": self.due_by(), "enhanced_eligibility": {}, "has_evidence": !self.evidence.is_empty(),
                "past_due": false, "submission_count": self.submissions,
            },
            "is_charge_refundable": self.is_inquiry(),
            "payment_intent": self.intent,
        });
        for (field, text) in &self.evidence {
            dispute["evidence"][field] = text.clone();
        }
        dispute
    }
}

/// An object with these fields, and those of its kind that always have the same value here.
pub(super) fn with_constants(kind: &str, fields: Value) -> Value {
    static ALWAYS: LazyLock<Value> =
        LazyLock::new(|| serde_json::from_str(include_str!("always.json")).unwrap_or_default());
    let mut object = ALWAYS[kind].clone();
    if let (Value::Object(object), Value::Object(fields)) = (&mut object, fields) {
        object.extend(fields);
    }
    object
}
