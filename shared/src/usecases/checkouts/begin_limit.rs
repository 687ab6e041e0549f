//! Checkouts that an address has begun. Each is counted by the transaction that writes its order, so that only what
//! begins a checkout counts, and the limit is in the write's condition.

use crate::clock::Clock;
use crate::store::limiter::{self, RateLimit, Window};
use crate::store::transaction::{Write, sent};
use crate::store::{Db, Rows, StoreError, keys};
use crate::usecases::orders::refusal::{Guarded, Limit};

/// How many checkouts an address may begin. The window is read with the cart, by its key.
pub const CHECKOUTS: RateLimit = RateLimit { kind: "checkout", requests: 10, seconds: 600 };

/// Forgets how many checkouts an address has begun: on one's own machine all buyers have one address, and its owner is not to be
/// locked out.
pub async fn forget_begun(db: &Db, address: &str) -> Result<(), StoreError> {
    sent(db, vec![Write::delete(keys::rate(CHECKOUTS.kind, address))]).await?;
    Ok(())
}

/// The limit of one address, with its window as it was read.
pub(super) struct BeginLimit<'a> {
    address: &'a str,
    /// Milliseconds since 1970 UTC.
    now: u64,
    window: Option<Window>,
}

impl<'a> BeginLimit<'a> {
    /// Takes the window of an address out of what was read with the cart.
    pub(super) fn take(rows: &mut Rows, address: &'a str, clock: &dyn Clock) -> Result<Self, StoreError> {
        Ok(Self { address, now: clock.millis(), window: limiter::take(rows, CHECKOUTS, address)? })
    }

    /// Seconds until the address may begin another checkout; `None` if it may now.
    pub(super) fn wait(&self) -> Option<u64> {
        self.window.and_then(|window| window.full(CHECKOUTS, self.now))
    }

    pub(super) fn count(&self) -> Guarded {
        let write = limiter::count_in(CHECKOUTS, self.address, self.now, self.window);
        write.guarded_by(Limit::Rate { limit: CHECKOUTS, now: self.now })
    }
}
