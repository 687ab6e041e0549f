//! Changing a cart without losing another request's change (rules.md, "Writing a cart").

use crate::model::Cart;
use crate::store::carts::{Saved, save};
use crate::store::{Db, RETRIES, StoreError, pause_before};
use crate::telemetry;

/// The result of an attempt to change a cart.
#[derive(Debug)]
pub enum Attempt<R> {
    /// A reply; nothing is to be written.
    Done(R),
    /// The cart to be written, with the version that was read, and the reply once it is.
    Write(Box<Cart>, R),
}

/// The reason why a cart was not changed.
#[derive(Debug)]
pub enum EditError<E> {
    /// The attempt failed or was refused; nothing was written.
    Attempt(E),
    /// The write failed; it is not known whether it was written.
    Write(StoreError),
    /// Other requests kept changing the cart; nothing was written.
    Conflict,
}

/// Runs `attempt` (read and decide) and writes its result, on the condition that the cart did not change in between. If
/// it did, reads and decides again.
pub async fn edit<R, E, F>(db: &Db, attempt: impl Fn() -> F) -> Result<R, EditError<E>>
where
    F: Future<Output = Result<Attempt<R>, E>>,
{
    for round in 0..=RETRIES {
        pause_before(round).await;
        match attempt().await.map_err(EditError::Attempt)? {
            Attempt::Done(reply) => return Ok(reply),
            Attempt::Write(cart, reply) => match save(db, &cart).await.map_err(EditError::Write)? {
                Saved::Written => return Ok(reply),
                Saved::Conflict => telemetry::conflict(),
            },
        }
    }
    Err(EditError::Conflict)
}
