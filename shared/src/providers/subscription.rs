//! A subscription at Stripe, in the store's words (rules.md, "States of a subscription").

use crate::rules::subscription::{ProviderState, ProviderSubscription};
use stripe::{Subscription, SubscriptionStatus};

pub(super) fn described(found: &Subscription) -> ProviderSubscription {
    let (status, detail) = state_of(found).stored();
    let ends_with_period = |at: &i64| *at <= found.current_period_end;
    ProviderSubscription {
        status,
        detail,
        cancelled: found.cancel_at_period_end || found.cancel_at.as_ref().is_some_and(ends_with_period),
        period_end: found.current_period_end,
        free_until: found.trial_end,
        ends_at: found.cancel_at.filter(|at| !ends_with_period(at)),
        ended_at: found.ended_at,
    }
}

/// The state. That no payment is asked for is in a field of its own, beside a status that says nothing of it.
fn state_of(found: &Subscription) -> ProviderState {
    match &found.status {
        SubscriptionStatus::Canceled => ProviderState::Ended,
        SubscriptionStatus::IncompleteExpired => ProviderState::IncompleteExpired,
        SubscriptionStatus::Incomplete => ProviderState::Incomplete,
        _ if found.pause_collection.is_some() => ProviderState::Paused,
        SubscriptionStatus::Paused => ProviderState::Paused,
        SubscriptionStatus::Trialing => ProviderState::Trialing,
        SubscriptionStatus::Active => ProviderState::Active,
        SubscriptionStatus::Unpaid => ProviderState::Unpaid,
        // A state that is new gives what is paid, with its grace.
        SubscriptionStatus::PastDue | SubscriptionStatus::Other(_) => ProviderState::PastDue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SubscriptionState;

    const END: i64 = 1_800_000_000;

    fn found(status: &str, more: &serde_json::Value) -> ProviderSubscription {
        let mut object = serde_json::json!({
            "id": "sub_1", "status": status, "cancel_at_period_end": false, "cancel_at": null,
            "ended_at": null, "customer": "cus_1", "metadata": {}, "livemode": false, "trial_end": null,
            "pause_collection": null,
            "items": { "data": [{ "id": "si_1", "current_period_end": END }], "has_more": false },
        });
        for (name, value) in more.as_object().unwrap() {
            object[name] = value.clone();
        }
        described(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn each_word_of_stripe_has_one_state() {
        let paused = serde_json::json!({ "pause_collection": { "behavior": "void", "resumes_at": END + 5 } });
        for (word, shown, while_paused) in [
            ("incomplete", "incomplete", "incomplete"),
            ("incomplete_expired", "ended", "ended"),
            ("trialing", "trialing", "paused"),
            ("active", "active", "paused"),
            ("past_due", "past_due", "paused"),
            ("canceled", "ended", "ended"),
            ("unpaid", "unpaid", "paused"),
            ("paused", "paused", "paused"),
            ("resting", "past_due", "paused"),
        ] {
            let of = |found: ProviderSubscription| SubscriptionState::of(found.status, found.detail).as_str();
            assert_eq!(of(found(word, &serde_json::json!({}))), shown, "{word}");
            assert_eq!(of(found(word, &paused)), while_paused, "{word}");
        }
    }

    #[test]
    fn an_end_within_the_period_is_a_cancellation_and_a_later_one_is_a_date() {
        let of = |at: i64| {
            let seen = found("active", &serde_json::json!({ "cancel_at": at }));
            (seen.cancelled, seen.ends_at)
        };
        assert_eq!((of(END - 1), of(END), of(END + 1)), ((true, None), (true, None), (false, Some(END + 1))));
        let trial = found("trialing", &serde_json::json!({ "trial_end": END }));
        assert_eq!((trial.free_until, trial.cancelled), (Some(END), false));
    }
}
