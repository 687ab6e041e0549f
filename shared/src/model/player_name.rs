//! A player's name as the storefront's login form takes it.

use super::UserName;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// Characters that may precede the name: marks of players who joined through another edition of the game.
const PREFIXES: [char; 8] = ['*', '_', 'B', 'P', '.', '+', '!', '-'];
/// The fewest characters of a name.
const SHORTEST_PART: usize = 3;
/// The most characters of a name, and of what may follow it after a `-`.
const LONGEST_PART: usize = 24;
/// The characters of a Bedrock player's name on a game server, with the prefix: Floodgate cuts off what follows.
const LONGEST_ON_SERVERS: usize = 16;

/// The sign before the names of Bedrock players on a store's game servers, which Floodgate calls `username-prefix`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "char", into = "char")]
pub struct BedrockPrefix(char);

impl BedrockPrefix {
    /// The signs that it can be. Names of Java players begin with none of them but `_`.
    pub const SIGNS: [char; 6] = ['.', '*', '_', '+', '-', '!'];

    pub fn parse(text: &str) -> Option<Self> {
        let mut letters = text.chars();
        let sign = letters.next().filter(|sign| Self::SIGNS.contains(sign));
        sign.filter(|_| letters.next().is_none()).map(Self)
    }

    /// Whether a Java player can have a name that begins with it as well.
    pub fn is_ambiguous(self) -> bool {
        self.0 == '_'
    }
}

impl TryFrom<char> for BedrockPrefix {
    type Error = NotAPlayerName;
    fn try_from(sign: char) -> Result<Self, NotAPlayerName> {
        Self::parse(sign.encode_utf8(&mut [0; 4])).ok_or(NotAPlayerName)
    }
}

impl From<BedrockPrefix> for char {
    fn from(prefix: BedrockPrefix) -> Self {
        prefix.0
    }
}

/// A player's name (api.md, "POST /auth/username"): a prefix of `*_BP.+!-` that may be missing, then 3 to 24 letters,
/// digits or `_`, then possibly `-` and 1 to 24 of the same. All are ASCII, so that no two names look alike. A space inside a name that
/// begins with a sign, as Bedrock players have them, is read as `_`, as game servers do.
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
    /// The most characters of a whole name, with its prefix and what follows it.
    pub const LONGEST: usize = 1 + LONGEST_PART + 1 + LONGEST_PART;

    /// Checks a name. Nothing is trimmed. Fails also if it consists of digits only and would be taken for an id.
    pub fn parse(text: &str) -> Result<Self, NotAPlayerName> {
        let text = without_spaces(text);
        let text = text.as_ref();
        let is_word = |part: &str, shortest: usize| {
            (shortest..=LONGEST_PART).contains(&part.len())
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let is_name = |text: &str| match text.split_once('-') {
            Some((name, more)) => is_word(name, SHORTEST_PART) && is_word(more, 1),
            None => is_word(text, SHORTEST_PART),
        };
        if !is_name(text) && !text.strip_prefix(PREFIXES).is_some_and(is_name) {
            return Err(NotAPlayerName);
        }
        let key = UserName::parse(text).map_err(|_| NotAPlayerName)?;
        Ok(Self { text: text.to_owned(), key })
    }

    /// The name on game servers whose names of Bedrock players begin with `prefix`: theirs is cut as Floodgate cuts it. `None` if no
    /// player can have it there, because it begins with another sign. In a store that names no prefix a name stays, but for signs that
    /// consoles may read as more than a name (`name=!x` is everybody but x): only the owner's word for such a prefix lets them in.
    #[must_use]
    pub fn on_servers(self, prefix: Option<BedrockPrefix>) -> Option<Self> {
        let first = self.text.chars().next()?;
        let Some(BedrockPrefix(prefix)) = prefix else {
            return Some(self).filter(|_| !matches!(first, '+' | '-' | '!'));
        };
        if first == prefix {
            let has_more = self.text.chars().skip(1).any(|letter| letter == '-');
            let cut: String = self.text.chars().take(LONGEST_ON_SERVERS).collect();
            return Self::parse(&cut).ok().filter(|_| !has_more);
        }
        let is_known = first == '_' || !BedrockPrefix::SIGNS.contains(&first);
        is_known.then_some(self)
    }

    /// The names that [`Self::on_servers`] can make of it, each once.
    pub fn possible(&self) -> impl Iterator<Item = Self> {
        let prefixes = BedrockPrefix::SIGNS.into_iter().filter(|sign| self.text.starts_with(*sign));
        let cut = prefixes.filter_map(|sign| self.clone().on_servers(Some(BedrockPrefix(sign))));
        let other = cut.filter(|cut| cut != self).collect::<Vec<_>>();
        std::iter::once(self.clone()).chain(other)
    }

    /// A regular expression for the names that every store takes, without anchors. It also matches digits only, which [`Self::parse`]
    /// refuses.
    pub fn pattern() -> String {
        let everywhere = || PREFIXES.iter().filter(|prefix| !matches!(prefix, '+' | '-' | '!'));
        let prefixes: String = everywhere().collect();
        let signs: String = everywhere().filter(|prefix| BedrockPrefix::SIGNS.contains(prefix)).collect();
        let inner = LONGEST_PART - 2;
        format!(
            "([{prefixes}]?[A-Za-z0-9_]{{{SHORTEST_PART},{LONGEST_PART}}}(-[A-Za-z0-9_]{{1,{LONGEST_PART}}})?\
             |[{signs}][A-Za-z0-9_][A-Za-z0-9_ ]{{1,{inner}}}[A-Za-z0-9_])"
        )
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The name without regard to case.
    pub const fn key(&self) -> &UserName {
        &self.key
    }
}

/// A text whose inner spaces are `_` if it begins with a sign.
fn without_spaces(text: &str) -> Cow<'_, str> {
    let is_bedrock = |name: &str| name.trim_matches(' ') == name && !name.contains('-');
    let is_bedrock = text.strip_prefix(BedrockPrefix::SIGNS).is_some_and(is_bedrock);
    if is_bedrock { text.replace(' ', "_").into() } else { text.into() }
}

