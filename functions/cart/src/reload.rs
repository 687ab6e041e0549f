//! POST /cart/reload/{cid}: sets the number of units (rules.md, "Adding and changing lines").

use crate::State;
use crate::support::change::{Done, ReloadRefusal, change};
use crate::support::count::Count;
use serde::Deserialize;
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, PathIdAndBody, RoundTrips};
use shared::model::LineId;
use shared::rules::add_line::Change;
use shared::token::Claim;

pub struct Reload;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct CountRequest {
    /// The number of units, 1 to 1,000. The number that the line has already is a success without a write.
    count: Count,
}

impl Endpoint for Reload {
    type State = State;
    type Caller = Claim;
    type Input = PathIdAndBody<LineId, CountRequest>;
    type Reply = Json<Done>;
    type Refusal = ReloadRefusal;

    const ROUTES: &'static [&'static str] = &["POST /cart/reload/{cid}"];
    const SUMMARY: &'static str = "sets the number of units of a line";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;

    async fn handle(
        state: &State,
        claim: Claim,
        PathIdAndBody(line, body): Self::Input,
    ) -> Result<Self::Reply, Error<ReloadRefusal>> {
        Ok(Json::of(&change(state, claim, line, &|_| Ok(Change::Count(body.count.get()))).await?))
    }
}
