//! Sessions: every state that a buyer can bring about.

use crate::support::{NOW, ORDER, Store, intent, refused, session_of};
use local::stripe::Action;
use std::sync::atomic::Ordering;
use stripe::{Charge, EventKind, IntentStatus, Line, PaymentStatus, RefusalKind, Session, SessionStatus};

#[tokio::test]
async fn a_session_has_what_it_was_created_with() {
    let store = Store::open().await;
    let session = store.session("order-1", false).await;
    assert_eq!(session.status, Some(SessionStatus::Open));
    assert_eq!(session.payment_status, PaymentStatus::Unpaid);
    assert_eq!((session.amount_total, session.currency.as_deref()), (Some(2_500), Some("eur")));
    assert_eq!(session.client_reference_id.as_deref(), Some(ORDER));
    assert_eq!(session.metadata.order.as_deref(), Some(ORDER));
    assert_eq!((session.livemode, session.expires_at), (false, NOW + 3_600));
    assert_eq!(session.payment_intent, None);
    assert_eq!(session.url.as_deref(), Some(&*format!("{}/c/pay/{}", store.stand_in.base_url(), session.id)));
    assert_eq!(store.fetch(&session).await, session);
}

#[tokio::test]
async fn a_paid_session_leads_to_its_payment_and_charge() {
    let store = Store::open().await;
    let session = store.after(false, &[Action::Pay]).await;
    assert_eq!(
        (session.status.as_ref(), &session.payment_status),
        (Some(&SessionStatus::Complete), &PaymentStatus::Paid)
    );
    assert_eq!(session.url, None);
    let payment = intent(&session);
    assert_eq!((&payment.status, payment.amount, payment.amount_received), (&IntentStatus::Succeeded, 2_500, 2_500));
    assert_eq!(payment.metadata.order.as_deref(), Some(ORDER));
    let charge = store.charge(&session).await;
    assert_eq!((charge.amount, charge.amount_refunded, charge.refunded, charge.disputed), (2_500, 0, false, false));
    assert_eq!(charge.payment_intent.as_ref(), Some(&payment.id));
    assert_eq!(store.client.send(&Charge::retrieve(&charge.id)).await.unwrap(), charge);
    assert_eq!(store.kinds().await, [EventKind::SessionCompleted]);
}

#[tokio::test]
async fn a_delayed_payment_succeeds_later() {
    let store = Store::open().await;
    let session = store.after(true, &[Action::PayDelayed]).await;
    assert_eq!(
        (session.status.as_ref(), &session.payment_status),
        (Some(&SessionStatus::Complete), &PaymentStatus::Unpaid)
    );
    assert_eq!(intent(&session).status, IntentStatus::Processing);
    store.stand_in.act(session.id.as_str(), &Action::Succeed).unwrap();
    let session = store.fetch(&session).await;
    assert_eq!((&session.payment_status, &intent(&session).status), (&PaymentStatus::Paid, &IntentStatus::Succeeded));
    assert_eq!(store.kinds().await, [EventKind::SessionCompleted, EventKind::SessionPaymentSucceeded]);
}

#[tokio::test]
async fn a_delayed_payment_fails_or_is_canceled() {
    for (actions, status) in [
        (&[Action::PayDelayed, Action::Fail][..], IntentStatus::RequiresPaymentMethod),
        (&[Action::PayDelayed, Action::Fail, Action::CancelPayment], IntentStatus::Canceled),
        (&[Action::PayDelayed, Action::CancelPayment], IntentStatus::Canceled),
    ] {
        let store = Store::open().await;
        let session = store.after(true, actions).await;
        assert_eq!(
            (session.status.as_ref(), &session.payment_status),
            (Some(&SessionStatus::Complete), &PaymentStatus::Unpaid)
        );
        assert_eq!(intent(&session).status, status);
        assert_eq!(store.kinds().await.contains(&EventKind::SessionPaymentFailed), actions.contains(&Action::Fail));
    }
}

