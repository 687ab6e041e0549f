//! The crate `stripe` against the stand-in: every call, every state, and what goes wrong on the way.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use local::stripe::{Action, Fault, FaultKind, Options, StandIn, start};
use outgoing::OutgoingError;
use rustls::RootCertStore;
use shared::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use stripe::{
    Account, ApiBase, Balance, Charge, Client, Dispute, DisputeStatus, EndpointStatus, Error, Event, EventKind,
    IdempotencyKey, IntentStatus, Line, NewRefund, NewSession, NewWebhookEndpoint, ObjectId, PaymentIntent,
    PaymentStatus, Refund, RefundStatus, RefusalKind, SecretKey, Session, SessionStatus, WebhookEndpoint,
    WebhookSecret, webhook,
};

const NOW: i64 = 1_800_000_000;
const ORDER: &str = "ska237syhxydekce";

/// A clock that a test sets.
#[derive(Debug)]
struct Set(AtomicI64);

impl Clock for Set {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::SeqCst).unsigned_abs())
    }
}

/// A stand-in with a client.
struct Store {
    stand_in: StandIn,
    client: Client,
    clock: Arc<Set>,
}

impl Store {
    async fn open() -> Self {
        let clock = Arc::new(Set(AtomicI64::new(NOW)));
        let stand_in = start(Options { clock: Arc::clone(&clock) as _, ..Options::default() }).await.unwrap();
        let client = client(&stand_in, local::stripe::KEY);
        Self { stand_in, client, clock }
    }

    /// Creates a session of 25.00.
    async fn session(&self, key: &str, delayed: bool) -> Session {
        self.client.send(&new_session(key, delayed)).await.unwrap()
    }

    async fn fetch(&self, session: &Session) -> Session {
        self.client.send(&Session::retrieve(&session.id)).await.unwrap()
    }

    /// Creates a session, does something on its page and fetches it.
    async fn after(&self, delayed: bool, actions: &[Action]) -> Session {
        let session = self.session("after", delayed).await;
        for action in actions {
            self.stand_in.act(session.id.as_str(), action).unwrap();
        }
        self.fetch(&session).await
    }

    async fn kinds(&self) -> Vec<EventKind> {
        let events = self.client.send(&Event::list(&EventKind::ALL, NOW, None)).await.unwrap().data;
        events.into_iter().rev().map(|event| event.kind).collect()
    }

    async fn charge(&self, session: &Session) -> Charge {
        let intent = session.payment_intent.as_ref().unwrap().object().unwrap();
        let intent = self.client.send(&PaymentIntent::retrieve(&intent.id)).await.unwrap();
        intent.latest_charge.unwrap().object().unwrap().clone()
    }

    /// Refunds a session, as the order's owner does.
    async fn refund(&self, session: &Session, amount: Option<i64>, name: &str) -> Result<Refund, Error> {
        let payment_intent = session.payment_intent.as_ref().unwrap().id();
        self.client.send(&Refund::create(&NewRefund { payment_intent, amount, order: ORDER }, key(name))).await
    }

    fn calls(&self, route: &str) -> usize {
        self.stand_in.received().iter().filter(|received| received.route == route).count()
    }
}

fn client(stand_in: &StandIn, key: &str) -> Client {
    let http = outgoing::Client::new(RootCertStore::empty()).within(Duration::from_millis(1_500));
    Client::new(http, ApiBase::parse(&stand_in.base_url()).unwrap(), SecretKey::parse(key).unwrap())
}

fn key(name: &str) -> IdempotencyKey {
    IdempotencyKey::parse(name).unwrap()
}

fn new_session(name: &str, delayed: bool) -> stripe::Call<Session> {
    let lines = [Line { name: "Squire × 2", amount: 1_998 }, Line { name: "<b>\"Ember\" & co</b>", amount: 502 }];
    session_of(&lines, NOW + 3_600, name, delayed)
}

