//! The API: who may call and sees what, how many calls a second are accepted, which calls there are, and what a
//! repeated call returns.

use super::parameters::{self, ApiError, EXPAND, Input, Parameter, texts};
use super::state::{Account, State};
use super::{API_VERSION, Received, billing_calls as billing, calls, expand, portal};
use http::{HeaderMap, Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

type Run = fn(&mut State, &Input<'_>) -> Result<Value, ApiError>;

/// A call: method, path with `*` for an id, parameters, what it does.
type Route = (Method, &'static str, &'static [Parameter], Run);

const PLAIN: &[Parameter] = &[EXPAND];

const ROUTES: &[Route] = &[
    (Method::POST, "/v1/checkout/sessions", calls::NEW_SESSION, calls::create_session),
    (Method::GET, "/v1/checkout/sessions", calls::SESSIONS, calls::list_sessions),
    (Method::GET, "/v1/checkout/sessions/*", PLAIN, calls::retrieve_session),
    (Method::POST, "/v1/checkout/sessions/*/expire", PLAIN, calls::expire_session),
    (Method::GET, "/v1/payment_intents/*", PLAIN, calls::retrieve_intent),
    (Method::GET, "/v1/charges/*", PLAIN, calls::retrieve_charge),
    (Method::POST, "/v1/refunds", calls::NEW_REFUND, calls::create_refund),
    (Method::GET, "/v1/refunds", calls::REFUNDS, calls::list_refunds),
    (Method::GET, "/v1/refunds/*", PLAIN, calls::retrieve_refund),
    (Method::GET, "/v1/disputes", calls::REFUNDS, calls::list_disputes),
    (Method::GET, "/v1/disputes/*", PLAIN, calls::retrieve_dispute),
    (Method::POST, "/v1/disputes/*", calls::ANSWER, calls::answer_dispute),
    (Method::GET, "/v1/events", calls::EVENTS, calls::list_events),
    (Method::GET, "/v1/events/*", PLAIN, calls::retrieve_event),
    (Method::GET, "/v1/account", PLAIN, calls::account),
    (Method::GET, "/v1/balance", PLAIN, calls::balance),
    (Method::GET, "/v1/balance_transactions", calls::CHANGES, calls::list_changes),
    (Method::POST, "/v1/webhook_endpoints", calls::NEW_ENDPOINT, calls::create_endpoint),
    (Method::GET, "/v1/webhook_endpoints", calls::LIST, calls::list_endpoints),
    (Method::POST, "/v1/webhook_endpoints/*", calls::CHANGED_ENDPOINT, calls::update_endpoint),
    (Method::DELETE, "/v1/webhook_endpoints/*", &[], calls::delete_endpoint),
    (Method::GET, "/v1/customers/*", PLAIN, billing::retrieve_customer),
    (Method::GET, "/v1/invoices", billing::INVOICES, billing::list_invoices),
    (Method::GET, "/v1/invoices/*", PLAIN, billing::retrieve_invoice),
    (Method::POST, "/v1/invoices/*/void", PLAIN, billing::void_invoice),
    (Method::GET, "/v1/invoice_payments", billing::INVOICE_PAYMENTS, billing::list_invoice_payments),
    (Method::GET, "/v1/subscriptions", billing::SUBSCRIPTIONS, billing::list_subscriptions),
    (Method::GET, "/v1/subscriptions/*", PLAIN, billing::retrieve_subscription),
    (Method::POST, "/v1/subscriptions/*", billing::CHANGED_SUBSCRIPTION, billing::update_subscription),
    (Method::DELETE, "/v1/subscriptions/*", billing::CANCEL, billing::cancel_subscription),
    (Method::POST, "/v1/billing_portal/configurations", portal::NEW_CONFIGURATION, portal::create_configuration),
    (Method::GET, "/v1/payment_method_configurations", calls::LIST, calls::list_method_configurations),
    (Method::GET, "/v1/tax_codes/*", PLAIN, super::tax::retrieve_code),
    (Method::GET, "/v1/tax/settings", PLAIN, super::tax::settings),
    (Method::GET, "/v1/billing_portal/configurations", portal::CONFIGURATIONS, portal::list_configurations),
    (Method::GET, "/v1/billing_portal/configurations/*", PLAIN, portal::retrieve_configuration),
    (Method::POST, "/v1/billing_portal/configurations/*", portal::CHANGED_CONFIGURATION, portal::update_configuration),
    (Method::POST, "/v1/billing_portal/sessions", portal::NEW_VISIT, portal::create_visit),
];

pub(super) struct ApiRequest<'a> {
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
}

#[derive(Debug)]
pub(super) struct ApiResponse {
    pub(super) status: StatusCode,
    pub(super) body: Value,
    pub(super) replayed: bool,
}

impl ApiResponse {
    fn refusal(error: &ApiError) -> Self {
        Self { status: error.status, body: error.json(), replayed: false }
    }
}

/// Runs a request. `failure` is the status that it fails with in place of being executed.
pub(super) fn respond(state: &mut State, asked: &ApiRequest<'_>, failure: Option<StatusCode>, now: i64) -> ApiResponse {
    state.tick(now);
    let text = if asked.method == Method::POST { asked.body } else { asked.query.as_bytes() };
    let parameters = parameters::pairs(text);
    let idempotency = header(asked.headers, "idempotency-key").map(str::to_owned);
    let route = format!("{} {}", asked.method, asked.path);
    state.received.push(Received { route, parameters: parameters.clone(), key: idempotency.clone() });
    let request = Request { path: asked.path.to_owned(), parameters };
    let found = match authenticate(state, asked).and_then(|()| prepare(asked, &request)) {
        Ok(found) => found,
        Err(error) => return ApiResponse::refusal(&error),
    };
    let idempotency = idempotency.filter(|_| asked.method == Method::POST);
    if let Some(idempotency) = &idempotency {
        match state.responses().find(idempotency, &request, now) {
            Ok(Some((status, body))) => return ApiResponse { status, body, replayed: true },
            Ok(None) => {}
            Err(error) => return ApiResponse::refusal(&error),
        }
    }
    let result = match failure {
        Some(status) => Err(ApiError::of_status(status)),
        None => found.run(state, now),
    };
    let is_kept = !result.as_ref().is_err_and(|error| error.is_early);
    let (status, body) = match result {
        Ok(body) => (StatusCode::OK, body),
        Err(error) => (error.status, error.json()),
    };
    if let Some(idempotency) = idempotency.filter(|_| is_kept) {
        state.responses().keep(&idempotency, request, (status, body.clone()), now);
    }
    ApiResponse { status, body, replayed: false }
}

/// A call that is ready to run.
struct Found<'a> {
    id: &'a str,
    tree: Map<String, Value>,
    run: Run,
}

