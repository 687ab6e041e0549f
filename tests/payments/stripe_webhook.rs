//! POST /payments/webhook/stripe: a webhook event says only where to look.

use super::backlog::sweep;
use super::support::{act, begin, buyer, call, create, login, status, stored};
use serde_json::{Value, json};
use shared::model::{InternalId, OrderStatus, SubscriptionStatus};
use shared::shop::subscriptions;
use shared::table::keys;
use stripe_stand_in::{Action, Fault, FaultKind};
use tests::{Call, Reply, TWO_CHAINS, TestStore, needs_embedded_engine};

const PATH: &str = "/payments/webhook/stripe";

async fn send(store: &TestStore, header: &str, body: &[u8]) -> Reply {
    store.send(Call::post(PATH).header("stripe-signature", header).bytes(body)).await
}

#[tokio::test]
async fn a_webhook_event_about_something_else_is_received() {
    let store = TestStore::open().await;
    let reply = store.invoke_file("payments/stripe_webhook").await;
    insta::assert_json_snapshot!("a_webhook_event", reply.data());
}

#[tokio::test]
async fn only_a_webhook_event_with_our_signature_is_read() {
    let store = TestStore::open().await;
    let (_, begun) = begin(&store).await;
    store.payments.act(&begun.session, &Action::Pay).unwrap();
    let event = store.payments.events().pop().unwrap();
    let good = store.payments.signed(&event).unwrap();
    let mut changed = good.body.clone().into_bytes();
    changed[10] ^= 1;
    let stale = good.header.replacen("t=1", "t=0", 1);
    let twice = format!("{},{}", good.header.split(',').next().unwrap(), good.header);
    for (header, body) in [
        ("", good.body.as_bytes()),
        ("v1=00", good.body.as_bytes()),
        (&stale, good.body.as_bytes()),
        (&twice, good.body.as_bytes()),
        (&good.header, &changed),
    ] {
        assert_eq!(send(&store, header, body).await.status, 400, "{header}");
    }
    assert_eq!(store.send(Call::post(PATH).bytes(good.body.clone())).await.status, 400, "no header");
    let large = vec![b' '; 256 * 1024 + 1];
    assert_eq!(send(&store, &good.header, &large).await.status, 413);
}

#[tokio::test]
async fn a_webhook_event_may_come_often_and_late() {
    let store = TestStore::open().await;
    let (token, begun) = begin(&store).await;
    store.payments.act(&begun.session, &Action::Pay).unwrap();
    store.payments.act(&begun.session, &Action::Refund(None)).unwrap();
    let mut events = store.payments.events();
    events.reverse();
    for event in events.iter().chain(&events.clone()) {
        let signed = store.payments.signed(event).unwrap();
        assert_eq!(send(&store, &signed.header, signed.body.as_bytes()).await.status, 200);
    }
    let (_, state) = status(&store, &token, &begun).await;
    assert!(state == "CANCELLED" || state == "REFUNDED", "{state}");
}

#[tokio::test]
async fn a_refund_at_the_provider_refunds_the_order() {
    let store = TestStore::open().await;
    let token = buyer(&store, "Buyer", 302, 2).await;
    let begun = create(&store, &token).await;
    act(&store, &begun, &Action::Pay).await;
    act(&store, &begun, &Action::Refund(Some(100))).await;
    assert_eq!(status(&store, &token, &begun).await.1, "PAID");
    act(&store, &begun, &Action::Refund(None)).await;
    assert_eq!(status(&store, &token, &begun).await, ("cancelled".to_owned(), "REFUNDED".to_owned()));
}

#[tokio::test]
async fn a_warning_of_fraud_that_comes_before_its_payment_settles_and_marks_the_order() {
    let store = TestStore::open().await;
    let (token, begun) = begin(&store).await;
    for action in [Action::Pay, Action::WarnOfFraud] {
        store.payments.act(&begun.session, &action).unwrap();
    }
    let signed = store.payments.signed(&store.payments.events().pop().unwrap()).unwrap();
    assert_eq!(send(&store, &signed.header, signed.body.as_bytes()).await.status, 200);
    assert_eq!(stored(&store, &begun.order).await.effects.dispute.as_deref(), Some("early_fraud_warning"));
    assert_eq!(status(&store, &token, &begun).await.1, "PAID");
}

