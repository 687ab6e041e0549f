//! GET /plugin/api/getVersion: the version of the interface, by which a plugin decides what it may call.

use crate::State;
use crate::support::reply::PlainText;
use shared::endpoint::{Endpoint, Error, RoundTrips};
use std::convert::Infallible;

pub struct GetVersion;

impl Endpoint for GetVersion {
    type State = State;
    type Caller = ();
    type Input = ();
    /// The bare text: the plugin does not read JSON here.
    type Reply = PlainText;
    type Refusal = Infallible;

    const NAME: &'static str = "plugin/getVersion";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/getVersion"];
    const SUMMARY: &'static str = "returns the version of the interface";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 0, cold: 0 };

    async fn handle(_: &State, (): (), (): ()) -> Result<Self::Reply, Error> {
        Ok(PlainText("3.8.7"))
    }
}
