//! The logins of an account.

use serde::{Deserialize, Serialize};
use std::fmt;

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

impl TryFrom<String> for LoginId {
    type Error = NotALoginId;

    fn try_from(text: String) -> Result<Self, NotALoginId> {
        Self::parse(&text)
    }
}

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
