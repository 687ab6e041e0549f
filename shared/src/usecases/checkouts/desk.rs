//! The order desk: what every change of an order's payment needs, in one value.

use super::provider::Provider;
use crate::clock::Clock;
use crate::store::Db;

/// The table, the time, and the payment provider that is asked: `&P`, or `Option<&P>` where it may be missing.
#[derive(Debug, Clone, Copy)]
pub struct Desk<'a, P> {
    pub db: &'a Db,
    pub clock: &'a dyn Clock,
    pub provider: P,
}

impl<'a, P> Desk<'a, P> {
    pub const fn new(db: &'a Db, clock: &'a dyn Clock, provider: P) -> Self {
        Self { db, clock, provider }
    }
}

impl<'a, P: Provider> Desk<'a, Option<&'a P>> {
    /// The desk with its provider; `None` if none is connected.
    pub(super) fn connected(&self) -> Option<Desk<'a, &'a P>> {
        self.provider.map(|provider| Desk::new(self.db, self.clock, provider))
    }
}
