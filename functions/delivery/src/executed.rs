//! POST /plugin/api/servers/{key}/commands/executed: a game server says that it has run commands.

use crate::State;
use crate::ids::{Ids, LARGEST, ToldReply};
use crate::key::refused;
use crate::reply::{AsciiJson, UnknownKey};
use shared::endpoint::{Endpoint, Error, RoundTrips};
use shared::usecases::delivery;

/// POST /plugin/api/servers/{key}/commands/executed.
pub struct Executed;

impl Endpoint for Executed {
    type State = State;
    type Caller = ();
    type Input = Ids;
    type Reply = AsciiJson<ToldReply>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/servers/commands/executed";
    const ROUTES: &'static [&'static str] = &["POST /plugin/api/servers/{key}/commands/executed"];
    const SUMMARY: &'static str = "records that a game server has run commands";
    const NUMBER: Option<u8> = None;
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 3 };
    const BODY_LIMIT: usize = LARGEST;

    async fn handle(state: &State, (): (), input: Ids) -> Result<Self::Reply, Error<UnknownKey>> {
        let base = &state.base;
        let call = input.call(state).await?;
        let answers =
            delivery::executed(&base.db, base.clock.as_ref(), &call.key, &call.known).await.map_err(refused)?;
        Ok(AsciiJson::of(&ToldReply::of(call.answers(&answers))))
    }
}
