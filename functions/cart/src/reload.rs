//! POST /cart/reload/{cid}: sets the number of units (rules.md, "Adding and changing lines").

use crate::State;
use crate::support::change::{ChangeRefusal, Done, change};
use crate::support::count::Count;
use lambda_http::http::StatusCode;
use serde::Deserialize;
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, PathIdAndBody, Refusal, RoundTrips};
use shared::model::LineId;
use shared::rules::add_line::Change;
use shared::token::Claim;

pub struct Reload;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct CountRequest {
    /// The number of units, 1 to 1,000. The number that the line has already is a success without a write.
    count: Count,
}

/// The reason why a line does not get that many units.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ReloadRefusal(ChangeRefusal);

impl Refusal for ReloadRefusal {
    /// The storefront reads the body, and looks for "does not exist"; it loses the body of any other status.
    fn status(&self) -> StatusCode {
        match &self.0 {
            ChangeRefusal::NotAnId => StatusCode::NOT_FOUND,
            ChangeRefusal::NotAllowed(_) | ChangeRefusal::Contention(_) => StatusCode::OK,
        }
    }

    fn shape(&self, usual: ErrorBody) -> ErrorBody {
        self.0.shape(usual)
    }

    fn documented() -> Vec<(&'static str, Self)> {
        ChangeRefusal::documented().into_iter().map(|(when, refusal)| (when, Self(refusal))).collect()
    }
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
        let done = change(state, claim, line, &|_| Ok(Change::Count(body.count.get()))).await;
        Ok(Json::of(&done.map_err(|error| error.map(ReloadRefusal))?))
    }
}
