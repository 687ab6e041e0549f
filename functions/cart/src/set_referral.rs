//! POST /cart/setReferral: applies a referral code to the cart (rules.md, "Referral codes").

use crate::State;
use crate::support::write::{self, Contention, Failure};
use crate::support::{context, referral};
use serde::Deserialize;
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, JsonBody, RoundTrips};
use shared::http::body;
use shared::http::reply::Outcome;
use shared::model::CodeText;
use shared::rules::referral::SetReferral as Decision;
use shared::store::{codes, keys};
use shared::token::Claim;
use shared::usecases::carts::{Attempt, drop_unpublished};

pub struct SetReferral;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct ReferralRequest {
    /// The referral code. Case and surrounding whitespace are ignored.
    #[schemars(with = "body::Text<{ CodeText::LONGEST }>")]
    #[serde(deserialize_with = "body::code::<{ CodeText::LONGEST }, _>")]
    ref_code: CodeText,
}

impl Endpoint for SetReferral {
    type State = State;
    type Caller = Claim;
    type Input = JsonBody<ReferralRequest>;
    type Reply = Json<Outcome<'static>>;
    type Refusal = Contention;

    const ROUTES: &'static [&'static str] = &["POST /cart/setReferral"];
    const SUMMARY: &'static str = "applies a referral code to the cart";
    const NUMBER: Option<u8> = Some(4);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 4, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;

    async fn handle(state: &State, claim: Claim, JsonBody(body): Self::Input) -> Result<Self::Reply, Failure> {
        let (success, message) = outcome(set(state, claim, &body.ref_code).await?);
        Ok(Json::of(&Outcome { success, message }))
    }
}

/// Applies a code to the caller's cart, if the rules allow it.
pub async fn set(state: &State, claim: Claim, code: &CodeText) -> Result<Decision, Failure> {
    write::with_retries(state, || attempt(state, claim, code)).await
}

/// Whether the code is on the cart now, and what the buyer reads.
pub const fn outcome(decision: Decision) -> (bool, &'static str) {
    match decision {
        Decision::NotValid => (false, "This referral code does not exist or is not valid."),
        Decision::OwnCode => (false, "You cannot use your own referral code."),
        Decision::AnotherIsSet => (false, "Another referral code is set. Please remove it first."),
        Decision::AlreadySet => (true, "This referral code is set already."),
        Decision::Apply => (true, "The referral code was applied."),
    }
}

async fn attempt(state: &State, claim: Claim, text: &CodeText) -> Result<Attempt<Decision>, Failure> {
    let mut context = context::load(state, claim, &[keys::referral(text)]).await?.ok_or(Error::Unauthorized)?;
    let found = codes::take_referral(&mut context.rows, text)?;
    let decision = referral::decide(state, found.as_ref(), &context.cart, context.active.config.is_ref).await?;
    if decision != Decision::Apply {
        return Ok(Attempt::Done(decision));
    }
    let mut cart = context.cart;
    drop_unpublished(&state.sources(), &context.active.version, &mut cart).await?;
    cart.referral = Some(text.clone());
    Ok(Attempt::Write(Box::new(cart), decision))
}
