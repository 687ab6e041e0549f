//! Removing the coupon or gift card from the cart: what removeCoupon and removeGiftcard have in common.

use crate::State;
use crate::support::captured::Captured;
use crate::support::context;
use crate::support::write::{self, Failure};
use shared::endpoint::{Error, Json, WithCookie};
use shared::http::reply::Outcome;
use shared::model::CodeKind;
use shared::shop::carts::{Attempt, drop_unpublished};
use shared::token::Claim;

/// Removes the code of this kind. `none` is the message if the cart has none, `removed` the message if it is removed.
pub async fn remove_code(
    state: &State,
    claim: Claim,
    kind: CodeKind,
    none: &'static str,
    removed: &'static str,
    captured: &Captured,
) -> Result<WithCookie<Json<Outcome<'static>>>, Failure> {
    let attempt = || async {
        let context = context::load(state, claim, &[]).await?.ok_or(Error::Unauthorized)?;
        let mut cart = context.cart;
        let is_removed = match kind {
            CodeKind::Coupon => cart.coupon.take().is_some(),
            CodeKind::Gift => cart.gift_card.take().is_some(),
        };
        if !is_removed {
            return Ok(Attempt::Done(Outcome { success: false, message: none }));
        }
        drop_unpublished(&state.sources(), &context.active.version, &mut cart).await?;
        Ok(Attempt::Write(Box::new(cart), Outcome { success: true, message: removed }))
    };
    Ok(write::with_retries(state, captured, attempt).await?.rendered())
}
