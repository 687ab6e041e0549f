//! POST /v1/checkout/sessions.

use super::billing::Subscription;
use super::objects::{Line, Recurring, Session};
use super::parameters::{ApiError, EXPAND, Input, Parameter, Shape, boolean, integer, list, metadata, text, texts};
use super::state::State;
use super::tax::taxed;
use http::StatusCode;
use serde_json::{Map, Value};

/// The longest and the shortest time that a session may be open, in seconds.
const OPEN: (i64, i64) = (30 * 60, 24 * 60 * 60);
/// The largest amount in minor units.
const LARGEST_AMOUNT: i64 = 99_999_999;
/// The most lines.
const LINES: usize = 100;
/// The most entries of metadata.
const METADATA: usize = 50;

const RECURRING: Shape = Shape::Object(&[
    ("interval", true, Shape::Word(&["day", "week", "month", "year"])),
    ("interval_count", false, Shape::Integer),
]);

/// The most intervals of a subscription: three years.
const MOST_INTERVALS: &[(&str, i64)] = &[("day", 1_095), ("week", 156), ("month", 36), ("year", 3)];
/// The most lines of a subscription.
const RECURRING_LINES: usize = 20;

const LINE: Shape = Shape::Object(&[
    ("quantity", true, Shape::Integer),
    (
        "price_data",
        true,
        Shape::Object(&[
            ("currency", true, Shape::Text(3)),
            ("unit_amount", true, Shape::Integer),
            (
                "product_data",
                true,
                Shape::Object(&[("name", true, Shape::Text(250)), ("tax_code", false, Shape::Text(255))]),
            ),
            ("tax_behavior", false, Shape::Word(&["exclusive", "inclusive", "unspecified"])),
            ("recurring", false, RECURRING),
        ]),
    ),
]);

/// The methods that the account has.
pub(super) const METHODS: &[&str] = &["card", "paypal", "ideal", "klarna", "sepa_debit", "oxxo"];
/// Those of them whose money comes after days.
pub(super) const LATE_METHODS: &[&str] = &["sepa_debit", "oxxo"];
/// Those whose payments cannot be refunded.
pub(super) const FINAL: &[&str] = &["oxxo"];
/// The words for methods.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "link", "acss_debit", "affirm", "afterpay_clearpay", "alipay", "alma", "amazon_pay", "au_becs_debit",
    "bacs_debit", "bancontact", "billie", "bizum", "blik", "boleto", "card", "cashapp", "crypto", "customer_balance",
    "eps", "fpx", "giropay", "grabpay", "ideal", "kakao_pay", "klarna", "konbini", "kr_card", "mb_way", "mobilepay",
    "multibanco", "naver_pay", "nz_bank_account", "oxxo", "p24", "pay_by_bank", "payco", "paynow", "paypal", "paypay",
    "payto", "pix", "promptpay", "revolut_pay", "samsung_pay", "satispay", "scalapay", "sepa_debit", "sequra",
    "sofort", "sunbit", "swish", "twint", "upi", "us_bank_account", "wechat_pay", "zip",
];
/// `link`, the first of the words, cannot be excluded.
const EXCLUDABLE: &[&str] = WORDS.split_at(1).1;

const CARD: Shape =
    Shape::Object(&[("request_three_d_secure", false, Shape::Word(&["any", "automatic", "challenge"]))]);

