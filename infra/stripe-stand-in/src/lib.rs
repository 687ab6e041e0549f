//! A stand-in for Stripe: a loopback server that speaks the calls that a checkout needs, with a page to pay on.
//!
//! No money moves, and everything is in memory unless the options name a file that keeps it. Its responses have the shapes of
//! API version [`API_VERSION`]; the official Python package checks them in CI (`.ci/provider`). It does not use the crate
//! `stripe`, so that a mistake of one cannot be hidden by the other. No function links it.

mod api;
mod billing;
mod billing_calls;
mod calls;
mod expand;
mod give_back;
pub mod html;
mod kept;
mod new_session;
mod objects;
mod pages;
mod parameters;
mod pay;
mod portal;
mod renew;
mod server;
mod state;
mod subscription_pages;
mod tax;
mod webhooks;

pub use kept::MovableClock;
pub use server::{Fault, FaultKind};
pub use state::{Account, Action, Switches};
pub use webhooks::Signed;

use kept::{Keeper, Remembered, Shared};
use server::Faults;
use shared::clock::{Clock, SystemClock};
use state::State;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

const HOST: &str = "127.0.0.1";
/// The only version of the API that is spoken here.
pub const API_VERSION: &str = "2026-09-30.endive";
/// The key that is accepted unless the options say otherwise.
pub const KEY: &str = "rk_test_standin";
/// The most calls that Stripe accepts in a second in test mode. The next one is refused with 429.
pub const TEST_MODE: usize = 25;
/// The secret of the first webhook endpoint unless the options say otherwise.
pub const WEBHOOK_SECRET: &str = "whsec_standin";
/// The id of the account unless the options say otherwise.
pub const ACCOUNT: &str = "acct_standin";

/// The content of `PAYMENT_KEYS` for a stand-in with the usual options.
pub fn payment_keys() -> String {
    serde_json::json!({ "stripe": { "key": KEY, "webhook": [WEBHOOK_SECRET], "account": ACCOUNT } }).to_string()
}

#[derive(Debug, Clone)]
pub struct Options {
    /// The port on 127.0.0.1; 0 picks that of the last start, if `kept` knows it, else a free one.
    pub port: u16,
    pub key: String,
    /// The id of the account that the key belongs to.
    pub account: String,
    /// Further accounts, or other modes of it, with their keys.
    pub others: Vec<Account>,
    /// The address that webhooks are posted to. More can be added by the API.
    pub webhook_url: Option<String>,
    /// The secret that webhooks to this address are signed with, and [`StandIn::signed`].
    pub webhook_secret: String,
    /// Whether the objects say that the money is real; to test that this is noticed.
    pub livemode: bool,
    pub late: Duration,
    /// The pauses before a webhook is repeated that was not accepted.
    pub retries: Vec<Duration>,
    /// The file that keeps what is remembered; `None` for memory only.
    pub kept: Option<PathBuf>,
    /// The most calls in any second; `None` for no limit. See [`TEST_MODE`].
    pub calls_per_second: Option<usize>,
    pub delay: Duration,
    pub clock: Arc<dyn Clock>,
    /// The clock that the page moves ahead. The clock of the server around it, and its own, must be this one.
    pub movable: Option<Arc<MovableClock>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: 0,
            key: KEY.to_owned(),
            account: ACCOUNT.to_owned(),
            others: Vec::new(),
            webhook_url: None,
            webhook_secret: WEBHOOK_SECRET.to_owned(),
            livemode: false,
            late: Duration::from_secs(15),
            retries: [2, 10, 60].map(Duration::from_secs).to_vec(),
            kept: None,
            calls_per_second: None,
            delay: Duration::ZERO,
            clock: Arc::new(SystemClock),
            movable: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Method and path, such as `POST /v1/refunds`.
    pub route: String,
    pub parameters: Vec<(String, String)>,
    pub key: Option<String>,
}

/// A running stand-in. It ends when it is stopped or dropped.
#[derive(Debug)]
pub struct StandIn {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

/// Starts a stand-in. Fails if the port is in use or not allowed, or the file cannot be read.
pub async fn start(options: Options) -> io::Result<StandIn> {
    let remembered = options.kept.as_deref().map(kept::read).transpose()?.flatten();
    continue_from(options, remembered).await
}

async fn continue_from(options: Options, remembered: Option<Remembered>) -> io::Result<StandIn> {
    let listener = listen(options.port, remembered.as_ref().map(|found| found.port)).await?;
    let address = listener.local_addr()?;
    let (sender, receiver) = mpsc::unbounded_channel();
    let mut state = State::new(&options, format!("http://{address}"), sender);
    if let Some(found) = remembered {
        state.continue_from(found, options.clock.seconds());
    }
    let keeper = options.kept.clone().map(|file| Keeper::new(file, address.port()));
    let shared = Arc::new(Shared::new(state, options, keeper));
    let (stop, stopped) = oneshot::channel();
    tokio::spawn(webhooks::run(Arc::downgrade(&shared), receiver));
    let server = tokio::spawn(server::serve(listener, Arc::clone(&shared), stopped));
    Ok(StandIn { address, shared, stop, server })
}

/// Listens on a port; on the earlier one, where the pages of open sessions are, if any will do.
async fn listen(port: u16, earlier: Option<u16>) -> io::Result<TcpListener> {
    if let (0, Some(earlier)) = (port, earlier)
        && let Ok(listener) = TcpListener::bind((HOST, earlier)).await
    {
        return Ok(listener);
    }
    let failed = |error: io::Error| io::Error::new(error.kind(), format!("cannot listen on {HOST}:{port}: {error}"));
    TcpListener::bind((HOST, port)).await.map_err(failed)
}

impl StandIn {
    /// The server's URL, for `STRIPE_API_BASE`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// An independent stand-in with the same objects, on another port and with another clock. Faults, switches and received
    /// requests are not copied.
    pub async fn copy(&self, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let options = Options { port: 0, kept: None, clock, ..self.shared.options.clone() };
        let remembered = self.shared.state().remembered(self.address.port(), &options.webhook_secret);
        continue_from(options, Some(remembered)).await
    }

