//! Checkout sessions: the page on which a buyer pays.

use crate::call::{Call, Form, path};
use crate::objects::{BillingDetails, Expandable, PaymentIntent};
use crate::subscription::Invoice;
use crate::values::{IdempotencyKey, List, Metadata, ObjectId, names};
use serde::Deserialize;

const SESSIONS: &str = "/v1/checkout/sessions";
/// The number of sessions on a page: whole payments are in them, and a response has a largest size.
const SESSIONS_ON_A_PAGE: usize = 20;

/// A session to create: the payment of an order, once or again and again.
#[derive(Debug, Clone, Copy)]
pub struct NewSession<'a> {
    /// The order's id. It becomes the session's reference, and the metadata of session and payment, or subscription.
    pub order: &'a str,
    pub currency: &'a str,
    pub lines: &'a [Line<'a>],
    /// The address that the buyer returns to. Stripe replaces `{CHECKOUT_SESSION_ID}` in it.
    pub success_url: &'a str,
    /// The address that the buyer returns to without having paid.
    pub cancel_url: &'a str,
    /// When the session expires, in seconds since 1970 UTC: 30 minutes to 24 hours after it is created.
    pub expires_at: i64,
    /// The ways to pay among which the buyer chooses, as far as the account has them.
    pub methods: &'a [String],
    /// Whether a buyer abroad can pay in another currency. The session's amount and currency stay what they are.
    pub adaptive: bool,
    /// Whether the bank of a card is asked to confirm who pays, if it can.
    pub three_d_secure: bool,
    /// How often the lines are paid again; `None` for once.
    pub subscription: Option<NewSubscription<'a>>,
    /// Whether Stripe makes an invoice once it is paid; only of what is paid once.
    pub invoice: bool,
    pub tax: NewTax,
}

/// How the tax of a session is worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NewTax {
    /// There is none.
    #[default]
    None,
    /// Stripe works it out for the account's owner, who sells.
    Automatic {
        /// Whether it comes on top of the lines' amounts.
        on_top: bool,
    },
    /// Stripe sells in its own name. It decides itself about methods, currencies and what banks are asked.
    Managed {
        /// Whether it comes on top of the lines' amounts.
        on_top: bool,
    },
}

/// A subscription to create with its session.
#[derive(Debug, Clone, Copy)]
pub struct NewSubscription<'a> {
    /// `day`, `week`, `month` or `year`.
    pub interval: &'a str,
    /// The number of intervals from one payment to the next: three years at most.
    pub count: u32,
    /// The customer who pays; Stripe makes a new one for `None`.
    pub customer: Option<&'a ObjectId>,
}

#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    pub name: &'a str,
    /// The line's total in minor units.
    pub amount: i64,
    /// What is sold, for its tax: `txcd_…`; the account's own default for `None`.
    pub tax_code: Option<&'a str>,
}

names! {
    SessionStatus {
        /// It can be paid.
        Open = "open",
        /// The buyer has finished. The payment may still be processed.
        Complete = "complete",
        /// It can no longer be paid.
        Expired = "expired",
    }
}

