//! The statistics of paid orders: goals, donators and patrons. Live data, not published.

use super::{InternalId, Money, UserId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A user and a sum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Donor {
    /// The user.
    pub user: UserId,
    /// The user's name when the sum last changed.
    pub username: String,
    /// The user's image URL then.
    #[serde(default)]
    pub avatar: String,
    /// The sum in the store's currency, less refunds.
    pub amount: Money,
}

/// A user with an all-time sum, as patrons/get lists them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patron {
    /// The user.
    pub user: UserId,
    /// The user's name when the sum last changed.
    pub username: String,
    /// The all-time sum in the store's currency, less refunds.
    pub amount: Money,
}

impl From<&Donor> for Patron {
    fn from(donor: &Donor) -> Self {
        Self { user: donor.user, username: donor.username.clone(), amount: donor.amount }
    }
}

/// The largest patrons in one item, compiled from a row for each, so that what
/// patrons/get reads does not grow with their number. Thresholds are the owner's settings and not part of it: the
/// patrons of every threshold are a prefix of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TopPatrons {
    /// Largest sum first, and then by name.
    #[serde(default)]
    pub patrons: Vec<Patron>,
    /// Whether there may be patrons who are not in the list.
    #[serde(default)]
    pub has_more: bool,
}

/// A recent paid order with an owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentDonation {
    /// The order.
    pub order: InternalId,
    /// Its owner.
    pub user: UserId,
    /// The owner's name.
    pub username: String,
    /// The owner's image URL.
    pub avatar: String,
    /// The amount charged.
    pub amount: Money,
    /// Currency code of the amount.
    pub currency: String,
    /// When the order was created, seconds since 1970 UTC.
    pub at: i64,
}

/// A paid order with an owner, sorted by time. It has no name, because it is kept when the account is erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaidOrder {
    /// The order.
    pub order: InternalId,
    /// Its owner.
    pub user: UserId,
    /// The amount charged.
    pub amount: Money,
    /// Currency code of the amount.
    pub currency: String,
    /// When the order was created, seconds since 1970 UTC.
    pub at: i64,
}

/// The sum that a user gave in one month. After a refund the month's largest donors are found in these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonthSum {
    /// The user.
    pub user: UserId,
    /// The sum in the store's currency, less refunds.
    pub amount: Money,
}

/// The item of statistics that settings/get shows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Donations {
    /// Goal id as text to the sum given so far.
    #[serde(default)]
    pub goals: BTreeMap<String, Money>,
    /// The month that `top` belongs to, `YYYY-MM` in UTC (rules.md, "Settings").
    #[serde(default)]
    pub month: String,
    /// That month's largest donors, largest first.
    #[serde(default)]
    pub top: Vec<Donor>,
    /// The newest paid orders with an owner, newest first, at most [`Donations::RECENT`].
    #[serde(default)]
    pub recent: Vec<RecentDonation>,
}

impl Donations {
    /// How many recent donations are kept and shown (rules.md, "Settings").
    pub const RECENT: usize = 10;
    /// How many top donors are kept, so that a refund finds the next one without a search.
    pub const TOP: usize = 10;
}
