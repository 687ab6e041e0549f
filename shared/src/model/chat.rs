//! An account at the chat platform that completed the chat login.

use super::UserId;
use serde::{Deserialize, Serialize};
use std::fmt;

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

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ChatId {
    type Error = NotAChatId;

    fn try_from(text: String) -> Result<Self, NotAChatId> {
        Self::parse(&text)
    }
}

impl fmt::Display for ChatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

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

impl TryFrom<String> for ChatName {
    type Error = NotAChatName;

    fn try_from(text: String) -> Result<Self, NotAChatName> {
        Self::parse(&text)
    }
}

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
