//! A buyer's account.

use super::{Money, PlayerName, UserId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A user (api.md, "POST /user").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The id, `sub` of the user's tokens.
    pub id: UserId,
    /// Name in the game.
    pub username: String,
    /// Image URL.
    pub avatar: String,
    /// The game system the account belongs to.
    pub system: String,
    /// The account's identifier in that system.
    pub identificator: String,
    pub uuid: String,
    /// When the account was created, seconds since 1970 UTC.
    pub created_at: i64,
    /// When it last changed, seconds since 1970 UTC.
    pub updated_at: i64,
    /// Balance in virtual currency.
    #[serde(default)]
    pub virtual_currency: Money,
    /// Tokens issued at or before this second, since 1970 UTC, are refused (rules.md, "Tokens").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_valid_after: Option<i64>,
    /// Whether the name is banned. The ban itself is the name's, so that it also holds for an account that is made
    /// later (rules.md, "Bans"); this mark spares a read.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub banned: bool,
}

/// A user's name as the unique key: trimmed and lower-cased (rules.md, "Accounts"). Names that differ in
/// case only are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserName(String);

/// Why a text is not a user name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UserNameError {
    /// It is empty after trimming.
    #[error("a name must not be blank")]
    Blank,
    /// It consists of digits and would be read as an id.
    #[error("a name must not consist of digits only")]
    Digits,
    /// It is too long.
    #[error("a name has at most {} characters", UserName::LONGEST)]
    Long,
}

impl UserName {
    /// The longest name in characters.
    pub const LONGEST: usize = 255;

    /// Normalises a name.
    ///
    /// # Errors
    /// [`UserNameError`] if it is not a valid name.
    pub fn parse(text: &str) -> Result<Self, UserNameError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(UserNameError::Blank);
        }
        if text.chars().all(|letter| letter.is_ascii_digit()) {
            return Err(UserNameError::Digits);
        }
        if text.chars().count() > Self::LONGEST {
            return Err(UserNameError::Long);
        }
        Ok(Self(text.to_lowercase()))
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of seconds by which two clocks may differ (rules.md, "Tokens").
pub const LEEWAY: i64 = 60;

impl User {
    /// The new account of a player, at `now` (seconds since 1970 UTC).
    #[must_use]
    pub fn of_player(id: UserId, name: &PlayerName, avatar: String, uuid: String, now: i64) -> Self {
        Self {
            id,
            username: name.as_str().to_owned(),
            avatar,
            system: String::new(),
            identificator: String::new(),
            uuid,
            created_at: now,
            updated_at: now,
            virtual_currency: Money::ZERO,
            tokens_valid_after: None,
            banned: false,
        }
    }

    /// Whether a token that was issued at this second (since 1970 UTC) is valid for the account (rules.md, "Tokens").
    ///
    /// A token older than the account was issued to an earlier account with the same id, which a restore removed. A
    /// revocation is dated by the database's clock and refuses its own second, because a token of that second may be
    /// one of those that are revoked; a new token is therefore issued at `tokens_valid_after` + 1 or later.
    #[must_use]
    pub fn admits(&self, issued_at: i64) -> bool {
        !self.banned
            && issued_at.saturating_add(LEEWAY) >= self.created_at
            && self.tokens_valid_after.is_none_or(|after| issued_at > after)
    }

    /// [`next_issue`] of this account, in seconds since 1970 UTC.
    #[must_use]
    pub fn next_issue(&self, now: i64) -> i64 {
        next_issue(self.tokens_valid_after, now)
    }
}

/// The second (since 1970 UTC) at which a token that is made at `now` is issued: the first that the revocation of tokens
/// until `valid_after` does not refuse (rules.md, "Tokens").
#[must_use]
pub fn next_issue(valid_after: Option<i64>, now: i64) -> i64 {
    valid_after.map_or(now, |after| now.max(after.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_case_or_outer_spaces_are_equal() {
        assert_eq!(UserName::parse(" LOKI "), UserName::parse("loki"));
        assert_ne!(UserName::parse("loki2"), UserName::parse("loki"));
        assert_eq!(UserName::parse("Straße").unwrap().to_string(), "straße");
    }

    #[test]
    fn what_could_be_taken_for_an_id_is_not_a_name() {
        for (text, error) in [
            (" \t", UserNameError::Blank),
            ("2", UserNameError::Digits),
            (" 007 ", UserNameError::Digits),
            (&"x".repeat(256), UserNameError::Long),
        ] {
            assert_eq!(UserName::parse(text), Err(error), "{text}");
        }
        assert!(UserName::parse("2b").is_ok() && UserName::parse(&"💎".repeat(255)).is_ok());
    }
}
