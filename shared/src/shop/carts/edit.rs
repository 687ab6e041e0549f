//! Changing a cart without losing another request's change (rules.md, "Writing a cart"), and adding a line or changing one.

use super::context::{CartContext, CartItems, CartSources, drop_unpublished};
use super::save;
use crate::model::{Cart, ItemId, LineId};
use crate::rules::add_line::{Change, LineRefusal, LineToAdd, change, place, to_change};
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

/// Runs `attempt` (read and decide) and writes its result, on the condition that the cart did not change in between. If
/// it did, reads and decides again.
pub async fn edit<R, E, F>(db: &Db, attempt: impl Fn() -> F) -> Result<R, E>
where
    E: LostRace + From<StoreError>,
    F: Future<Output = Result<Attempt<R>, E>>,
{
    in_turns(TURNS, || async {
        match attempt().await? {
            Attempt::Done(reply) => Ok(reply),
            Attempt::Write(cart, reply) => match save(db, &cart).await {
                Ok(()) => Ok(reply),
                Err(error) => {
                    if error.is_contended() {
                        telemetry::conflict();
                    }
                    Err(error.into())
                }
            },
        }
    })
    .await
}

/// The result of adding a line to a cart that is still to be written.
#[derive(Debug)]
pub struct Added {
    /// The line that was added, or that has more units now.
    pub line: LineId,
    /// The items whose lines the new one replaces.
    pub replaced: Vec<ItemId>,
}

/// The reason why a line was not added or changed.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The rules do not allow it.
    #[error(transparent)]
    Refused(#[from] LineRefusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Adds a line to a cart whose items were loaded together with the line's. Lines whose item is no longer published are
/// removed by the same write. Nothing is written here.
pub async fn add_line(
    sources: &CartSources<'_>,
    context: &mut CartContext,
    items: &CartItems,
    line: &LineToAdd,
) -> Result<Added, LineError> {
    drop_unpublished(sources, &context.active.version, &mut context.cart).await?;
    let placed = place(&context.inputs(items), line)?;
    context.cart = placed.cart;
    Ok(Added { line: placed.line, replaced: placed.replaced })
}

/// Changes a line of a cart, and returns whether there is something to write. Lines whose item is no longer published
/// are removed by the same write. Reads nothing if the line has that many units already. Nothing is written here.
pub async fn change_line(
    sources: &CartSources<'_>,
    context: &mut CartContext,
    line: LineId,
    wanted: &Change,
) -> Result<bool, LineError> {
    let Some(line) = to_change(&context.cart, line, wanted)?.map(|line| line.id) else { return Ok(false) };
    let items = context.load_items(sources, None, []).await?;
    drop_unpublished(sources, &context.active.version, &mut context.cart).await?;
    match change(&context.inputs(&items), line, wanted)? {
        Some(cart) => {
            context.cart = cart;
            Ok(true)
        }
        None => Ok(false),
    }
}
