//! Prints every call in the form in which it is sent, one line of JSON each, for the check in `.ci/provider`.

#![expect(clippy::disallowed_methods, reason = "the URL is our own")]

use serde_json::json;
use std::error::Error;
use std::io::Write as _;
use stripe::{
    Account, ApiBase, Balance, Call, Charge, Dispute, Event, EventKind, IdempotencyKey, Invoice, InvoicePayment,
    InvoiceStatus, Line, ListedChange, NewRefund, NewSession, NewSubscription, NewTax, NewWebhookEndpoint, ObjectId,
    PaymentIntent, PaymentMethodConfiguration, PortalConfiguration, PortalSession, Refund, SecretKey, Session,
    Subscription, TaxCode, TaxSettings, WebhookEndpoint,
};

fn main() -> Result<(), Box<dyn Error>> {
    let lines = [
        Line { name: "Squire × 2", amount: 1_998, tax_code: None },
        Line { name: "Ember & co", amount: 502, tax_code: None },
    ];
    let new = NewSession {
        order: "ska237syhxydekce",
        currency: "EUR",
        lines: &lines,
        success_url: "https://store.example/payment/flow?order_id=1&checkout_id={CHECKOUT_SESSION_ID}",
        cancel_url: "https://store.example/checkout",
        expires_at: 1_800_002_100,
        methods: &["card", "paypal", "sepa_debit"].map(str::to_owned),
        adaptive: true,
        three_d_secure: true,
        subscription: None,
        tax: NewTax::None,
        invoice: true,
    };
    let key = |name: &str| IdempotencyKey::parse(name);
    let id = |name: &str| ObjectId::parse(name);
    print(&Session::create(&new, key("ska237syhxydekce-1")?))?;
    let customer = id("cus_1")?;
    let subscription = Some(NewSubscription { interval: "month", count: 3, customer: Some(&customer) });
    print(&Session::create(&NewSession { subscription, invoice: false, ..new }, key("ska237syhxydekce-2")?))?;
    let sold = [Line { name: "Squire", amount: 1_998, tax_code: Some("txcd_10201000") }];
    let taxed = NewSession { lines: &sold, subscription, invoice: false, ..new };
    print(&Session::create(&NewSession { tax: NewTax::Automatic { on_top: true }, ..taxed }, key("taxed-1")?))?;
    print(&Session::create(&NewSession { tax: NewTax::Managed { on_top: false }, ..taxed }, key("managed-1")?))?;
    print(&Session::retrieve_taxes(&id("cs_test_1")?))?;
    print(&TaxCode::retrieve(&id("txcd_10201000")?))?;
    print(&TaxSettings::retrieve())?;
    print(&Session::retrieve(&id("cs_test_1")?))?;
    print(&Session::list_complete(1_800_000_000, Some(&id("cs_test_1")?)))?;
    print(&Session::expire(&id("cs_test_1")?))?;
    print(&PaymentIntent::retrieve(&id("pi_1")?))?;
    print(&Charge::retrieve(&id("ch_1")?))?;
    print(&Dispute::retrieve(&id("du_1")?))?;
    print(&Dispute::list(&id("pi_1")?))?;
    let fields = ["product_description", "service_date", "access_activity_log", "refund_policy_disclosure"];
    let fields = fields.into_iter().chain(["refund_refusal_explanation", "uncategorized_text"]);
    let evidence = fields.map(|field| (field.to_owned(), "Squire × 2".to_owned())).collect();
    print(&Dispute::submit(&id("du_1")?, &evidence, key("evidence-du_1-1800000000")?))?;
    let refund = NewRefund { payment_intent: &id("pi_1")?, amount: Some(502), order: "ska237syhxydekce", attempt: 1 };
    print(&Refund::create(&refund, key("refund-ska237syhxydekce-1")?))?;
    print(&Refund::list(&id("pi_1")?, Some(&id("re_1")?)))?;
    print(&Event::list(&EventKind::ALL, (1_800_000_000, 1_800_003_600), Some(&id("evt_1")?)))?;
    print(&Account::retrieve())?;
    print(&Balance::retrieve())?;
    print(&ListedChange::list((1_800_000_000, 1_800_003_600), Some(&id("txn_1")?)))?;
    print(&PaymentMethodConfiguration::list())?;
    let endpoint = NewWebhookEndpoint {
        url: "https://api.example/payments/webhook/stripe",
        kinds: &EventKind::ALL,
        description: "Store",
    };
    print(&WebhookEndpoint::create(&endpoint, key("connect-1")?))?;
    print(&WebhookEndpoint::update(&id("we_1")?, &EventKind::ALL))?;
    print(&WebhookEndpoint::list())?;
    print(&WebhookEndpoint::delete(&id("we_1")?))?;
    subscriptions()
}

fn subscriptions() -> Result<(), Box<dyn Error>> {
    let id = |name: &str| ObjectId::parse(name);
    print(&Invoice::retrieve(&id("in_1")?))?;
    print(&Invoice::list(&id("sub_1")?, &InvoiceStatus::Paid, Some(&id("in_1")?)))?;
    print(&InvoicePayment::list(&id("pi_1")?))?;
    print(&Invoice::void(&id("in_1")?))?;
    print(&Subscription::retrieve(&id("sub_1")?))?;
    print(&Subscription::cancel_at_period_end(&id("sub_1")?))?;
    print(&Subscription::cancel(&id("sub_1")?))?;
    print(&PortalConfiguration::create(IdempotencyKey::parse("portal-1")?))?;
    print(&PortalConfiguration::update(&id("bpc_1")?))?;
    print(&PortalConfiguration::list())?;
    print(&PortalSession::create(&id("cus_1")?, "https://store.example/account"))
}

fn print<T>(call: &Call<T>) -> Result<(), Box<dyn Error>> {
    let request = call.request(&ApiBase::default(), &SecretKey::parse("rk_test_example")?)?;
    let headers: serde_json::Map<String, serde_json::Value> = request
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().into()))
        .collect();
    let (url, body) = (request.uri().to_string(), std::str::from_utf8(request.body())?);
    let line = json!({ "method": request.method().as_str(), "url": url, "headers": headers, "body": body });
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}
