//! Adding a line to a cart.

use super::context::{CartSources, drop_unpublished};
use super::loaded::LoadedCart;
use crate::model::ItemId;
use crate::rules::add_line::{AddLineRefusal, LineToAdd, place};
use crate::store::StoreError;

/// A cart with the line in it; it is still to be written.
#[derive(Debug)]
pub struct Added {
    /// The cart.
    pub cart: LoadedCart,
    /// The items whose lines the new one replaces.
    pub replaced: Vec<ItemId>,
}

/// Why a line was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddLineError {
    /// The rules do not allow it.
    #[error(transparent)]
    Refused(#[from] AddLineRefusal),
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
    let has_virtual_currency = context.active.config.is_virtual_currency;
    let placed =
        place(&context.cart, &cart.items.items, &cart.items.sold, &context.ledger, line, has_virtual_currency)?;
    context.cart = placed.cart;
    Ok(Added { cart, replaced: placed.replaced })
}
