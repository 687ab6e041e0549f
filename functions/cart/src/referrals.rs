//! The calls about referral codes: setting and removing one, and one that a link brought (rules.md, "Referral codes"). With a token
//! the code of a link is applied to the cart; without one the browser keeps it for its first write to a cart, see
//! [`captured`](crate::support::captured).

use crate::State;
use crate::support::captured::{self, Captured, WithCaptured};
use crate::support::context;
use crate::support::write::{self, CART_CHANGED};
use serde::{Deserialize, Serialize};
use shared::endpoint::{Contended, Endpoint, Error, ErrorBody, Json, JsonBody, RoundTrips, WithCookie};
use shared::http::body;
use shared::http::reply::Outcome;
use shared::model::CodeText;
use shared::rules::referral::SetReferral as Decision;
use shared::shop::carts::{Attempt, drop_unpublished};
use shared::shop::codes;
use shared::table::keys;
use shared::token::Claim;
use std::convert::Infallible;

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
    type Input = WithCaptured<JsonBody<ReferralRequest>>;
    type Reply = WithCookie<Json<Outcome<'static>>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /cart/setReferral"];
    const SUMMARY: &'static str = "applies a referral code to the cart";
    const NUMBER: Option<u8> = Some(4);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 4, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const CONTENDED: Option<Contended> = Some(CART_CHANGED);

    async fn handle(
        state: &State,
        claim: Claim,
        WithCaptured(JsonBody(body), captured): Self::Input,
    ) -> Result<Self::Reply, Error> {
        let WithCookie { reply, cookie } = set(state, claim, &captured, &body.ref_code).await?;
        let (success, message) = outcome(reply);
        Ok(WithCookie { reply: Json::of(&Outcome { success, message }), cookie })
    }
}

/// Applies a code to the caller's cart, if the rules allow it.
pub async fn set(
    state: &State,
    claim: Claim,
    captured: &Captured,
    code: &CodeText,
) -> Result<WithCookie<Decision>, Error> {
    write::with_retries(state, captured, || attempt(state, claim, code)).await
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

async fn attempt(state: &State, claim: Claim, text: &CodeText) -> Result<Attempt<Decision>, Error> {
    let mut context = context::load(state, claim, &[keys::referral(text)]).await?.ok_or(Error::Unauthorized)?;
    let found = codes::take_referral(&mut context.rows, text)?;
    let decision = captured::decide(state, found.as_ref(), &context.cart, context.active.config.is_ref).await?;
    if decision != Decision::Apply {
        return Ok(Attempt::Done(decision));
    }
    let mut cart = context.cart;
    drop_unpublished(&state.sources(), &context.active.version, &mut cart).await?;
    cart.referral = Some(text.clone());
    Ok(Attempt::Write(Box::new(cart), decision))
}

pub struct RemoveReferral;

impl Endpoint for RemoveReferral {
    type State = State;
    type Caller = Claim;
    type Input = WithCaptured<()>;
    type Reply = WithCookie<Json<Outcome<'static>>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /cart/removeReferral"];
    const SUMMARY: &'static str = "removes the referral code from the cart";
    const NUMBER: Option<u8> = Some(5);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 3 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const CONTENDED: Option<Contended> = Some(CART_CHANGED);

    async fn handle(
        state: &State,
        claim: Claim,
        WithCaptured((), captured): Self::Input,
    ) -> Result<Self::Reply, Error> {
        // The buyer wants no referral code on the cart: one that the browser keeps is not applied.
        let messages = ("No referral code is set.", "The referral code was removed.");
        write::remove_code(state, claim, &captured.unapplied(), |cart| cart.referral.take().is_some(), messages).await
    }
}

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
    type Input = WithCaptured<JsonBody<CaptureRequest>>;
    type Reply = WithCookie<Json<CaptureReply>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /capture-referral"];
    const SUMMARY: &'static str = "applies a referral code to the cart, or keeps it until there is one";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 4, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const CONTENDED: Option<Contended> = Some(CART_CHANGED);

    async fn handle(
        state: &State,
        claim: Option<Claim>,
        WithCaptured(JsonBody(body), captured): Self::Input,
    ) -> Result<Self::Reply, Error> {
        let decision = match claim {
            None => None,
            Some(claim) => match set(state, claim, &captured, &body.code).await {
                // The account does not accept the token, which then counts as none.
                Err(Error::Unauthorized) => None,
                decision => Some(decision?),
            },
        };
        if let Some(WithCookie { reply, cookie }) = decision {
            let (success, message) = outcome(reply);
            let reply = CaptureReply { success, attribution_applied: success, message };
            return Ok(WithCookie { reply: Json::of(&reply), cookie });
        }
        let cookie = captured::in_force(state, &body.code).await?.and_then(|_| captured::keep(&body.code));
        let (success, message) = match cookie {
            Some(_) => (true, "The referral code is applied when you log in and fill your cart."),
            None => outcome(Decision::NotValid),
        };
        let reply = CaptureReply { success, attribution_applied: false, message };
        Ok(WithCookie { reply: Json::of(&reply), cookie })
    }
}
