//! Sums of what was bought: a user's ledger, and the statistics of the store. And what a report is made of: the rows of orders by
//! month, and the changes of the store's balance at the provider (rules.md, "What was earned").

use super::{InternalId, ItemId, Money, Order, User, UserId, Window, WindowKind};
use jiff::Timestamp;
use jiff::tz::Offset;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Units of an item, and the sum paid for them: line totals after coupon, less refunds and what is disputed (rules.md,
/// "Cumulative categories").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Owned {
    pub units: u32,
    pub paid: Money,
}

/// The entry of an item in a user's ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holding {
    /// Everything that counts until the last run ends: what lasts, and the run.
    pub all: Owned,
    /// `None` if everything lasts.
    pub run: Option<Run>,
}

/// Purchases of an item that ends, each made before the ones before it had ended. They end together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Run {
    /// When the first of them was paid, seconds since 1970 UTC.
    pub begun: i64,
    /// When they end, seconds since 1970 UTC.
    pub ends_at: i64,
    /// What is owned after that: purchases that do not end.
    pub lasting: Owned,
}

impl Run {
    pub const fn has_ended(&self, now: i64) -> bool {
        self.ends_at <= now
    }
}

impl Holding {
    /// What is owned at `now`, seconds since 1970 UTC.
    pub fn at(&self, now: i64) -> Owned {
        self.run.filter(|run| run.has_ended(now)).map_or(self.all, |run| run.lasting)
    }
}

/// Payments of a buyer, or from an address, whatever was refunded of them since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// When the first one was made, seconds since 1970 UTC.
    pub since: Option<i64>,
    pub sum: Money,
}

/// A user's ledger: one entry per distinct item bought, however often (rules.md, "The table").
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    holdings: BTreeMap<ItemId, Holding>,
    times: BTreeMap<ItemId, Vec<i64>>,
    pub spent: Spent,
    /// How often it was written; 0 of a user who bought nothing yet.
    pub version: u64,
}

impl Ledger {
    /// The entry of an item; the default if it was never bought.
    pub fn of(&self, item: ItemId) -> Holding {
        self.holdings.get(&item).copied().unwrap_or_default()
    }

    /// When the last units of an item with a limit in time were bought, seconds since 1970 UTC, latest first.
    pub fn times(&self, item: ItemId) -> &[i64] {
        self.times.get(&item).map_or(&[], Vec::as_slice)
    }

    pub fn set_times(&mut self, item: ItemId, times: Vec<i64>) {
        self.times.insert(item, times);
    }

    /// Whether anything was bought that was not given back.
    pub fn has_any(&self) -> bool {
        self.holdings.values().any(|held| *held != Holding::default())
    }

    /// Whether anything was ever paid or got, also if it has ended or was given back.
    pub fn has_bought(&self) -> bool {
        self.version > 0 || self.spent.since.is_some() || self.has_any()
    }

    /// The entry of an item, inserted if it is missing.
    pub fn entry(&mut self, item: ItemId) -> &mut Holding {
        self.holdings.entry(item).or_default()
    }

    /// Every entry, by item.
    pub fn iter(&self) -> impl Iterator<Item = (ItemId, Holding)> {
        self.holdings.iter().map(|(item, holding)| (*item, *holding))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Donor {
    pub user: UserId,
    /// The user's name when the sum last changed.
    pub username: String,
    #[serde(default)]
    pub avatar: String,
    /// The sum in the store's currency, less refunds.
    pub amount: Money,
}

impl Donor {
    pub fn new(user: &User, amount: Money) -> Self {
        Self { user: user.id, username: user.username.clone(), avatar: user.avatar.clone(), amount }
    }
}

/// A user with an all-time sum, as patrons/get lists them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patron {
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentDonation {
    pub order: InternalId,
    pub user: UserId,
    pub username: String,
    pub avatar: String,
    pub amount: Money,
    pub currency: String,
    /// When the order was created, seconds since 1970 UTC.
    pub at: i64,
}

impl RecentDonation {
    /// A paid order with its owner's name and image.
    pub fn new(paid: &PaidOrder, user: &User) -> Self {
        Self {
            order: paid.order.clone(),
            user: user.id,
            username: user.username.clone(),
            avatar: user.avatar.clone(),
            amount: paid.amount,
            currency: paid.currency.clone(),
            at: paid.at,
        }
    }
}

/// A paid order with an owner and an amount above zero, sorted by time. It has no name, because it is kept when the
/// account is erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaidOrder {
    pub order: InternalId,
    pub user: UserId,
    pub amount: Money,
    pub currency: String,
    /// When the order was created, seconds since 1970 UTC.
    pub at: i64,
}

impl PaidOrder {
    pub fn new(order: &Order, owner: UserId) -> Self {
        Self {
            order: order.internal_id.clone(),
            user: owner,
            amount: order.price,
            currency: order.currency.clone(),
            at: order.created_at,
        }
    }
}

/// The sum that a user gave in one month. After a refund the month's largest donors are found in these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonthSum {
    pub user: UserId,
    /// The sum in the store's currency, less refunds.
    pub amount: Money,
}

