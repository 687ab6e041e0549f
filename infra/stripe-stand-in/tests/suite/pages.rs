//! The stand-in's pages and webhooks.

use crate::session_with;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::RootCertStore;
use shared::clock::{Clock as _, SystemClock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::Duration;
use stripe::{
    ApiBase, Client, Event, EventKind, IdempotencyKey, Line, NewSubscription, NewWebhookEndpoint, PaymentStatus,
    PortalConfiguration, PortalSession, SecretKey, Session, SessionStatus, Subscription, SubscriptionStatus,
    WebhookEndpoint, WebhookSecret, webhook,
};
use stripe_stand_in::{Action, Options, StandIn, Switches, start};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A stand-in with a client and an endpoint for its webhooks.
struct Store {
    stand_in: StandIn,
    client: Client,
    http: outgoing::Client,
    webhooks: UnboundedReceiver<(String, Bytes)>,
    secret: WebhookSecret,
    /// The status of the next responses of the endpoint.
    status: Arc<AtomicU16>,
    keys: AtomicUsize,
}

/// An endpoint that passes on what is posted to it.
async fn endpoint(sender: UnboundedSender<(String, Bytes)>, status: Arc<AtomicU16>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = service_fn(move |request: Request<Incoming>| {
        let (sender, status) = (sender.clone(), status.load(Ordering::SeqCst));
        async move {
            let header = request.headers()["stripe-signature"].to_str().unwrap().to_owned();
            let body = request.into_body().collect().await.unwrap().to_bytes();
            _ = sender.send((header, body));
            Response::builder().status(status).body(Full::new(Bytes::new()))
        }
    });
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service.clone()));
        }
    });
    format!("http://{address}/hook")
}

impl Store {
    async fn open() -> Self {
        let retries = vec![Duration::from_millis(20)];
        let options = Options { late: Duration::from_millis(300), retries, ..Options::default() };
        let stand_in = start(options).await.unwrap();
        let http = outgoing::Client::new(RootCertStore::empty());
        let base = ApiBase::parse(&stand_in.base_url()).unwrap();
        let client = Client::new(http.clone(), base, SecretKey::parse(stripe_stand_in::KEY).unwrap());
        let (sender, webhooks) = unbounded_channel();
        let status = Arc::new(AtomicU16::new(200));
        let url = endpoint(sender, Arc::clone(&status)).await;
        let new = NewWebhookEndpoint { url: &url, kinds: &EventKind::ALL, description: "Store" };
        let made = client.send(&WebhookEndpoint::create(&new, IdempotencyKey::parse("hook").unwrap())).await.unwrap();
        let secret = made.secret.unwrap();
        Self { stand_in, client, http, webhooks, secret, status, keys: AtomicUsize::new(0) }
    }

    async fn session(&self) -> Session {
        self.session_with(None).await
    }

    async fn session_with(&self, subscription: Option<NewSubscription<'_>>) -> Session {
        let lines = [Line { name: "<b>\"Ember\" & co</b>", amount: 2_500, tax_code: None }];
        let key = format!("order-{}", self.keys.fetch_add(1, Ordering::SeqCst));
        let call = session_with(&lines, SystemClock.seconds() + 3_600, &key, true, subscription);
        self.client.send(&call).await.unwrap()
    }

    fn act(&self, session: &Session, action: Action) {
        self.stand_in.act(session.id.as_str(), &action).unwrap();
    }

    /// The next event that is posted to the endpoint; its signature is checked.
    async fn posted(&mut self) -> Event {
        let posted = tokio::time::timeout(Duration::from_secs(10), self.webhooks.recv()).await;
        let (header, body) = posted.unwrap().unwrap();
        let secrets = [self.secret.clone()];
        assert_eq!(webhook::verify(Some(&header), &body, &secrets, SystemClock.seconds()), Ok(()));
        serde_json::from_slice(&body).unwrap()
    }

    async fn send(&self, request: Request<String>) -> (StatusCode, String, String) {
        let response = self.http.send(request.map(Bytes::from)).await.unwrap();
        let location = response.headers().get("location").map(|value| value.to_str().unwrap().to_owned());
        let body = String::from_utf8(response.body().to_vec()).unwrap();
        (response.status(), location.unwrap_or_default(), body)
    }

    async fn page(&self, path: &str) -> String {
        let url = format!("{}{path}", self.stand_in.base_url());
        let (status, _, body) = self.send(Request::get(url).body(String::new()).unwrap()).await;
        assert_eq!(status, 200);
        body
    }

    /// Sends a form of a page; returns where it leads to, or what it shows.
    async fn form(&self, path: &str, form: &str) -> (StatusCode, String, String) {
        let url = format!("{}{path}", self.stand_in.base_url());
        let kind = "application/x-www-form-urlencoded";
        self.send(Request::post(url).header("content-type", kind).body(form.to_owned()).unwrap()).await
    }

