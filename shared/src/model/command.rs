//! Commands that run on game servers for what is bought, as the owner publishes them (rules.md, "Delivery").

use super::{Server, ServerId, is_default};
use serde::{Deserialize, Serialize};

/// The event of an order after which a command runs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CommandEvent {
    /// The order is paid.
    #[default]
    Bought,
    /// The item's `expires_after` has passed, or access to a subscription has ended.
    Expired,
    /// The order is refunded in full.
    Refunded,
    /// The payment is disputed.
    ChargedBack,
    /// A further period of a subscription is paid.
    Renewed,
}

impl CommandEvent {
    /// Every event, in the order of store-format.md.
    pub const ALL: [Self; 5] = [Self::Bought, Self::Expired, Self::Refunded, Self::ChargedBack, Self::Renewed];

    /// The event as owners write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bought => "bought",
            Self::Expired => "expired",
            Self::Refunded => "refunded",
            Self::ChargedBack => "charged_back",
            Self::Renewed => "renewed",
        }
    }
}

/// A published command, with placeholders ([`crate::rules::command_text`]).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommandTemplate {
    /// The command without a leading slash. Publishing has parsed it.
    pub run: String,
    /// The event after which it runs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on: CommandEvent,
    /// Whether it runs only while the player is on the server.
    #[serde(default, skip_serializing_if = "is_default")]
    pub online: bool,
    /// Seconds between the event and the command.
    #[serde(default, skip_serializing_if = "is_default")]
    pub delay: u32,
    /// Whether it should rather not run at all than run twice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub once: bool,
    /// Whether it runs once for each unit of the line.
    #[serde(default, skip_serializing_if = "is_default")]
    pub per_unit: bool,
    /// The servers it is limited to; empty if it runs on every server that the line is delivered to
    /// ([`crate::rules::command_servers::servers`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerId>,
}

/// The delivery of an item, which buyers are not shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ItemDelivery {
    /// The commands of each line of the item.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandTemplate>,
    /// Seconds after which one unit of it expires; `None` if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_after: Option<u32>,
}

/// The delivery of every sale of a store.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoreDelivery {
    /// The game servers of the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Server>,
    /// The commands of each line of every order, after those of its item.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandTemplate>,
    /// The servers on which anybody may take a buyer's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free_names: Vec<FreeNames>,
    /// The servers whose consoles take spaces between double quotes as part of a word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<ServerId>,
}

/// A server on which anybody may take a buyer's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeNames {
    pub server: ServerId,
    /// The variable in which buyers give the id that the server's list of players has; `None` if they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<u64>,
}
