//! `payments connect` with another account or mode, `payments drain`, and what becomes of orders that are left behind.

use crate::payments::{API, Paying};
use local::stripe::{Action, Fault, FaultKind, KEY};
use serde_json::{Value, json};
use shared::model::{InternalId, OrderStatus};
use shared::store::orders;
use std::time::Duration;
use storectl::error::Exit;
use stripe::{EventKind, WebhookEndpoint};

const OTHER: &str = "rk_test_other";

async fn paying() -> Paying {
    let paying = Paying::open().await;
    for key in [KEY, OTHER] {
        paying.bench.write(&format!("{key}.txt"), key);
    }
    paying.ok(&connect(&paying, KEY)).await;
    paying.fill().await;
    paying
}

fn path(paying: &Paying, key: &str) -> &'static str {
    paying.path(&format!("{key}.txt")).leak()
}

fn connect(paying: &Paying, key: &str) -> Vec<&'static str> {
    vec!["payments", "connect", "stripe", "--stripe-key", path(paying, key), "--url", API]
}

async fn status(paying: &Paying, order: &InternalId) -> (OrderStatus, Option<String>) {
    let stored = orders::get(&paying.bench.db, order).await.unwrap().unwrap();
    (stored.order.status, stored.effects.review)
}

fn account(paying: &Paying) -> Option<String> {
    paying.keys().stripe.unwrap().account
}

#[tokio::test]
async fn a_drained_account_is_left_without_a_question_and_nothing_is_stranded() {
    let paying = paying().await;
    let order = paying.checkout().await;
    let asked = paying.fails(&["payments", "drain"]).await;
    assert_eq!((asked.exit, status(&paying, &order).await.0), (Exit::Declined, OrderStatus::Pending));
    let first = paying.ok(&["payments", "drain", "--yes"]).await;
    assert_eq!((&first["ended"], &first["open"], &first["ready"]), (&json!(1), &json!([]), &json!(false)));
    assert_eq!(status(&paying, &order).await, (OrderStatus::Cancelled, None));
    assert!(paying.stand_in.act(&paying.stand_in.sessions()[0], &Action::Pay).is_err());
    assert_eq!(paying.doctor("new checkouts").await["state"], "note");
    let early = paying.fails(&connect(&paying, OTHER)).await;
    assert!(early.what.contains("checkouts can still begin there"), "{early}");
    // One that had been under way.
    let late = paying.checkout().await;
    paying.bench.clock.advance(Duration::from_secs(30));
    let second = paying.ok(&["payments", "drain", "--yes"]).await;
    assert_eq!((&second["ended"], &second["ready"]), (&json!(1), &json!(true)));
    assert_eq!(status(&paying, &late).await, (OrderStatus::Cancelled, None));
    paying.ok(&connect(&paying, OTHER)).await;
    assert_eq!((account(&paying).as_deref(), paying.secrets().len()), (Some("acct_other"), 1));
    // The mark is on the former account only.
    let findings = paying.findings().await;
    assert!(findings.iter().all(|finding| finding["check"] != "new checkouts"), "{findings:?}");
    assert_eq!(paying.ok(&["payments", "drain", "--off"]).await["drained"], false);
}

#[tokio::test]
async fn connecting_again_brings_the_events_of_the_endpoint_up_to_date() {
    let paying = Paying::connected().await;
    let (client, secrets) = (paying.client(), paying.secrets());
    let endpoint = client.send(&WebhookEndpoint::list()).await.unwrap().data.remove(0);
    let before = [EventKind::SessionCompleted, EventKind::Other("invoice.created".to_owned())];
    client.send(&WebhookEndpoint::update(&endpoint.id, &before)).await.unwrap();
    let problem = paying.ok(&["payments", "show"]).await["stripe"]["at_stripe"]["endpoints"][0]["problem"].clone();
    assert!(problem.as_str().unwrap().contains("is not sent") && problem.as_str().unwrap().contains("refund.failed"));
    let connect = ["payments", "connect", "stripe", "--stripe-key", &paying.path("key.txt"), "--url", API];
    let updated = paying.ok(&connect).await;
    assert!(updated["added_events"].as_str().unwrap().contains("refund.failed"), "{updated}");
    assert_eq!((&updated["created"], paying.secrets()), (&Value::Null, secrets));
    let after = client.send(&WebhookEndpoint::list()).await.unwrap().data.remove(0);
    assert_eq!((&after.id, after.enabled_events.len()), (&endpoint.id, EventKind::ALL.len() + 1));
    assert_eq!(paying.ok(&connect).await["added_events"], Value::Null);
}

#[tokio::test]
async fn the_portal_cancels_at_the_end_of_the_period_and_a_connection_without_it_takes_payments() {
    let paying = Paying::open().await;
    let connect = ["payments", "connect", "stripe", "--stripe-key", &paying.path("key.txt"), "--url", API];
    let configurations = "/v1/billing_portal/configurations";
    let connected = paying.ok(&connect).await;
    let portal = connected["portal"].clone();
    let sent = paying.stand_in.received();
    let update = sent.iter().rev().find(|sent| sent.route.contains("billing_portal/configurations/bpc_")).unwrap();
    let mode = ("features[subscription_cancel][mode]".to_owned(), "at_period_end".to_owned());
    assert!(update.parameters.contains(&mode), "{:?}", update.parameters);
    assert!(portal["login_page"].as_str().unwrap().starts_with("http"), "{connected}");
    assert_eq!(paying.ok(&connect).await["portal"], portal);
    assert_eq!(paying.ok(&["payments", "show"]).await["stripe"]["at_stripe"]["portal"], portal);
    paying.stand_in.inject(Fault::before(FaultKind::Status(400)).on(configurations).for_ever());
    assert_eq!(paying.ok(&connect).await["portal"], Value::Null);
}
