//! Refusals, failures and lost responses.

use crate::support::{Store, client, new_session};
use local::stripe::{Fault, FaultKind};
use outgoing::OutgoingError;
use std::time::Duration;
use stripe::{Balance, Error, RefusalKind, SessionStatus};

#[tokio::test]
async fn another_accounts_key_is_refused_and_not_repeated_in_the_error() {
    let store = Store::open().await;
    let foreign = client(&store.stand_in, "rk_test_foreignsecret");
    let error = foreign.send(&new_session("order-1", false)).await.unwrap_err();
    assert_eq!(error.refusal().unwrap().kind, RefusalKind::Key);
    assert!(!format!("{error} {error:?} {foreign:?}").contains("foreignsecret"));
    assert!(store.stand_in.sessions().is_empty());
}

#[tokio::test]
async fn refusals_are_final_unless_stripe_is_busy() {
    let store = Store::open().await;
    for (status, kind, is_busy) in [
        (402, RefusalKind::Card, false),
        (403, RefusalKind::Permission, false),
        (409, RefusalKind::Idempotency, true),
        (429, RefusalKind::Other, true),
    ] {
        store.stand_in.inject(Fault::before(FaultKind::Status(status)));
        let error = store.client.send(&new_session(&format!("order-{status}"), false)).await.unwrap_err();
        assert_eq!(
            (error.refusal().unwrap().kind, error.is_temporary(), error.is_final()),
            (kind, is_busy, !is_busy),
            "{status}"
        );
    }
    assert!(store.stand_in.sessions().is_empty());
}

#[tokio::test]
async fn a_busy_stripe_creates_the_session_when_it_is_asked_again() {
    let store = Store::open().await;
    for status in [409, 429] {
        store.stand_in.inject(Fault::before(FaultKind::Status(status)));
        assert!(store.client.send(&new_session("order-1", false)).await.unwrap_err().is_temporary());
    }
    assert_eq!(store.session("order-1", false).await.status, Some(SessionStatus::Open));
}

#[tokio::test]
async fn a_server_error_is_replayed_under_its_key() {
    let store = Store::open().await;
    store.stand_in.inject(Fault::before(FaultKind::Status(500)));
    let first = store.client.send(&new_session("order-1", false)).await.unwrap_err();
    assert!(first.is_temporary() && !first.is_final(), "{first}");
    let again = store.client.send(&new_session("order-1", false)).await.unwrap_err();
    assert!(again.is_final() && !again.is_temporary(), "{again}");
    assert!(store.stand_in.sessions().is_empty());
}

#[tokio::test]
async fn a_lost_response_is_given_again_under_the_same_key() {
    for kind in [FaultKind::Cut, FaultKind::Silence, FaultKind::Status(500), FaultKind::Slow(Duration::from_secs(5))] {
        let store = Store::open().await;
        store.stand_in.inject(Fault::after(kind));
        let error = store.client.send(&new_session("order-1", false)).await.unwrap_err();
        assert!(error.is_temporary() && !error.is_final(), "{kind:?}: {error}");
        let session = store.session("order-1", false).await;
        assert_eq!(store.stand_in.sessions(), [session.id.to_string()], "{kind:?}");
        assert_eq!(store.calls("POST /v1/checkout/sessions"), 2, "the client itself repeats nothing");
    }
}

#[tokio::test]
async fn a_request_that_was_not_executed_is_executed_the_second_time() {
    for kind in [FaultKind::Cut, FaultKind::Silence] {
        let store = Store::open().await;
        store.stand_in.inject(Fault::before(kind));
        let error = store.client.send(&new_session("order-1", false)).await.unwrap_err();
        assert!(error.is_temporary(), "{kind:?}: {error}");
        assert!(matches!(error, Error::NoResponse(OutgoingError::Broken(_) | OutgoingError::Timeout(_))), "{error:?}");
        assert!(store.stand_in.sessions().is_empty());
        store.session("order-1", false).await;
    }
}

#[tokio::test]
async fn a_slow_response_within_the_limit_is_read() {
    let store = Store::open().await;
    store.stand_in.inject(Fault::before(FaultKind::Slow(Duration::from_millis(300))).on("/v1/balance"));
    store.session("order-1", false).await;
    assert!(store.client.send(&Balance::retrieve()).await.is_ok());
}

#[tokio::test]
async fn without_a_server_nothing_was_sent() {
    let store = Store::open().await;
    let client = store.client.clone();
    store.stand_in.stop().await;
    let error = client.send(&Balance::retrieve()).await.unwrap_err();
    assert!(matches!(&error, Error::NoResponse(error) if error.is_unsent()), "{error:?}");
    assert!(error.is_temporary() && !error.is_final());
}
