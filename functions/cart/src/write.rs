//! Conditional writes of carts: no request loses another's change.

use crate::State;
use lambda_http::http::StatusCode;
use shared::endpoint::{Error, Refusal};
use shared::store::carts::{self, Edit, Saved};
use shared::telemetry;

/// Retries of a write after a conflict.
const RETRIES: u32 = 3;

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

/// The result of an attempt.
pub enum Attempt<R> {
    /// A reply without a write.
    Done(R),
    /// An edit, and the reply after it has been written.
    Write(Box<Edit>, R),
}

/// Runs `attempt` (read and decide) and writes its edit on the condition that the cart has not changed since it was read.
/// After a conflict, reads and decides again.
pub async fn with_retries<R, F>(state: &State, attempt: impl Fn() -> F) -> Result<R, Failure>
where
    F: Future<Output = Result<Attempt<R>, Failure>>,
{
    for round in 0..=RETRIES {
        match attempt().await? {
            Attempt::Done(reply) => return Ok(reply),
            Attempt::Write(edit, reply) => match carts::save(&state.base.db, &edit).await? {
                Saved::Written => return Ok(reply),
                Saved::Conflict => telemetry::conflict(),
            },
        }
        if round < RETRIES {
            tokio::time::sleep(shared::store::backoff(round)).await;
        }
    }
    Err(Error::Refused(Contention))
}
