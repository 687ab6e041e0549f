//! POST /cart/setReferral: puts a referral code on the cart (contract 4; ruling 10).

use crate::State;
use crate::error::Error;
use crate::visit;
use crate::write::{self, Attempt};
use lambda_http::{Body, Request, Response};
use shared::http::reply::{self, Outcome};
use shared::model::CodeText;
use shared::rules::referral::{self, SetReferral};
use shared::store::carts::Edit;
use shared::store::{codes, keys};
use shared::token::Claim;

const FIELD: &str = "ref_code";
/// The longest code in characters, as sent (ruling 1).
const LONGEST: usize = 255;

/// Answers the request.
pub async fn respond(state: &State, request: &Request) -> Result<Response<Body>, Error> {
    let (claim, code) = visit::claim_and_code(state, request, FIELD, LONGEST).await?;
    write::with_retries(state, || attempt(state, claim, &code)).await
}

async fn attempt(state: &State, claim: Claim, text: &CodeText) -> Result<Attempt, Error> {
    let mut visit = visit::begin(state, claim, [keys::referral(text)]).await?;
    let found = codes::take_referral(&mut visit.rows, text)?;
    let switched_on = visit.pointer.config.is_ref;
    let decision = referral::set(found.as_ref(), visit.cart.referral.as_ref(), visit.user, switched_on);
    let (success, message) = match decision {
        SetReferral::NotValid => (false, "This referral code does not exist or is not valid."),
        SetReferral::OwnCode => (false, "You cannot use your own referral code."),
        SetReferral::AnotherIsSet => (false, "Another referral code is set. Please remove it first."),
        SetReferral::AlreadySet => (true, "This referral code is set already."),
        SetReferral::Apply => (true, "The referral code was applied."),
    };
    let response = reply::ok(&Outcome { success, message });
    if decision != SetReferral::Apply {
        return Ok(Attempt::Done(response));
    }
    let mut edit = Edit::of(visit.cart);
    state.items.drop_unpublished(&visit.pointer.version, &mut edit.cart);
    edit.cart.referral = Some(text.clone());
    Ok(Attempt::Write(Box::new(edit), response))
}
