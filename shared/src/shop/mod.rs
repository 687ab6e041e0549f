//! The rooms of the shop: the rows of a thing, and what is done with it. An operation reads what it needs, asks [`crate::rules`], and
//! writes through [`crate::table`]; functions and the owner's tool share it.
//!
//! Knows nothing of HTTP, of endpoints or of a command line. The time is an argument.

pub mod accounts;
pub mod asked_prices;
pub mod carts;
pub mod catalog;
pub mod codes;
pub mod delivery;
pub mod notices;
pub mod orders;
pub mod payments;
pub mod publishing;
pub mod report;
pub mod statistics;
pub mod stock;
pub mod subscriptions;
pub mod upkeep;
