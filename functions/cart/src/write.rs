//! Changing a cart without losing another request's change.

use crate::State;
use lambda_http::http::StatusCode;
use shared::endpoint::{Error, Refusal};
use shared::store::carts::{self, Edit, Saved};
use shared::telemetry;

/// How often a write that lost against another is tried again.
const RETRIES: u32 = 3;

/// Other requests kept changing the cart in between.
#[derive(Debug, thiserror::Error)]
#[error("The cart was changed by another request at the same time. Please try again.")]
pub struct Contention;

impl Refusal for Contention {
    /// An ordinary outcome: clients read `success`.
    fn status(&self) -> StatusCode {
        StatusCode::OK
    }
}

/// Why a cart endpoint did not respond as usual.
pub type Failure = Error<Contention>;

/// What an attempt results in.
pub enum Attempt<R> {
    /// A reply; nothing is to be written.
    Done(R),
    /// An edit to be written, and the reply once it is.
    Write(Box<Edit>, R),
}

/// Runs `attempt` (read and decide) and writes what it results in, on the condition that the cart did not change in
/// between; reads and decides again if it did.
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