pub(super) const NEW_SESSION: &[Parameter] = &[
    ("mode", true, Shape::Word(&["payment", "subscription"])),
    ("customer", false, Shape::Text(255)),
    ("client_reference_id", false, Shape::Text(200)),
    ("metadata", false, Shape::Metadata),
    ("payment_intent_data", false, Shape::Object(&[("metadata", false, Shape::Metadata)])),
    ("subscription_data", false, Shape::Object(&[("metadata", false, Shape::Metadata)])),
    ("success_url", true, Shape::Text(5_000)),
    ("cancel_url", false, Shape::Text(5_000)),
    ("expires_at", false, Shape::Integer),
    ("adaptive_pricing", false, Shape::Object(&[("enabled", false, Shape::Boolean)])),
    ("automatic_tax", false, Shape::Object(&[("enabled", true, Shape::Boolean)])),
    ("managed_payments", false, Shape::Object(&[("enabled", false, Shape::Boolean)])),
    ("customer_update", false, Shape::Object(&[("address", false, Shape::Word(&["auto", "never"]))])),
    ("invoice_creation", false, Shape::Object(&[("enabled", true, Shape::Boolean)])),
    ("payment_method_options", false, Shape::Object(&[("card", false, CARD)])),
    ("allowed_payment_method_types", false, Shape::List(&Shape::Word(WORDS))),
    ("excluded_payment_method_types", false, Shape::List(&Shape::Word(EXCLUDABLE))),
    ("ui_mode", false, Shape::Word(&["hosted_page"])),
    ("line_items", true, Shape::List(&LINE)),
    EXPAND,
];

/// The smallest charge of a currency in minor units; zero is allowed as well, and is not a charge.
#[rustfmt::skip]
const LEAST: &[(&str, i64)] = &[
    ("aed", 200), ("aud", 50), ("brl", 50), ("cad", 50), ("chf", 50), ("czk", 1_500), ("dkk", 250), ("eur", 50),
    ("gbp", 30), ("hkd", 400), ("huf", 17_500), ("inr", 50), ("jpy", 50), ("mxn", 1_000), ("myr", 200), ("nok", 300),
    ("nzd", 50), ("pln", 200), ("ron", 200), ("sek", 300), ("sgd", 50), ("thb", 1_000), ("usd", 50),
];

pub(super) fn create_session(state: &mut State, input: &Input<'_>) -> Result<Value, ApiError> {
    let tree = input.tree;
    let success_url = address(tree, "success_url")?.unwrap_or_default();
    let cancel_url = address(tree, "cancel_url")?;
    let expires_at = expiry(integer(tree, &["expires_at"]), input.now)?;
    let (lines, currency) = lines(tree)?;
    let amount = total(&lines, &currency)?;
    let recurring = recurring(tree)?;
    let customer = text(tree, &["customer"]).map(str::to_owned);
    if let Some(id) = customer.as_ref().filter(|id| !state.sees(id) || !state.billing.customers.contains_key(*id)) {
        return Err(ApiError::missing("customer", "customer", id).status(StatusCode::BAD_REQUEST).early());
    }
    let is_other = |found: &&Subscription| {
        Some(&found.terms.customer) == customer.as_ref()
            && found.status != "canceled"
            && found.terms.currency != currency
    };
    if recurring.is_some() && state.billing.subscriptions.values().any(|found| is_other(&found)) {
        let message = "You cannot combine currencies on a single customer.";
        return Err(ApiError::parameter("customer", message));
    }
    let data = if recurring.is_some() { "subscription_data" } else { "payment_intent_data" };
    let intent_data = tree.get(data).and_then(|data| data.get("metadata"));
    let (metadata, intent_metadata) = (metadata(tree.get("metadata")), metadata(intent_data));
    if metadata.len().max(intent_metadata.len()) > METADATA {
        return Err(ApiError::parameter("metadata", "Metadata can have up to 50 keys."));
    }
    let (allowed, excluded) =
        (named(tree, "allowed_payment_method_types"), named(tree, "excluded_payment_method_types"));
    let methods = methods(state, allowed.as_deref(), excluded.as_deref())?;
    let id = state.id("cs");
    let session = Session {
        id: id.clone(),
        created: input.now,
        expires_at,
        livemode: state.livemode(),
        status: "open",
        payment_status: "unpaid",
        amount,
        currency,
        reference: text(tree, &["client_reference_id"]).map(str::to_owned),
        metadata,
        intent_metadata,
        intent: None,
        success_url,
        cancel_url,
        methods,
        allowed,
        abroad: None,
        excluded,
        lines,
        adaptive: boolean(tree, &["adaptive_pricing", "enabled"]).unwrap_or(true),
        recurring,
        customer,
        subscription: None,
        invoice: None,
        tax: taxed(tree)?,
        has_invoice: boolean(tree, &["invoice_creation", "enabled"]).unwrap_or_default(),
    };
    state.sessions.insert(id.clone(), session);
    Ok(state.session_json(&id))
}

