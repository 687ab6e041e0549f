//! Carts: their rows, reading one with everything that its price depends on, and changing one without losing another request's
//! change.

mod context;
mod edit;
mod lines;
mod loaded;
mod rows;

pub use context::{CartContext, CartItems, CartSources, drop_unpublished};
pub use edit::{Attempt, EditError, edit};
pub use lines::{Added, LineError, add_line, change_line};
pub use loaded::{CodesOnCart, LoadedCart};
pub use rows::*;
