//! The scheduled sweep (rules.md, "Checkout"). Its event has a route key that no request from outside can have.

use crate::{DEADLINE, State};
use shared::endpoint::{Endpoint, Error, Json, RoundTrips};
use shared::providers::Stripe;
use shared::shop::payments::{Desk, Swept};
use std::convert::Infallible;
use std::time::Duration;

pub struct Sweep;

impl Endpoint for Sweep {
    type State = State;
    type Caller = ();
    type Input = ();
    type Reply = Json<Swept>;
    type Refusal = Infallible;

    const NAME: &'static str = "payments/sweep";
    const ROUTES: &'static [&'static str] = &["SCHEDULE payments/sweep"];
    const SUMMARY: &'static str = "finishes what is left to do about orders, and their statistics, every minute";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 20, cold: 20 };
    const DEADLINE: Duration = DEADLINE;

    async fn handle(state: &State, (): (), (): ()) -> Result<Self::Reply, Error> {
        let base = &state.base;
        // Read again, unlike by `may_write`: a process that only sweeps would not notice that a restore has begun.
        base.published.active_version().await?;
        // Connections are kept for this sweep only.
        let stripe = state.stripe.as_ref().map(Stripe::for_many_calls);
        Ok(Json::of(&Desk::new(&base.db, base.clock.as_ref(), stripe.as_ref()).sweep().await?))
    }
}
