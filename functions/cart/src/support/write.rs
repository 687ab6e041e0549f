//! Changing a cart, and what an endpoint responds if other requests keep changing it.

use crate::State;
use crate::support::captured;
use lambda_http::http::StatusCode;
use shared::endpoint::{Error, Refusal};
use shared::store::StoreError;
use shared::usecases::carts::{self, Attempt, EditError};

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

/// Runs `attempt` and writes its result, see [`carts::edit`], with the referral code that the request's browser keeps,
/// see [`captured`].
pub async fn with_retries<T, R, F>(state: &State, attempt: impl Fn() -> F) -> Result<T, Error<R>>
where
    R: From<Contention>,
    F: Future<Output = Result<Attempt<T>, Error<R>>>,
{
    edit(state, attempt, true).await
}

/// [`with_retries`], which drops the referral code that the browser keeps unless `applies_captured`.
pub async fn edit<T, R, F>(state: &State, attempt: impl Fn() -> F, applies_captured: bool) -> Result<T, Error<R>>
where
    R: From<Contention>,
    F: Future<Output = Result<Attempt<T>, Error<R>>>,
{
    let attempt = async || {
        // Concurrently, so that a cookie costs no round trip.
        let (attempt, captured) = tokio::join!(attempt(), captured::read(state));
        Ok(match attempt? {
            Attempt::Done(reply) => Attempt::Done((reply, false)),
            Attempt::Write(mut cart, reply) => {
                if let Some(captured) = captured?.filter(|_| applies_captured) {
                    captured::apply(state, &mut cart, captured).await?;
                }
                Attempt::Write(cart, (reply, true))
            }
        })
    };
    let edited = carts::edit(&state.base.db, attempt).await;
    let (reply, is_written) = edited.map_err(|error| match error {
        EditError::Attempt(failure) => failure,
        EditError::Write(StoreError::Contended) => Error::Refused(Contention.into()),
        EditError::Write(error) => error.into(),
    })?;
    if is_written {
        captured::spend();
    }
    Ok(reply)
}
