//! The states of a subscription, until when each gives access, and what changes them.

use super::*;
use crate::model::{Plan, ProviderAccount};
use serde_json::json;

const END: i64 = 1_000_000;
const GRACE: i64 = 259_200;

fn subscription() -> Subscription {
    let subscription = json!({
        "id": "sub_1", "version": 1, "user": 1, "item": 7, "name": "Squire", "price": 499, "currency": "EUR",
        "plan": Plan::default(), "customer": "cus_1", "account": ProviderAccount { id: None, live: false },
        "first": "first", "newest": "first", "paid_until": END, "status": Active, "scheduled": END + GRACE,
        "due": END + RENEWAL_LATE,
    });
    serde_json::from_value(subscription).unwrap()
}

fn seen(status: SubscriptionStatus, cancelled: bool, ended_at: Option<i64>) -> ProviderSubscription {
    let (detail, free_until, ends_at) = (None, None, None);
    ProviderSubscription { status, detail, cancelled, period_end: END, free_until, ends_at, ended_at }
}

fn in_state(state: ProviderState) -> ProviderSubscription {
    let (status, detail) = state.stored();
    ProviderSubscription { detail, ..seen(status, false, None) }
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
fn each_state_of_the_provider_gives_access_as_long_as_the_table_says_and_has_its_own_name() {
    let (now, free) = (END - 10, END + 2_000_000);
    let trial = |seen: ProviderSubscription| ProviderSubscription { free_until: Some(free), ..seen };
    let ended = |at| ProviderSubscription { ended_at: Some(at), ..in_state(ProviderState::Ended) };
    for (seen, shown, until) in [
        (in_state(ProviderState::Active), "active", END + GRACE),
        (trial(in_state(ProviderState::Trialing)), "trialing", free + GRACE),
        (in_state(ProviderState::Paused), "paused", END),
        (trial(in_state(ProviderState::Paused)), "paused", free),
        (in_state(ProviderState::PastDue), "past_due", END + GRACE),
        (in_state(ProviderState::Unpaid), "unpaid", END + GRACE),
        (in_state(ProviderState::Incomplete), "incomplete", END),
        (in_state(ProviderState::IncompleteExpired), "ended", END),
        (ended(END), "ended", END),
        (trial(ended(END + 500)), "ended", END + 500),
        (ProviderSubscription { ends_at: Some(free), ..in_state(ProviderState::Active) }, "active", END + GRACE),
    ] {
        let next = observed(&subscription(), &seen, now);
        assert_eq!((shown_state(&next).as_str(), access_until(&next)), (shown, until), "{seen:?}");
        let Some(entry) = entry(&next, now) else { panic!("{seen:?}") };
        assert!(entry.has_access(until - 1) && !entry.has_access(until), "{seen:?}");
    }
    assert_eq!(
        call_of(&cancelled(
            &observed(&subscription(), &in_state(ProviderState::Paused), now),
            Cancellation::AtPeriodEnd,
            now
        )),
        Some(Cancellation::Now)
    );
}

#[test]
fn what_has_lapsed_begins_again_with_a_payment_and_with_nothing_else() {
    let paused = observed(&subscription(), &in_state(ProviderState::Paused), END - 10);
    let lapsed = observed(&paused, &in_state(ProviderState::Paused), END + 10);
    let free = |state| ProviderSubscription { free_until: Some(END + 900_000), ..in_state(state) };
    for seen in [in_state(ProviderState::Active), free(ProviderState::Trialing)] {
        for before in [&paused, &lapsed] {
            assert_eq!(access_until(&observed(before, &seen, END + 20)), END, "{seen:?}");
        }
    }
    let again = paid(&lapsed, &InternalId::new("second"), END + 500_000, END + 30);
    assert_eq!(access_until(&observed(&again, &in_state(ProviderState::Active), END + 40)), END + 500_000 + GRACE);
}

#[test]
fn what_is_ended_after_its_access_is_not_given_longer_by_it() {
    let unpaid = observed(&subscription(), &in_state(ProviderState::Unpaid), END + GRACE + 50);
    let after = replaced_by(&unpaid, &InternalId::new("other"), END + GRACE + 100);
    assert_eq!((access_until(&after), after.requested), (END + GRACE, Some(Cancellation::Now)));
    let running = replaced_by(&subscription(), &InternalId::new("other"), END - 100);
    assert_eq!(access_until(&running), END - 100);
}

#[test]
fn a_rank_takes_the_place_of_the_others_of_its_category_and_of_itself() {
    let category = Some(CategoryId::new(5));
    let of = |item: u64, rank_of| UserSubscription {
        item: ItemId::new(item),
        rank_of,
        ..entry(&subscription(), 0).unwrap()
    };
    let entries = [of(7, None), of(8, category), of(9, Some(CategoryId::new(6))), of(10, None)];
    let items = |item: u64, rank_of| -> Vec<u64> {
        replaced(&entries, ItemId::new(item), rank_of).map(|entry| entry.item.get()).collect()
    };
    assert_eq!(items(7, None), [7]);
    assert_eq!(items(7, category), [7, 8]);
    assert_eq!(items(11, None), [0_u64; 0]);
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
    assert_eq!(
        (not_yet.requested, shown_state(&not_yet)),
        (Some(Cancellation::AtPeriodEnd), SubscriptionState::Cancelled)
    );
    let done = observed(&not_yet, &seen(Active, true, None), 7);
    assert_eq!((done.requested, shown_state(&done)), (None, SubscriptionState::Cancelled));
    let resumed = observed(&done, &seen(Active, false, None), 8);
    assert_eq!(shown_state(&resumed), SubscriptionState::Active);
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
    assert_eq!(due(seen(Active, false, None), 10), Some(END + RENEWAL_LATE));
    assert_eq!(due(seen(PastDue, false, None), END + RENEWAL_LATE), Some(END + RENEWAL_LATE + OVERDUE_AGAIN));
    assert_eq!(due(seen(Ended, true, Some(END)), END + 5), None);
    assert_eq!(observed(&subscription(), &seen(Ended, true, Some(END)), END).due, Some(END));
}
