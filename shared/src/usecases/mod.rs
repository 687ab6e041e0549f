//! The operations on a store that an owner's tool and the functions share: record an order, change its status, add a
//! line to a cart. A use case reads what it needs, asks [`crate::rules`], and writes through [`crate::store`].
//!
//! Knows nothing of HTTP, of endpoints or of a command line. The time is an argument.

pub mod accounts;
pub mod attention;
pub mod bans;
pub mod carts;
pub mod checkouts;
pub mod codes;
pub mod delivery;
pub mod erase;
pub mod game_login;
pub mod name_index;
pub mod orders;
pub mod subscription_lists;
pub mod upgrade;
