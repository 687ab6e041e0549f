//! The options and limits of a session, and several accounts and modes at one stand-in: a key sees only what is its
//! own. Every state and object is compared by Stripe's own package (`.ci/provider`).

use crate::{NOW, Store, client, intent, key, raw, refused, session_of};
use http::StatusCode;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time::Duration;
use stripe::{
    Account, Balance, Event, EventKind, IntentStatus, Line, NewRefund, NewWebhookEndpoint, PaymentStatus, Refund,
    RefusalKind, Session, SessionStatus, WebhookEndpoint,
};
use stripe_stand_in::{API_VERSION, Account as Known, Action, KEY, Options, TEST_MODE, start};

#[tokio::test]
async fn a_session_with_nothing_to_pay_is_complete_without_a_payment() {
    let store = Store::open().await;
    let call = session_of(&[Line { name: "Free", amount: 0, tax_code: None }], NOW + 3_600, "free", false);
    let session = store.client.send(&call).await.unwrap();
    store.stand_in.act(session.id.as_str(), &Action::Pay).unwrap();
    let session = store.fetch(&session).await;
    assert_eq!((session.payment_status, session.payment_intent), (PaymentStatus::NoPaymentRequired, None));
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
    assert_eq!(store.kinds().await, [EventKind::ChargeFailed, EventKind::SessionExpired]);
}

#[tokio::test]
async fn a_session_is_open_for_thirty_minutes_to_a_day() {
    let store = Store::open().await;
    let lines = [Line { name: "Squire", amount: 500, tax_code: None }];
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
        let lines: Vec<Line<'_>> =
            amounts.iter().map(|amount| Line { name: "Squire", amount: *amount, tax_code: None }).collect();
        let result = store.client.send(&session_of(&lines, NOW + 3_600, code, false)).await;
        refused(result, RefusalKind::Request, Some(code), None);
    }
    let negative = session_of(&[Line { name: "Squire", amount: -1, tax_code: None }], NOW + 3_600, "negative", false);
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
async fn a_session_offers_what_its_lists_of_methods_leave() {
    let store = Store::open().await;
    let line =
        "line_items[0][quantity]=1&line_items[0][price_data][currency]=eur&line_items[0][price_data][unit_amount]=500";
    let form =
        format!("mode=payment&success_url=https://a.example&{line}&line_items[0][price_data][product_data][name]=a");
    let create = async |more: &str| {
        raw(&store.stand_in, API_VERSION, "checkout/sessions", Some(&format!("{form}&{more}"))).await
    };
    let (allowed, excluded) = ("allowed_payment_method_types[]", "excluded_payment_method_types[]");
    for (more, methods) in [
        ("ui_mode=hosted_page".to_owned(), vec!["card", "paypal", "ideal", "klarna", "sepa_debit", "oxxo"]),
        (format!("{allowed}=ideal&{allowed}=card&{allowed}=blik"), vec!["card", "ideal"]),
        (format!("{excluded}=card&{excluded}=oxxo"), vec!["paypal", "ideal", "klarna", "sepa_debit"]),
    ] {
        let (status, session) = create(&more).await;
        assert_eq!((status, &session["payment_method_types"]), (StatusCode::OK, &json!(methods)), "{more}: {session}");
    }
    for (more, code, param) in [
        ("payment_method_types[]=card".to_owned(), json!("parameter_unknown"), json!("payment_method_types")),
        ("ui_mode=hosted".to_owned(), Value::Null, json!("ui_mode")),
        (format!("{allowed}=colour"), Value::Null, json!("allowed_payment_method_types[0]")),
        (format!("{excluded}=link"), Value::Null, json!("excluded_payment_method_types[0]")),
        (format!("{allowed}=card&{excluded}=ideal"), Value::Null, json!("excluded_payment_method_types")),
        (format!("{allowed}=boleto"), Value::Null, Value::Null),
        ("expand[]=payment_intent.invoice".to_owned(), Value::Null, Value::Null),
    ] {
        let (status, body) = create(&more).await;
        let found = (status, &body["error"]["code"], &body["error"]["param"]);
        assert_eq!(found, (StatusCode::BAD_REQUEST, &code, &param), "{more}: {body}");
    }
}

