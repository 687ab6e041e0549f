//! Changing a cart without losing anybody else's change (ruling 8).

use crate::State;
use crate::error::Error;
use lambda_http::{Body, Response};
use shared::store::carts::{self, Edit, Saved};
use shared::telemetry;

/// How often a write that lost against another is tried again.
const RETRIES: u32 = 3;

/// What one attempt comes to.
pub enum Attempt {
    /// An answer; nothing is to be written.
    Done(Response<Body>),
    /// An edit to be written, and the answer once it is.
    Write(Box<Edit>, Response<Body>),
}

/// Runs `attempt` (read and decide) and writes what it comes to, on the condition that nobody wrote in between; reads
/// and decides again where somebody did.
pub async fn with_retries<F>(state: &State, attempt: impl Fn() -> F) -> Result<Response<Body>, Error>
where
    F: Future<Output = Result<Attempt, Error>>,
{
    for round in 0..=RETRIES {
        match attempt().await? {
            Attempt::Done(response) => return Ok(response),
            Attempt::Write(edit, response) => match carts::save(&state.base.db, &edit).await? {
                Saved::Written => return Ok(response),
                Saved::Conflict => telemetry::conflict(),
            },
        }
        if round < RETRIES {
            tokio::time::sleep(shared::store::backoff(round)).await;
        }
    }
    Err(Error::Contention)
}
