//! Changing a cart, and what an endpoint responds if other requests keep changing it.

use crate::State;
use crate::support::captured::{self, Captured};
use lambda_http::http::StatusCode;
use shared::endpoint::{Error, Refusal, WithCookie};
use shared::shop::carts::{self, Attempt, EditError};
use shared::table::StoreError;

/// Every attempt found the cart changed by another request.
#[derive(Debug, thiserror::Error)]
#[error("The cart was changed by another request at the same time. Please try again.")]
pub struct Contention;

impl Refusal for Contention {
    /// An ordinary outcome: clients read `success`.
    fn status(&self) -> StatusCode {
        StatusCode::OK
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![("Other requests kept changing the cart", Self)]
    }
}

/// The error of an endpoint that writes a cart.
pub type Failure = Error<Contention>;

/// Runs `attempt` and writes its result, see [`carts::edit`], with the referral code that the request's browser keeps. A written
/// cart clears that code.
pub async fn with_retries<T, R, F>(
    state: &State,
    captured: &Captured,
    attempt: impl Fn() -> F,
) -> Result<WithCookie<T>, Error<R>>
where
    R: From<Contention>,
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
    carts::edit(&state.base.db, attempt).await.map_err(|error| match error {
        EditError::Attempt(failure) => failure,
        EditError::Write(StoreError::Contended) => Error::Refused(Contention.into()),
        EditError::Write(error) => error.into(),
    })
}