#[tokio::test]
async fn another_version_and_a_property_that_is_gone_are_refused() {
    let store = Store::open().await;
    assert_eq!(raw(&store.stand_in, "2025-02-24.acacia", "balance", None).await.0, StatusCode::BAD_REQUEST);
    for path in [
        "invoices?expand[]=data.payment_intent",
        "checkout/sessions?expand[]=data.invoice.payment_intent.latest_charge",
        "payment_intents/pi_none?expand[]=invoice",
    ] {
        let (status, body) = raw(&store.stand_in, API_VERSION, path, None).await;
        let message = body["error"]["message"].as_str().unwrap();
        assert!(status == StatusCode::BAD_REQUEST && message.contains("cannot be expanded"), "{path}: {body}");
    }
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
async fn above_the_limit_of_test_mode_calls_are_refused_for_the_rest_of_the_second() {
    let store = Store::open().await;
    store.stand_in.slow_down(Some(TEST_MODE), Duration::from_millis(5));
    let mut refused = 0;
    for _ in 0..TEST_MODE {
        store.client.send(&Balance::retrieve()).await.unwrap();
    }
    while let Err(error) = store.client.send(&Balance::retrieve()).await {
        assert!(error.is_rate_limited(), "{error}");
        refused += 1;
    }
    assert_eq!(store.stand_in.rate_limited(), refused);
    assert!(refused > 0);
}

#[tokio::test]
async fn a_key_sees_only_what_belongs_to_its_account_and_mode() {
    const OTHER: &str = "rk_test_other";
    const LIVE: &str = "rk_live_standin";
    let others = vec![Known::new(OTHER, "acct_other"), Known::new(LIVE, "acct_standin")];
    let stand_in = start(Options { others, ..Options::default() }).await.unwrap();
    let (own, other, live) = (client(&stand_in, KEY), client(&stand_in, OTHER), client(&stand_in, LIVE));
    for (client, id, livemode) in
        [(&own, "acct_standin", false), (&other, "acct_other", false), (&live, "acct_standin", true)]
    {
        assert_eq!(client.send(&Account::retrieve()).await.unwrap().id.as_str(), id);
        assert_eq!(client.send(&Balance::retrieve()).await.unwrap().livemode, livemode);
    }
    let now = shared::clock::Clock::seconds(&shared::clock::SystemClock);
    let lines = [stripe::Line { name: "Squire", amount: 1_998, tax_code: None }];
    let new = || session_of(&lines, now + 3_600, "same", false);
    let (first, second) = (own.send(&new()).await.unwrap(), live.send(&new()).await.unwrap());
    assert_ne!(first.id, second.id, "an idempotency key is of an account");
    assert!(first.id.as_str().starts_with("cs_test_") && second.id.as_str().starts_with("cs_live_"));
    assert_eq!((first.livemode, second.livemode), (false, true));
    for client in [&other, &live] {
        let missing = (RefusalKind::NotFound, Some("resource_missing"), Some("session"));
        let (kind, code, param) = missing;
        refused(client.send(&Session::retrieve(&first.id)).await, kind, code, param);
        refused(client.send(&Session::expire(&first.id)).await, kind, code, param);
    }
    stand_in.act(first.id.as_str(), &Action::Pay).unwrap();
    let paid = own.send(&Session::retrieve(&first.id)).await.unwrap();
    let intent = paid.payment_intent.as_ref().unwrap().id();
    let refund = Refund::create(&NewRefund { payment_intent: intent, amount: None, order: "a", attempt: 1 }, key("r"));
    refused(other.send(&refund).await, RefusalKind::NotFound, Some("resource_missing"), Some("payment_intent"));
    let events = async |client: &stripe::Client| {
        client.send(&Event::list(&EventKind::ALL, (NOW - 1_000_000_000, i64::MAX), None)).await.unwrap().events.len()
    };
    assert_eq!((events(&own).await, events(&other).await, events(&live).await), (1, 0, 0));
    let new = NewWebhookEndpoint { url: "http://127.0.0.1:1/x", kinds: &EventKind::ALL, description: "d" };
    let endpoint = live.send(&WebhookEndpoint::create(&new, key("w"))).await.unwrap();
    assert!(own.send(&WebhookEndpoint::list()).await.unwrap().data.is_empty());
    assert!(other.send(&WebhookEndpoint::delete(&endpoint.id)).await.is_err());
    assert_eq!(live.send(&WebhookEndpoint::list()).await.unwrap().data.len(), 1);
}
