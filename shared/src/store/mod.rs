//! All of DynamoDB: keys, encodings, caching, transactions. One file for each kind of item. Knows nothing of HTTP and
//! decides nothing.

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
pub mod sequences;
pub mod statistics;
pub mod timed;
pub mod transaction;
pub mod users;
pub mod versioned_cache;

pub use client::{Db, Rows};
pub use codec::Row;
pub use error::StoreError;

use codec::{decode_live, decode_published};
use keys::Key;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// How often a write that conflicts with another is tried again (rules.md, "Writing a cart").
pub const RETRIES: u32 = 3;

/// Reads a live item, strongly consistent; `None` if there is none.
///
/// # Errors
/// [`StoreError`] if it can be neither read nor decoded.
pub async fn read_live<T: DeserializeOwned>(db: &Db, key: &Key) -> Result<Option<T>, StoreError> {
    db.get(key, true).await?.map(|item| decode_live(key, item)).transpose()
}

/// Reads a published item, strongly consistent and without a cache; `None` if there is none.
///
/// # Errors
/// [`StoreError`] if it can be neither read nor decoded.
pub async fn read_published<T: DeserializeOwned>(db: &Db, key: &Key) -> Result<Option<T>, StoreError> {
    let read = db.get(key, true).await?.map(|item| decode_published(key, &item)).transpose()?;
    Ok(read.map(|(thing, _)| thing))
}

/// How long to wait before round `round + 2`: 20 ms doubled each round, with full jitter, so that writers that
/// conflicted once do not conflict again.
#[must_use]
pub fn backoff(round: u32) -> Duration {
    let ceiling = 20_u64 << round.min(6);
    let mut noise = [0_u8; 8];
    // Without entropy every writer waits the whole time: slower, never wrong.
    let share = getrandom::fill(&mut noise).map_or(ceiling, |()| u64::from_le_bytes(noise) % (ceiling + 1));
    Duration::from_millis(share)
}
