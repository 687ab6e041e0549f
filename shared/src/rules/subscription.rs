//! The life of a subscription: until when it gives access, and what of it changes by a payment, a refund, a dispute, the
//! owner or the provider (rules.md, "Subscriptions").

use crate::model::SubscriptionStatus::{Active, Cancelled, Ended, PastDue};
use crate::model::{Cancellation, InternalId, Subscription, SubscriptionStatus, UserSubscription};

/// How many seconds after a period's end its renewal is expected to be known. Providers charge about an hour after it.
pub const LATE: i64 = 3 * 3_600;
/// When a subscription that is overdue is looked at again, in seconds.
const AGAIN: i64 = 6 * 3_600;
/// When a step that did not succeed is tried again, in seconds.
pub const SOON: i64 = 60;

/// A subscription as its provider describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSubscription {
    /// Active, past due or ended.
    pub status: SubscriptionStatus,
    /// Whether it ends with its period.
    pub cancelled: bool,
    /// The end of its period, paid or not, seconds since 1970 UTC.
    pub period_end: i64,
    /// When it ended, seconds since 1970 UTC.
    pub ended_at: Option<i64>,
}

/// The second (since 1970 UTC) at which a subscription no longer gives access, as far as is known now.
pub fn access_until(subscription: &Subscription) -> i64 {
    let paid_until = subscription.paid_until;
    if let Some(stopped) = subscription.stopped_at {
        return stopped;
    }
    // One that ended after its period was not paid: the provider gave up.
    let is_over = subscription.status == Ended && subscription.ended_at.is_none_or(|ended| ended <= paid_until);
    if subscription.cancelled || is_over { paid_until } else { paid_until + i64::from(subscription.plan.grace) }
}

/// The state that buyer and owner are shown.
pub const fn shown_status(subscription: &Subscription) -> SubscriptionStatus {
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
    let until = if status == Active { subscription.paid_until } else { access_until(subscription) };
    let entry = UserSubscription {
        id: subscription.id.clone(),
        item: subscription.item,
        name: subscription.name.clone(),
        price: subscription.price,
        status,
        until,
    };
    (!entry.is_over(now)).then_some(entry)
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
    let status = if before.status == PastDue { Active } else { before.status };
    let next = Subscription { newest: order.clone(), paid_until: until, status, stopped_at: None, ..before.clone() };
    let scheduled = access_until(&next);
    settled(Subscription { scheduled, ..next }, now)
}

/// The subscription after it was cancelled. At once, access ends with it.
pub fn cancelled(before: &Subscription, how: Cancellation, now: i64) -> Subscription {
    let stopped_at = match how {
        Cancellation::Now => before.stopped_at.or(Some(now)),
        Cancellation::AtPeriodEnd => before.stopped_at,
    };
    let requested = if before.status == Ended { None } else { before.requested.max(Some(how)) };
    settled(Subscription { cancelled: true, stopped_at, requested, ..before.clone() }, now)
}

/// The subscription after access, which was stopped, lasts to the end of what is paid again.
pub fn resumed(before: &Subscription, now: i64) -> Subscription {
    let next = Subscription { stopped_at: None, ..before.clone() };
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
    settled(Subscription { status: seen.status, cancelled, ended_at, requested, ..before.clone() }, now)
}

/// Whether a cancellation changes nothing: it has ended at the provider, and gives nothing that could be ended.
pub fn is_over_for(subscription: &Subscription, how: Cancellation, now: i64) -> bool {
    let keeps_access = how == Cancellation::Now && access_until(subscription) > now;
    subscription.status == Ended && !keeps_access
}

/// The call that a request of the store is made by. What is not paid is ended at once: it must not be charged any more.
pub fn call_of(subscription: &Subscription) -> Option<Cancellation> {
    match subscription.requested {
        Some(Cancellation::AtPeriodEnd) if subscription.status == PastDue => Some(Cancellation::Now),
        requested => requested,
    }
}

