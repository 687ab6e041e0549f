//! What an owner's tool and the functions do with a store: record an order, change its status, add a line to a cart.
//! A use case reads what it needs, asks [`crate::rules`], and writes through [`crate::store`].
//!
//! Knows nothing of HTTP, of endpoints or of a command line. The time is an argument.

pub mod accounts;
pub mod carts;
pub mod checkouts;
pub mod delivery;
pub mod orders;
