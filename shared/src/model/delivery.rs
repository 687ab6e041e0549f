//! Commands for game servers: as they are published, and as they are delivered.

use super::{InternalId, ItemId, LastingText, RunName, Server, ServerId, is_default};
use serde::{Deserialize, Serialize};
use std::fmt;

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
    /// The servers on which anyone may take a buyer's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free_names: Vec<FreeNames>,
    /// The servers whose consoles take spaces between double quotes as part of a word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<ServerId>,
}

/// A server on which anyone may take a buyer's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeNames {
    pub server: ServerId,
    /// The variable in which buyers give the id that the server's list of players has; `None` if they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<u64>,
}

/// The id of a command, or of a login in the game: game servers read both as a signed integer of 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32")]
pub struct CommandId(u32);

/// A number that is not the id of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an id of a command is between 1 and {}", CommandId::LARGEST)]
pub struct NotACommandId;

impl CommandId {
    /// The smallest id.
    pub const FIRST: Self = Self(1);
    /// The largest id.
    pub const LARGEST: u32 = (1 << 31) - 1;

    /// The id with this number.
    pub fn new(number: impl TryInto<u32>) -> Result<Self, NotACommandId> {
        let number = number.try_into().map_err(|_| NotACommandId)?;
        if (1..=Self::LARGEST).contains(&number) { Ok(Self(number)) } else { Err(NotACommandId) }
    }

    pub const fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for CommandId {
    type Error = NotACommandId;
    fn try_from(number: u32) -> Result<Self, NotACommandId> {
        Self::new(number)
    }
}

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of an agent, a program beside a game server that names itself in its polls: 16 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct AgentId(String);

/// A text that is not the id of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 16 digits from 0 to 9 and a to f")]
pub struct NotAnAgentId;

impl AgentId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AgentId {
    type Error = NotAnAgentId;
    fn try_from(text: String) -> Result<Self, NotAnAgentId> {
        let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == 16 && text.bytes().all(is_digit) { Ok(Self(text)) } else { Err(NotAnAgentId) }
    }
}

/// The state of a command. What each means, and what changes it, is in `rules::delivery`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandState {
    /// Its delay, or the time until the item expires, is not over.
    Waiting,
    /// It is due.
    Ready,
    /// A poll returned it.
    Served,
    /// It waits for the player on the game server's disk, or is lost if the player was online.
    Kept,
    /// The game server has run it; it needs no player.
    Delivered,
    /// The game server asked whether it may run, and may.
    Validated,
    /// The game server says that it ran.
    Executed,
    /// It may have run; the owner decides.
    Unknown,
    /// The game server says that it did nothing; the owner decides.
    Refused,
    /// It will not run: the order was refunded or disputed, or its time is over.
    Recalled,
    /// It will not run: the player was banned or erased.
    Stopped,
    /// The owner cancelled it, or it cannot be delivered.
    Cancelled,
    /// The owner did it by hand.
    Done,
    /// The owner had it sent again under a new id.
    Retried,
}

impl CommandState {
    /// Every state, in the order of rules.md, "Delivery".
    pub const ALL: [Self; 14] = [
        Self::Waiting,
        Self::Ready,
        Self::Served,
        Self::Kept,
        Self::Delivered,
        Self::Validated,
        Self::Executed,
        Self::Unknown,
        Self::Refused,
        Self::Recalled,
        Self::Stopped,
        Self::Cancelled,
        Self::Done,
        Self::Retried,
    ];

    /// The state in the table and in lists.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Served => "served",
            Self::Kept => "kept",
            Self::Delivered => "delivered",
            Self::Validated => "validated",
            Self::Executed => "executed",
            Self::Unknown => "unknown",
            Self::Refused => "refused",
            Self::Recalled => "recalled",
            Self::Stopped => "stopped",
            Self::Cancelled => "cancelled",
            Self::Done => "done",
            Self::Retried => "retried",
        }
    }
}

/// Whether a command may still be served: what its order, or its player, is now.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Entitlement {
    /// The order is paid.
    #[default]
    Good,
    Refunded,
    ChargedBack,
    /// The player is banned or erased, or it cannot be delivered: its server is no longer published, or its text is too long.
    Stopped,
    /// The item now expires at another time, with other commands.
    Superseded,
}

/// All that decides about a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub state: CommandState,
    #[serde(default, skip_serializing_if = "is_default")]
    pub entitlement: Entitlement,
    /// Whether it runs only while the player is on the server.
    #[serde(default, skip_serializing_if = "is_default")]
    pub online: bool,
    /// Whether it should rather not run at all than run twice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub once: bool,
    /// When it becomes ready. All times are seconds since 1970 UTC.
    pub due: i64,
    /// From when on it is not served; `None` if it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<i64>,
    /// How often it was served, without the times that were given back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub served: u8,
    /// When it was last served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_at: Option<i64>,
    /// When the game server first said that it has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<i64>,
    /// When the game server was last told that it may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validated_at: Option<i64>,
    /// From when on it no longer runs because of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_at: Option<i64>,
    /// When the game server first said that it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed_at: Option<i64>,
    /// When an agent first said that it began it and had no response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_at: Option<i64>,
    /// When an agent first said that the game server refused it, or that it was not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_at: Option<i64>,
    /// Whether it was last served to an agent, whose journal says what it has begun.
    #[serde(default, skip_serializing_if = "is_default")]
    pub by_agent: bool,
    /// Whether a run of the owner's says that the game server has lost what it gave.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lost: bool,
}

impl Delivery {
    /// That of a command that was never served, for any player, due at `due`.
    pub const fn new(state: CommandState, due: i64) -> Self {
        Self {
            state,
            entitlement: Entitlement::Good,
            online: false,
            once: false,
            due,
            ends_at: None,
            served: 0,
            served_at: None,
            delivered_at: None,
            validated_at: None,
            silent_at: None,
            executed_at: None,
            unknown_at: None,
            refused_at: None,
            by_agent: false,
            lost: false,
        }
    }
}

/// A command of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub id: CommandId,
    /// Counts the writes.
    pub version: u32,
    pub order: InternalId,
    /// The place of its line in the order, from 0.
    pub line: u16,
    pub item: ItemId,
    pub event: CommandEvent,
    pub server: ServerId,
    /// The name of the player that it is for; empty after an erasure.
    pub player: String,
    /// The id by which the server's list of players has the player, as the buyer gave it; `None` where that is the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub player_id: Option<String>,
    /// The text that the console runs; empty after an erasure.
    pub text: String,
    /// The texts after whose last end it is too late, or the one that it is itself; `None` if its order alone decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasting: Option<LastingText>,
    /// The block of commands whose end it is, if its order alone decides: the first and how many. It has nothing to take
    /// if none of them on its server ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<(CommandId, u32)>,
    /// The id that it was sent again under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried_as: Option<CommandId>,
    /// The command in whose place the owner had it sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<CommandId>,
    /// The runs of the owner's that sent it, or a command before it, or moved its end: none of them does so again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunName>,
    /// When its order was paid, seconds since 1970 UTC, if it follows from that at once; `None` of any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_at: Option<i64>,
    /// Whether it has a delay.
    #[serde(default, skip_serializing_if = "is_default")]
    pub delayed: bool,
    /// The game server's answer, as an agent reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    pub delivery: Delivery,
}
