//! Subscriptions: items that are paid again every period, and give access as long as they are paid (rules.md,
//! "Subscriptions").

use super::{CategoryId, InternalId, ItemId, Money, ProviderAccount, RunName, UserId, is_default};
use serde::{Deserialize, Serialize};

/// The unit in which the period of a subscription is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeriodUnit {
    Day,
    Week,
    #[default]
    Month,
    Year,
}

impl PeriodUnit {
    /// The unit as owners write it and as payment providers read it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    /// The most units of a period: three years.
    pub const fn most(self) -> u16 {
        match self {
            Self::Day => 1_095,
            Self::Week => 156,
            Self::Month => 36,
            Self::Year => 3,
        }
    }

    /// Days of the shortest such unit.
    const fn days(self) -> u32 {
        match self {
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 28,
            Self::Year => 365,
        }
    }
}

/// How often a subscription is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Units of a period.
    pub every: u16,
    pub unit: PeriodUnit,
    /// Seconds after the end of a paid period during which access stays while the next payment is awaited.
    pub grace: u32,
}

impl Plan {
    /// The shortest grace, in seconds: providers charge about an hour after a period's end.
    pub const LEAST_GRACE: u32 = 86_400;
    /// The longest grace of an item that does not say it, in seconds.
    pub const GRACE: u32 = 3 * 86_400;

    /// The grace of an item that does not say it, in seconds: a quarter of the period, so that who lets every payment fail
    /// cannot have most of it for nothing, but at least a day and at most three.
    pub fn usual_grace(every: u16, unit: PeriodUnit) -> u32 {
        let period = u32::from(every).saturating_mul(unit.days()).saturating_mul(86_400);
        (period / 4).clamp(Self::LEAST_GRACE, Self::GRACE)
    }
}

impl Default for Plan {
    /// Every month, with three days of grace.
    fn default() -> Self {
        Self { every: 1, unit: PeriodUnit::Month, grace: Self::GRACE }
    }
}

/// The period of a subscription that an order pays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OrderSubscription {
    pub plan: Plan,
    /// The provider's customer that the checkout is for; `None` if the provider makes a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer: Option<String>,
    /// The provider's id of the subscription, once the order is paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The end of the period that the order pays, seconds since 1970 UTC, once it is paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_until: Option<i64>,
    /// Whether it renews the subscription; the order that the subscription began with does not.
    #[serde(default, skip_serializing_if = "is_default")]
    pub renewal: bool,
    /// Whether it gives again what the subscription gives at its beginning: access had ended, or had never been given.
    #[serde(default, skip_serializing_if = "is_default")]
    pub restart: bool,
}

impl OrderSubscription {
    /// Whether its order runs the commands of a renewal, and not those of a purchase.
    pub const fn only_renews(&self) -> bool {
        self.renewal && !self.restart
    }
}

/// The state of a subscription, in the words that every version reads; [`SubscriptionDetail`] says the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubscriptionStatus {
    /// It renews at the end of the paid period.
    Active,
    /// The last renewal was not paid; the provider tries again.
    PastDue,
    /// It does not renew: access ends with the paid period.
    Cancelled,
    /// It is over at the provider.
    Ended,
}

/// More about a status. It is stored beside it, so that functions of an earlier version read the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubscriptionDetail {
    /// Active, and free until a time that the owner has set.
    Trialing,
    /// Active or past due: no payment is asked for until the owner or the buyer goes on.
    Paused,
    /// Past due: the provider does not try again.
    Unpaid,
    /// Past due: the first payment is not confirmed.
    Incomplete,
}

/// The state of a subscription that buyers and owners are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubscriptionState {
    /// It renews by itself.
    Active,
    /// It is free until a time that the store has set, and renews then.
    Trialing,
    /// Nothing is charged until it goes on.
    Paused,
    /// The last renewal was not paid, and is tried again.
    PastDue,
    /// The last renewal was not paid, and is not tried again.
    Unpaid,
    /// The first payment is not confirmed.
    Incomplete,
    /// It does not renew.
    Cancelled,
    /// It is over at the provider.
    Ended,
}

impl SubscriptionState {
    pub const ALL: [Self; 8] = [
        Self::Active,
        Self::Trialing,
        Self::Paused,
        Self::PastDue,
        Self::Unpaid,
        Self::Incomplete,
        Self::Cancelled,
        Self::Ended,
    ];

    pub const fn of(status: SubscriptionStatus, detail: Option<SubscriptionDetail>) -> Self {
        match (status, detail) {
            (SubscriptionStatus::Ended, _) => Self::Ended,
            (SubscriptionStatus::Cancelled, _) => Self::Cancelled,
            (_, Some(SubscriptionDetail::Paused)) => Self::Paused,
            (_, Some(SubscriptionDetail::Trialing)) => Self::Trialing,
            (_, Some(SubscriptionDetail::Unpaid)) => Self::Unpaid,
            (_, Some(SubscriptionDetail::Incomplete)) => Self::Incomplete,
            (SubscriptionStatus::Active, None) => Self::Active,
            (SubscriptionStatus::PastDue, None) => Self::PastDue,
        }
    }