/// The list of methods that a parameter names.
fn named(tree: &Map<String, Value>, name: &str) -> Option<Vec<String>> {
    Some(texts(tree, name)).filter(|methods| !methods.is_empty())
}

/// The account's methods that pass both lists, of which a session has one at most.
fn methods(state: &State, allowed: Option<&[String]>, excluded: Option<&[String]>) -> Result<Vec<String>, ApiError> {
    if allowed.is_some() && excluded.is_some() {
        let message = "You may only specify one of these parameters: allowed_payment_method_types, excluded_payment_method_types.";
        return Err(ApiError::parameter("excluded_payment_method_types", message).early());
    }
    let all = METHODS.iter().map(ToString::to_string);
    let passes = |method: &String| {
        allowed.is_none_or(|allowed| allowed.contains(method))
            && excluded.is_none_or(|excluded| !excluded.contains(method))
    };
    let methods: Vec<String> = all.filter(passes).collect();
    if methods.is_empty() {
        let message = "No valid payment method types for this Checkout Session. Please ensure that you have activated payment methods compatible with your chosen currency in your dashboard.";
        return Err(ApiError::request(message).early());
    }
    if let Some(refused) = &state.refused_method
        && methods.iter().any(|method| method == refused || refused.is_empty() && method != "card")
    {
        if refused.is_empty() {
            let message = "All types provided in allowed_payment_method_types are invalid.";
            return Err(ApiError::request(message).early());
        }
        let message = format!("The payment method type provided: {refused} is invalid.");
        return Err(ApiError::parameter("allowed_payment_method_types", message).early());
    }
    Ok(methods)
}

fn address(tree: &Map<String, Value>, name: &str) -> Result<Option<String>, ApiError> {
    let Some(address) = text(tree, &[name]) else { return Ok(None) };
    let is_web = |url: url::Url| ["http", "https"].contains(&url.scheme()) && url.has_host();
    if !url::Url::parse(address).is_ok_and(is_web) {
        return Err(ApiError::parameter(name, "Not a valid URL").code("url_invalid").early());
    }
    Ok(Some(address.to_owned()))
}

fn expiry(asked: Option<i64>, now: i64) -> Result<i64, ApiError> {
    let fault = |words: &str| {
        let message = format!("The `expires_at` timestamp must be {words} from Checkout Session creation.");
        Err(ApiError::parameter("expires_at", message).early())
    };
    match asked {
        None => Ok(now + OPEN.1),
        Some(time) if time < now + OPEN.0 => fault("at least 30 minutes"),
        Some(time) if time >= now + OPEN.1 => fault("less than 24 hours"),
        Some(time) => Ok(time),
    }
}

fn lines(tree: &Map<String, Value>) -> Result<(Vec<Line>, String), ApiError> {
    let sent: Vec<&Map<String, Value>> = list(tree, "line_items").into_iter().filter_map(Value::as_object).collect();
    if sent.len() > LINES {
        return Err(ApiError::parameter("line_items", "A Checkout Session can have up to 100 line items.").early());
    }
    let mut lines = Vec::new();
    let mut currency: Option<String> = None;
    for (n, line) in sent.into_iter().enumerate() {
        let code = text(line, &["price_data", "currency"]).unwrap_or_default().to_ascii_lowercase();
        let path = format!("line_items[{n}][price_data][currency]");
        if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return Err(ApiError::parameter(&path, format!("Invalid currency: {code}.")).early());
        }
        if *currency.get_or_insert_with(|| code.clone()) != code {
            let message = "All prices on a Checkout Session must have the same currency.";
            return Err(ApiError::parameter(&path, message).early());
        }
        lines.push(Line {
            name: text(line, &["price_data", "product_data", "name"]).unwrap_or_default().to_owned(),
            quantity: integer(line, &["quantity"]).unwrap_or(1),
            unit_amount: integer(line, &["price_data", "unit_amount"]).unwrap_or(0),
            recurring: text(line, &["price_data", "recurring", "interval"]).is_some(),
        });
    }
    Ok((lines, currency.unwrap_or_default()))
}

