//! Parts that all rows of the table share: keys, encodings, transactions, errors, limits, caches, and the active version. How the
//! table is reached is the crate `dynamodb`. Knows nothing of HTTP, and of no row what it is for.

pub mod bulk;
pub mod caches;
pub mod client;
pub mod codec;
mod error;
pub mod keys;
pub mod limiter;
pub mod published;
pub mod restoring;
pub mod shape;
pub mod single;
pub mod transaction;

pub use client::{Db, Rows};
pub use codec::Row;
pub use dynamodb::{Access, Turns, connector};
pub(crate) use error::lost_race;
pub use error::{LostRace, StoreError};

use codec::{decode_live, decode_published};
use keys::Key;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// How often a write that conflicts with another is tried: it is tried again three times (rules.md, "Writing a cart").
pub const TURNS: u32 = 4;

/// Changes what others change too: `turn` reads, decides and writes, and is repeated while what it has read changes in between.
/// Fails with that after so many turns. What is kept from one turn to the next needs [`Turns`].
pub async fn in_turns<T, E: LostRace, F>(most: u32, mut turn: impl FnMut() -> F) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut turns = Turns::of(most);
    loop {
        turns.next().await;
        match turn().await {
            Err(error) if error.is_contended() && !turns.is_last() => {}
            ended => return ended,
        }
    }
}

/// Reads a live item, strongly consistent; `None` if there is none.
pub async fn read_live<T: DeserializeOwned>(db: &Db, key: &Key) -> Result<Option<T>, StoreError> {
    db.get(key, true).await?.map(|item| decode_live(key, item)).transpose()
}

/// Reads live items together, strongly consistent. Those that do not exist are missing.
pub async fn read_all_live<T: DeserializeOwned>(
    db: &Db,
    keys: impl Iterator<Item = Key>,
) -> Result<Vec<T>, StoreError> {
    let keys: BTreeSet<Key> = keys.collect();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows = db.batch_get(keys.iter().cloned().collect()).await?;
    keys.iter().filter_map(|key| rows.take_live(key).transpose()).collect()
}

/// Reads a published item, strongly consistent and without a cache; `None` if there is none.
pub async fn read_published<T: DeserializeOwned>(db: &Db, key: &Key) -> Result<Option<T>, StoreError> {
    let read = db.get(key, true).await?.map(|item| decode_published(key, &item)).transpose()?;
    Ok(read.map(|(thing, _)| thing))
}
