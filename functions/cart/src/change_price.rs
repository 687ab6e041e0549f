//! POST /cart/changePrice/{cid}: sets the price that the buyer pays for one unit (rules.md,
//! "Adding and changing lines").

use crate::State;
use crate::support::change::{ChangeRefusal, Done, change, money};
use serde::Deserialize;
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, PathIdAndBody, RoundTrips};
use shared::http::body::Written;
use shared::model::LineId;
use shared::rules::add_line::Change;
use shared::token::Claim;

pub struct ChangePrice;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct PriceRequest {
    /// Money: the price of one unit, as a number or as its digits in a string. It has at most the currency's number of digits.
    price: Written,
}

impl Endpoint for ChangePrice {
    type State = State;
    type Caller = Claim;
    type Input = PathIdAndBody<LineId, PriceRequest>;
    type Reply = Json<Done>;
    type Refusal = ChangeRefusal;

    const ROUTES: &'static [&'static str] = &["POST /cart/changePrice/{cid}"];
    const SUMMARY: &'static str = "sets the price of an any-price line";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;

    async fn handle(
        state: &State,
        claim: Claim,
        PathIdAndBody(line, body): Self::Input,
    ) -> Result<Self::Reply, Error<ChangeRefusal>> {
        let price = |digits| money("price", &body.price.0, digits).map(Change::Price);
        Ok(Json::of(&change(state, claim, line, &price).await?))
    }
}
