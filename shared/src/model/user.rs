//! Accounts, their names, and the logins that tokens are of.

use super::{Money, PlayerName, ProviderCustomer, UserId, UserSubscription};
use serde::{Deserialize, Serialize};
use std::fmt;

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

/// A user's name as the unique key: trimmed and lower-cased (rules.md, "Accounts"). Names that differ in
/// case only are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserName(String);

/// Letters of Hangul that no one sees.
const BLANK_LETTERS: [char; 4] = ['\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}'];

/// The reason why a text is not a user name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UserNameError {
    #[error("a name must not be blank")]
    Blank,
    #[error("a name must not consist of digits only")]
    Digits,
    #[error("a name has at most {} characters", UserName::LONGEST)]
    Long,
    #[error("a name needs a letter or a digit")]
    Signs,
}

impl UserName {
    /// The longest name in characters.
    pub const LONGEST: usize = 255;

    /// Normalises a name.
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

    /// Normalises a name that an account is to get. Consoles take signs alone for something else: `*` for everybody. Accounts
    /// of before may have such a name.
    pub fn parse_new(text: &str) -> Result<Self, UserNameError> {
        let name = Self::parse(text)?;
        if name.0.chars().all(|letter| letter.is_whitespace() || BLANK_LETTERS.contains(&letter)) {
            return Err(UserNameError::Blank);
        }
        let is_seen = |letter: char| letter.is_alphanumeric() && !BLANK_LETTERS.contains(&letter);
        if name.0.chars().any(is_seen) { Ok(name) } else { Err(UserNameError::Signs) }
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of a login, which all of its tokens carry (`sid`): 64 random bits as 16 hex digits in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LoginId(u64);

/// A text that is not the id of a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not the id of a login")]
pub struct NotALoginId;

impl LoginId {
    pub fn parse(text: &str) -> Result<Self, NotALoginId> {
        let is_hex = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let bits = is_hex.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        bits.map(Self).ok_or(NotALoginId)
    }
}

impl fmt::Display for LoginId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

parsed!(LoginId: NotALoginId);

impl From<LoginId> for String {
    fn from(id: LoginId) -> Self {
        id.to_string()
    }
}

/// A login, as far as it decides who may use what another login of the same account began (rules.md, "Logins").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Login {
    /// One that proves more than a name: in the game, or by a token of the store's owner. All of them count as one.
    #[default]
    Proven,
    /// One by name, which proves nothing else.
    Name(LoginId),
}

impl Login {
    const PROVEN: &'static str = "proven";

    /// Whether it proves more than a name.
    pub const fn is_proven(&self) -> bool {
        matches!(self, Self::Proven)
    }

    /// Whether it may use a gift card that `owner` entered. A card of a login by name is of no other such login.
    pub fn may_use_card_of(self, owner: Self) -> bool {
        self.is_proven() || self == owner
    }
}

impl fmt::Display for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proven => f.write_str(Self::PROVEN),
            Self::Name(id) => id.fmt(f),
        }
    }
}

impl TryFrom<String> for Login {
    type Error = NotALoginId;

    fn try_from(text: String) -> Result<Self, NotALoginId> {
        if text == Self::PROVEN { Ok(Self::Proven) } else { LoginId::parse(&text).map(Self::Name) }
    }
}

impl From<Login> for String {
    fn from(login: Login) -> Self {
        login.to_string()
    }
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
        for signs in ["*", "._-", "@"] {
            assert_eq!(UserName::parse_new(signs), Err(UserNameError::Signs), "{signs}");
            assert!(UserName::parse(signs).is_ok(), "an account of before");
        }
        assert!(UserName::parse_new("*a").is_ok() && UserName::parse_new("Ü").is_ok());
        assert!(UserName::parse("2b").is_ok() && UserName::parse(&"💎".repeat(255)).is_ok());
    }

    #[test]
    fn an_id_is_sixteen_hex_digits() {
        for text in ["0000000000000000", "00c0ffee00c0ffee", "ffffffffffffffff"] {
            assert_eq!(LoginId::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "1", "00C0FFEE00C0FFEE", "+000000000000000", "00c0ffee00c0ffee0", "00c0ffee00c0ffe "] {
            assert_eq!(LoginId::parse(text), Err(NotALoginId), "{text:?}");
        }
    }

    #[test]
    fn a_login_is_stored_as_a_text() {
        for (login, text) in [
            (Login::Proven, "\"proven\""),
            (Login::Name(LoginId::parse("00c0ffee00c0ffee").unwrap()), "\"00c0ffee00c0ffee\""),
        ] {
            assert_eq!(serde_json::to_string(&login).unwrap(), text);
            assert_eq!(serde_json::from_str::<Login>(text).unwrap(), login);
        }
    }

    #[test]
    fn a_card_is_used_by_the_login_that_entered_it_and_by_one_that_proves_something() {
        let [one, other] = ["0000000000000001", "0000000000000002"].map(|id| Login::Name(LoginId::parse(id).unwrap()));
        assert!(one.may_use_card_of(one) && Login::Proven.may_use_card_of(one));
        assert!(!one.may_use_card_of(other) && !one.may_use_card_of(Login::Proven));
    }
}