fn session_of(lines: &[Line<'_>], expires_at: i64, name: &str, delayed: bool) -> stripe::Call<Session> {
    let new = NewSession {
        order: ORDER,
        currency: "EUR",
        lines,
        success_url: "http://127.0.0.1:1/flow?order_id=1&checkout_id={CHECKOUT_SESSION_ID}",
        cancel_url: "http://127.0.0.1:1/checkout",
        expires_at,
        delayed,
    };
    Session::create(&new, key(name))
}

fn intent(session: &Session) -> &PaymentIntent {
    session.payment_intent.as_ref().unwrap().object().unwrap()
}

#[track_caller]
fn refused(result: Result<impl std::fmt::Debug, Error>, kind: RefusalKind, code: Option<&str>, param: Option<&str>) {
    match result.unwrap_err() {
        Error::Refused(refusal) => {
            let found = (refusal.kind, refusal.code.as_deref(), refusal.param.as_deref());
            assert_eq!(found, (kind, code, param), "{refusal}");
        }
        error => assert_eq!(error.to_string(), "a refusal"),
    }
}

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

#[tokio::test]
async fn refunds_add_up_to_the_price() {
    let store = Store::open().await;
    let session = store.after(false, &[Action::Pay]).await;
    let first = store.refund(&session, Some(1_000), "refund-0").await.unwrap();
    assert_eq!((first.status, first.amount, &*first.currency), (Some(RefundStatus::Succeeded), 1_000, "eur"));
    assert_eq!(
        store.refund(&session, Some(1_000), "refund-0").await.unwrap().id,
        first.id,
        "the same key refunds once"
    );
    assert_eq!(store.charge(&session).await.amount_refunded, 1_000);
    refused(store.refund(&session, Some(1_501), "more").await, RefusalKind::Request, None, Some("amount"));
    refused(
        store.refund(&session, Some(0), "zero").await,
        RefusalKind::Request,
        Some("parameter_invalid_integer"),
        Some("amount"),
    );
    assert_eq!(store.refund(&session, None, "refund-1000").await.unwrap().amount, 1_500);
    let charge = store.charge(&session).await;
    assert_eq!((charge.amount_refunded, charge.refunded), (2_500, true));
    refused(store.refund(&session, None, "again").await, RefusalKind::Request, Some("charge_already_refunded"), None);
    let wanted = [EventKind::SessionCompleted, EventKind::ChargeRefunded, EventKind::ChargeRefunded];
    assert_eq!(store.kinds().await, wanted);
}

#[tokio::test]
async fn a_payment_that_did_not_succeed_cannot_be_refunded() {
    let store = Store::open().await;
    for actions in [&[Action::Decline][..], &[Action::PayDelayed]] {
        let session = store.after(true, actions).await;
        refused(store.refund(&session, None, "refund").await, RefusalKind::Request, None, None);
    }
}

#[tokio::test]
async fn a_dispute_is_opened_and_closed() {
    for (won, status) in [(true, DisputeStatus::Won), (false, DisputeStatus::Lost)] {
        let store = Store::open().await;
        let session = store.after(false, &[Action::Pay, Action::Dispute]).await;
        let event =
            store.client.send(&Event::list(&[EventKind::DisputeCreated], NOW, None)).await.unwrap().data.remove(0);
        assert_eq!(event.payment_intent.as_ref(), Some(&intent(&session).id));
        let id = event.object.unwrap();
        let dispute = store.client.send(&Dispute::retrieve(&id)).await.unwrap();
        assert_eq!(
            (dispute.status, dispute.amount, Some(dispute.charge)),
            (DisputeStatus::NeedsResponse, 2_500, event.charge)
        );
        assert!(store.charge(&session).await.disputed);
        refused(store.refund(&session, None, "refund").await, RefusalKind::Request, Some("charge_disputed"), None);
        store.stand_in.act(session.id.as_str(), &Action::CloseDispute { won }).unwrap();
        assert_eq!(store.client.send(&Dispute::retrieve(&id)).await.unwrap().status, status);
        assert_eq!(store.kinds().await.last(), Some(&EventKind::DisputeClosed));
    }
}

#[tokio::test]
async fn events_are_listed_page_by_page() {
    let store = Store::open().await;
    for n in 0..25 {
        let session = store.session(&format!("order-{n}"), false).await;
        store.client.send(&Session::expire(&session.id)).await.unwrap();
    }
    let kinds = [EventKind::SessionExpired];
    let first = store.client.send(&Event::list(&kinds, NOW, None)).await.unwrap();
    assert_eq!((first.data.len(), first.has_more), (20, true));
    let last = &first.data.last().unwrap().id;
    let second = store.client.send(&Event::list(&kinds, NOW, Some(last))).await.unwrap();
    assert_eq!((second.data.len(), second.has_more), (5, false));
    let listed: Vec<&str> = first.data.iter().chain(&second.data).rev().map(|event| event.id.as_str()).collect();
    assert_eq!(listed, store.stand_in.events());
    assert!(store.client.send(&Event::list(&kinds, NOW + 1, None)).await.unwrap().data.is_empty());
    assert!(store.client.send(&Event::list(&[EventKind::ChargeRefunded], NOW, None)).await.unwrap().data.is_empty());
}

#[tokio::test]
async fn a_store_is_connected() {
    let store = Store::open().await;
    assert!(store.client.send(&Account::retrieve()).await.unwrap().charges_enabled);
    assert!(!store.client.send(&Balance::retrieve()).await.unwrap().livemode);
    let new = NewWebhookEndpoint {
        url: "https://api.example/payments/webhook",
        kinds: &EventKind::ALL,
        description: "Store",
    };
    let made = store.client.send(&WebhookEndpoint::create(&new, key("connect"))).await.unwrap();
    assert!(made.secret.as_ref().unwrap().expose().starts_with("whsec_"));
    let listed = store.client.send(&WebhookEndpoint::list()).await.unwrap().data;
    assert_eq!(listed, [WebhookEndpoint { secret: None, ..made.clone() }], "the secret is told once");
    assert_eq!((&made.status, made.enabled_events.as_slice()), (&EndpointStatus::Enabled, &EventKind::ALL[..]));
    assert_eq!((made.api_version.as_deref(), made.url.as_str()), (Some(stripe::API_VERSION), new.url));
    assert!(store.client.send(&WebhookEndpoint::delete(&made.id)).await.unwrap().deleted);
    assert!(store.client.send(&WebhookEndpoint::list()).await.unwrap().data.is_empty());
    let url = NewWebhookEndpoint { url: "api.example", ..new };
    refused(
        store.client.send(&WebhookEndpoint::create(&url, key("url"))).await,
        RefusalKind::Request,
        None,
        Some("url"),
    );
}

#[tokio::test]
async fn the_signature_of_a_webhook_is_accepted_and_its_event_read() {
    let store = Store::open().await;
    let session = store.after(false, &[Action::Pay]).await;
    let completed = store.client.send(&Event::list(&EventKind::ALL, NOW, None)).await.unwrap().data.remove(0);
    let signed = store.stand_in.signed(completed.id.as_str()).unwrap();
    let secrets = [WebhookSecret::parse(local::stripe::WEBHOOK_SECRET).unwrap()];
    assert_eq!(webhook::verify(Some(&signed.header), signed.body.as_bytes(), &secrets, NOW), Ok(()));
    let event: Event = serde_json::from_str(&signed.body).unwrap();
    assert_eq!((&event, event.object.as_ref()), (&completed, Some(&session.id)));
    let foreign = [WebhookSecret::parse("whsec_other").unwrap()];
    let refused = webhook::verify(Some(&signed.header), signed.body.as_bytes(), &foreign, NOW);
    assert_eq!(refused, Err(webhook::SignatureError::Mismatch));
}

#[tokio::test]
async fn a_repeated_call_creates_one_session() {
    let store = Store::open().await;
    let first = store.session("order-1", false).await;
    assert_eq!(store.session("order-1", false).await.id, first.id);
    assert_eq!(store.stand_in.sessions().len(), 1);
    refused(store.client.send(&new_session("order-1", true)).await, RefusalKind::Idempotency, None, None);
    let other = store.after(false, &[Action::Pay]).await;
    refused(store.refund(&other, None, "order-1").await, RefusalKind::Idempotency, None, None);
}

#[tokio::test]
async fn what_does_not_exist_is_not_found() {
    let store = Store::open().await;
    let id = &ObjectId::parse("cs_test_none").unwrap();
    let missing = Some("resource_missing");
    let client = &store.client;
    refused(client.send(&Session::retrieve(id)).await, RefusalKind::NotFound, missing, Some("session"));
    refused(client.send(&Session::expire(id)).await, RefusalKind::NotFound, missing, Some("session"));
    refused(client.send(&PaymentIntent::retrieve(id)).await, RefusalKind::NotFound, missing, Some("intent"));
    refused(client.send(&Charge::retrieve(id)).await, RefusalKind::NotFound, missing, Some("id"));
    refused(client.send(&Dispute::retrieve(id)).await, RefusalKind::NotFound, missing, Some("dispute"));
    refused(client.send(&WebhookEndpoint::delete(id)).await, RefusalKind::NotFound, missing, Some("id"));
    let new = NewRefund { payment_intent: id, amount: None, order: ORDER };
    refused(client.send(&Refund::create(&new, key("k"))).await, RefusalKind::NotFound, missing, Some("payment_intent"));
}

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
async fn refusals_and_failures_are_told_apart() {
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