#[tokio::test]
async fn a_delayed_payment_is_decided_later() {
    let mut store = TestStore::open().await;
    store.delay_payments().await;
    for (name, action, end) in [("One", Action::Succeed, "PAID"), ("Two", Action::Fail, "FAILED")] {
        let token = buyer(&store, name, 302, 1).await;
        let begun = create(&store, &token).await;
        act(&store, &begun, &Action::PayDelayed).await;
        assert_eq!(status(&store, &token, &begun).await.1, "PENDING");
        act(&store, &begun, &action).await;
        assert_eq!(status(&store, &token, &begun).await.1, end);
    }
    assert_eq!(json!(store.payments.sessions().len()), 2);
}

#[tokio::test]
async fn what_stripe_refuses_for_good_is_received_and_everything_else_is_sent_again() {
    use FaultKind::{Cut, Status};
    let store = TestStore::open().await;
    let (token, begun) = begin(&store).await;
    store.payments.act(&begun.session, &Action::Pay).unwrap();
    let event = store.payments.events().pop().unwrap();
    let send_event = async |fault: Option<FaultKind>| {
        let signed = store.payments.signed(&event).unwrap();
        if let Some(fault) = fault {
            store.payments.inject(Fault::before(fault).on("/v1/checkout/sessions"));
        }
        send(&store, &signed.header, signed.body.as_bytes()).await
    };
    // An unknown object, one that the key may not see in this mode, and a request that makes no sense.
    for status in [400, 402, 404] {
        assert_eq!(send_event(Some(Status(status))).await.status, 200, "{status}");
    }
    // A key of ours, too many requests, a server that fails, and a connection that breaks.
    for fault in [Status(401), Status(403), Status(429), Status(500), Status(503), Cut] {
        let reply = send_event(Some(fault)).await;
        assert_eq!(reply.status, 503, "{fault:?}");
        assert_ne!(reply.header("retry-after"), "", "{fault:?}");
    }
    let reply = send_event(None).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.data(), json!({ "received": true }));
    assert_eq!(status(&store, &token, &begun).await.1, "PAID");
}

#[tokio::test]
async fn a_paid_webhook_reads_its_order_once_and_tries_nothing_again() {
    if needs_embedded_engine(TWO_CHAINS) {
        return;
    }
    let store = TestStore::open().await;
    let (_, begun) = begin(&store).await;
    store.payments.act(&begun.session, &Action::Pay).unwrap();
    let signed = store.payments.signed(&store.payments.events().pop().unwrap()).unwrap();
    store.calls.clear();
    assert_eq!(send(&store, &signed.header, signed.body.as_bytes()).await.status, 200);
    // The order; the published version and everything else that decides about it; the cart.
    let paid = ["GetItem", "GetItem", "BatchGetItem", "TransactWriteItems", "GetItem", "TransactWriteItems"];
    // The delivery: the order's commands; the published servers and ids, alongside the players and their bans, and the
    // texts that take something back; the queue.
    let delivered =
        ["GetItem", "BatchGetItem", "GetItem", "UpdateItem", "BatchGetItem", "BatchGetItem", "TransactWriteItems"];
    assert_eq!(store.calls.operations(), [&paid[..], &delivered[..]].concat());
    store.calls.clear();
    assert_eq!(send(&store, &signed.header, signed.body.as_bytes()).await.status, 200);
    assert_eq!(store.calls.operations(), ["GetItem"], "the webhook event again");
}

#[tokio::test]
async fn a_paid_order_is_read_three_times_until_nothing_is_left_to_do() {
    let store = TestStore::open().await;
    let (_, begun) = begin(&store).await;
    let order = InternalId::new(&begun.order);
    store.payments.act(&begun.session, &Action::Pay).unwrap();
    assert_eq!(reads(&store, "checkout.session.completed", &order).await, 1, "the webhook event");
    store.calls.clear();
    sweep(&store).await;
    assert_eq!(store.calls.reads_of(&keys::order(&order)), 2, "what is due, and the statistics");
    let stored = stored(&store, &begun.order).await;
    assert!(!stored.statistics_due() && stored.unfinished().is_none());
}

/// Passes the newest webhook event of a type on. Returns how often that reads the order's row.
async fn reads(store: &TestStore, event: &str, order: &InternalId) -> usize {
    let is_such = |body: &str| body.parse::<Value>().unwrap()["type"] == event;
    let all = store.payments.events().into_iter().rev().filter_map(|event| store.payments.signed(&event));
    let signed = all.into_iter().find(|signed| is_such(&signed.body)).unwrap();
    store.calls.clear();
    assert_eq!(send(store, &signed.header, signed.body.as_bytes()).await.status, 200);
    store.calls.reads_of(&keys::order(order))
}

