//! Checkouts: from a cart to an order that is paid exactly once.

mod books;
mod contention;
mod create;
mod faults;
mod flash;
mod model;
mod provider;
mod races;
mod refunds;
mod refusals;
mod settle;
mod status;
mod support;
