//! Rows of game servers: their keys and leases.
//!
//! A key is the server's id, a hyphen and 160 random bits. It is shown once and stored as its hash; a server can have several while one
//! replaces another. A lease says which poll of a game server has what it was served, and which agent polls for it. One server has one
//! at a time.

use crate::clock::Clock;
use crate::model::{AgentId, CommandId, ServerId};
use crate::table::client::Rows;
use crate::table::codec::Item;
use crate::table::transaction::{Guard, Guarded, Write, send, sent};
use crate::table::{Db, StoreError, keys};
use aws_sdk_dynamodb::types::AttributeValue;
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

/// How many seconds an agent that was seen keeps others from polling.
const AGENT_STAYS: i64 = 120;
/// After how many seconds it is noted again that it was seen.
const AGENT_SEEN_EVERY: i64 = 60;

/// The last lease of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Lease {
    /// Counts the server's leases; 0 before the first.
    #[serde(default)]
    pub number: u64,
    /// When it was taken, seconds since 1970 UTC.
    #[serde(default)]
    pub taken_at: i64,
    /// The commands that were served.
    #[serde(default)]
    pub ids: Vec<CommandId>,
    /// Whether it was given back, or all of its commands were delivered.
    #[serde(default)]
    pub over: bool,
    /// Whether another poll was refused because of it.
    #[serde(default)]
    pub refused: bool,
    /// The agent whose poll took it; `None` if that was the plugin's.
    #[serde(default)]
    pub taken_by: Option<AgentId>,
    /// When the server last polled, to five minutes.
    #[serde(default)]
    pub seen: Option<i64>,
    /// The agent that polls for the server, and when it last did, to a minute.
    #[serde(default)]
    pub agent_id: Option<AgentId>,
    #[serde(default)]
    pub agent_seen: i64,
}

/// Another agent polled for the server a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnotherAgent;

/// The guard of the write that notes an agent.
#[derive(Debug, Clone, Copy)]
pub struct OneAgent;

impl Guard for OneAgent {
    type Refusal = AnotherAgent;

    fn refusal(&self, old: Option<&Item>) -> Option<AnotherAgent> {
        old.map(|_| AnotherAgent)
    }
}

impl Lease {
    /// Takes a server's lease out of the rows.
    pub fn take(rows: &mut Rows, server: ServerId) -> Result<Self, StoreError> {
        Ok(rows.take_live(&keys::lease(server))?.unwrap_or_default())
    }

    /// The write that takes the next lease, on the condition that no other poll has taken it since this one was read.
    /// An agent's is on the condition that no other agent has come meanwhile.
    pub fn next(&self, server: ServerId, agent: Option<&AgentId>, ids: &[CommandId], now: i64) -> Write {
        let ids = ids.iter().map(|id| AttributeValue::N(id.to_string())).collect();
        let set = "SET #number = :next, taken_at = :now, ids = :ids";
        let write = Write::update(keys::lease(server), set).name("#number", "number").name("#over", "over");
        let write = match self.number {
            0 => write.only_if("attribute_not_exists(#number)"),
            number => write.only_if("#number = :number").number(":number", number),
        };
        let write = match agent {
            None => write.also("REMOVE #over, refused, taken_by"),
            Some(agent) => {
                let write = write.and_if("agent_id = :agent").text(":agent", agent.as_str());
                write.also(", taken_by = :agent REMOVE #over, refused")
            }
        };
        write.number(":next", self.number + 1).number(":now", now).value(":ids", AttributeValue::L(ids))
    }

    pub fn end(&self, server: ServerId) -> Write {
        let write = Write::update(keys::lease(server), "SET #over = :yes").only_if("#number = :number");
        let write = write.name("#number", "number").name("#over", "over");
        write.number(":number", self.number).value(":yes", AttributeValue::Bool(true))
    }

    /// The write that ends this lease, on the condition that no poll was refused because of it.
    pub fn give_back(&self, server: ServerId) -> Write {
        self.end(server).only_if(Self::IS_UNTOUCHED)
    }

    /// The condition that this lease was neither ended nor asked for by another poll.
    pub fn is_untouched(&self, server: ServerId) -> Write {
        let write = Write::check(keys::lease(server)).only_if(Self::IS_UNTOUCHED);
        write.name("#number", "number").name("#over", "over").number(":number", self.number)
    }

    const IS_UNTOUCHED: &str = "#number = :number AND attribute_not_exists(#over) AND attribute_not_exists(refused)";

    /// The write that notes that another poll was refused because of this lease.
    pub fn refuse(&self, server: ServerId) -> Write {
        let write = Write::update(keys::lease(server), "SET refused = :yes").only_if("#number = :number");
        let write = write.name("#number", "number").number(":number", self.number);
        write.value(":yes", AttributeValue::Bool(true))
    }

    /// The write that notes when the server was last seen.
    pub fn see(server: ServerId, now: i64) -> Write {
        Write::update(keys::lease(server), "SET seen = :now").number(":now", now)
    }

    /// Whether another agent polled a moment ago.
    #[must_use]
    pub fn is_of_another(&self, agent: &AgentId, now: i64) -> bool {
        self.agent_id.as_ref().is_some_and(|known| known != agent) && now < self.agent_seen + AGENT_STAYS
    }

    /// Whether it is to be noted that an agent was seen.
    #[must_use]
    pub fn needs(&self, agent: &AgentId, now: i64) -> bool {
        self.agent_id.as_ref() != Some(agent) || self.agent_seen + AGENT_SEEN_EVERY <= now
    }

    /// The write that notes when an agent polled, on the condition that no other one did a moment ago.
    pub fn see_agent(server: ServerId, agent: &AgentId, now: i64) -> Guarded<OneAgent> {
        let write = Write::update(keys::lease(server), "SET seen = :now, agent_seen = :now, agent_id = :agent");
        let write = write.only_if("attribute_not_exists(agent_id) OR agent_id = :agent OR agent_seen <= :gone");
        let write = write.number(":now", now).number(":gone", now - AGENT_STAYS).text(":agent", agent.as_str());
        write.guarded_by(OneAgent)
    }

    /// The write after which the server counts as one that never polled.
    #[must_use]
    pub fn forget(server: ServerId) -> Write {
        Write::update(keys::lease(server), "REMOVE seen, agent_id, agent_seen")
    }
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
