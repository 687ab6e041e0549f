//! A login that a player confirms in the game (rules.md, "Logins in the game").

use super::PlayerName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The id of a login in the game: 128 random bits as 32 hex digits in lower case. Only game servers see it: the caller who names it has
/// it from the player's own client.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct AuthId(String);

/// A text that is not the id of a login in the game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not the id of a login in the game")]
pub struct NotAnAuthId;

impl AuthId {
    /// The id of these random bits.
    pub fn new(bits: [u8; 16]) -> Self {
        Self(hex::encode(bits))
    }

    pub fn parse(text: &str) -> Result<Self, NotAnAuthId> {
        if is_hex(text) { Ok(Self(text.to_owned())) } else { Err(NotAnAuthId) }
    }

    /// The id as game servers are sent it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AuthId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthId")
    }
}

impl TryFrom<String> for AuthId {
    type Error = NotAnAuthId;

    fn try_from(text: String) -> Result<Self, NotAnAuthId> {
        Self::parse(&text)
    }
}

/// The secret of a client that keeps one, by which it is known at any address: 128 random bits as 32 hex digits in lower case.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginSecret(String);

/// A text that is not the secret of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a secret that an earlier call returned, or empty")]
pub struct NotALoginSecret;

impl LoginSecret {
    /// The secret of these random bits.
    pub fn new(bits: [u8; 16]) -> Self {
        Self(hex::encode(bits))
    }

    pub fn parse(text: &str) -> Result<Self, NotALoginSecret> {
        if is_hex(text) { Ok(Self(text.to_owned())) } else { Err(NotALoginSecret) }
    }

    /// The secret as the client is sent it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for LoginSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LoginSecret")
    }
}

/// Whether a text is 128 bits in hex.
fn is_hex(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Who began a login: a hash of the name with the client's secret, or with its address if it keeps none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallerHash(pub String);

/// The logins of a name. All times are seconds since 1970 UTC.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GameLogin {
    /// The id that the game servers may remember for the name; they keep the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_id: Option<AuthId>,
    /// Until when they may.
    #[serde(default)]
    pub remembered_until: i64,
    /// The last login that began and was not voided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Attempt>,
    /// Until when no unknown caller can begin one.
    #[serde(default)]
    pub waits_until: i64,
    /// The callers that confirmed the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownCaller>,
}

/// A login that began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    #[serde(rename = "address")]
    pub caller: CallerHash,
    /// When it ends.
    pub until: i64,
    /// Whether the player has confirmed it.
    #[serde(default)]
    pub is_confirmed: bool,
}

/// A caller whose login was confirmed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownCaller {
    #[serde(rename = "address")]
    pub caller: CallerHash,
    /// Until when that counts.
    pub until: i64,
}

/// A login that game servers are told of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingLogin {
    /// From the sequence of the commands' ids.
    pub id: u32,
    pub auth_id: AuthId,
    /// The name as the player wrote it.
    pub player: PlayerName,
    /// When it ends, seconds since 1970 UTC.
    pub until: i64,
    /// When each server was last told, by the text of its id.
    #[serde(default)]
    pub served: BTreeMap<String, i64>,
    /// Whether its caller had confirmed the name before.
    #[serde(default)]
    pub is_known: bool,
    /// A hash of the network that its caller's address is in.
    #[serde(default)]
    pub network: String,
    /// The time to live.
    pub expires_at: i64,
}
