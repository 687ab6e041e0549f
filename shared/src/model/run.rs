//! Runs of the owner's: work on many orders that is begun under a name, and is done once under it.

use super::{ItemId, ServerId, is_default};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of a run: 1 to 64 small letters, digits, `-`, `_` and `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RunName(String);

/// A text that is not the name of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {} small letters, digits, -, _ and ., such as reset-2031-05-01", RunName::LONGEST)]
pub struct NotARunName;

impl RunName {
    /// The most characters.
    pub const LONGEST: usize = 64;

    pub fn parse(text: &str) -> Result<Self, NotARunName> {
        let is_sign = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.');
        let is_name = (1..=Self::LONGEST).contains(&text.len()) && text.bytes().all(is_sign);
        if is_name { Ok(Self(text.to_owned())) } else { Err(NotARunName) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RunName {
    type Error = NotARunName;
    fn try_from(text: String) -> Result<Self, NotARunName> {
        Self::parse(&text)
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Commands of a game server that run again, because it has lost what they gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryRun {
    pub server: ServerId,
    /// Those that ran from this second on; all times are seconds since 1970 UTC.
    pub since: i64,
    /// Those that ran before this second, at most that in which the run was begun.
    pub until: i64,
    /// Only those of this item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemId>,
    /// Whether it is a new season: orders of that time are given what is published when it runs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub today: bool,
}

/// What lasts for a time lasts longer: an outage is given back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extension {
    /// How much longer.
    pub seconds: i64,
    /// The only subscription that it is for, by the provider's id; `None` for all of them, and all timed items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription: Option<String>,
    /// Whether nothing is left to do: what is bought later is not part of it.
    pub done: bool,
}

/// A run of the owner's, as it is stored under its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum OwnerRun {
    Delivery(DeliveryRun),
    Extension(Extension),
}
