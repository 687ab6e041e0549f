//! `pages/*.yaml`, `staff.yaml`, links, and commands that run on game servers for what is bought.

use super::scalar::At;
use schemars::JsonSchema;
use serde::Deserialize;
use shared::model::{CommandEvent, Link};
use std::collections::BTreeMap;

/// A page: one file each.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageFile {
    /// Its id, unique among the pages.
    pub id: At<u64>,
    /// Its title.
    pub title: String,
    /// Its url, with or without a leading slash.
    pub url: At<String>,
    /// Its text.
    #[serde(default)]
    pub content: String,
}

/// `staff.yaml`: player group to members.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct StaffFile(pub BTreeMap<String, Vec<StaffEntry>>);

/// A member of the staff.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaffEntry {
    /// The member's name.
    pub username: At<String>,
    /// Text before the name in the game.
    #[serde(default)]
    pub prefix: String,
    /// Order inside the group, then by name.
    #[serde(default)]
    pub sorting: i64,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkFile {
    /// Its text.
    pub name: String,
    /// Target of the link.
    pub url: At<String>,
}

impl From<&LinkFile> for Link {
    fn from(file: &LinkFile) -> Self {
        Self { name: file.name.clone(), url: file.url.value.clone() }
    }
}

/// A command that runs on game servers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandFile {
    /// The command without a leading slash, with placeholders such as `{player}`; `{{` is a brace.
    pub run: At<String>,
    /// The event after which it runs: `bought`, `expired`, `refunded`, `charged_back` or `renewed`.
    #[serde(default)]
    pub on: CommandEvent,
    /// Whether it runs only while the player is on the server.
    #[serde(default)]
    pub online: bool,
    /// The time between the event and the command, such as `30 minutes`.
    #[serde(default)]
    pub delay: Option<At<String>>,
    /// Whether it should rather not run at all than run twice.
    #[serde(default)]
    pub once: bool,
    /// Whether it runs once for each unit: a line then has at most 100 units.
    #[serde(default)]
    pub per_unit: bool,
    /// Ids of the servers it is limited to; all that the item is delivered to if they are left out.
    #[serde(default)]
    pub servers: Vec<At<u64>>,
}