impl Found<'_> {
    fn run(&self, state: &mut State, now: i64) -> Result<Value, ApiError> {
        let seen = if state.sees(self.id) { self.id } else { "" };
        let input = Input { id: self.id, seen, tree: &self.tree, now, largest_page: state.largest_page };
        let mut body = (self.run)(state, &input)?;
        for path in texts(&self.tree, "expand") {
            expand::expand(state, &mut body, &path)?;
        }
        Ok(body)
    }
}

/// Checks the key, and lets its account call.
fn authenticate(state: &mut State, asked: &ApiRequest<'_>) -> Result<(), ApiError> {
    let sent = header(asked.headers, "authorization").and_then(|value| value.strip_prefix("Bearer "));
    let Some(sent) = sent else {
        let message = "You did not provide an API key. You need to provide your API key in the Authorization header, using Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY').";
        return Err(ApiError::request(message).status(StatusCode::UNAUTHORIZED).early());
    };
    state.call_as(sent)
}

fn prepare<'a>(asked: &ApiRequest<'a>, request: &Request) -> Result<Found<'a>, ApiError> {
    match header(asked.headers, "stripe-version") {
        Some(API_VERSION) => {}
        Some(version) => {
            return Err(ApiError::request(format!("Invalid Stripe API version: {version}")).early());
        }
        // Stripe would take the account's version; the crate must name its own.
        None => return Err(ApiError::request("The stand-in needs a Stripe-Version header.").early()),
    }
    let mut matching = ROUTES.iter().filter(|(method, ..)| method == asked.method);
    let found = matching.find_map(|route| Some((id_in(route.1, asked.path)?, route)));
    let Some((id, (_, call, known, run))) = found else {
        let message = format!("Unrecognized request URL ({}: {}).", asked.method, asked.path);
        return Err(ApiError::request(message).status(StatusCode::NOT_FOUND).early());
    };
    let content = header(asked.headers, "content-type").unwrap_or_default();
    if asked.method == Method::POST
        && !asked.body.is_empty()
        && !content.starts_with("application/x-www-form-urlencoded")
    {
        return Err(ApiError::request("Invalid request: the body must be form-encoded.").early());
    }
    let tree = parameters::tree(&request.parameters)?;
    parameters::check(&tree, known)?;
    let is_list = asked.method == Method::GET && id.is_empty();
    texts(&tree, "expand").iter().try_for_each(|path| expand::check(call, is_list, path)).map_err(ApiError::early)?;
    Ok(Found { id, tree, run: *run })
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The part of a path in the place of `*`; empty if the pattern has none.
fn id_in<'a>(pattern: &str, path: &'a str) -> Option<&'a str> {
    let Some((before, after)) = pattern.split_once('*') else { return (pattern == path).then_some("") };
    let id = path.strip_prefix(before)?.strip_suffix(after)?;
    (!id.is_empty() && !id.contains('/')).then_some(id)
}

