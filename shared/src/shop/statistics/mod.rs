//! Goals, donators and patrons: their rows, and how they follow from orders in a transaction of their own, guarded by a mark on each
//! order, so that it is counted once and a busy row never blocks an order. Tools write it at once ([`catch_up`]); for the orders of
//! functions the sweep does ([`catch_up_all`]).

mod following;
mod patrons;
mod rows;

pub(in crate::shop) use following::follow;
pub use following::{AT_ONCE, Statistics, catch_up, catch_up_all, rename_in_statistics};
pub use patrons::{Erased, erase_from_cart, erase_from_order, erase_names};
pub use patrons::{differs as patrons_differ, repair as repair_patrons};
pub use rows::*;

/// How often a transaction of the statistics is tried: all orders write the same item, and in each round one of them
/// succeeds. If all rounds fail, the order's mark shows that the statistics are behind.
const STATISTICS_ROUNDS: u32 = 8;