#[tokio::test]
async fn a_webhook_event_of_a_subscription_reads_its_order_once_or_twice() {
    const SESSION: (&str, usize) = ("checkout.session.completed", 1);
    const INVOICE: (&str, usize) = ("invoice.paid", 2);
    let store = TestStore::open().await;
    for (buyer, heard) in [("One", [SESSION, INVOICE]), ("Two", [INVOICE, SESSION])] {
        let token = login(&store, buyer).await;
        assert_eq!(call(&store, &token, "/cart/add/602", &json!({ "payment_type": 1 })).await.status, 200);
        let begun = create(&store, &token).await;
        store.payments.act(&begun.session, &Action::Pay).unwrap();
        for (event, times) in heard {
            assert_eq!(reads(&store, event, &InternalId::new(&begun.order)).await, times, "{event}");
        }
        assert_eq!(status(&store, &token, &begun).await.1, "PAID");
        store.payments.act(&begun.session, &Action::Renew).unwrap();
        let renewal = InternalId::of_invoice(store.payments.invoices().last().unwrap());
        assert_eq!(reads(&store, INVOICE.0, &renewal).await, INVOICE.1, "the renewal");
        assert_eq!(stored(&store, renewal.as_str()).await.order.status, OrderStatus::Paid);
    }
}

/// The form that an event had in the version of Stripe's API before, in which endpoints of before still send them.
fn of_acacia(event: &mut Value) {
    event["api_version"] = json!("2025-02-24.acacia");
    let object = &mut event["data"]["object"];
    match object["object"].as_str() {
        Some("invoice") => {
            let details = object.as_object_mut().unwrap().remove("parent").unwrap()["subscription_details"].take();
            object["subscription"] = details["subscription"].clone();
            object["subscription_details"] = json!({ "metadata": details["metadata"] });
            object["payment_intent"] = json!("pi_1");
        }
        Some("subscription") => {
            object.as_object_mut().unwrap().remove("billing_mode");
            let item = object["items"]["data"][0].as_object_mut().unwrap();
            let times = ["current_period_start", "current_period_end"].map(|name| (name, item.remove(name).unwrap()));
            for (name, time) in times {
                object[name] = time;
            }
        }
        Some("dispute") => assert!(object["payment_intent"].is_string()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_event_in_the_form_of_the_version_before_has_the_same_effect() {
    for change in [None, Some(of_acacia as fn(&mut Value))] {
        let store = TestStore::open().await;
        let token = login(&store, "Buyer").await;
        assert_eq!(call(&store, &token, "/cart/add/602", &json!({ "payment_type": 1 })).await.status, 200);
        let begun = create(&store, &token).await;
        for (action, kind) in [
            (Action::Pay, "invoice.paid"),
            (Action::CancelAtPeriodEnd, "customer.subscription.updated"),
            (Action::Dispute(None), "charge.dispute.created"),
        ] {
            store.payments.act(&begun.session, &action).unwrap();
            let all = store.payments.events().into_iter().filter_map(|event| store.payments.signed(&event));
            let mut events = all.map(|signed| signed.body.parse::<Value>().unwrap());
            let mut event = events.rfind(|event| event["type"] == kind).unwrap();
            if let Some(change) = change {
                change(&mut event);
            }
            let signed = store.payments.sign(event.to_string());
            assert_eq!(send(&store, &signed.header, signed.body.as_bytes()).await.status, 200, "{kind}");
            let order = stored(&store, &begun.order).await;
            let id = order.effects.subscription.as_ref().unwrap().id.clone().unwrap();
            let subscription = subscriptions::get(&store.db, &id).await.unwrap().unwrap();
            let dispute = order.effects.dispute.as_deref();
            let seen = (order.order.status, subscription.status, subscription.cancelled, dispute);
            let (status, is_cancelled, disputed) = match action {
                Action::Pay => (SubscriptionStatus::Active, false, None),
                Action::CancelAtPeriodEnd => (SubscriptionStatus::Active, true, None),
                _ => (SubscriptionStatus::Ended, true, Some("needs_response")),
            };
            assert_eq!(seen, (OrderStatus::Paid, status, is_cancelled, disputed), "{kind}");
        }
    }
}