/// How often the lines are paid, if the mode is subscription. Parameters of the other mode are refused.
fn recurring(tree: &Map<String, Value>) -> Result<Option<Recurring>, ApiError> {
    let mode = text(tree, &["mode"]).unwrap_or_default();
    let is_subscription = mode == "subscription";
    let other = if is_subscription { "payment_intent_data" } else { "subscription_data" };
    if tree.contains_key(other) {
        return Err(ApiError::parameter(other, format!("You can not pass `{other}` in `{mode}` mode.")).early());
    }
    if is_subscription && boolean(tree, &["invoice_creation", "enabled"]) == Some(true) {
        let message = "You can only enable invoice creation in `payment` mode.";
        return Err(ApiError::parameter("invoice_creation", message).early());
    }
    let mut found: Option<Recurring> = None;
    let mut recurring_lines = 0;
    for (n, line) in list(tree, "line_items").into_iter().filter_map(Value::as_object).enumerate() {
        let path = |name: &str| format!("line_items[{n}]{name}");
        let Some(interval) = text(line, &["price_data", "recurring", "interval"]) else { continue };
        if !is_subscription {
            let message = "You specified `payment` mode but passed a recurring price. Either switch to `subscription` mode or use only one-time prices.";
            return Err(ApiError::parameter(&path(""), message).early());
        }
        recurring_lines += 1;
        let count = integer(line, &["price_data", "recurring", "interval_count"]).unwrap_or(1);
        let most = MOST_INTERVALS.iter().find(|(name, _)| *name == interval).map_or(0, |(_, most)| *most);
        if !(1..=most).contains(&count) {
            let message = format!("Invalid interval_count: {count}; the longest interval is three years.");
            return Err(ApiError::parameter(&path("[price_data][recurring][interval_count]"), message).early());
        }
        let recurring = Recurring { interval: interval.to_owned(), count };
        if *found.get_or_insert_with(|| recurring.clone()) != recurring {
            let message = "Checkout does not support multiple prices with different billing intervals.";
            return Err(ApiError::parameter(&path(""), message).early());
        }
    }
    if is_subscription && found.is_none() {
        let message = "You must provide at least one recurring price in `subscription` mode when using prices.";
        return Err(ApiError::parameter("line_items", message).early());
    }
    if recurring_lines > RECURRING_LINES {
        let message = "A Checkout Session can have up to 20 line items with recurring prices.";
        return Err(ApiError::parameter("line_items", message).early());
    }
    Ok(found)
}

fn total(lines: &[Line], currency: &str) -> Result<i64, ApiError> {
    let too_large = || {
        let message =
            format!("The Checkout Session's total amount due must be no more than {LARGEST_AMOUNT} minor units.");
        ApiError::request(message).code("amount_too_large").early()
    };
    let mut total = 0_i64;
    for line in lines {
        let amount = line.unit_amount.checked_mul(line.quantity).filter(|_| line.unit_amount <= LARGEST_AMOUNT);
        total = amount.and_then(|amount| total.checked_add(amount)).ok_or_else(too_large)?;
    }
    let least = LEAST.iter().find(|(code, _)| *code == currency).map_or(1, |(_, least)| *least);
    match total {
        0 => Ok(0),
        total if total < least => {
            let message = format!(
                "The Checkout Session's total amount due must add up to at least {least} minor units of {currency}."
            );
            Err(ApiError::request(message).code("amount_too_small").early())
        }
        total if total > LARGEST_AMOUNT => Err(too_large()),
        total => Ok(total),
    }
}
