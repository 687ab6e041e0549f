//! What is in the table: keys, encodings, caches, one file for each kind of item. How the table is reached is the crate
//! `dynamodb`. Knows nothing of HTTP and decides nothing.

pub mod carts;
pub mod categories;
pub mod client;
pub mod codec;
pub mod codes;
pub mod counters;
mod error;
pub mod items;
pub mod keys;
pub mod ledgers;
pub mod limiter;
pub mod names;
pub mod orders;
pub mod published;
pub mod statistics;
pub mod timed;
pub mod users;
pub mod versioned_cache;

pub use client::{Db, Rows};
pub use codec::Row;
pub use dynamodb::{Access, backoff, connector};
pub use error::StoreError;
