//! A buyer's account.

use super::{Money, PlayerName, ProviderCustomer, UserId, UserSubscription};
use serde::{Deserialize, Serialize};

/// A user (api.md, "POST /user").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The id, `sub` of the user's tokens.
    pub id: UserId,
    pub username: String,
    pub avatar: String,
    pub system: String,
    pub identificator: String,
    pub uuid: String,
    /// When the account was created, seconds since 1970 UTC.
    pub created_at: i64,
    /// When it last changed, seconds since 1970 UTC.
    pub updated_at: i64,
    #[serde(default)]
    pub virtual_currency: Money,
    /// Tokens issued at or before this second, since 1970 UTC, are refused (rules.md, "Tokens").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_valid_after: Option<i64>,
    /// Whether the name is banned. The ban itself is the name's, so that it also holds for an account that is made
    /// later (rules.md, "Bans"); this mark spares a read.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub banned: bool,
    /// The subscriptions that are not over, at most one of an item.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subscriptions: Vec<UserSubscription>,
    /// The account at the payment provider to which the subscriptions of proven logins belong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer: Option<ProviderCustomer>,
}

/// The number of seconds by which two clocks may differ (rules.md, "Tokens").
pub const LEEWAY: i64 = 60;

impl User {
    /// The new account of a player, at `now` (seconds since 1970 UTC).
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
            subscriptions: Vec::new(),
            customer: None,
        }
    }

    /// Whether a token that was issued at this second (since 1970 UTC) is valid for the account (rules.md, "Tokens").
    ///
    /// A token older than the account was issued to an earlier account with the same id, which a restore removed. A
    /// revocation is dated by the database's clock and refuses its own second, because a token of that second may be
    /// one of those that are revoked; a new token is therefore issued at `tokens_valid_after` + 1 or later.
    pub fn admits(&self, issued_at: i64) -> bool {
        !self.banned
            && issued_at.saturating_add(LEEWAY) >= self.created_at
            && self.tokens_valid_after.is_none_or(|after| issued_at > after)
    }

    /// [`next_issue`] of this account, in seconds since 1970 UTC.
    pub fn next_issue(&self, now: i64) -> i64 {
        next_issue(self.tokens_valid_after, now)
    }
}

/// The second (since 1970 UTC) at which a token that is made at `now` is issued: the first that the revocation of
/// tokens until `valid_after` does not refuse (rules.md, "Tokens").
pub fn next_issue(valid_after: Option<i64>, now: i64) -> i64 {
    valid_after.map_or(now, |after| now.max(after.saturating_add(1)))
}
