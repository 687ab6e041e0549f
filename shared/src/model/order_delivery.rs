//! The delivery of an order: the commands that it was created with, and how far it is.

use super::{
    CommandId, CommandTemplate, Entitlement, FreeNames, InternalId, ItemId, Money, PlayerName, Server, ServerId,
    UserId, is_default,
};
use serde::{Deserialize, Serialize};

/// The next step of an order's delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStep {
    /// To queue its commands when it is paid.
    #[default]
    Queue,
    /// Nothing, as long as it stays paid.
    Queued,
    /// To recall what has not run.
    Recall,
    /// To wait until nothing of it can run any more.
    Settle,
    /// To queue the commands that take back what may have run.
    TakeBack,
    /// Nothing.
    Over,
}

/// How far the delivery of an order is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OrderDelivery {
    /// Counts the writes.
    #[serde(default)]
    pub version: u32,
    #[serde(default)]
    pub step: DeliveryStep,
    /// The place in the step's work.
    #[serde(default, skip_serializing_if = "is_default")]
    pub next: u32,
    /// How many of the texts that take it back it holds ([`Lasting`]), and after them of its items; at least 1 when all is
    /// done. Orders of before this was stored have 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub held: u32,
    /// The reason for which it is taken back, if it is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub entitlement: Entitlement,
    /// The first of the ids that are reserved for what is queued when the order is paid, and how many they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<CommandId>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub made: u32,
    /// The first of the ids that are reserved for what takes it back, and how many they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_first: Option<CommandId>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub back_made: u32,
    /// Other ids of its commands: those that the owner had sent again, and those that expire at another time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<CommandId>,
    /// The commands of before it was delivered again: the first id of each block, and how many they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<(CommandId, u32)>,
    /// Units of lines that were refunded while the order stayed paid, and are still to be taken back; the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<TakenUnits>,
    /// Whether it was restored before its commands were queued: it is not known whether they ran.
    #[serde(default, skip_serializing_if = "is_default")]
    pub restored: bool,
    /// What is being moved to another player, or to a new season: first it is taken back, then queued again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving: Option<Moving>,
    /// The runs of the owner's that have given it what was published then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunName>,
}

/// Lines that are on their way to another player, and whose they were; or to a new season of a game server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moving {
    /// The places of the lines in the order, from 0.
    pub lines: Vec<u16>,
    /// What the order's `moved_to` was, or the `recipient` of the gift.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<UserId>,
    /// The name of the gift's recipient as it was typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gift_to: Option<PlayerName>,
    /// Whether the order gave what a subscription gives at its beginning.
    #[serde(default, skip_serializing_if = "is_default")]
    pub restart: bool,
    /// If they stay with their player: the new season.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub season: Option<Season>,
}

/// A game server is wiped: nothing is there that could be taken back, and what is given is what is published now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Season {
    pub server: ServerId,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<LineEnd>,
}

/// When a line ends that was bought for a time, seconds since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineEnd {
    /// The place of the line in the order, from 0.
    pub line: u16,
    /// The end of what it and other purchases give together.
    pub at: i64,
    /// The end of what counts its units, one period after the purchase.
    pub own: i64,
}

/// Units of a line that are taken back while the order stays paid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenUnits {
    /// The place of the line in the order, from 0.
    pub line: u16,
    pub count: u32,
    /// The part of the line's total that they were paid with.
    pub total: Money,
    /// The units that the line has then, and their part of its total.
    pub left: u32,
    pub left_total: Money,
    /// The first of the ids that are reserved for what takes them back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<CommandId>,
}

/// A command of a line, and the servers that it runs on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenCommand {
    /// Its place among the templates.
    pub template: u16,
    pub servers: Vec<ServerId>,
}

/// The commands of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenLine {
    /// The place of the line in the order, from 0.
    pub line: u16,
    pub item: ItemId,
    pub name: String,
    /// Seconds after which one unit expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_after: Option<u32>,
    /// Whether it is a subscription's, which expires when it is no longer paid.
    #[serde(default, skip_serializing_if = "is_default")]
    pub renews: bool,
    /// The variables for which the buyer entered a text that can have spaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<u64>,
    pub commands: Vec<FrozenCommand>,
}

impl FrozenLine {
    /// Whether what it gives ends at some time.
    pub const fn expires(&self) -> bool {
        self.renews || self.expires_after.is_some()
    }
}

/// The commands of an order, as they were published when it was created. Lines share templates.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FrozenCommands {
    pub templates: Vec<CommandTemplate>,
    /// The names of the servers.
    pub servers: Vec<Server>,
    /// Those of the servers on which names are free.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free_names: Vec<FreeNames>,
    /// Those of the servers whose consoles read quotes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<ServerId>,
    pub lines: Vec<FrozenLine>,
}

/// A text that takes something from an account on a server: the lines of orders that keep it from running, and when it
/// runs by itself (`rules::delivery::lasting`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lasting {
    /// Counts the writes.
    pub version: u32,
    /// When the time of the holders with [`Lasts::For`] is over, seconds since 1970 UTC.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ends_at: i64,
    /// The oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<Holder>,
    /// Further holders with [`Lasts::Always`], which are not listed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more: u32,
    /// The command that runs at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandId>,
    /// Whether it has not run although its time had come, because others held it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub owed: bool,
    /// The runs of the owner's that have moved `ends_at`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunName>,
}

/// A line of an order that keeps a text from running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub order: InternalId,
    pub line: u16,
    pub item: ItemId,
    pub lasts: Lasts,
    /// Whether the text is to run when it ends, and not only when it is taken back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ends: bool,
    /// Whether this or another text of the line runs when it ends.
    #[serde(default, skip_serializing_if = "is_default")]
    pub closes: bool,
}

/// How long a line gives what it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lasts {
    Always,
    /// So many seconds, after what lasts already.
    For(i64),
    /// Until a second since 1970 UTC: a subscription, whose next period takes its place.
    Until(i64),
}

/// The name of a [`Lasting`] row, or of several, without the server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LastingText {
    pub account: UserId,
    /// A hash of the text.
    pub text: String,
    /// Hashes of the further texts of the line there, of what the line gives: each may be the one that takes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

/// The texts that run when an item of an account ends: what is published later replaces them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ItemEnds {
    /// Counts the writes.
    pub version: u32,
    /// Servers with hashes of texts.
    pub texts: Vec<(ServerId, String)>,
}

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
}

parsed!(RunName: NotARunName);
texts!(RunName);

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

/// A try of an item that is not over: its commands, which no order has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Try {
    pub item: ItemId,
    /// The player that it is for.
    pub player: String,
    /// The first of the commands' ids, how many of them give, and how many there are with those that take back.
    pub first: CommandId,
    pub given: u32,
    pub all: u32,
    /// The keys of the texts that take back, by which what the player bought would hold them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<(String, String)>,
}

/// A run of the owner's, as it is stored under its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum OwnerRun {
    Delivery(DeliveryRun),
    Extension(Extension),
    Try(Try),
}
