//! A stand-in that runs, and the file in which it keeps what it remembers, so that a restart of the server leaves no
//! order without its session. And the clock of the stand-in and of the store around it: its owner can move it ahead, to see what time
//! brings about, such as the end of a subscription.

use super::Options;
use super::api::Responses;
use super::billing::Billing;
use super::objects::{Charge, Dispute, Intent, Refund, Session};
use super::state::State;
use super::webhooks::{Endpoint, Event};
use archive::running::{ahead, write_whole};
use rustls::RootCertStore;
use serde::{Deserialize, Serialize};
use shared::clock::{Clock, SystemClock};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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

const DAY: u64 = 24 * 60 * 60;
/// The most days that the clock can be ahead.
const MOST_DAYS: u64 = 3_650;

/// The system's clock, or so many seconds ahead of it. It never goes back: rows would be in the future.
#[derive(Debug, Default)]
pub struct MovableClock {
    ahead: AtomicU64,
    /// The file that keeps it ahead after a restart.
    file: Option<PathBuf>,
}

impl MovableClock {
    /// A clock that is where the last one with the same file was.
    pub fn of(file: Option<PathBuf>) -> io::Result<Self> {
        let ahead = file.as_deref().map(ahead).transpose()?.unwrap_or_default();
        Ok(Self { ahead: AtomicU64::new(ahead), file })
    }

    /// How many whole days it is ahead of the system's clock.
    pub fn days_ahead(&self) -> u64 {
        self.ahead.load(Ordering::SeqCst) / DAY
    }

    /// Moves it ahead to a second since 1970 UTC. Fails with the end of a sentence if that is in the past or too far ahead.
    pub fn move_to(&self, second: i64) -> Result<(), String> {
        let ahead = u64::try_from(second.saturating_sub(SystemClock.seconds())).map_err(|_| "is in the past")?;
        if ahead > MOST_DAYS * DAY {
            return Err(format!("is more than {MOST_DAYS} days ahead"));
        }
        self.ahead.store(ahead, Ordering::SeqCst);
        Ok(())
    }

    /// Moves it ahead by some days. Fails with a sentence if it would be too far ahead or cannot be kept. It is not
    /// moved then.
    pub fn move_ahead(&self, days: u64) -> Result<(), String> {
        let ahead = days.checked_mul(DAY).and_then(|more| self.ahead.load(Ordering::SeqCst).checked_add(more));
        let ahead = ahead.filter(|ahead| *ahead <= MOST_DAYS * DAY);
        let ahead = ahead.ok_or_else(|| format!("The clock can be {MOST_DAYS} days ahead at most."))?;
        if let Some(file) = &self.file {
            let kept = write_whole(file, ahead.to_string().as_bytes());
            kept.map_err(|error| format!("The clock cannot be kept: {error}."))?;
        }
        self.ahead.store(ahead, Ordering::SeqCst);
        Ok(())
    }
}

impl Clock for MovableClock {
    fn now(&self) -> Duration {
        SystemClock.now() + Duration::from_secs(self.ahead.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_moves_ahead_within_its_limit_and_stays_there_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("clock.json");
        let clock = MovableClock::of(Some(file.clone())).unwrap();
        assert_eq!(clock.days_ahead(), 0);
        clock.move_ahead(3_000).unwrap();
        clock.move_ahead(650).unwrap();
        for days in [1, u64::MAX] {
            assert!(clock.move_ahead(days).unwrap_err().contains("3650 days"));
        }
        let again = MovableClock::of(Some(file.clone())).unwrap();
        assert_eq!((again.days_ahead(), MovableClock::of(None).unwrap().days_ahead()), (3_650, 0));
        assert!(again.now() >= SystemClock.now() + Duration::from_secs(3_649 * DAY));
        let (other, now) = (MovableClock::default(), SystemClock.seconds());
        other.move_to(now + 1_000).unwrap();
        assert!((now + 1_000..now + 1_060).contains(&other.seconds()));
        assert!(other.move_to(now - 10).is_err() && other.move_to(i64::MAX).is_err());
        std::fs::write(&file, "soon").unwrap();
        assert!(MovableClock::of(Some(file)).is_err());
    }
}