/// The subscription with the second at which the sweep looks at it next.
pub fn settled(subscription: Subscription, now: i64) -> Subscription {
    let is_moved = subscription.scheduled == access_until(&subscription);
    let expected = subscription.paid_until + LATE;
    let due = if subscription.requested.is_some() || !is_moved {
        Some(now)
    } else if subscription.status == Ended {
        None
    } else {
        Some(if expected > now { expected } else { now + AGAIN })
    };
    Subscription { due, ..subscription }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ItemId, Money, Plan, ProviderAccount, UserId};

    const END: i64 = 1_000_000;
    const GRACE: i64 = 259_200;

    fn subscription() -> Subscription {
        Subscription {
            id: "sub_1".to_owned(),
            version: 1,
            user: UserId::new(1),
            item: ItemId::new(7),
            name: "Squire".to_owned(),
            price: Money::from_minor(499),
            currency: "EUR".to_owned(),
            plan: Plan::default(),
            customer: "cus_1".to_owned(),
            account: ProviderAccount { id: None, live: false },
            first: InternalId::new("first"),
            newest: InternalId::new("first"),
            paid_until: END,
            status: Active,
            cancelled: false,
            ended_at: None,
            stopped_at: None,
            requested: None,
            scheduled: END + GRACE,
            due: Some(END + LATE),
        }
    }

    fn seen(status: SubscriptionStatus, cancelled: bool, ended_at: Option<i64>) -> ProviderSubscription {
        ProviderSubscription { status, cancelled, period_end: END, ended_at }
    }

    #[test]
    fn access_lasts_as_long_as_it_is_paid_and_in_grace_only_while_a_payment_is_awaited() {
        let now = END - 10;
        for (what, seen, until) in [
            ("renews", seen(Active, false, None), END + GRACE),
            ("was not paid", seen(PastDue, false, None), END + GRACE),
            ("was cancelled", seen(Active, true, None), END),
            ("ended with its period", seen(Ended, true, Some(END)), END),
            ("was ended before its period", seen(Ended, false, Some(END - 100)), END),
            ("was given up", seen(Ended, false, Some(END + 50)), END + GRACE),
        ] {
            assert_eq!(access_until(&observed(&subscription(), &seen, now)), until, "{what}");
        }
        assert_eq!(access_until(&cancelled(&subscription(), Cancellation::AtPeriodEnd, now)), END);
        assert_eq!(access_until(&cancelled(&subscription(), Cancellation::Now, now)), now);
    }

    #[test]
    fn a_cancellation_while_a_payment_is_awaited_ends_the_grace_for_good() {
        let unpaid = observed(&subscription(), &seen(PastDue, false, None), END + 100);
        let given_up = observed(&unpaid, &seen(PastDue, true, None), END + 200);
        let ended = observed(&given_up, &seen(Ended, false, Some(END + 300)), END + 300);
        assert_eq!((access_until(&given_up), access_until(&ended)), (END, END));
    }

    #[test]
    fn a_request_stays_until_the_provider_has_done_it() {
        let asked = cancelled(&subscription(), Cancellation::AtPeriodEnd, 5);
        assert_eq!((call_of(&asked), asked.due), (Some(Cancellation::AtPeriodEnd), Some(5)));
        let not_yet = observed(&asked, &seen(Active, false, None), 6);
        assert_eq!((not_yet.requested, shown_status(&not_yet)), (Some(Cancellation::AtPeriodEnd), Cancelled));
        let done = observed(&not_yet, &seen(Active, true, None), 7);
        assert_eq!((done.requested, shown_status(&done)), (None, Cancelled));
        let resumed = observed(&done, &seen(Active, false, None), 8);
        assert_eq!(shown_status(&resumed), Active);
        let now = cancelled(&asked, Cancellation::Now, 9);
        assert_eq!(call_of(&cancelled(&now, Cancellation::AtPeriodEnd, 10)), Some(Cancellation::Now));
        let unpaid = Subscription { status: PastDue, ..asked };
        assert_eq!(call_of(&unpaid), Some(Cancellation::Now));
    }

    #[test]
    fn a_payment_moves_the_end_and_an_older_one_does_not() {
        let unpaid = observed(&subscription(), &seen(PastDue, false, None), END + 100);
        let order = InternalId::new("second");
        let next = paid(&unpaid, &order, END + 500, END + 200);
        assert_eq!((next.paid_until, &next.newest, next.status), (END + 500, &order, Active));
        assert_eq!(next.scheduled, access_until(&next));
        let stopped = cancelled(&subscription(), Cancellation::Now, END - 5);
        let charged = paid(&stopped, &order, END + 500, END - 4);
        assert_eq!((access_until(&charged), charged.requested), (END + 500, Some(Cancellation::Now)));
        assert_eq!(paid(&next, &InternalId::new("first"), END, END + 300), next);
    }

    #[test]
    fn a_user_has_one_entry_of_it_until_it_is_over() {
        let other = UserSubscription { id: "sub_0".to_owned(), ..entry(&subscription(), 0).unwrap() };
        let over = UserSubscription { status: Cancelled, until: 5, ..other.clone() };
        let entries = with_entry(&[other.clone(), over], &subscription(), 10);
        assert_eq!(entries, [other.clone(), entry(&subscription(), 10).unwrap()]);
        let stopped = cancelled(&subscription(), Cancellation::Now, 10);
        assert_eq!(with_entry(&entries, &stopped, 10), [other]);
    }

    #[test]
    fn it_is_looked_at_until_nothing_is_left_to_do() {
        let due = |seen: ProviderSubscription, now: i64| {
            let next = observed(&subscription(), &seen, now);
            let scheduled = access_until(&next);
            settled(Subscription { scheduled, ..next }, now).due
        };
        assert_eq!(due(seen(Active, false, None), 10), Some(END + LATE));
        assert_eq!(due(seen(PastDue, false, None), END + LATE), Some(END + LATE + AGAIN));
        assert_eq!(due(seen(Ended, true, Some(END)), END + 5), None);
        assert_eq!(observed(&subscription(), &seen(Ended, true, Some(END)), END).due, Some(END));
    }
}
