//! A buyer's account.

use super::{Money, UserId};
use serde::{Deserialize, Serialize};

/// A user (contract, User).
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
    /// The account's UUID.
    pub uuid: String,
    /// When the account was made, seconds since 1970 UTC.
    pub created_at: i64,
    /// When it last changed, seconds since 1970 UTC.
    pub updated_at: i64,
    /// Balance in virtual currency.
    #[serde(default)]
    pub virtual_currency: Money,
    /// Tokens issued before this second are refused (ruling 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_valid_after: Option<i64>,
}

impl User {
    /// Whether a token that was issued at this second (since 1970 UTC) speaks for the user (ruling 2).
    #[must_use]
    pub fn admits(&self, issued_at: i64) -> bool {
        self.tokens_valid_after.is_none_or(|after| issued_at >= after)
    }
}
