//! Adding a line to a cart.

use super::context::{CartSources, drop_unpublished};
use super::loaded::LoadedCart;
use crate::model::{ItemId, LineId};
use crate::rules::add_line::{LineRefusal, LineToAdd, place};
use crate::store::StoreError;

/// A cart with the line in it; it is still to be written.
#[derive(Debug)]
pub struct Added {
    /// The cart.
    pub cart: LoadedCart,
    /// The line that was added, or that has more units now.
    pub line: LineId,
    /// The items whose lines the new one replaces.
    pub replaced: Vec<ItemId>,
}

/// Why a line was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddLineError {
    /// The rules do not allow it.
    #[error(transparent)]
    Refused(#[from] LineRefusal),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Adds a line to a cart. `cart` was loaded with the line's item. Lines whose item is no longer published are removed
/// by the same write.
///
/// # Errors
/// [`AddLineError`]; nothing is written here.
pub async fn add_line(
    sources: &CartSources<'_>,
    mut cart: LoadedCart,
    line: &LineToAdd,
) -> Result<Added, AddLineError> {
    let context = &mut cart.context;
    drop_unpublished(sources, &context.active.version, &mut context.cart).await?;
    let placed = place(&cart.inputs(), line)?;
    cart.context.cart = placed.cart;
    Ok(Added { cart, line: placed.line, replaced: placed.replaced })
}