    async fn press(&self, session: &Session, action: &str) -> String {
        let (status, location, _) = self.form(&format!("/c/pay/{}", session.id), &format!("action={action}")).await;
        assert_eq!(status, 303, "{action}");
        location
    }

    async fn fetch(&self, session: &Session) -> Session {
        self.client.send(&Session::retrieve(&session.id)).await.unwrap()
    }
}

#[tokio::test]
async fn a_buyer_pays_on_the_page_and_returns() {
    let store = Store::open().await;
    let session = store.session().await;
    let path = format!("/c/pay/{}", session.id);
    let page = store.page(&path).await;
    assert!(page.contains("&lt;b&gt;&quot;Ember&quot; &amp; co&lt;/b&gt;") && page.contains("25.00 EUR"), "{page}");
    for action in ["pay", "delayed", "decline", "leave", "expire"] {
        assert!(page.contains(&format!("name=action value={action}>")), "{action}: {page}");
    }
    let back = store.press(&session, "pay").await;
    assert_eq!(back, format!("http://127.0.0.1:1/flow?order_id=1&checkout_id={}", session.id));
    assert_eq!(store.fetch(&session).await.payment_status, PaymentStatus::Paid);
    let paid = store.page(&path).await;
    assert!(
        !paid.contains("value=pay>") && paid.contains("value=refund>") && paid.contains("value=dispute>"),
        "{paid}"
    );
}

#[tokio::test]
async fn a_buyer_leaves_and_comes_back() {
    let store = Store::open().await;
    let session = store.session().await;
    assert_eq!(store.press(&session, "leave").await, "http://127.0.0.1:1/checkout");
    assert_eq!(store.fetch(&session).await.status, Some(SessionStatus::Open));
    let (status, _, page) = store.form(&format!("/c/pay/{}", session.id), "action=decline").await;
    assert!(status == 200 && page.contains("Your card was declined"), "{page}");
    assert_eq!(store.fetch(&session).await.status, Some(SessionStatus::Open));
}

#[tokio::test]
async fn every_button_does_what_it_says() {
    let store = Store::open().await;
    for (actions, texts) in [
        (&["delayed", "succeed"][..], &["<b>succeeded</b>", "paid"][..]),
        (&["delayed", "fail"], &["unpaid", "<b>requires_payment_method</b>"]),
        (&["delayed", "cancel_payment"], &["unpaid", "<b>canceled</b>"]),
        (&["expire"], &["<b>expired</b>"]),
        (&["pay", "refund"], &["Refunded: 25.00 EUR", "value=fail_refund>"]),
        (&["pay", "refund", "fail_refund"], &["Refunded: 0.00 EUR", "value=refund>"]),
        (&["pay", "refund_part&amount=1001"], &["Refunded: 10.01 EUR", "value=refund>"]),
        (&["pay", "dispute", "dispute_won"], &["Dispute: won"]),
        (&["pay", "dispute", "dispute_lost"], &["Dispute: lost"]),
    ] {
        let session = store.session().await;
        for action in actions {
            store.press(&session, action).await;
        }
        let page = store.page(&format!("/c/pay/{}", session.id)).await;
        for text in texts {
            assert!(page.contains(text), "{actions:?}: {text} is not in {page}");
        }
    }
}

const MONTHLY: NewSubscription<'_> = NewSubscription { interval: "month", count: 1, customer: None };

#[tokio::test]
async fn every_button_of_a_subscription_does_what_it_says() {
    let store = Store::open().await;
    for (actions, texts) in [
        (&["pay"][..], &["<b>active</b>", "value=renew>", "value=fail_renewal>", "value=refund>"][..]),
        (&["pay", "renew"], &["<b>active</b>", "<td>paid<td>"]),
        (&["pay", "fail_renewal"], &["<b>past_due</b>", "<td>open<td>", "value=recover>", "value=give_up>"]),
        (&["pay", "fail_renewal", "recover"], &["<b>active</b>"]),
        (&["pay", "fail_renewal", "give_up"], &["<b>canceled</b>", "<td>open<td>"]),
        (&["pay", "cancel_at_period_end"], &["ends with its period", "value=resume>", "value=end_period>"]),
        (&["pay", "cancel_at_period_end", "resume"], &["<b>active</b>", "value=renew>"]),
        (&["pay", "cancel_at_period_end", "end_period"], &["<b>canceled</b>"]),
        (&["pay", "cancel_now"], &["<b>canceled</b>"]),
    ] {
        let session = store.session_with(Some(MONTHLY)).await;
        for action in actions {
            store.press(&session, action).await;
        }
        let page = store.page(&format!("/c/pay/{}", session.id)).await;
        for text in texts {
            assert!(page.contains(text), "{actions:?}: {text} is not in {page}");
        }
        let invoice = format!("/invoices/{}", store.stand_in.invoices().last().unwrap());
        assert!(page.contains(&invoice), "{page}");
        assert!(store.page(&invoice).await.contains("25.00 EUR"));
    }
    let renewed = store.session_with(Some(MONTHLY)).await;
    store.press(&renewed, "pay").await;
    store.press(&renewed, "renew").await;
    let invoice = format!("/invoices/{}", store.stand_in.invoices().last().unwrap());
    assert_eq!(store.form(&invoice, "action=refund").await.1, invoice);
    assert!(store.page(&invoice).await.contains("Refunded: 25.00 EUR"));
    assert!(store.page(&format!("/c/pay/{}", renewed.id)).await.contains("Refunded: 0.00 EUR"));
}