/// The times from paid to run, in milliseconds, as the shop's pages show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownTimes {
    /// In which half of the commands ran.
    pub half: u64,
    /// In which 95 of 100 ran.
    pub most: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Donations {
    /// Goal id as text to the sum given so far.
    #[serde(default)]
    pub goals: BTreeMap<String, Money>,
    /// The largest sum of each goal of which was told that it is reached, by its id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reached: BTreeMap<String, Money>,
    /// How long commands took in the last 24 hours, if the shop's pages show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<ShownTimes>,
    /// The month that `top` belongs to, `YYYY-MM` in UTC (rules.md, "Settings").
    #[serde(default)]
    pub month: String,
    /// That month's largest donors, largest first.
    #[serde(default)]
    pub top: Vec<Donor>,
    /// The newest paid orders with an owner and an amount above zero, newest first, at most [`Donations::RECENT`].
    #[serde(default)]
    pub recent: Vec<RecentDonation>,
}

impl Donations {
    /// How many recent donations are kept and shown (rules.md, "Settings").
    pub const RECENT: usize = 10;
    /// How many top donors are kept, so that a refund finds the next one without a search.
    pub const TOP: usize = 10;

    /// The month of a second since 1970, `YYYY-MM` in UTC; empty outside of the calendar.
    pub fn month_of(at: i64) -> String {
        let date = Timestamp::from_second(at).map(|at| Offset::UTC.to_datetime(at).date());
        date.map(|date| format!("{:04}-{:02}", date.year(), date.month())).unwrap_or_default()
    }
}

/// A row in the month of an order, or of something that went back of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderOfMonth {
    pub order: InternalId,
    /// What went back then; `None` in the row of when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Back>,
}

/// What went back of an order by the store's own hand. Of an order that was paid at the provider, the provider says when money
/// went back, and how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Back {
    /// In minor units of the order's currency.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub money: Money,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub gift_card: Money,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub virtual_currency: Money,
}

/// A change of the store's balance at the provider, in minor units of the currency in which the store is paid out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BalanceChange {
    pub id: String,
    /// The provider's word for what it is in its reports, such as `charge`, `refund`, `dispute` or `fee`.
    pub category: String,
    /// Without the fee; negative if it was taken.
    pub amount: Money,
    pub fee: Money,
    pub net: Money,
    /// The currency's code in upper case.
    pub currency: String,
    /// The payment that it is of, by which its order is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// The amount of its source, in the currency of the payment. Never negative.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub of: Money,
    /// Seconds since 1970 UTC.
    pub created: i64,
}

/// What a change of the balance is, for a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BalanceKind {
    Charge,
    /// A refund, or one that came back.
    Refund,
    /// What a bank took in a dispute, or gave back.
    Dispute,
    /// Money that moves between the balance and the owner's bank: nothing is earned or lost by it.
    Payout,
    /// A fee by itself, and whatever else the provider takes or gives.
    Other,
}

impl BalanceChange {
    pub fn kind(&self) -> BalanceKind {
        match self.category.as_str() {
            "charge" => BalanceKind::Charge,
            "refund" | "refund_failure" | "partial_capture_reversal" | "charge_failure" => BalanceKind::Refund,
            "dispute" | "dispute_reversal" => BalanceKind::Dispute,
            "payout"
            | "payout_reversal"
            | "payout_minimum_balance_hold"
            | "payout_minimum_balance_release"
            | "topup"
            | "topup_reversal" => BalanceKind::Payout,
            _ => BalanceKind::Other,
        }
    }
}

/// The time zone of a store's days.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoreZone {
    /// Its name in the IANA database; empty for UTC.
    pub name: String,
    /// Its offsets from UTC, see [`Window`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offsets: Vec<(i64, i32)>,
}

impl StoreZone {
    /// The days of it.
    pub fn days(&self) -> Window {
        Window { kind: WindowKind::Day, offsets: self.offsets.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_begin_at_midnight_in_utc() {
        // 2031-04-01T00:00:00Z.
        let april = 1_932_768_000;
        assert_eq!(Donations::month_of(april - 1), "2031-03");
        assert_eq!(Donations::month_of(april), "2031-04");
        assert_eq!(Donations::month_of(i64::MAX), "");
    }
}
