//! Keys of game servers: the server's id, a hyphen and 160 random bits. A key is shown once and stored as its hash; a server can have
//! several while one replaces another.

use super::leases::Lease;
use crate::clock::Clock;
use crate::model::ServerId;
use crate::table::client::Rows;
use crate::table::transaction::{Write, send, sent};
use crate::table::{Db, StoreError, keys};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

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
    rows.take_live(&keys::server_key(hash))
}

/// The write of a new key.
pub fn put(hash: &str, stored: &StoredKey) -> Result<Write, StoreError> {
    Ok(Write::put_live(keys::server_key(hash), stored)?.only_if_absent())
}

/// The write after which the key opens nothing.
pub fn revoke(hash: &str) -> Write {
    Write::delete(keys::server_key(hash)).only_if_present()
}

/// The write that notes when a poll last used a key.
pub fn see(hash: &str, now: i64) -> Write {
    Write::update(keys::server_key(hash), "SET seen = :now").only_if_present().number(":now", now)
}

/// Random bytes of a key.
const RANDOM: usize = 20;

/// A key as a game server sends it. Nothing prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerKey {
    server: ServerId,
    hash: String,
}

impl ServerKey {
    /// Reads a key. `None` if it has another form, so that no server can have it.
    pub fn parse(text: &str) -> Option<Self> {
        let (server, random) = text.split_once('-')?;
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if random.len() != 2 * RANDOM || !random.bytes().all(is_hex) {
            return None;
        }
        Some(Self { server: server.parse().ok()?, hash: hex::encode(Sha256::digest(text)) })
    }

    /// The server that the key claims to be of.
    #[must_use]
    pub const fn server(&self) -> ServerId {
        self.server
    }

    /// The SHA-256 under which it is stored, in hexadecimal.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerKey({}, …)", self.server)
    }
}

/// Makes a key of a server. The text is not stored and cannot be shown again.
pub async fn add_key(db: &Db, clock: &dyn Clock, server: ServerId) -> Result<(String, ServerKey), StoreError> {
    let mut random = [0_u8; RANDOM];
    getrandom::fill(&mut random).map_err(|_| StoreError::no_entropy())?;
    let text = format!("{server}-{}", hex::encode(random));
    let hash = hex::encode(Sha256::digest(&text));
    let stored = StoredKey { server, created_at: clock.seconds(), seen: None };
    send(db, vec![put(&hash, &stored)?]).await?;
    Ok((text, ServerKey { server, hash }))
}

/// Revokes the key with this hash. `last_of` is its server if that has no other key: it is not missed then when it does not
/// poll. Returns whether the key existed.
pub async fn revoke_key(db: &Db, hash: &str, last_of: Option<ServerId>) -> Result<bool, StoreError> {
    let writes: Vec<Write> = [revoke(hash)].into_iter().chain(last_of.map(Lease::forget)).collect();
    sent(db, writes).await
}

/// The server of a key; `None` if the key is unknown or revoked.
pub async fn server_of(db: &Db, key: &ServerKey) -> Result<Option<ServerId>, StoreError> {
    let mut rows = db.batch_get(vec![keys::server_key(&key.hash)]).await?;
    let stored = take(&mut rows, &key.hash)?;
    Ok(stored.map(|stored| stored.server).filter(|server| *server == key.server))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_its_server_and_is_not_printed() {
        let text = format!("7-{}", "0123456789".repeat(4));
        let key = ServerKey::parse(&text).unwrap();
        assert_eq!((key.server(), key.hash().len()), (ServerId::new(7), 64));
        assert_eq!(format!("{key:?}"), "ServerKey(7, …)");
    }

    #[test]
    fn any_other_text_is_not_a_key() {
        let random = "0123456789".repeat(4);
        let texts = [
            String::new(),
            random.clone(),
            format!("-{random}"),
            format!("07-{random}"),
            format!("7-{}", &random[1..]),
            format!("7-{random}0"),
            format!("7-{}", random.replace('0', "A")),
            format!("7-{}", random.replace('0', "%")),
            format!("%37-{random}"),
            format!("7-{}", random.repeat(100)),
        ];
        for text in texts {
            assert!(ServerKey::parse(&text).is_none(), "{text}");
        }
    }
}