#[tokio::test]
async fn a_buyer_cancels_and_resumes_in_the_portal() {
    let store = Store::open().await;
    let session = store.session_with(Some(MONTHLY)).await;
    store.press(&session, "pay").await;
    let session = store.fetch(&session).await;
    let (customer, id) = (session.customer.unwrap(), session.subscription.unwrap());
    let default = store.client.send(&PortalConfiguration::list()).await.unwrap().data.remove(0);
    assert!(default.is_default && default.active && !default.login_page.enabled && default.login_page.url.is_none());
    let visit = store.client.send(&PortalSession::create(&customer, "http://127.0.0.1:1/account")).await.unwrap();
    let path = visit.url.strip_prefix(&store.stand_in.base_url()).unwrap();
    let page = store.page(path).await;
    assert!(page.contains("&lt;b&gt;&quot;Ember&quot;") && page.contains("http://127.0.0.1:1/account"), "{page}");
    assert!(!page.contains("value=cancel>"), "{page}");
    let refused = store.form(path, &format!("subscription={id}&action=cancel")).await.2;
    assert!(refused.contains("does not let a buyer cancel"), "{refused}");
    let updated = store.client.send(&PortalConfiguration::update(&default.id)).await.unwrap();
    let login = updated.login_page.url.unwrap();
    let status = async || store.client.send(&Subscription::retrieve(&id)).await.unwrap();
    for path in [path, login.strip_prefix(&store.stand_in.base_url()).unwrap()] {
        assert!(store.page(path).await.contains("value=cancel>"));
        assert_eq!(store.form(path, &format!("subscription={id}&action=cancel")).await.0, 303);
        let cancelled = status().await;
        assert!(cancelled.cancel_at.is_some() && !cancelled.cancel_at_period_end, "{cancelled:?}");
        assert_eq!(store.form(path, &format!("subscription={id}&action=resume")).await.0, 303);
        assert_eq!(status().await.cancel_at, None);
        assert!(store.form(path, &format!("subscription={id}&action=pay")).await.2.contains("is active"));
        assert!(store.form(path, "subscription=sub_none&action=cancel").await.2.contains("no such subscription"));
    }
    let other = store.session_with(Some(MONTHLY)).await;
    store.press(&other, "pay").await;
    let other = store.fetch(&other).await.subscription.unwrap();
    let refused = store.form(path, &format!("subscription={other}&action=cancel")).await.2;
    assert!(refused.contains("no such subscription"), "a buyer does not cancel another's: {refused}");
    assert_eq!(status().await.status, SubscriptionStatus::Active);
    assert_eq!(store.form("/p/session/bps_none", "").await.0, 404);
}

#[tokio::test]
async fn a_button_that_does_not_fit_says_why() {
    let store = Store::open().await;
    let session = store.session().await;
    store.press(&session, "expire").await;
    for (form, text) in [
        ("action=pay", "This session is expired."),
        ("action=refund", "This session is not paid."),
        ("action=refund_part&amount=x", "must be a whole number"),
        ("action=dance", "There is no such action."),
        ("", "There is no such action."),
    ] {
        let (status, _, page) = store.form(&format!("/c/pay/{}", session.id), form).await;
        assert!(status == 200 && page.contains(text), "{form}: {page}");
    }
    assert_eq!(store.form("/c/pay/cs_test_none", "action=pay").await.0, 404);
    assert_eq!(store.form("/faults", "fault=200").await.0, 400);
    assert_eq!(store.form("/nowhere", "").await.0, 404);
}

#[tokio::test]
async fn a_form_on_another_site_is_refused() {
    let store = Store::open().await;
    let session = store.session().await;
    let base = store.stand_in.base_url();
    for (origin, status) in [("https://evil.example", 403), ("null", 403), (base.as_str(), 303)] {
        let request = Request::post(format!("{base}/c/pay/{}", session.id)).header("origin", origin);
        let sent = store.send(request.body("action=pay".to_owned()).unwrap()).await;
        assert_eq!(sent.0, status, "{origin}");
    }
}

