//! What is sold and owned: units sold in total, units reserved for checkouts, and what each user has bought.

pub mod counters;
pub mod ledgers;
pub mod open_limited;
pub mod reservations;