    pub async fn stop(self) {
        drop(self.stop);
        _ = self.server.await;
    }

    /// Does what the buyer or the account's owner would do on the page of a session, or of an invoice. The newest session that
    /// has a reference can be named by it. Fails with the sentence that the page would show: no such session or invoice, or
    /// not possible in its state.
    pub fn act(&self, session: &str, action: &Action) -> Result<(), String> {
        let (now, named) = (self.shared.now(), self.session_of(session));
        self.shared.state().act(named.as_deref().unwrap_or(session), action, now)
    }

    /// The newest session that has a reference.
    pub fn session_of(&self, reference: &str) -> Option<String> {
        let state = self.shared.state();
        let mut newest_first = state.sessions.values().rev();
        newest_first.find(|session| session.reference.as_deref() == Some(reference)).map(|session| session.id.clone())
    }

    /// The ids of all sessions, oldest first.
    pub fn sessions(&self) -> Vec<String> {
        self.shared.state().sessions.values().map(|session| session.id.clone()).collect()
    }

    /// The ids of all invoices, oldest first.
    pub fn invoices(&self) -> Vec<String> {
        self.shared.state().billing.invoices.keys().cloned().collect()
    }

    /// Gives the portal the settings that `storectl payments connect` gives it.
    pub fn set_up_portal(&self) {
        let now = self.shared.now();
        self.shared.state().set_up_portal(now);
    }

    /// The webhook endpoints, oldest first, each with its secret.
    pub fn webhook_endpoints(&self) -> Vec<(String, String)> {
        let state = self.shared.state();
        state.endpoints.values().map(|endpoint| (endpoint.id.clone(), endpoint.secret.clone())).collect()
    }

    /// Lets a webhook endpoint be one that was created for another version, or that was switched off.
    pub fn change_endpoint(&self, id: &str, version: &str, disabled: bool) {
        if let Some(endpoint) = self.shared.state().endpoints.get_mut(id) {
            (endpoint.api_version, endpoint.disabled) = (Some(version.to_owned()), disabled);
        }
    }

    /// The requests to the API so far, with those that were refused; without those that a fault cut before their effect.
    pub fn received(&self) -> Vec<Received> {
        self.shared.state().received.clone()
    }

    /// Lets one of the next requests to the API fail. Faults happen in the order in which they were added.
    pub fn inject(&self, fault: Fault) {
        self.shared.state().faults.push(fault);
    }

    /// From now on no request fails.
    pub fn clear_faults(&self) {
        self.shared.state().faults = Faults::default();
    }

    /// Every change of the account's balance as the API lists it, newest first.
    pub fn balance_changes(&self) -> Vec<serde_json::Value> {
        self.shared.state().changes()
    }

    /// From now on buyers are sent receipts.
    pub fn send_receipts(&self) {
        self.shared.state().sends_receipts = true;
    }

    /// From now on the fee of a payment is known only after [`Action::SettleFee`].
    pub fn delay_fees(&self) {
        self.shared.state().delays_fees = true;
    }

    /// From now on every session is refused that offers a method, which the refusal names; an empty word stands for all but cards.
    pub fn refuse_method(&self, method: &str) {
        self.shared.state().refused_method = Some(method.to_owned());
    }

    /// From now on a page of a list has at most so many objects, whatever is asked for.
    pub fn shorten_pages(&self, most: usize) {
        self.shared.state().largest_page = most;
    }

    /// Deletes sessions and payments, as the account's owner deletes the data of the test mode.
    pub fn delete_test_data(&self) {
        let mut state = self.shared.state();
        state.sessions.clear();
        state.intents.clear();
        state.charges.clear();
    }

    /// From now on accepts so many calls in any second, and lets each take some time.
    pub fn slow_down(&self, calls_per_second: Option<usize>, delay: Duration) {
        let mut state = self.shared.state();
        (state.limit.per_second, state.delay) = (calls_per_second, delay);
    }

    /// How many calls were refused because there were too many in a second.
    pub fn rate_limited(&self) -> usize {
        self.shared.state().limit.refused
    }

    /// How many connections were opened, with those to its pages.
    pub fn connections(&self) -> usize {
        self.shared.connections()
    }

    /// Changes how webhooks are sent from now on.
    pub fn switch(&self, switches: Switches) {
        self.shared.state().switches = switches;
    }

    /// The ids of all events, oldest first.
    pub fn events(&self) -> Vec<String> {
        self.shared.state().events.iter().map(|event| event.id.clone()).collect()
    }

    /// An event as it would be posted now: body and signature by the options' secret. `None` if there is no such event.
    pub fn signed(&self, event: &str) -> Option<Signed> {
        let body = self.shared.state().event(event)?.body.clone();
        Some(self.sign(body))
    }

    /// A body, and its signature by the options' secret.
    pub fn sign(&self, body: String) -> Signed {
        Signed::new(body, &self.shared.options.webhook_secret, self.shared.now())
    }
}
