//! Changing a cart, and what an endpoint responds if other requests keep changing it.

use crate::State;
use crate::support::captured::{self, Captured};
use lambda_http::http::StatusCode;
use shared::endpoint::{Contended, Error, WithCookie};
use shared::shop::carts::{self, Attempt};

/// Every attempt found the cart changed by another request: an ordinary outcome for clients that read `success`.
pub const CART_CHANGED: Contended = Contended {
    status: StatusCode::OK,
    text: "The cart was changed by another request at the same time. Please try again.",
    when: "Other requests kept changing the cart",
};

/// The same for calls of which the storefront reads the status alone.
pub const CART_CONFLICT: Contended = Contended { status: StatusCode::CONFLICT, ..CART_CHANGED };

/// Runs `attempt` and writes its result, see [`carts::edit`], with the referral code that the request's browser keeps. A written
/// cart clears that code.
pub async fn with_retries<T, R, F>(
    state: &State,
    captured: &Captured,
    attempt: impl Fn() -> F,
) -> Result<WithCookie<T>, Error<R>>
where
    F: Future<Output = Result<Attempt<T>, Error<R>>>,
{
    let attempt = async || {
        // Concurrently, so that a cookie costs no round trip.
        let (attempt, referral) = tokio::join!(attempt(), captured.referral(state));
        Ok(match attempt? {
            Attempt::Done(reply) => Attempt::Done(WithCookie { reply, cookie: None }),
            Attempt::Write(mut cart, reply) => {
                if let Some(referral) = referral? {
                    captured::apply(state, &mut cart, referral).await?;
                }
                Attempt::Write(cart, WithCookie { reply, cookie: captured.spent() })
            }
        })
    };
    carts::edit(&state.base.db, attempt).await
}
