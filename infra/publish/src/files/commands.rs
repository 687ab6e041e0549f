//! Commands that run on game servers for what is bought: of an item, and of every sale.

use super::scalar::{At, is_default};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shared::model::CommandEvent;

/// A command that runs on game servers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandFile {
    /// The command without a leading slash, with placeholders such as `{player}`; `{{` is a brace.
    pub run: At<String>,
    /// The event after which it runs: `bought`, `expired`, `refunded`, `charged_back` or `renewed`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on: CommandEvent,
    /// Whether it runs only while the player is on the server.
    #[serde(default, skip_serializing_if = "is_default")]
    pub online: bool,
    /// The time between the event and the command, such as `30 minutes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<At<String>>,
    /// Whether it should rather not run at all than run twice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub once: bool,
    /// Whether it runs once for each unit: a line then has at most 100 units.
    #[serde(default, skip_serializing_if = "is_default")]
    pub per_unit: bool,
    /// Ids of the servers it is limited to; all that the item is delivered to if they are left out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub servers: Vec<At<u64>>,
}
