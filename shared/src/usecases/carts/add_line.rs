//! Adding a line to a cart.

use super::context::{CartSources, drop_unpublished};
use super::loaded::LoadedCart;
use crate::model::ItemId;
use crate::rules::add_line::{AddLineRefusal, LineToAdd, place};
use crate::store::StoreError;
use crate::store::carts::Edit;

/// A cart with the line in it, once its edit is written.
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

/// The edit that adds a line. `cart` was loaded with the line's item. Lines whose item is no longer published are removed
/// by the same write.
///
/// # Errors
/// [`AddLineError`]; nothing is written here.
pub async fn add_line(
    sources: &CartSources<'_>,
    mut cart: LoadedCart,
    line: &LineToAdd,
) -> Result<(Edit, Added), AddLineError> {
    let context = &mut cart.context;
    let mut edit = Edit::of(context.cart.clone());
    drop_unpublished(sources, &context.active.version, &mut edit.cart).await?;
    let has_virtual_currency = context.active.config.is_virtual_currency;
    let placed = place(&edit.cart, &cart.items.items, &cart.items.sold, &context.ledger, line, has_virtual_currency)?;
    edit.cart.clone_from(&placed.cart);
    context.cart = placed.cart;
    Ok((edit, Added { cart, replaced: placed.replaced }))
}