parsed!(PlayerName: NotAPlayerName);

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
        for name in [
            "Thornwick",
            "abc",
            "*Bedrock",
            "_abc",
            "BPlayer",
            "P_1",
            ".Dotted",
            "a1_-b",
            "Name-2",
            "+Plus",
            "!Bang",
            "-Dash",
            &longest,
        ] {
            let parsed = PlayerName::parse(name).unwrap();
            assert_eq!((parsed.as_str(), parsed.key().to_string()), (name, name.to_lowercase()));
        }
        assert_eq!(longest.len(), 50);
    }

    #[test]
    fn everything_else_is_refused() {
        let too_long = format!("*{0}-{0}x", "x".repeat(24));
        for name in [
            "", " ", "ab", "*ab", "**abc", " abc", "abc ", "a b c", "abc-", "-ab", "abc-d-e", ". abc", ".abc ", ".",
            ".a b-c d", "123", "4711", "аbc", "abc\0", "Ünder", "abc\n", "abc.def", "abc*", &too_long,
        ] {
            assert_eq!(PlayerName::parse(name), Err(NotAPlayerName), "{name:?}");
        }
    }

    #[test]
    fn a_bedrock_players_name_is_what_floodgate_makes_of_it() {
        let on = |prefix: &str, name: &str| {
            let name = PlayerName::parse(name).unwrap().on_servers(BedrockPrefix::parse(prefix));
            name.map(|name| name.to_string())
        };
        for (prefix, name, expected) in [
            (".", ".PsychicClover9", Some(".PsychicClover9")),
            (".", ".PsychicCloverNine", Some(".PsychicCloverNi")),
            (".", ".Psychic Clover 9", Some(".Psychic_Clover_")),
            (".", ".A  B", Some(".A__B")),
            ("+", "+PsychicClover9", Some("+PsychicClover9")),
            ("-", "-PsychicClover9", Some("-PsychicClover9")),
            ("!", "!Psychic Clover", Some("!Psychic_Clover")),
            ("_", "_PsychicCloverNine", Some("_PsychicCloverNi")),
            // Java players.
            (".", "PsychicClover9", Some("PsychicClover9")),
            (".", "_Pebble", Some("_Pebble")),
            ("_", "Pebble_", Some("Pebble_")),
            (".", "BPlayer", Some("BPlayer")),
            // No one's.
            (".", "*Quartz", None),
            (".", "+Quartz", None),
            ("*", ".Quartz", None),
            (".", ".Quartz-alt", None),
            // Where nothing is known, a name stays, if its sign is harmless.
            ("", "+Quartz", None),
            ("", "-Quartz", None),
            ("", "!Quartz", None),
            ("", ".PsychicCloverNine", Some(".PsychicCloverNine")),
            ("", "*Quartz_7-alt", Some("*Quartz_7-alt")),
        ] {
            assert_eq!(on(prefix, name).as_deref(), expected, "{prefix} {name}");
        }
    }

    #[test]
    fn a_prefix_is_one_of_six_signs() {
        for sign in BedrockPrefix::SIGNS {
            let prefix = BedrockPrefix::parse(&sign.to_string()).unwrap();
            let json = serde_json::to_string(&prefix).unwrap();
            assert_eq!(serde_json::from_str::<BedrockPrefix>(&json).unwrap(), prefix);
        }
        for text in ["", "..", "B", "@", " ", "é", "#"] {
            assert_eq!(BedrockPrefix::parse(text), None, "{text:?}");
        }
    }
}
