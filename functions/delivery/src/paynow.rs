//! GET /plugin/api/servers/{key}/commands/paynow: whether a payment service of the plugin is on. It is not. The plugin asks
//! right after it has thrown its first response of the queue away, so that this call gives those rows back. What an agent was
//! served is given back by that agent alone.

use crate::State;
use crate::support::key::{KeyAndAgent, PollRefusal, refused_poll};
use crate::support::reply::AsciiJson;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, RoundTrips};
use shared::usecases::delivery;

pub struct PayNow;

/// The service is off, since there is no token for it.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PayNowReply {
    /// Always true.
    status: bool,
}

impl Endpoint for PayNow {
    type State = State;
    type Caller = ();
    type Input = KeyAndAgent;
    type Reply = AsciiJson<PayNowReply>;
    type Refusal = PollRefusal;

    const NAME: &'static str = "plugin/servers/commands/paynow";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/servers/{key}/commands/paynow"];
    const SUMMARY: &'static str = "gives back what the last poll of a game server that starts was served";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 4, cold: 4 };
    const WHILE_AWAY: Option<&'static str> = Some(r#"{"status":true}"#);

    async fn handle(state: &State, (): (), input: KeyAndAgent) -> Result<Self::Reply, Error<PollRefusal>> {
        let base = &state.base;
        let (key, agent) = input.checked(&base.db).await?;
        base.published.may_write().await?;
        delivery::paynow(&base.db, base.clock.as_ref(), &key, agent.as_ref()).await.map_err(refused_poll)?;
        Ok(AsciiJson::of(&PayNowReply { status: true }))
    }
}
