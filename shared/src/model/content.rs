//! Pages, staff and patronage as they are published.

use super::Money;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A page's url: its text without leading slashes. `rules` and `/rules` are the same page (rules.md, "Pages").
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageUrl(String);

impl From<&str> for PageUrl {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl PageUrl {
    /// The longest url in characters (rules.md, "Request bodies").
    pub const LONGEST: usize = 255;

    /// A url that a caller or an owner wrote. Any text is accepted; the page may not exist.
    pub fn new(text: &str) -> Self {
        Self(text.trim().trim_start_matches('/').to_owned())
    }

    /// The url without a leading slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A custom page (api.md, "POST /pages/get").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The page's id.
    pub id: u64,
    /// The page's title.
    pub title: String,
    /// The page's url, as the owner wrote it.
    pub url: String,
    /// The page's content, ready to show.
    pub content: String,
    /// The same as the shop's own pages show it, closed at its end; `None` if that is the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shop_content: Option<String>,
}

impl Page {
    /// The content as the shop's own pages show it.
    pub fn shown(&self) -> &str {
        self.shop_content.as_deref().unwrap_or(&self.content)
    }
}

/// A member of the staff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StaffMember {
    /// The member's name.
    pub username: String,
    /// The text in front of the name in the game.
    pub prefix: String,
    /// The member's place in the group, lowest first.
    pub sorting: i64,
}

/// The members of each player group, in the order of `sorting`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Staff(pub BTreeMap<String, Vec<StaffMember>>);

/// The owner's settings for patrons. The patrons themselves are live data, see [`super::Donor`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Patronage {
    pub enabled: bool,
    #[serde(default)]
    pub currency_code: String,
    #[serde(default)]
    pub description: String,
    /// All-time sums for which patrons are listed, ascending, in minor units.
    #[serde(default)]
    pub thresholds: Vec<Money>,
}
