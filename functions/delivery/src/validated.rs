//! POST /plugin/api/servers/{key}/commands/validated: a game server asks which commands may run now. It runs those whose
//! status is `true`, and also those that are missing from the response.

use crate::State;
use crate::support::ids::{Ids, LARGEST};
use crate::support::key::refused;
use crate::support::reply::{AsciiJson, UnknownKey};
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, RoundTrips};
use shared::shop::delivery;

pub struct Validated;

/// Which commands may run.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ValidatedReply {
    /// Always true: the plugin loses or keeps all commands of the call otherwise.
    status: bool,
    /// Every id of the call.
    results: Vec<ValidatedId>,
    /// Always empty.
    error: &'static str,
}

/// An id of the call.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ValidatedId {
    /// The id.
    cmd_id: i64,
    /// Whether the command may run.
    status: bool,
    /// The reason if it may not; otherwise empty.
    error: &'static str,
}

impl Endpoint for Validated {
    type State = State;
    type Caller = ();
    type Input = Ids;
    type Reply = AsciiJson<ValidatedReply>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/servers/commands/validated";
    const ROUTES: &'static [&'static str] = &["POST /plugin/api/servers/{key}/commands/validated"];
    const SUMMARY: &'static str = "returns which commands a game server may run";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 4, cold: 4 };
    const BODY_LIMIT: usize = LARGEST;

    async fn handle(state: &State, (): (), input: Ids) -> Result<Self::Reply, Error<UnknownKey>> {
        let base = &state.base;
        let (call, _) = input.call(state).await?;
        let answers = delivery::validated(&base.db, base.clock.as_ref(), &call.key, &call.known).await;
        let answers = answers.map_err(refused)?;
        let results = call.answers(&answers).map(|(cmd_id, status)| ValidatedId {
            cmd_id,
            status,
            error: if status { "" } else { "This command must not run." },
        });
        Ok(AsciiJson::of(&ValidatedReply { status: true, results: results.collect(), error: "" }))
    }
}
