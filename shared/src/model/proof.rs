//! Proofs of a login: a word in the game, or an account of the chat platform.

use super::{PlayerName, UserId};
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

parsed!(AuthId: NotAnAuthId);

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

/// A login that game servers are notified of.
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

/// The most bytes of an id.
const LONGEST_ID: usize = 64;
/// The most characters of a name.
const LONGEST_NAME: usize = 100;

/// The id of an account at the chat platform: 1 to 64 ASCII letters, digits, `_` or `-`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ChatId(String);

/// A text that is not the id of a chat account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not the id of a chat account")]
pub struct NotAChatId;

impl ChatId {
    /// Checks an id. Nothing is trimmed.
    pub fn parse(text: &str) -> Result<Self, NotAChatId> {
        let is_id = (1..=LONGEST_ID).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if is_id { Ok(Self(text.to_owned())) } else { Err(NotAChatId) }
    }
}

parsed!(ChatId: NotAChatId);
texts!(ChatId);

/// The name of an account at the chat platform, for display: 1 to 100 characters and no control characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ChatName(String);

/// A text that is not the name of a chat account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not the name of a chat account")]
pub struct NotAChatName;

impl ChatName {
    /// Checks a name; spaces around it are removed.
    pub fn parse(text: &str) -> Result<Self, NotAChatName> {
        let text = text.trim();
        let is_name = (1..=LONGEST_NAME).contains(&text.chars().count()) && !text.chars().any(char::is_control);
        if is_name { Ok(Self(text.to_owned())) } else { Err(NotAChatName) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

parsed!(ChatName: NotAChatName);

/// The row of a chat account that completed the login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatAccount {
    pub name: ChatName,
    /// The time of the login, in seconds since 1970 UTC.
    pub logged_in_at: i64,
    /// The first second (since 1970 UTC) at which the login no longer counts. The table's time to live removes the row
    /// later.
    pub expires_at: i64,
    /// The account of the store that uses it; `None` before its first use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
}

impl ChatAccount {
    /// Whether an account may use the login at `now`, in seconds since 1970 UTC: it has not ended, and no other account
    /// uses it.
    pub fn is_for(&self, user: UserId, now: i64) -> bool {
        now < self.expires_at && self.user.is_none_or(|first| first == user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_short_word() {
        for text in ["1", "418203377561042944", "U02-x_Y", &"a".repeat(64)] {
            assert_eq!(ChatId::parse(text).unwrap().as_str(), text);
        }
        for text in ["", " 1", "1#2", "a/b", "é", "1\n", &"a".repeat(65)] {
            assert_eq!(ChatId::parse(text), Err(NotAChatId), "{text:?}");
        }
    }

    #[test]
    fn a_name_is_any_short_text() {
        assert_eq!(ChatName::parse("  Ember 🔥 <b> ").unwrap().as_str(), "Ember 🔥 <b>");
        assert!(ChatName::parse(&"é".repeat(100)).is_ok());
        for text in ["", " \t", "a\0b", "a\nb", &"é".repeat(101)] {
            assert_eq!(ChatName::parse(text), Err(NotAChatName), "{text:?}");
        }
    }
}
