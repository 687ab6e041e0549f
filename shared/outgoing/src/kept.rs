//! Connections that are kept between requests.

use crate::connection::{Body, Origin};
use hyper::client::conn::http1::SendRequest;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After this time without a request a connection is not used again: the other side may be about to close it.
const IDLE: Duration = Duration::from_secs(10);

/// Connections without a request.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<Vec<Connection>>);

#[derive(Debug)]
struct Connection {
    origin: Origin,
    sender: SendRequest<Body>,
    used: Instant,
}

impl Kept {
    /// Takes a connection to `origin` that can be used.
    pub(crate) async fn take(&self, origin: &Origin) -> Option<SendRequest<Body>> {
        loop {
            let mut sender = self.pop(origin)?;
            // It is ready as soon as the end of its last response is noticed.
            if sender.ready().await.is_ok() {
                return Some(sender);
            }
        }
    }

    fn pop(&self, origin: &Origin) -> Option<SendRequest<Body>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|connection| !connection.sender.is_closed() && connection.used.elapsed() < IDLE);
        let place = kept.iter().rposition(|connection| connection.origin == *origin)?;
        Some(kept.swap_remove(place).sender)
    }

    pub(crate) fn keep(&self, origin: Origin, sender: SendRequest<Body>) {
        let connection = Connection { origin, sender, used: Instant::now() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}