impl State {
    /// Lets the account of a key call.
    pub(super) fn call_as(&mut self, key: &str) -> Result<(), ApiError> {
        let Some(caller) = self.accounts.iter().position(|account| account.key == key) else {
            let start: String = key.chars().take(8).collect();
            let message = format!("Invalid API Key provided: {start}****");
            return Err(ApiError::request(message).status(StatusCode::UNAUTHORIZED).early());
        };
        self.caller = caller;
        Ok(())
    }

    /// Lets the account that an object belongs to act.
    pub(super) fn act_for(&mut self, object: &str) {
        self.caller = self.owners.get(object).copied().unwrap_or_default();
    }

    pub(super) fn account(&self) -> Account {
        self.accounts.get(self.caller).cloned().unwrap_or_else(|| Account::new("", ""))
    }

    pub(super) fn livemode(&self) -> bool {
        self.account().livemode
    }

    /// Whether an object belongs to the account that calls.
    pub(super) fn sees(&self, object: &str) -> bool {
        self.owners.get(object) == Some(&self.caller)
    }

    /// Whether two objects belong to the same account.
    pub(super) fn is_same_account(&self, one: &str, other: &str) -> bool {
        self.owners.get(one) == self.owners.get(other)
    }

    /// The responses that are kept for the account that calls.
    pub(super) fn responses(&mut self) -> &mut Responses {
        self.responses.entry(self.caller).or_default()
    }
}

/// How long a response is kept, in seconds.
const KEPT: i64 = 24 * 60 * 60;
/// The longest key.
const LONGEST_KEY: usize = 255;

/// The parts of a request that are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) parameters: Vec<(String, String)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    request: Request,
    status: u16,
    body: Value,
    at: i64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Responses(BTreeMap<String, Kept>);

