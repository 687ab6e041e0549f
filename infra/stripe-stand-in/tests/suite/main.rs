//! The stand-in for Stripe, by the crate `stripe`: its pages, accounts and limits. Here: a stand-in with a client.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod pages;
mod sessions;
mod subscriptions;

use bytes::Bytes;
use http::{Request, StatusCode};
use rustls::RootCertStore;
use serde_json::Value;
use shared::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use stripe::{
    ApiBase, Client, Error, Event, EventKind, IdempotencyKey, Line, NewRefund, NewSession, NewSubscription, NewTax,
    PaymentIntent, Refund, RefusalKind, SecretKey, Session,
};
use stripe_stand_in::{API_VERSION, Action, Options, StandIn, start};

const NOW: i64 = 1_800_000_000;
const ORDER: &str = "ska237syhxydekce";

#[derive(Debug)]
struct Set(AtomicI64);

impl Clock for Set {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::SeqCst).unsigned_abs())
    }
}

struct Store {
    stand_in: StandIn,
    client: Client,
    clock: Arc<Set>,
}

impl Store {
    async fn open() -> Self {
        let clock = Arc::new(Set(AtomicI64::new(NOW)));
        let stand_in = start(Options { clock: Arc::clone(&clock) as _, ..Options::default() }).await.unwrap();
        let client = client(&stand_in, stripe_stand_in::KEY);
        Self { stand_in, client, clock }
    }

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
        let events = self.client.send(&Event::list(&EventKind::ALL, (NOW, i64::MAX), None)).await.unwrap().events;
        events.into_iter().rev().map(|event| event.kind).collect()
    }

    /// Refunds a session, as the order's owner does.
    async fn refund(&self, session: &Session, amount: Option<i64>, name: &str) -> Result<Refund, Error> {
        let payment_intent = session.payment_intent.as_ref().unwrap().id();
        let new = NewRefund { payment_intent, amount, order: ORDER, attempt: 1 };
        self.client.send(&Refund::create(&new, key(name))).await
    }
}

/// A call as any program can make it: with a version, and as parameters of a query or a form.
async fn raw(stand_in: &StandIn, version: &str, path: &str, form: Option<&str>) -> (StatusCode, Value) {
    let url = format!("{}/v1/{path}", stand_in.base_url());
    let request = if form.is_some() { Request::post(url) } else { Request::get(url) };
    let request = request
        .header("authorization", format!("Bearer {}", stripe_stand_in::KEY))
        .header("stripe-version", version)
        .header("content-type", "application/x-www-form-urlencoded");
    let request = request.body(Bytes::from(form.unwrap_or_default().to_owned())).unwrap();
    let response = outgoing::Client::new(RootCertStore::empty()).send(request).await.unwrap();
    (response.status(), serde_json::from_slice(response.body()).unwrap())
}

/// What a path shows: objects may have more than the crate reads.
async fn shown(stand_in: &StandIn, path: &str) -> Value {
    let (status, body) = raw(stand_in, API_VERSION, path, None).await;
    assert_eq!(status, 200, "{path}: {body}");
    body
}

fn client(stand_in: &StandIn, key: &str) -> Client {
    let http = outgoing::Client::new(RootCertStore::empty()).within(Duration::from_millis(1_500));
    Client::new(http, ApiBase::parse(&stand_in.base_url()).unwrap(), SecretKey::parse(key).unwrap())
}

fn key(name: &str) -> IdempotencyKey {
    IdempotencyKey::parse(name).unwrap()
}

fn new_session(name: &str, delayed: bool) -> stripe::Call<Session> {
    let lines = [
        Line { name: "Squire × 2", amount: 1_998, tax_code: None },
        Line { name: "<b>\"Ember\" & co</b>", amount: 502, tax_code: None },
    ];
    session_of(&lines, NOW + 3_600, name, delayed)
}

fn subscription_of(name: &str, subscription: NewSubscription<'_>) -> stripe::Call<Session> {
    session_with(
        &[Line { name: "Squire", amount: 1_998, tax_code: None }],
        NOW + 3_600,
        name,
        false,
        Some(subscription),
    )
}

fn session_of(lines: &[Line<'_>], expires_at: i64, name: &str, delayed: bool) -> stripe::Call<Session> {
    session_with(lines, expires_at, name, delayed, None)
}

fn session_with(
    lines: &[Line<'_>],
    expires_at: i64,
    name: &str,
    delayed: bool,
    subscription: Option<NewSubscription<'_>>,
) -> stripe::Call<Session> {
    let methods: Vec<String> = if delayed { vec!["card".into(), "sepa_debit".into()] } else { vec!["card".into()] };
    let new = NewSession {
        order: ORDER,
        currency: "EUR",
        lines,
        success_url: "http://127.0.0.1:1/flow?order_id=1&checkout_id={CHECKOUT_SESSION_ID}",
        cancel_url: "http://127.0.0.1:1/checkout",
        expires_at,
        methods: &methods,
        adaptive: false,
        three_d_secure: false,
        invoice: false,
        subscription,
        tax: NewTax::None,
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
