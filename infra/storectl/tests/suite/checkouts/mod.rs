//! Checkouts: from a cart to an order that is paid exactly once.

mod attempts;
mod books;
mod contention;
mod create;
mod failed_refunds;
mod faults;
mod flash;
mod gone;
mod ladders;
mod model;
mod open_limited;
mod provider;
mod races;
mod refunds;
mod refusals;
mod reviews;
mod settle;
mod status;
mod support;
mod sweep;
mod till;
mod upkeep;
