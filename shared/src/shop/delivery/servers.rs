//! Keys of game servers. A key is shown once and stored as its hash. A server can have several while one replaces another.

use crate::model::ServerId;
use crate::table::StoreError;
use crate::table::client::Rows;
use crate::table::codec::encode_live;
use crate::table::keys;
use crate::table::transaction::Write;
use serde::{Deserialize, Serialize};

/// A game server's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredKey {
    pub server: ServerId,
    /// When it was made, seconds since 1970 UTC.
    pub created_at: i64,
    /// When a poll last used it, to five minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<i64>,
}

/// Takes a key by its hash out of the rows.
pub fn take(rows: &mut Rows, hash: &str) -> Result<Option<StoredKey>, StoreError> {
    let key = keys::server_key(hash);
    rows.take(&key).map(|row| row.live(&key)).transpose()
}

/// The write of a new key.
pub fn put(hash: &str, stored: &StoredKey) -> Result<Write, StoreError> {
    let key = keys::server_key(hash);
    Ok(Write::put(key.clone(), encode_live(&key, stored)?).only_if_absent())
}

/// The write after which the key opens nothing.
pub fn revoke(hash: &str) -> Write {
    Write::delete(keys::server_key(hash)).only_if_present()
}

/// The write that notes when a poll last used a key.
pub fn see(hash: &str, now: i64) -> Write {
    Write::update(keys::server_key(hash), "SET seen = :now").only_if_present().number(":now", now)
}