names! {
    /// The state of a session's payment.
    PaymentStatus {
        /// The money is there.
        Paid = "paid",
        /// The money is not there, or not yet.
        Unpaid = "unpaid",
        /// There was nothing to pay.
        NoPaymentRequired = "no_payment_required",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Session {
    /// Its id, `cs_…`.
    pub id: ObjectId,
    pub status: Option<SessionStatus>,
    pub payment_status: PaymentStatus,
    /// The sum in minor units.
    pub amount_total: Option<i64>,
    /// The currency's code in lower case.
    pub currency: Option<String>,
    #[serde(default)]
    pub metadata: Metadata,
    /// Whether the money is real.
    pub livemode: bool,
    /// The page's address, while the session is open.
    pub url: Option<String>,
    /// When it expires, in seconds since 1970 UTC.
    pub expires_at: i64,
    /// The payment, once the buyer has tried to pay. A subscription's is in its invoice.
    pub payment_intent: Option<Expandable<PaymentIntent>>,
    /// The first invoice of a subscription, or that of what was paid once.
    pub invoice: Option<Expandable<Invoice>>,
    pub subscription: Option<ObjectId>,
    pub customer: Option<ObjectId>,
    pub total_details: Option<TotalDetails>,
    pub customer_details: Option<BillingDetails>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TotalDetails {
    /// The tax in minor units, in the total or on top of the lines' amounts.
    pub amount_tax: Option<i64>,
    /// The parts of it; `None` unless the call asked for them.
    pub breakdown: Option<Breakdown>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Breakdown {
    pub taxes: Vec<TaxPart>,
}

/// The tax at one rate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaxPart {
    pub amount: i64,
    pub rate: TaxRate,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaxRate {
    pub percentage: serde_json::Number,
}

impl NewSession<'_> {
    fn customer(&self) -> Option<&ObjectId> {
        self.subscription.and_then(|subscription| subscription.customer)
    }

    /// What the account's owner decides about who pays how, and in which currency, and about tax.
    fn as_seller(&self, form: Form) -> Form {
        let is_taxed = self.tax != NewTax::None;
        let mut form = form
            .with("adaptive_pricing[enabled]", &self.adaptive)
            // The account may have another default, and the buyer would be charged more than the order's price.
            .with("automatic_tax[enabled]", &is_taxed);
        if self.three_d_secure {
            form = form.with("payment_method_options[card][request_three_d_secure]", "any");
        }
        if self.invoice {
            form = form.with("invoice_creation[enabled]", &true);
        }
        for method in self.methods {
            form = form.with("allowed_payment_method_types[]", method);
        }
        // A customer without an address, of before there was tax, cannot be taxed: the page asks for one and keeps it.
        form.with_some("customer_update[address]", self.customer().filter(|_| is_taxed).map(|_| "auto"))
    }
}

impl Session {
    /// Creates a session. The same session with the same key is created once.
    pub fn create(new: &NewSession<'_>, key: IdempotencyKey) -> Call<Self> {
        let (mode, order) = match new.subscription {
            None => ("payment", "payment_intent_data[metadata][order]"),
            Some(_) => ("subscription", "subscription_data[metadata][order]"),
        };
        let mut form = Form::default()
            .with("mode", mode)
            .with("client_reference_id", new.order)
            .with("metadata[order]", new.order)
            .with(order, new.order)
            .with("success_url", new.success_url)
            .with("cancel_url", new.cancel_url)
            .with("expires_at", &new.expires_at);
        form = if matches!(new.tax, NewTax::Managed { .. }) {
            // What it decides itself it refuses to be told.
            form.with("managed_payments[enabled]", &true)
        } else {
            new.as_seller(form)
        };
        form = form.with_some("customer", new.customer());
        let currency = new.currency.to_ascii_lowercase();
        for (n, line) in new.lines.iter().enumerate() {
            form = form
                .with(format!("line_items[{n}][quantity]"), &1)
                .with(format!("line_items[{n}][price_data][currency]"), &currency)
                .with(format!("line_items[{n}][price_data][unit_amount]"), &line.amount)
                .with(format!("line_items[{n}][price_data][product_data][name]"), line.name);
            if let NewTax::Automatic { on_top } | NewTax::Managed { on_top } = new.tax {
                let behavior = if on_top { "exclusive" } else { "inclusive" };
                form = form
                    .with(format!("line_items[{n}][price_data][tax_behavior]"), behavior)
                    .with_some(&format!("line_items[{n}][price_data][product_data][tax_code]"), line.tax_code);
            }
            if let Some(subscription) = &new.subscription {
                let recurring = format!("line_items[{n}][price_data][recurring]");
                form = form
                    .with(format!("{recurring}[interval]"), subscription.interval)
                    .with(format!("{recurring}[interval_count]"), &subscription.count);
            }
        }
        Call::post(SESSIONS, form, Some(key))
    }

    /// Fetches a session with its payment, the payment's charge, the charge's newest refunds and its fee; or with its first
    /// invoice.
    pub fn retrieve(id: &ObjectId) -> Call<Self> {
        let form = Form::default()
            .with("expand[]", "payment_intent.latest_charge.refunds")
            .with("expand[]", "payment_intent.latest_charge.balance_transaction")
            .with("expand[]", "invoice.payments");
        Call::get(path("checkout/sessions", id), form)
    }

    /// Fetches a session with the parts of its tax. A restricted key may have no right to tax rates.
    pub fn retrieve_taxes(id: &ObjectId) -> Call<Self> {
        Call::get(path("checkout/sessions", id), Form::default().with("expand[]", "total_details.breakdown"))
    }

    /// The rate of its tax in hundredths of a percent; `None` if it has several or they were not asked for.
    pub fn tax_rate(&self) -> Option<u32> {
        let taxes = &self.total_details.as_ref()?.breakdown.as_ref()?.taxes;
        let mut rates = taxes.iter().filter(|part| part.amount > 0).map(|part| hundredths(&part.rate.percentage));
        let first = rates.next()??;
        rates.all(|other| other == Some(first)).then_some(first)
    }

    /// Lists completed sessions that were created since a second (since 1970 UTC), newest first, with their payments
    /// and the payments' charges, or their first invoices; the next page begins after the last session of this one.
    pub fn list_complete(since: i64, after: Option<&ObjectId>) -> Call<List<Self>> {
        let form =
            Form::default().with("created[gte]", &since).with("status", "complete").with("limit", &SESSIONS_ON_A_PAGE);
        let form = form
            .with_some("starting_after", after)
            .with("expand[]", "data.payment_intent.latest_charge")
            .with("expand[]", "data.invoice.payments");
        Call::get(SESSIONS, form)
    }

    /// Ends an open session, so that it cannot be paid. Any other session is refused.
    pub fn expire(id: &ObjectId) -> Call<Self> {
        let form = Form::default().with("expand[]", "payment_intent");
        Call::post(format!("{SESSIONS}/{id}/expire"), form, None)
    }
}

/// A percentage such as 8.875 in hundredths, half up.
fn hundredths(percentage: &serde_json::Number) -> Option<u32> {
    let text = percentage.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digit = |place: usize| fraction.chars().nth(place).map_or(Some(0), |digit| digit.to_digit(10));
    let below = digit(0)? * 10 + digit(1)? + u32::from(digit(2)? >= 5);
    whole.parse::<u32>().ok()?.checked_mul(100)?.checked_add(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new<'a>(lines: &'a [Line<'a>], methods: &'a [String]) -> NewSession<'a> {
        NewSession {
            order: "ska237syhxydekce",
            currency: "EUR",
            lines,
            success_url: "https://store.example/flow?order_id=1&checkout_id={CHECKOUT_SESSION_ID}",
            cancel_url: "https://store.example/checkout",
            expires_at: 1_800_002_100,
            methods,
            adaptive: false,
            three_d_secure: false,
            subscription: None,
            tax: NewTax::None,
            invoice: false,
        }
    }

    fn card() -> Vec<String> {
        vec!["card".to_owned()]
    }

    #[test]
    fn a_session_is_created_from_the_orders_lines() {
        let lines = [
            Line { name: "Squire × 2", amount: 1_998, tax_code: None },
            Line { name: "Ember", amount: 5, tax_code: None },
        ];
        let call = Session::create(&new(&lines, &card()), IdempotencyKey::parse("order-1").unwrap());
        let sent: Vec<(&str, &str)> = call.parameters().iter().map(|(name, value)| (&**name, &**value)).collect();
        let wanted = [
            ("mode", "payment"),
            ("client_reference_id", "ska237syhxydekce"),
            ("metadata[order]", "ska237syhxydekce"),
            ("payment_intent_data[metadata][order]", "ska237syhxydekce"),
            ("success_url", "https://store.example/flow?order_id=1&checkout_id={CHECKOUT_SESSION_ID}"),
            ("cancel_url", "https://store.example/checkout"),
            ("expires_at", "1800002100"),
            ("adaptive_pricing[enabled]", "false"),
            ("automatic_tax[enabled]", "false"),
            ("allowed_payment_method_types[]", "card"),
            ("line_items[0][quantity]", "1"),
            ("line_items[0][price_data][currency]", "eur"),
            ("line_items[0][price_data][unit_amount]", "1998"),
            ("line_items[0][price_data][product_data][name]", "Squire × 2"),
            ("line_items[1][quantity]", "1"),
            ("line_items[1][price_data][currency]", "eur"),
            ("line_items[1][price_data][unit_amount]", "5"),
            ("line_items[1][price_data][product_data][name]", "Ember"),
        ];
        assert_eq!(sent, wanted);
        assert_eq!(call.path(), "/v1/checkout/sessions");
    }

    #[test]
    fn a_subscription_is_created_from_the_orders_lines() {
        let lines = [Line { name: "Squire", amount: 1_998, tax_code: None }];
        let customer = ObjectId::parse("cus_1").unwrap();
        let subscription = Some(NewSubscription { interval: "month", count: 3, customer: Some(&customer) });
        let methods = &card();
        let call = |customer: Option<&ObjectId>| {
            let subscription = subscription.map(|new| NewSubscription { customer, ..new });
            let new = NewSession { subscription, ..new(&lines, methods) };
            Session::create(&new, IdempotencyKey::parse("order-1").unwrap()).parameters().to_vec()
        };
        let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let wanted = [
            text("mode", "subscription"),
            text("client_reference_id", "ska237syhxydekce"),
            text("metadata[order]", "ska237syhxydekce"),
            text("subscription_data[metadata][order]", "ska237syhxydekce"),
            text("success_url", "https://store.example/flow?order_id=1&checkout_id={CHECKOUT_SESSION_ID}"),
            text("cancel_url", "https://store.example/checkout"),
            text("expires_at", "1800002100"),
            text("adaptive_pricing[enabled]", "false"),
            text("automatic_tax[enabled]", "false"),
            text("allowed_payment_method_types[]", "card"),
            text("customer", "cus_1"),
            text("line_items[0][quantity]", "1"),
            text("line_items[0][price_data][currency]", "eur"),
            text("line_items[0][price_data][unit_amount]", "1998"),
            text("line_items[0][price_data][product_data][name]", "Squire"),
            text("line_items[0][price_data][recurring][interval]", "month"),
            text("line_items[0][price_data][recurring][interval_count]", "3"),
        ];
        assert_eq!(call(Some(&customer)), wanted);
        let without: Vec<_> = wanted.iter().filter(|(name, _)| name != "customer").cloned().collect();
        assert_eq!(call(None), without);
    }

    #[test]
    fn with_tax_each_line_says_what_it_is_and_a_seller_of_its_own_is_told_nothing_else() {
        let lines = [Line { name: "Squire", amount: 1_998, tax_code: Some("txcd_10201000") }];
        let (customer, methods) = (ObjectId::parse("cus_1").unwrap(), card());
        let subscription = Some(NewSubscription { interval: "month", count: 1, customer: Some(&customer) });
        let sent = |tax: NewTax| {
            let new = NewSession { tax, subscription, three_d_secure: true, ..new(&lines, &methods) };
            let call = Session::create(&new, IdempotencyKey::parse("order-1").unwrap());
            let sent: Vec<String> = call.parameters().iter().map(|(name, value)| format!("{name}={value}")).collect();
            sent
        };
        let code = "line_items[0][price_data][product_data][tax_code]=txcd_10201000".to_owned();
        let behaves = |word: &str| format!("line_items[0][price_data][tax_behavior]={word}");
        let own = ["adaptive", "automatic_tax", "payment_method_options", "allowed", "customer_update"];
        let has = |sent: &[String], start: &str| sent.iter().any(|parameter| parameter.starts_with(start));
        let automatic = sent(NewTax::Automatic { on_top: false });
        assert!(automatic.contains(&code) && automatic.contains(&behaves("inclusive")), "{automatic:?}");
        assert!(own.iter().all(|start| has(&automatic, start)), "{automatic:?}");
        assert!(automatic.contains(&"automatic_tax[enabled]=true".to_owned()));
        let managed = sent(NewTax::Managed { on_top: true });
        assert!(managed.contains(&code) && managed.contains(&behaves("exclusive")), "{managed:?}");
        assert!(managed.contains(&"managed_payments[enabled]=true".to_owned()), "{managed:?}");
        assert!(!own.iter().any(|start| has(&managed, start)), "{managed:?}");
        let none = sent(NewTax::None);
        assert!(!has(&none, "customer_update") && !none.contains(&code), "{none:?}");
    }

    #[test]
    fn a_rate_is_that_of_the_whole_tax_and_what_is_missing_breaks_nothing() {
        let rate = |details: serde_json::Value| {
            let session: Session = serde_json::from_value(serde_json::json!({
                "id": "cs_1", "livemode": false, "expires_at": 2, "payment_status": "paid", "total_details": details,
            }))
            .unwrap();
            session.tax_rate()
        };
        let of = |parts: &[(i64, serde_json::Value)]| {
            let part = |(amount, percentage): &(i64, serde_json::Value)| serde_json::json!({ "amount": amount, "rate": { "percentage": percentage } });
            let taxes: Vec<_> = parts.iter().map(part).collect();
            rate(serde_json::json!({ "amount_tax": 1, "breakdown": { "taxes": taxes } }))
        };
        assert_eq!(of(&[(19, 19.0.into())]), Some(1_900));
        assert_eq!(of(&[(19, 8.875.into()), (0, 20.into())]), Some(888));
        assert_eq!(of(&[(19, 19.into()), (7, 7.into())]), None);
        assert_eq!(of(&[]), None);
        assert_eq!((rate(serde_json::Value::Null), rate(serde_json::json!({ "amount_tax": null }))), (None, None));
    }
}