impl Responses {
    /// The response to an earlier request with this key; `None` if there was none.
    pub(super) fn find(
        &mut self,
        key: &str,
        request: &Request,
        now: i64,
    ) -> Result<Option<(StatusCode, Value)>, ApiError> {
        if key.is_empty() || key.len() > LONGEST_KEY {
            let message = format!("Invalid idempotency key; must be 1 to {LONGEST_KEY} characters");
            return Err(ApiError::request(message).early());
        }
        self.0.retain(|_, kept| now < kept.at + KEPT);
        let Some(kept) = self.0.get(key) else { return Ok(None) };
        let try_another = format!("Try using a key other than '{key}' if you meant to execute a different request.");
        let fault = if kept.request.path != request.path {
            let (new, old) = (&request.path, &kept.request.path);
            format!(
                "Keys for idempotent requests can only be used for the same endpoint they were first used for ('{new}' vs '{old}')."
            )
        } else if kept.request.parameters != request.parameters {
            "Keys for idempotent requests can only be used with the same parameters they were first used with."
                .to_owned()
        } else {
            return Ok(Some((StatusCode::from_u16(kept.status).unwrap_or_default(), kept.body.clone())));
        };
        Err(ApiError::request(format!("{fault} {try_another}")).kind("idempotency_error").early())
    }

    pub(super) fn keep(&mut self, key: &str, request: Request, (status, body): (StatusCode, Value), now: i64) {
        self.0.insert(key.to_owned(), Kept { request, status: status.as_u16(), body, at: now });
    }
}

#[derive(Debug, Default)]
pub(super) struct CallLimit {
    /// The most calls in any second; `None` for no limit.
    pub(super) per_second: Option<usize>,
    accepted: VecDeque<Instant>,
    pub(super) refused: usize,
}

impl CallLimit {
    pub(super) fn new(per_second: Option<usize>) -> Self {
        Self { per_second, ..Self::default() }
    }

    /// Whether a call at `now` is one too many.
    pub(super) fn refuses(&mut self, now: Instant) -> bool {
        let Some(most) = self.per_second else { return false };
        while self.accepted.front().is_some_and(|call| now.duration_since(*call) >= Duration::from_secs(1)) {
            self.accepted.pop_front();
        }
        if self.accepted.len() >= most {
            self.refused += 1;
            return true;
        }
        self.accepted.push_back(now);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(path: &str, value: &str) -> Request {
        Request { path: path.to_owned(), parameters: vec![("a".to_owned(), value.to_owned())] }
    }

    #[test]
    fn a_key_repeats_the_first_response_for_a_day() {
        let mut responses = Responses::default();
        let response = (StatusCode::OK, json!({ "id": 1 }));
        assert_eq!(responses.find("k", &request("/a", "1"), 0), Ok(None));
        responses.keep("k", request("/a", "1"), response.clone(), 0);
        assert_eq!(responses.find("k", &request("/a", "1"), KEPT - 1), Ok(Some(response)));
        assert_eq!(responses.find("k", &request("/a", "1"), KEPT), Ok(None));
    }

    #[test]
    fn a_key_is_for_one_request() {
        let mut responses = Responses::default();
        responses.keep("k", request("/a", "1"), (StatusCode::OK, json!({})), 0);
        for other in [request("/a", "2"), request("/b", "1")] {
            let error = responses.find("k", &other, 1).unwrap_err();
            assert_eq!(error.json()["error"]["type"], "idempotency_error");
            assert_eq!(error.status, StatusCode::BAD_REQUEST);
        }
        assert!(responses.find("", &request("/a", "1"), 1).is_err());
        assert!(responses.find(&"k".repeat(256), &request("/a", "1"), 1).is_err());
    }

    #[test]
    fn any_second_has_as_many_calls_as_allowed() {
        let mut limit = CallLimit::new(Some(2));
        let began = Instant::now();
        let refused = [0, 600, 900, 1_000, 1_500, 1_600].map(|at| limit.refuses(began + Duration::from_millis(at)));
        assert_eq!(refused, [false, false, true, false, true, false]);
        assert_eq!(limit.refused, 2);
        assert!((0..100).all(|_| !CallLimit::default().refuses(began)));
    }
}
