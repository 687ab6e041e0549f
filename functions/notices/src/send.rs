//! The scheduled sender (rules.md, "Notices"). Its event has a route key that no request from outside can have.

use crate::State;
use shared::endpoint::{Endpoint, Error, Json, RoundTrips};
use shared::shop::notices::{self, Sent};
use shared::table::published::{must_be_current, read_active_version};
use shared::telemetry;
use std::convert::Infallible;
use std::time::Duration;

/// The time in which sending begins. A call takes 5 s more, and what was sent is written then.
const BEGINS: Duration = Duration::from_secs(40);
/// The time of all calls to the database. The `Timeout` of the function is longer.
const DEADLINE: Duration = Duration::from_secs(55);

pub struct SendNotices;

impl Endpoint for SendNotices {
    type State = State;
    type Caller = ();
    type Input = ();
    type Reply = Json<Sent>;
    type Refusal = Infallible;

    const NAME: &'static str = "notices/send";
    const ROUTES: &'static [&'static str] = &["SCHEDULE notices/send"];
    const SUMMARY: &'static str = "sends what owners are notified of, every minute";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 20, cold: 20 };
    const DEADLINE: Duration = DEADLINE;

    async fn handle(state: &State, (): (), (): ()) -> Result<Self::Reply, Error> {
        let base = &state.base;
        // Read by itself: a process that only sends would not notice that a restore has begun, and one that does not know a target that
        // was just published would settle what that target wants.
        let active = read_active_version(&base.db).await?.unwrap_or_default();
        must_be_current(&active)?;
        let targets = &active.config.notify;
        let sent = notices::run(&base.db, base.clock.as_ref(), &state.targets(), targets, BEGINS).await?;
        if sent.due == 0 {
            telemetry::routine();
        }
        Ok(Json::of(&sent))
    }
}
