//! A stand-in that runs, and the file in which it keeps what it remembers, so that a restart of the server leaves no
//! order without its session.

use super::Options;
use super::api::Responses;
use super::billing::Billing;
use super::objects::{Charge, Dispute, Intent, Refund, Session};
use super::state::State;
use super::webhooks::{Endpoint, Event};
use archive::private::write_whole;
use rustls::RootCertStore;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The first field of a file.
const FORMAT: &str = "stripe stand-in 1";
/// How long events are listed, in seconds, as at Stripe.
const LISTED: i64 = 30 * 24 * 60 * 60;
/// How long after an event it is posted again, in seconds, as at Stripe.
const POSTED: i64 = 3 * 24 * 60 * 60;

/// The file's content. States are `&'static str`, so a text that was read is never freed.
#[derive(Serialize, Deserialize)]
pub(super) struct Remembered {
    format: &'static str,
    /// The port on which the stand-in was.
    pub(super) port: u16,
    counter: u32,
    sessions: BTreeMap<String, Session>,
    intents: BTreeMap<String, Intent>,
    charges: BTreeMap<String, Charge>,
    refunds: BTreeMap<String, Refund>,
    disputes: BTreeMap<String, Dispute>,
    endpoints: Vec<Endpoint>,
    events: Vec<Event>,
    responses: BTreeMap<usize, Responses>,
    owners: BTreeMap<String, usize>,
    #[serde(default)]
    billing: Billing,
}

/// Reads a file; `None` if there is none.
pub(super) fn read(path: &Path) -> io::Result<Option<Remembered>> {
    let failed = |reason: String| {
        let path = path.display();
        io::Error::other(format!("{path} cannot be read: {reason}; without the file it starts with no payments"))
    };
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|error| failed(error.to_string()))?,
    };
    let found: Remembered = serde_json::from_str(text.leak()).map_err(|error| failed(error.to_string()))?;
    if found.format != FORMAT {
        return Err(failed(format!("its format is {:?}", found.format)));
    }
    Ok(Some(found))
}

impl State {
    /// Continues where another stand-in ended: what it had not posted is posted now.
    pub(super) fn continue_from(&mut self, found: Remembered, now: i64) {
        self.counter = self.counter.max(found.counter);
        self.sessions = found.sessions;
        self.intents = found.intents;
        self.charges = found.charges;
        self.refunds = found.refunds;
        self.disputes = found.disputes;
        self.endpoints.extend(found.endpoints.into_iter().map(|endpoint| (endpoint.id.clone(), endpoint)));
        self.events = found.events;
        self.events.retain(|event| now < event.created + LISTED);
        self.responses = found.responses;
        self.owners.extend(found.owners);
        self.billing = found.billing;
        let waiting = self.events.iter().filter(|event| !event.is_accepted && now < event.created + POSTED);
        for id in waiting.map(|event| event.id.clone()).collect::<Vec<_>>() {
            self.post(&id);
        }
    }

    /// The objects, for the file or a copy. The endpoint of the options is left out: the next start has its own.
    pub(super) fn remembered(&self, port: u16, own_secret: &str) -> Remembered {
        Remembered {
            format: FORMAT,
            port,
            counter: self.counter,
            sessions: self.sessions.clone(),
            intents: self.intents.clone(),
            charges: self.charges.clone(),
            refunds: self.refunds.clone(),
            disputes: self.disputes.clone(),
            endpoints: self.endpoints.values().filter(|endpoint| endpoint.secret != own_secret).cloned().collect(),
            events: self.events.clone(),
            responses: self.responses.clone(),
            owners: self.owners.clone(),
            billing: self.billing.clone(),
        }
    }
}

pub(super) fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
pub(super) struct Keeper {
    file: PathBuf,
    port: u16,
    /// The last change that is in the file.
    kept: tokio::sync::Mutex<u64>,
}

impl Keeper {
    pub(super) fn new(file: PathBuf, port: u16) -> Self {
        Self { file, port, kept: tokio::sync::Mutex::new(0) }
    }

    /// Returns when all changes until now are in the file. Changes that come while it is written share the next write.
    pub(super) async fn keep(&self, state: &Mutex<State>, own_secret: &str) {
        let change = {
            let mut state = lock(state);
            state.changes += 1;
            state.changes
        };
        let mut kept = self.kept.lock().await;
        if *kept >= change {
            return;
        }
        let (content, last) = {
            let state = lock(state);
            (state.remembered(self.port, own_secret), state.changes)
        };
        let content = serde_json::to_vec(&content).map_err(io::Error::other);
        let written = content.and_then(|content| write_whole(&self.file, &content));
        match written {
            Ok(()) => *kept = last,
            Err(error) => tracing::error!(%error, file = %self.file.display(), "payments could not be kept"),
        }
    }
}

#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) connections: AtomicUsize,
    pub(super) options: Options,
    pub(super) http: outgoing::Client,
    keeper: Option<Keeper>,
}

impl Shared {
    pub(super) fn new(state: State, options: Options, keeper: Option<Keeper>) -> Self {
        // Webhooks are posted on this machine, so no certificate is trusted.
        Self {
            state: Mutex::new(state),
            connections: AtomicUsize::new(0),
            options,
            http: outgoing::Client::new(RootCertStore::empty()),
            keeper,
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Returns when what has changed is kept, if there is a file for it.
    pub(super) async fn keep(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.keep(&self.state, &self.options.webhook_secret).await;
        }
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(super) fn now(&self) -> i64 {
        self.options.clock.seconds()
    }
}
