//! POST /cart/removeReferral: removes the referral code from the cart (rules.md, "Referral codes").

use crate::State;
use crate::support::context;
use crate::support::write::{self, Contention, Failure};
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, RoundTrips};
use shared::http::reply::Outcome;
use shared::token::Claim;
use shared::usecases::carts::{Attempt, drop_unpublished};

pub struct RemoveReferral;

impl Endpoint for RemoveReferral {
    type State = State;
    type Caller = Claim;
    type Input = ();
    type Reply = Json<Outcome<'static>>;
    type Refusal = Contention;

    const ROUTES: &'static [&'static str] = &["POST /cart/removeReferral"];
    const SUMMARY: &'static str = "removes the referral code from the cart";
    const NUMBER: Option<u8> = Some(5);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 3 };
    const ERRORS: ErrorBody = ErrorBody::Success;

    async fn handle(state: &State, claim: Claim, (): ()) -> Result<Self::Reply, Failure> {
        // The buyer wants no referral code on the cart: one that the browser keeps is not applied.
        Ok(Json::of(&write::edit(state, || attempt(state, claim), false).await?))
    }
}

async fn attempt(state: &State, claim: Claim) -> Result<Attempt<Outcome<'static>>, Failure> {
    let context = context::load(state, claim, &[]).await?.ok_or(Error::Unauthorized)?;
    if context.cart.referral.is_none() {
        let message = "No referral code is set.";
        return Ok(Attempt::Done(Outcome { success: false, message }));
    }
    let mut cart = context.cart;
    drop_unpublished(&state.sources(), &context.active.version, &mut cart).await?;
    cart.referral = None;
    let message = "The referral code was removed.";
    Ok(Attempt::Write(Box::new(cart), Outcome { success: true, message }))
}
