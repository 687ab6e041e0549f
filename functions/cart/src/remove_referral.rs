//! POST /cart/removeReferral: takes the referral code off the cart (contract 5; ruling 10).

use crate::State;
use crate::error::Error;
use crate::visit;
use crate::write::{self, Attempt};
use lambda_http::{Body, Request, Response};
use shared::http::reply::{self, Outcome};
use shared::store::carts::Edit;
use shared::token::Claim;

/// Answers the request.
pub async fn respond(state: &State, request: &Request) -> Result<Response<Body>, Error> {
    let claim = visit::claim_alone(state, request).await?;
    write::with_retries(state, || attempt(state, claim)).await
}

async fn attempt(state: &State, claim: Claim) -> Result<Attempt, Error> {
    let visit = visit::begin(state, claim, []).await?;
    if visit.cart.referral.is_none() {
        let message = "No referral code is set.";
        return Ok(Attempt::Done(reply::ok(&Outcome { success: false, message })));
    }
    let mut edit = Edit::of(visit.cart);
    state.items.drop_unpublished(&visit.pointer.version, &mut edit.cart);
    edit.cart.referral = None;
    let message = "The referral code was removed.";
    Ok(Attempt::Write(Box::new(edit), reply::ok(&Outcome { success: true, message })))
}
