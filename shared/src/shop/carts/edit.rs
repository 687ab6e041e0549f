//! Changing a cart without losing another request's change (rules.md, "Writing a cart").

use super::save;
use crate::model::Cart;
use crate::table::{Db, LostRace, StoreError, TURNS, in_turns};
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
    /// The write failed: unless other requests kept changing the cart, it is not known whether it was written.
    Write(StoreError),
}

impl<E> LostRace for EditError<E> {
    fn is_contended(&self) -> bool {
        matches!(self, Self::Write(StoreError::Contended))
    }
}

/// Runs `attempt` (read and decide) and writes its result, on the condition that the cart did not change in between. If
/// it did, reads and decides again.
pub async fn edit<R, E, F>(db: &Db, attempt: impl Fn() -> F) -> Result<R, EditError<E>>
where
    F: Future<Output = Result<Attempt<R>, E>>,
{
    in_turns(TURNS, || async {
        match attempt().await.map_err(EditError::Attempt)? {
            Attempt::Done(reply) => Ok(reply),
            Attempt::Write(cart, reply) => match save(db, &cart).await {
                Ok(()) => Ok(reply),
                Err(error) => {
                    if error.is_contended() {
                        telemetry::conflict();
                    }
                    Err(EditError::Write(error))
                }
            },
        }
    })
    .await
}
