//! GET /plugin/api/settings/get: nothing. With a server's address a plugin would ask a third party how many play there.

use crate::State;
use crate::support::reply::AsciiJson;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, RoundTrips};
use std::convert::Infallible;

pub struct SettingsGet;

/// Always without fields.
#[derive(Serialize, schemars::JsonSchema)]
pub struct NoSettings {}

impl Endpoint for SettingsGet {
    type State = State;
    type Caller = ();
    type Input = ();
    type Reply = AsciiJson<NoSettings>;
    type Refusal = Infallible;

    const NAME: &'static str = "plugin/settings/get";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/settings/get"];
    const SUMMARY: &'static str = "returns an object without fields";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 0, cold: 0 };
    const WHILE_AWAY: Option<&'static str> = Some("{}");

    async fn handle(_: &State, (): (), (): ()) -> Result<Self::Reply, Error> {
        Ok(AsciiJson::of(&NoSettings {}))
    }
}
