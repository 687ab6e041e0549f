//! A player's name as the storefront's login form takes it.

use super::UserName;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Characters that may precede the name: marks of players who joined through another edition of the game.
const PREFIXES: [char; 5] = ['*', '_', 'B', 'P', '.'];
/// The fewest characters of a name.
const SHORTEST: usize = 3;
/// The most characters of a name, and of what may follow it after a `-`.
const LONGEST: usize = 24;

/// A player's name (api.md, "POST /auth/username"): a prefix of `*_BP.` that may be missing, then 3 to 24 letters,
/// digits or `_`, then possibly `-` and 1 to 24 of the same. All are ASCII, so that no two names look alike.
///
/// It is stored as it was written. Two names that differ in case only are the same player, see [`PlayerName::key`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PlayerName {
    text: String,
    key: UserName,
}

/// A text that is not a player's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a player's name")]
pub struct NotAPlayerName;

impl PlayerName {
    /// Checks a name. Nothing is trimmed. Fails also if it consists of digits only and would be taken for an id.
    pub fn parse(text: &str) -> Result<Self, NotAPlayerName> {
        let is_word = |part: &str, shortest: usize| {
            (shortest..=LONGEST).contains(&part.len())
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let is_name = |text: &str| match text.split_once('-') {
            Some((name, more)) => is_word(name, SHORTEST) && is_word(more, 1),
            None => is_word(text, SHORTEST),
        };
        if !is_name(text) && !text.strip_prefix(PREFIXES).is_some_and(is_name) {
            return Err(NotAPlayerName);
        }
        let key = UserName::parse(text).map_err(|_| NotAPlayerName)?;
        Ok(Self { text: text.to_owned(), key })
    }

    /// A regular expression for names, without anchors. It also matches digits only, which [`Self::parse`] refuses.
    pub fn pattern() -> String {
        let prefixes: String = PREFIXES.iter().collect();
        format!("[{prefixes}]?[A-Za-z0-9_]{{{SHORTEST},{LONGEST}}}(-[A-Za-z0-9_]{{1,{LONGEST}}})?")
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The name without regard to case.
    pub const fn key(&self) -> &UserName {
        &self.key
    }
}

impl TryFrom<String> for PlayerName {
    type Error = NotAPlayerName;
    fn try_from(text: String) -> Result<Self, NotAPlayerName> {
        Self::parse(&text)
    }
}

impl From<PlayerName> for String {
    fn from(name: PlayerName) -> Self {
        name.text
    }
}

impl fmt::Display for PlayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_the_pattern_describes_is_a_name(text in proptest::string::string_regex(&PlayerName::pattern()).unwrap()) {
            let is_id = text.bytes().all(|byte| byte.is_ascii_digit());
            prop_assert_eq!(PlayerName::parse(&text).is_ok(), !is_id, "{}", text);
        }
    }

    #[test]
    fn names_of_every_edition_are_taken() {
        let longest = format!("*{0}-{0}", "x".repeat(24));
        for name in ["Thornwick", "abc", "*Bedrock", "_abc", "BPlayer", "P_1", ".Dotted", "a1_-b", "Name-2", &longest] {
            let parsed = PlayerName::parse(name).unwrap();
            assert_eq!((parsed.as_str(), parsed.key().to_string()), (name, name.to_lowercase()));
        }
        assert_eq!(longest.len(), 50);
    }

    #[test]
    fn everything_else_is_refused() {
        let too_long = format!("*{0}-{0}x", "x".repeat(24));
        for name in [
            "", " ", "ab", "*ab", "**abc", " abc", "abc ", "a b c", "abc-", "-abc", "abc-d-e", "123", "4711", "аbc",
            "abc\0", "Ünder", "abc\n", "abc.def", "abc*", &too_long,
        ] {
            assert_eq!(PlayerName::parse(name), Err(NotAPlayerName), "{name:?}");
        }
    }
}
