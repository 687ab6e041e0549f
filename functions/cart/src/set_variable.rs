//! POST /cart/setVariable/{cid}: sets the value of a variable (rules.md, "Adding and changing lines").

use crate::State;
use crate::support::change::{ChangeRefusal, Done, change};
use serde::Deserialize;
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, PathIdAndBody, RoundTrips};
use shared::http::body::Written;
use shared::model::{LineId, LineVariable};
use shared::rules::add_line::Change;
use shared::token::Claim;

pub struct SetVariable;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct VariableRequest {
    /// The variable's id, unique in the item.
    var_id: u64,
    /// The value: one of the variable's options, or what the buyer entered. A number is read as its digits are sent.
    var_value: Written,
}

impl Endpoint for SetVariable {
    type State = State;
    type Caller = Claim;
    type Input = PathIdAndBody<LineId, VariableRequest>;
    type Reply = Json<Done>;
    type Refusal = ChangeRefusal;

    const ROUTES: &'static [&'static str] = &["POST /cart/setVariable/{cid}"];
    const SUMMARY: &'static str = "sets a variable of a line";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;

    async fn handle(
        state: &State,
        claim: Claim,
        PathIdAndBody(line, body): Self::Input,
    ) -> Result<Self::Reply, Error<ChangeRefusal>> {
        let choice = LineVariable { id: body.var_id, value: body.var_value.0 };
        Ok(Json::of(&change(state, claim, line, &|_| Ok(Change::Variable(choice.clone()))).await?))
    }
}
