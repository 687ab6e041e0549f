//! Carts: reading one with everything that its price depends on, and changing one without losing another request's
//! change.

mod add_line;
mod context;
mod edit;
mod loaded;

pub use add_line::{AddLineError, Added, add_line};
pub use context::{CartContext, CartItems, CartSources, drop_unpublished};
pub use edit::{Attempt, EditError, edit};
pub use loaded::LoadedCart;
