//! Adding a line to a cart, and changing one.

use super::context::{CartContext, CartItems, CartSources, drop_unpublished};
use crate::model::{ItemId, LineId};
use crate::rules::add_line::{Change, LineRefusal, LineToAdd, change, place, to_change};
use crate::table::StoreError;

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
