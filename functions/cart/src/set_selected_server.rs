//! POST /cart/setSelectedServer/{cid}: selects the server to deliver to (rules.md, "Adding and changing lines").

use crate::State;
use crate::support::change::{ChangeRefusal, Done, change};
use serde::Deserialize;
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, PathIdAndBody, RoundTrips};
use shared::model::{LineId, ServerId};
use shared::rules::add_line::Change;
use shared::token::Claim;

pub struct SetSelectedServer;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct ServerRequest {
    /// The server's id, one of the item's.
    server_id: ServerId,
}

impl Endpoint for SetSelectedServer {
    type State = State;
    type Caller = Claim;
    type Input = PathIdAndBody<LineId, ServerRequest>;
    type Reply = Json<Done>;
    type Refusal = ChangeRefusal;

    const ROUTES: &'static [&'static str] = &["POST /cart/setSelectedServer/{cid}"];
    const SUMMARY: &'static str = "selects the server of a line";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;

    async fn handle(
        state: &State,
        claim: Claim,
        PathIdAndBody(line, body): Self::Input,
    ) -> Result<Self::Reply, Error<ChangeRefusal>> {
        Ok(Json::of(&change(state, claim, line, &|_| Ok(Change::Server(body.server_id))).await?))
    }
}
