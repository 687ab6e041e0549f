//! Subscriptions: items that are paid again every period, and give access as long as they are paid (rules.md,
//! "Subscriptions").

use super::{InternalId, ItemId, Money, ProviderAccount, UserId, is_default};
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
    /// The grace of an item that does not say it, in seconds.
    pub const GRACE: u32 = 3 * 86_400;
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

/// The state of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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

impl SubscriptionStatus {
    pub const ALL: [Self; 4] = [Self::Active, Self::PastDue, Self::Cancelled, Self::Ended];

    /// The state as the API and lists show it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::PastDue => "past_due",
            Self::Cancelled => "cancelled",
            Self::Ended => "ended",
        }
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
    /// Whether it does not renew any more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cancelled: bool,
    /// When it ended at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
    /// When access ended before the paid period did: the newest order was refunded or disputed, or the owner ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<i64>,
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
    /// When it renews if it is active; otherwise when access ends. Seconds since 1970 UTC.
    pub until: i64,
}

impl UserSubscription {
    /// Whether it is over at `now`, seconds since 1970 UTC.
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