#[tokio::test]
async fn a_fault_and_switches_are_set_on_the_overview() {
    let mut store = Store::open().await;
    assert_eq!(store.form("/faults", "fault=500").await.0, 303);
    let balance = store.client.send(&stripe::Balance::retrieve()).await;
    assert!(matches!(balance, Err(stripe::Error::Failed(_))), "{balance:?}");
    assert_eq!(store.form("/switches", "twice=on").await.0, 303);
    assert!(store.page("/").await.contains("name=twice checked"));
    let session = store.session().await;
    store.press(&session, "expire").await;
    let first = store.posted().await;
    assert_eq!(store.posted().await, first);
    assert_eq!(store.form("/switches", "").await.0, 303);
    assert!(!store.page("/").await.contains("checked"));
    assert_eq!(store.form(&format!("/events/{}/send", first.id), "").await.0, 303);
    assert_eq!(store.posted().await, first);
    let page = store.page("/").await;
    assert!(page.contains(session.id.as_str()) && page.contains("/hook: 200"), "{page}");
}

#[tokio::test]
async fn a_webhook_is_posted_once_and_in_order() {
    let mut store = Store::open().await;
    let session = store.session().await;
    store.act(&session, Action::PayDelayed);
    store.act(&session, Action::Succeed);
    assert_eq!(store.posted().await.kind, EventKind::SessionCompleted);
    assert_eq!(store.posted().await.kind, EventKind::SessionPaymentSucceeded);
    store.act(&session, Action::Refund(Some(1)));
    assert_eq!(store.posted().await.kind, EventKind::ChargeRefunded, "nothing came in between");
}

#[tokio::test]
async fn out_of_order_the_later_event_is_posted_first() {
    let mut store = Store::open().await;
    store.stand_in.switch(Switches { out_of_order: true, ..Switches::default() });
    let session = store.session().await;
    store.act(&session, Action::PayDelayed);
    store.act(&session, Action::Succeed);
    assert_eq!(store.posted().await.kind, EventKind::SessionPaymentSucceeded);
    assert_eq!(store.posted().await.kind, EventKind::SessionCompleted);
}

#[tokio::test]
async fn a_late_webhook_is_overtaken() {
    let mut store = Store::open().await;
    let (late, soon) = (store.session().await, store.session().await);
    store.stand_in.switch(Switches { late: true, ..Switches::default() });
    store.act(&late, Action::Expire);
    store.stand_in.switch(Switches::default());
    store.act(&soon, Action::Expire);
    assert_eq!(store.posted().await.object, Some(soon.id));
    assert_eq!(store.posted().await.object, Some(late.id));
}

#[tokio::test]
async fn a_webhook_that_is_never_posted_is_listed() {
    let mut store = Store::open().await;
    let (lost, posted) = (store.session().await, store.session().await);
    store.stand_in.switch(Switches { never: true, ..Switches::default() });
    store.act(&lost, Action::Expire);
    store.stand_in.switch(Switches::default());
    store.act(&posted, Action::Expire);
    assert_eq!(store.posted().await.object, Some(posted.id));
    let listed =
        store.client.send(&Event::list(&[EventKind::SessionExpired], (0, i64::MAX), None)).await.unwrap().events;
    assert_eq!(listed.last().unwrap().object, Some(lost.id));
}

#[tokio::test]
async fn a_webhook_that_is_not_accepted_is_posted_again() {
    let mut store = Store::open().await;
    store.status.store(503, Ordering::SeqCst);
    let session = store.session().await;
    store.act(&session, Action::Expire);
    let first = store.posted().await;
    store.status.store(200, Ordering::SeqCst);
    assert_eq!(store.posted().await, first);
}

#[tokio::test]
async fn a_deleted_endpoint_is_left_alone() {
    let mut store = Store::open().await;
    let old = store.client.send(&WebhookEndpoint::list()).await.unwrap().data.remove(0);
    let new = NewWebhookEndpoint { url: &old.url, kinds: &EventKind::ALL, description: "New" };
    let made = store.client.send(&WebhookEndpoint::create(&new, IdempotencyKey::parse("new").unwrap())).await.unwrap();
    store.client.send(&WebhookEndpoint::delete(&old.id)).await.unwrap();
    // What the old endpoint is sent would have the old signature.
    store.secret = made.secret.unwrap();
    for _ in 0..2 {
        let session = store.session().await;
        store.act(&session, Action::Expire);
        assert_eq!(store.posted().await.object, Some(session.id));
    }
}
