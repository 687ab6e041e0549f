//! POST /cart/removeGiftcard: removes the gift card from the cart (api.md, "POST /cart/removeGiftcard").

use crate::State;
use crate::support::remove_code::remove_code;
use crate::support::write::{Contention, Failure};
use shared::endpoint::{Endpoint, ErrorBody, Json, RoundTrips};
use shared::http::reply::Outcome;
use shared::model::CodeKind;
use shared::token::Claim;

pub struct RemoveGiftcard;

impl Endpoint for RemoveGiftcard {
    type State = State;
    type Caller = Claim;
    type Input = ();
    type Reply = Json<Outcome<'static>>;
    type Refusal = Contention;

    const ROUTES: &'static [&'static str] = &["POST /cart/removeGiftcard"];
    const SUMMARY: &'static str = "removes the gift card from the cart";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 3 };
    const ERRORS: ErrorBody = ErrorBody::Success;

    async fn handle(state: &State, claim: Claim, (): ()) -> Result<Self::Reply, Failure> {
        let (none, removed) = ("No gift card is on your cart.", "The gift card was removed.");
        Ok(Json::of(&remove_code(state, claim, CodeKind::Gift, none, removed).await?))
    }
}
