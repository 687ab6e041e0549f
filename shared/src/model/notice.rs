//! Notices: what owners are notified of, as it is kept until every target knows it (rules.md, "Notices").

use super::{InternalId, Money, ServerId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What owners can be notified of, by the words of `notify` in `store.yaml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeEvent {
    /// An order was paid, with money or virtual currency.
    Paid,
    /// An order that costs nothing was made.
    FreeOrder,
    /// Money of an order went back, all of it or a part.
    Refunded,
    /// The buyer's bank disputes a payment, or decided about it.
    Disputed,
    /// A further period of a subscription was paid.
    Renewed,
    /// A subscription ended, or will not be renewed.
    Cancelled,
    /// A command was given up: nothing tries it again by itself.
    GaveUp,
    /// The last unit of an item with a limit was sold.
    SoldOut,
    Goal,
    RefusedCommand,
    /// A game server that has commands does not ask for them.
    SilentServer,
    /// The day before, and whether everything agrees.
    Daily,
}

/// One of the places that are told, as `store.yaml` names it. Its address is a secret that the store's files do not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeTarget {
    pub name: String,
    pub kind: TargetKind,
    pub events: Vec<NoticeEvent>,
    /// The text of an event's message, instead of the one that it has by itself; with words in braces.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub texts: BTreeMap<NoticeEvent, String>,
}

impl NoticeTarget {
    /// A target with the texts that events have by themselves.
    pub fn new(name: &str, kind: TargetKind, events: &[NoticeEvent]) -> Self {
        Self { name: name.to_owned(), kind, events: events.to_vec(), texts: BTreeMap::new() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A channel of Discord.
    Discord,
    /// An HTTPS address of the owner's own.
    Webhook,
}

/// An event that owners are notified of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// Made of what happened, so that it never changes and the same event has one notice.
    pub id: String,
    pub event: NoticeEvent,
    /// When it happened, seconds since 1970 UTC.
    pub at: i64,
    pub about: About,
    /// How far its targets are, by name; empty before it was tried.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub targets: BTreeMap<String, Sending>,
}

impl Notice {
    /// One that was not tried.
    pub fn new(event: NoticeEvent, id: String, at: i64, about: About) -> Self {
        Self { id, event, at, about, targets: BTreeMap::new() }
    }
}

/// How far a notice is with one of its targets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sending {
    /// How often it was tried since it was written, or sent again by hand.
    pub attempts: u32,
    /// When it was tried last, seconds since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried_at: Option<i64>,
    /// When it is tried again, seconds since 1970 UTC; `None` if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_at: Option<i64>,
    /// When it was sent again by hand, seconds since 1970 UTC: its time of attempts begins again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// When the target took it, seconds since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<i64>,
    /// The target's last answer, or why there was none, in at most 200 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub answer: String,
}

/// A target that takes nothing for a time, because it said so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausedTarget {
    pub name: String,
    /// Until when, seconds since 1970 UTC.
    pub until: i64,
}

/// The subject of a notice: what its message is made of, as it was when it happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    Order(Box<NoticeOrder>),
    Subscription {
        /// The order with which it began.
        order: InternalId,
        player: String,
        item: u64,
        name: String,
        /// Until when it lasts, seconds since 1970 UTC.
        until: i64,
    },
    Item {
        id: u64,
        name: String,
    },
    Goal {
        id: String,
        name: String,
        /// The sum that was reached.
        sum: Money,
        currency: String,
        digits: u8,
        /// How often it was reached, this time included.
        times: u64,
    },
    Command {
        id: u64,
        order: InternalId,
        server: ServerId,
        server_name: String,
        /// The command as it was sent, or the first 200 characters of it.
        text: String,
        answer: String,
    },
    Server {
        id: ServerId,
        name: String,
        silent_since: i64,
    },
    Day(NoticeDay),
}

/// An order in a message. It has no code of a gift card, no address and no token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoticeOrder {
    /// The id that owner and buyer see.
    pub id: InternalId,
    pub status: String,
    /// The name of the player, as the account is called; empty if the order has no owner.
    pub player: String,
    pub lines: Vec<NoticeLine>,
    /// Code of the currency of every amount: the order's, or the store's if the order was charged in another.
    pub currency: String,
    /// Digits of its minor unit.
    pub digits: u8,
    /// What the order cost, tax on top included.
    pub total: Money,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub virtual_total: Money,
    /// The part that a gift card paid.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub gift_card: Money,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub tax: Money,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coupon: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referral: Option<String>,
    /// The way of paying, in the provider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The amount that went back with this event; and in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refund: Option<NoticeRefund>,
    /// The state of the dispute, in the provider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispute: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeRefund {
    pub amount: Money,
    pub refunded: Money,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeLine {
    pub item: u64,
    pub name: String,
    pub count: u32,
    pub total: Money,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub virtual_total: Money,
    /// The player that a gift is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gift_to: Option<String>,
}

/// A day of the store's time zone, and whether what it can be compared with agrees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeDay {
    /// The day, such as `2027-05-01`.
    pub day: String,
    /// Sentences, each with the command that shows why if it is not right.
    pub lines: Vec<DayLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayLine {
    pub text: String,
    /// The command that shows why it is not right; `None` if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<String>,
}
