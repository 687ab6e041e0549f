//! POST /plugin/api/servers/{key}/commands/delivered: a game server says that it has run commands, or keeps them for their players.

use crate::State;
use crate::support::ids::{Ids, LARGEST, ToldReply};
use crate::support::key::refused;
use crate::support::reply::{AsciiJson, UnknownKey};
use shared::endpoint::{Endpoint, Error, RoundTrips};
use shared::shop::delivery;

pub struct Delivered;

impl Endpoint for Delivered {
    type State = State;
    type Caller = ();
    type Input = Ids;
    type Reply = AsciiJson<ToldReply>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/servers/commands/delivered";
    const ROUTES: &'static [&'static str] = &["POST /plugin/api/servers/{key}/commands/delivered"];
    const SUMMARY: &'static str = "records that a game server has commands";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 4, cold: 4 };
    const BODY_LIMIT: usize = LARGEST;

    async fn handle(state: &State, (): (), input: Ids) -> Result<Self::Reply, Error<UnknownKey>> {
        let base = &state.base;
        let (call, _) = input.call(state).await?;
        let answers =
            delivery::delivered(&base.db, base.clock.as_ref(), &call.key, &call.known).await.map_err(refused)?;
        Ok(AsciiJson::of(&ToldReply::of(call.answers(&answers))))
    }
}
