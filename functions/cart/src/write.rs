//! Changing a cart, and what an endpoint responds if other requests keep changing it.

use crate::State;
use lambda_http::http::StatusCode;
use shared::endpoint::{Error, Refusal};
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

/// Runs `attempt` and writes its result, see [`carts::edit`].
pub async fn with_retries<T, R, F>(state: &State, attempt: impl Fn() -> F) -> Result<T, Error<R>>
where
    R: From<Contention>,
    F: Future<Output = Result<Attempt<T>, Error<R>>>,
{
    carts::edit(&state.base.db, attempt).await.map_err(|error| match error {
        EditError::Attempt(failure) => failure,
        EditError::Write(error) => error.into(),
        EditError::Conflict => Error::Refused(Contention.into()),
    })
}
