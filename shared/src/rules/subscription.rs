//! The life of a subscription: until when it gives access, and what of it changes by a payment, a refund, a dispute, the
//! owner or the provider (rules.md, "Subscriptions").

use crate::model::SubscriptionStatus::{Active, Cancelled, Ended, PastDue};
use crate::model::{
    Cancellation, CategoryId, InternalId, ItemId, PublishedItem, RunName, Subscription, SubscriptionDetail,
    SubscriptionState, SubscriptionStatus, UserSubscription,
};

/// How many seconds after a period's end its renewal is expected to be known. Providers charge about an hour after it.
pub const RENEWAL_LATE: i64 = 3 * 3_600;
/// When a subscription that is overdue is looked at again, in seconds.
const OVERDUE_AGAIN: i64 = 6 * 3_600;
/// When a step that did not succeed is tried again, in seconds.
pub const SOON: i64 = 60;

/// The states that providers have. What each means for the store is in one table (rules.md, "States of a subscription").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderState {
    /// The first payment is not confirmed.
    Incomplete,
    /// The first payment was not confirmed in time.
    IncompleteExpired,
    /// It is free until a time that the owner has set.
    Trialing,
    Active,
    /// No payment is asked for: the owner has paused it, or a trial has ended without a card.
    Paused,
    /// A renewal was not paid, and is tried again.
    PastDue,
    /// A renewal was not paid, and is not tried again.
    Unpaid,
    Ended,
}

impl ProviderState {
    /// What of it is stored. [`access_until`] says what follows from that.
    pub const fn stored(self) -> (SubscriptionStatus, Option<SubscriptionDetail>) {
        match self {
            Self::Active => (Active, None),
            Self::Trialing => (Active, Some(SubscriptionDetail::Trialing)),
            Self::Paused => (Active, Some(SubscriptionDetail::Paused)),
            Self::PastDue => (PastDue, None),
            Self::Unpaid => (PastDue, Some(SubscriptionDetail::Unpaid)),
            Self::Incomplete => (PastDue, Some(SubscriptionDetail::Incomplete)),
            Self::IncompleteExpired | Self::Ended => (Ended, None),
        }
    }
}

/// A subscription as its provider describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSubscription {
    /// Active, past due or ended.
    pub status: SubscriptionStatus,
    pub detail: Option<SubscriptionDetail>,
    /// Whether it ends with its period.
    pub cancelled: bool,
    /// The end of its period, paid or not, seconds since 1970 UTC.
    pub period_end: i64,
    /// The end of its trial, seconds since 1970 UTC.
    pub free_until: Option<i64>,
    /// When it ends if that is not with its period, seconds since 1970 UTC.
    pub ends_at: Option<i64>,
    /// When it ended, seconds since 1970 UTC.
    pub ended_at: Option<i64>,
}

/// The end of what is paid or free, in seconds since 1970 UTC. Free time ends with the subscription, and paid time does not.
pub fn lasts_until(subscription: &Subscription) -> i64 {
    let ended = if subscription.status == Ended { subscription.ended_at } else { None };
    let free = subscription.free_until.map(|free| ended.map_or(free, |ended| free.min(ended)));
    free.map_or(subscription.paid_until, |free| free.max(subscription.paid_until))
}

/// The second (since 1970 UTC) at which a subscription no longer gives access, as far as is known now.
pub fn access_until(subscription: &Subscription) -> i64 {
    let until = lasts_until(subscription);
    if let Some(ended) = subscription.stopped_at.or(subscription.lapsed_at) {
        return ended;
    }
    // One that ended after its period was not paid: the provider gave up.
    let is_over = subscription.status == Ended && subscription.ended_at.is_none_or(|ended| ended <= until);
    let is_asked_for =
        !matches!(subscription.detail, Some(SubscriptionDetail::Paused | SubscriptionDetail::Incomplete));
    let is_awaited = !subscription.cancelled && !is_over && is_asked_for;
    let until = until.saturating_add(subscription.extended);
    if is_awaited { until + i64::from(subscription.plan.grace) } else { until }
}

/// The subscription after a run of the owner's has made it give access for so many seconds longer; `None` if the run did so
/// before, or it gives no access at `now`.
pub fn extended(before: &Subscription, run: &RunName, seconds: i64, now: i64) -> Option<Subscription> {
    if before.runs.contains(run) || before.stopped_at.is_some() || access_until(before) <= now {
        return None;
    }
    let mut next = before.clone();
    next.extended = next.extended.saturating_add(seconds);
    next.runs.push(run.clone());
    Some(settled(next, now))
}

/// The state that the owner is shown.
pub const fn shown_state(subscription: &Subscription) -> SubscriptionState {
    SubscriptionState::of(shown_status(subscription), subscription.detail)
}

const fn shown_status(subscription: &Subscription) -> SubscriptionStatus {
    match subscription.status {
        Ended => Ended,
        _ if subscription.stopped_at.is_some() => Ended,
        _ if subscription.cancelled => Cancelled,
        status => status,
    }
}

/// The entry of a subscription in the row of its user; `None` once it is over at `now`.
pub fn entry(subscription: &Subscription, now: i64) -> Option<UserSubscription> {
    let status = match shown_status(subscription) {
        Ended => Cancelled,
        status => status,
    };
    let detail = subscription.detail.filter(|_| status != Cancelled);
    let (renews, access) = (SubscriptionState::of(status, detail).renews(), access_until(subscription));
    let entry = UserSubscription {
        id: subscription.id.clone(),
        item: subscription.item,
        name: subscription.name.clone(),
        price: subscription.price,
        status,
        detail,
        until: if renews { lasts_until(subscription) } else { access },
        access_until: Some(access),
        ends_at: subscription.ends_at.filter(|_| renews),
        rank_of: subscription.rank_of,
    };
    (!entry.is_over(now)).then_some(entry)
}

