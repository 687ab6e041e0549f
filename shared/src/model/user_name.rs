//! Names of users as unique keys.

use std::fmt;

/// A user's name as the unique key: trimmed and lower-cased (rules.md, "Accounts"). Names that differ in
/// case only are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserName(String);

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
        if name.0.chars().any(char::is_alphanumeric) { Ok(name) } else { Err(UserNameError::Signs) }
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
}
