//! POST /capture-referral: attributes a visit to a referral code (api.md, "POST /capture-referral"). With a token the
//! code is applied to the cart; without one the browser keeps it for its first write to a cart, see [`captured`].

use crate::State;
use crate::set_referral::{outcome, set};
use crate::support::write::{Contention, Failure};
use crate::support::{captured, referral};
use serde::{Deserialize, Serialize};
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, JsonBody, RoundTrips, WithCookie};
use shared::http::body;
use shared::model::CodeText;
use shared::rules::referral::SetReferral as Decision;
use shared::token::Claim;

pub struct CaptureReferral;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct CaptureRequest {
    /// The referral code. Case and surrounding whitespace are ignored.
    #[schemars(with = "body::Text<{ CodeText::LONGEST }>")]
    #[serde(rename = "ref", deserialize_with = "body::code::<{ CodeText::LONGEST }, _>")]
    code: CodeText,
}

#[derive(Serialize, schemars::JsonSchema)]
pub struct CaptureReply {
    /// Whether the code is on the cart, or is kept by the browser.
    success: bool,
    /// Whether the code is on the caller's cart. False without a token.
    attribution_applied: bool,
    /// The outcome, as a text for people.
    message: &'static str,
}

impl Endpoint for CaptureReferral {
    type State = State;
    type Caller = Option<Claim>;
    type Input = JsonBody<CaptureRequest>;
    type Reply = WithCookie<Json<CaptureReply>>;
    type Refusal = Contention;

    const ROUTES: &'static [&'static str] = &["POST /capture-referral"];
    const SUMMARY: &'static str = "applies a referral code to the cart, or keeps it until there is one";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 4, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;

    async fn handle(state: &State, claim: Option<Claim>, JsonBody(body): Self::Input) -> Result<Self::Reply, Failure> {
        let decision = match claim {
            None => None,
            Some(claim) => match set(state, claim, &body.code).await {
                // The account does not accept the token, which then counts as none.
                Err(Error::Unauthorized) => None,
                decision => Some(decision?),
            },
        };
        if let Some(decision) = decision {
            let (success, message) = outcome(decision);
            let reply = CaptureReply { success, attribution_applied: success, message };
            return Ok(WithCookie { reply: Json::of(&reply), cookie: None });
        }
        let cookie = referral::in_force(state, &body.code).await?.and_then(|_| captured::keep(&body.code));
        let (success, message) = match cookie {
            Some(_) => (true, "The referral code is applied when you log in and fill your cart."),
            None => outcome(Decision::NotValid),
        };
        let reply = CaptureReply { success, attribution_applied: false, message };
        Ok(WithCookie { reply: Json::of(&reply), cookie })
    }
}
