//! A stand-in that runs: its state, options and file.

use super::Options;
use super::kept::{Keeper, lock};
use super::state::State;
use rustls::RootCertStore;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

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
