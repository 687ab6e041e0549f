//! The payment providers, as checkouts use them, and the pace of many calls to one in a row. What a checkout needs of one is
//! [`Provider`](crate::shop::payments::Provider).

mod paid;
mod stripe;
mod words;

pub use self::stripe::{Stripe, return_url};

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// The route of Stripe's webhook events.
pub const STRIPE_WEBHOOK: &str = "POST /payments/webhook/stripe";
/// Its path.
pub const STRIPE_WEBHOOK_PATH: &str = STRIPE_WEBHOOK.split_at("POST ".len()).1;

/// Lets a caller at a time begin a call, with an equal time between two of them.
#[derive(Debug)]
struct Pace {
    between: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When the next call may begin.
    next: Instant,
    /// No call begins before this.
    paused_until: Instant,
}

impl Pace {
    fn per_second(calls: u32) -> Self {
        let now = Instant::now();
        let state = State { next: now, paused_until: now };
        Self { between: Duration::from_secs(1) / calls.max(1), state: Mutex::new(state) }
    }

    /// Waits until a call may begin.
    async fn turn(&self) {
        loop {
            let at = self.with(|state| {
                let at = state.next.max(state.paused_until).max(Instant::now());
                state.next = at + self.between;
                at
            });
            sleep_until(at).await;
            // A pause may have begun meanwhile.
            if self.with(|state| state.paused_until <= at) {
                return;
            }
        }
    }

    /// Lets no call begin for a time.
    fn pause(&self, time: Duration) {
        self.with(|state| state.paused_until = state.paused_until.max(Instant::now() + time));
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;

    #[tokio::test]
    async fn calls_begin_one_after_another_however_many_wait() {
        let pace = Pace::per_second(200);
        let began = Instant::now();
        join_all((0..21).map(|_| pace.turn())).await;
        assert!(began.elapsed() >= Duration::from_millis(100), "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn a_pause_holds_those_who_wait_already() {
        let pace = Pace::per_second(20);
        let began = Instant::now();
        pace.turn().await;
        let waiting = join_all((0..3).map(async |_| {
            pace.turn().await;
            began.elapsed()
        }));
        let pause = async { pace.pause(Duration::from_millis(300)) };
        let (turns, ()) = tokio::join!(waiting, pause);
        assert!(turns.iter().all(|turn| *turn >= Duration::from_millis(300)), "{turns:?}");
    }
}