#[tokio::test]
async fn a_declined_card_leaves_the_session_open() {
    let store = Store::open().await;
    let session = store.after(false, &[Action::Decline]).await;
    assert_eq!(session.status, Some(SessionStatus::Open));
    assert_eq!(intent(&session).status, IntentStatus::RequiresPaymentMethod);
    assert_eq!(store.kinds().await, []);
    store.stand_in.act(session.id.as_str(), &Action::Pay).unwrap();
    let paid = store.fetch(&session).await;
    assert_eq!((intent(&paid).id.clone(), &paid.payment_status), (intent(&session).id.clone(), &PaymentStatus::Paid));
}

#[tokio::test]
async fn a_session_with_nothing_to_pay_is_complete_without_a_payment() {
    let store = Store::open().await;
    let call = session_of(&[Line { name: "Free", amount: 0 }], NOW + 3_600, "free", false);
    let session = store.client.send(&call).await.unwrap();
    store.stand_in.act(session.id.as_str(), &Action::Pay).unwrap();
    let session = store.fetch(&session).await;
    assert_eq!((session.payment_status, session.payment_intent), (PaymentStatus::NoPaymentRequired, None));
}

#[tokio::test]
async fn a_session_is_expired_by_a_call_once() {
    let store = Store::open().await;
    let session = store.session("order-1", false).await;
    let expired = store.client.send(&Session::expire(&session.id)).await.unwrap();
    assert_eq!((expired.status, expired.url), (Some(SessionStatus::Expired), None));
    refused(store.client.send(&Session::expire(&session.id)).await, RefusalKind::Request, None, None);
    assert!(store.stand_in.act(session.id.as_str(), &Action::Pay).is_err());
    assert_eq!(store.kinds().await, [EventKind::SessionExpired]);
    let paid = store.after(false, &[Action::Pay]).await;
    refused(store.client.send(&Session::expire(&paid.id)).await, RefusalKind::Request, None, None);
}

#[tokio::test]
async fn a_session_expires_at_its_time_and_cancels_what_was_declined() {
    let store = Store::open().await;
    let session = store.after(false, &[Action::Decline]).await;
    store.clock.0.store(NOW + 3_599, Ordering::SeqCst);
    assert_eq!(store.fetch(&session).await.status, Some(SessionStatus::Open));
    store.clock.0.store(NOW + 3_600, Ordering::SeqCst);
    let session = store.fetch(&session).await;
    assert_eq!(
        (session.status.as_ref(), &intent(&session).status),
        (Some(&SessionStatus::Expired), &IntentStatus::Canceled)
    );
    assert_eq!(store.kinds().await, [EventKind::SessionExpired]);
}

#[tokio::test]
async fn a_session_is_open_for_thirty_minutes_to_a_day() {
    let store = Store::open().await;
    let lines = [Line { name: "Squire", amount: 500 }];
    for (seconds, is_allowed) in [(1_799, false), (1_800, true), (86_399, true), (86_400, false)] {
        let result = store.client.send(&session_of(&lines, NOW + seconds, &format!("k{seconds}"), false)).await;
        if is_allowed {
            assert_eq!(result.unwrap().expires_at, NOW + seconds);
        } else {
            refused(result, RefusalKind::Request, None, Some("expires_at"));
        }
    }
}

#[tokio::test]
async fn amounts_have_limits() {
    let store = Store::open().await;
    for (amounts, code) in
        [(&[49][..], "amount_too_small"), (&[100_000_000], "amount_too_large"), (&[99_999_999, 1], "amount_too_large")]
    {
        let lines: Vec<Line<'_>> = amounts.iter().map(|amount| Line { name: "Squire", amount: *amount }).collect();
        let result = store.client.send(&session_of(&lines, NOW + 3_600, code, false)).await;
        refused(result, RefusalKind::Request, Some(code), None);
    }
    let negative = session_of(&[Line { name: "Squire", amount: -1 }], NOW + 3_600, "negative", false);
    let param = "line_items[0][price_data][unit_amount]";
    let result = store.client.send(&negative).await;
    refused(result, RefusalKind::Request, Some("parameter_invalid_integer"), Some(param));
}

#[tokio::test]
async fn a_delayed_method_is_offered_only_if_it_was_asked_for() {
    let store = Store::open().await;
    let session = store.session("order-1", false).await;
    assert!(store.stand_in.act(session.id.as_str(), &Action::PayDelayed).is_err());
}