/// The cumulative category that an item is a rank of as a subscription (rules.md, "Subscriptions").
pub fn rank_of(published: &PublishedItem) -> Option<CategoryId> {
    published.is_rank.then_some(published.category)
}

/// The subscriptions of a buyer whose place one of an item takes, once it is paid: the other ranks of its category, and what
/// the buyer has of the item. One of the item itself that gives access is none of them: the item cannot be bought then.
pub fn replaced(
    entries: &[UserSubscription],
    item: ItemId,
    rank_of: Option<CategoryId>,
) -> impl Iterator<Item = &UserSubscription> {
    entries.iter().filter(move |entry| entry.item == item || (rank_of.is_some() && entry.rank_of == rank_of))
}

/// The subscription after another has taken its place with an order.
pub fn replaced_by(before: &Subscription, order: &InternalId, now: i64) -> Subscription {
    Subscription { replaced_by: Some(order.clone()), ..cancelled(before, Cancellation::Now, now) }
}

/// A user's entries with the present one of a subscription. Those of others that are over are left out.
pub fn with_entry(entries: &[UserSubscription], subscription: &Subscription, now: i64) -> Vec<UserSubscription> {
    let others = entries.iter().filter(|other| other.id != subscription.id && !other.is_over(now));
    others.cloned().chain(entry(subscription, now)).collect()
}

/// The subscription after an order has paid it until a second. An older period changes nothing. One that was charged after
/// the owner or a refund had ended it gives what was paid for, and is not charged again.
pub fn paid(before: &Subscription, order: &InternalId, until: i64, now: i64) -> Subscription {
    if until <= before.paid_until {
        return before.clone();
    }
    let (status, detail) = if before.status == PastDue { (Active, None) } else { (before.status, before.detail) };
    let (newest, stopped_at, lapsed_at) = (order.clone(), None, None);
    let next = Subscription { newest, paid_until: until, status, detail, stopped_at, lapsed_at, ..before.clone() };
    let scheduled = access_until(&next);
    settled(Subscription { scheduled, ..next }, now)
}

/// The subscription after it was cancelled. At once, access ends with it.
pub fn cancelled(before: &Subscription, how: Cancellation, now: i64) -> Subscription {
    let stopped_at = match how {
        Cancellation::Now => before.stopped_at.or_else(|| Some(now.min(access_until(before)))),
        Cancellation::AtPeriodEnd => before.stopped_at,
    };
    let requested = if before.status == Ended { None } else { before.requested.max(Some(how)) };
    settled(Subscription { cancelled: true, stopped_at, requested, ..before.clone() }, now)
}

/// The subscription after access, which was stopped, lasts to the end of what is paid again.
pub fn resumed(before: &Subscription, now: i64) -> Subscription {
    let next = Subscription { stopped_at: None, lapsed_at: None, ..before.clone() };
    let scheduled = access_until(&next);
    settled(Subscription { scheduled, ..next }, now)
}

/// The subscription after its provider was asked.
pub fn observed(before: &Subscription, seen: &ProviderSubscription, now: i64) -> Subscription {
    let is_done = match before.requested {
        None => true,
        Some(Cancellation::AtPeriodEnd) => seen.cancelled || seen.status == Ended,
        Some(Cancellation::Now) => seen.status == Ended,
    };
    let requested = before.requested.filter(|_| !is_done);
    // The provider does not say of one that has ended how that came; what was cancelled before stays so.
    let cancelled = seen.cancelled || requested.is_some() || (seen.status == Ended && before.cancelled);
    let ended_at = (seen.status == Ended).then(|| before.ended_at.or(seen.ended_at).unwrap_or(now));
    let (detail, free_until, ends_at) = (seen.detail, seen.free_until, seen.ends_at);
    let status = seen.status;
    let lapsed_at = if now < access_until(before) { None } else { Some(access_until(before)) };
    let next =
        Subscription { detail, free_until, ends_at, cancelled, ended_at, lapsed_at, requested, ..before.clone() };
    settled(Subscription { status, ..next }, now)
}

/// Whether a cancellation changes nothing: it has ended at the provider, and gives nothing that could be ended.
pub fn is_over_for(subscription: &Subscription, how: Cancellation, now: i64) -> bool {
    let keeps_access = how == Cancellation::Now && access_until(subscription) > now;
    subscription.status == Ended && !keeps_access
}

/// The call that a request of the store is made by. What is not paid is ended at once: it must not be charged any more; so is
/// what is paused, whose period may never end.
pub fn call_of(subscription: &Subscription) -> Option<Cancellation> {
    let is_idle = subscription.status == PastDue || subscription.detail == Some(SubscriptionDetail::Paused);
    match subscription.requested {
        Some(Cancellation::AtPeriodEnd) if is_idle => Some(Cancellation::Now),
        requested => requested,
    }
}

/// The subscription with the second at which the sweep looks at it next.
pub fn settled(subscription: Subscription, now: i64) -> Subscription {
    let is_moved = subscription.scheduled == access_until(&subscription);
    let expected = lasts_until(&subscription) + RENEWAL_LATE;
    let due = if subscription.requested.is_some() || !is_moved {
        Some(now)
    } else if subscription.status == Ended {
        None
    } else {
        Some(if expected > now { expected } else { now + OVERDUE_AGAIN })
    };
    Subscription { due, ..subscription }
}

#[cfg(test)]
#[path = "subscription_tests.rs"]
mod tests;