    /// The state as the API and lists show it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Trialing => "trialing",
            Self::Paused => "paused",
            Self::PastDue => "past_due",
            Self::Unpaid => "unpaid",
            Self::Incomplete => "incomplete",
            Self::Cancelled => "cancelled",
            Self::Ended => "ended",
        }
    }

    /// Whether it is paid by itself when its time is over.
    pub const fn renews(self) -> bool {
        matches!(self, Self::Active | Self::Trialing)
    }
}

/// When a cancelled subscription ends at the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cancellation {
    /// At the end of the period that is paid.
    AtPeriodEnd,
    /// At once.
    Now,
}

/// A subscription at a payment provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// The provider's id.
    pub id: String,
    /// Counts the writes.
    pub version: u32,
    pub user: UserId,
    pub item: ItemId,
    /// The item's name when it was bought.
    pub name: String,
    /// The price of a period, in minor units of `currency`.
    pub price: Money,
    pub currency: String,
    pub plan: Plan,
    /// The provider's id of the buyer.
    pub customer: String,
    pub account: ProviderAccount,
    /// The order that it began with.
    pub first: InternalId,
    /// The order of the newest paid period.
    pub newest: InternalId,
    /// The end of that period. All times are seconds since 1970 UTC.
    pub paid_until: i64,
    /// As the provider says, but for what was cancelled: `cancelled` says that.
    pub status: SubscriptionStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<SubscriptionDetail>,
    /// Until when it is free, if the owner has given it a trial at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_until: Option<i64>,
    /// When it ends, if the owner has set a time at the provider that is not the end of its period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<i64>,
    /// The cumulative category that it is a rank of, when it was last paid: of its ranks a buyer has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank_of: Option<CategoryId>,
    /// The provider's ids of the subscriptions whose place it has taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<String>,
    /// The order of the subscription that has taken its place: a payment of it is refunded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<InternalId>,
    /// Whether it does not renew any more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cancelled: bool,
    /// When it ended at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
    /// When access ended before the paid period did: the newest order was refunded or disputed, or the owner ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<i64>,
    /// When access ended because nothing was paid. Only a payment begins it again: commands run for orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lapsed_at: Option<i64>,
    /// How many seconds longer than what is paid, or free, it gives access: the owner has given back an outage.
    #[serde(default, skip_serializing_if = "is_default")]
    pub extended: i64,
    /// The runs of the owner's that did so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunName>,
    /// The cancellation that is still to be asked of the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<Cancellation>,
    /// The end of access for which the commands of `newest` are set.
    pub scheduled: i64,
    /// When the sweep looks at it next; `None` once nothing is left to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<i64>,
}

/// A subscription that is not over, in the row of its user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserSubscription {
    /// The provider's id.
    pub id: String,
    pub item: ItemId,
    pub name: String,
    /// The price of a period.
    pub price: Money,
    pub status: SubscriptionStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<SubscriptionDetail>,
    /// When it renews if it does; otherwise when access ends. Seconds since 1970 UTC.
    pub until: i64,
    /// When access ends, as far as is known; `None` in a row of before, which says it only of one that does not renew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_until: Option<i64>,
    /// See [`Subscription::ends_at`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<i64>,
    /// See [`Subscription::rank_of`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank_of: Option<CategoryId>,
}

impl UserSubscription {
    /// The state that its buyer is shown: one that has ended is cancelled until its access ends.
    pub const fn state(&self) -> SubscriptionState {
        match SubscriptionState::of(self.status, self.detail) {
            SubscriptionState::Ended => SubscriptionState::Cancelled,
            state => state,
        }
    }

    /// Whether it gives access at `now`, seconds since 1970 UTC. One that does not blocks no purchase.
    pub const fn has_access(&self, now: i64) -> bool {
        match (self.access_until, self.status) {
            (Some(until), _) => now < until,
            (None, SubscriptionStatus::Active) => true,
            (None, _) => now < self.until,
        }
    }

    /// Whether it is over at `now`, seconds since 1970 UTC: nothing is left of it to show.
    pub const fn is_over(&self, now: i64) -> bool {
        match self.status {
            SubscriptionStatus::Active | SubscriptionStatus::PastDue => false,
            SubscriptionStatus::Cancelled | SubscriptionStatus::Ended => self.until <= now,
        }
    }
}

/// A buyer at the payment provider: the subscriptions that an account's proven logins begin belong to one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderCustomer {
    /// The provider's id.
    pub id: String,
    pub account: ProviderAccount,
    /// The currency of the subscription that it came with. Providers let a customer subscribe in one.
    #[serde(default)]
    pub currency: String,
}
