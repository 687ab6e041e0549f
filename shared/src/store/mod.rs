//! All of DynamoDB: keys, encodings, caching, one file per thing. Knows nothing of HTTP and decides nothing.

pub mod access;
pub mod attributes;
pub mod carts;
pub mod categories;
pub mod client;
pub mod codec;
pub mod codes;
pub mod connector;
pub mod counters;
pub mod direct;
mod error;
pub mod items;
pub mod keys;
pub mod ledgers;
pub mod limiter;
pub mod names;
pub mod orders;
pub mod published;
pub mod sequence;
pub mod statistics;
pub mod timed;
pub mod users;
pub mod versioned_cache;

pub use client::{Db, Rows};
pub use codec::Row;
pub use error::StoreError;

use std::time::Duration;

/// How long to wait before round `round + 2`: 20 ms doubled each round, with full jitter, so that writers that
/// collided once do not collide again.
#[must_use]
pub fn backoff(round: u32) -> Duration {
    let ceiling = 20_u64 << round.min(6);
    let mut noise = [0_u8; 8];
    // Without entropy every writer waits the whole time: slower, never wrong.
    let share = getrandom::fill(&mut noise).map_or(ceiling, |()| u64::from_le_bytes(noise) % (ceiling + 1));
    Duration::from_millis(share)
}
