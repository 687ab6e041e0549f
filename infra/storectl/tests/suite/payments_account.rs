//! `payments connect` with another account or mode, and again with the same.

use crate::payments::{API, Paying};
use serde_json::{Value, json};
use shared::model::{InternalId, OrderStatus, ProviderAccount};
use shared::shop::orders;
use shared::table::published::{read_active_version, set_leaving};
use storectl::error::Exit;
use stripe::{EventKind, WebhookEndpoint};
use stripe_stand_in::{Fault, FaultKind, KEY};

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

fn connect(paying: &Paying, key: &str) -> Vec<&'static str> {
    let file = paying.path(&format!("{key}.txt")).leak();
    vec!["payments", "connect", "stripe", "--stripe-key", file, "--url", API]
}

async fn status(paying: &Paying, order: &InternalId) -> (OrderStatus, Option<String>) {
    let stored = orders::get(&paying.bench.db, order).await.unwrap().unwrap();
    (stored.order.status, stored.effects.review)
}

fn account(paying: &Paying) -> Option<String> {
    paying.keys().stripe.unwrap().account
}

#[tokio::test]
async fn an_account_is_left_with_a_question_and_no_checkout_begins_there_until_the_deploy() {
    let paying = paying().await;
    let order = paying.checkout().await;
    let asked = paying.fails(&connect(&paying, OTHER)).await;
    assert_eq!((asked.exit, leaving(&paying).await), (Exit::Declined, None));
    assert!(asked.what.contains("1 orders are open there"), "{asked}");
    let yes = [connect(&paying, OTHER), vec!["--yes"]].concat();
    // Killed between the mark and the keys: the same command ends it, and the former key takes it back.
    assert!(set_leaving(&paying.bench.db, Some(&former())).await.unwrap());
    assert_eq!(paying.doctor("new checkouts").await["state"], "bad");
    paying.ok(&connect(&paying, KEY)).await;
    assert_eq!(leaving(&paying).await, None);
    let connected = paying.ok(&yes).await;
    assert!(connected["left_open"].as_str().unwrap().contains(order.as_str()), "{connected}");
    assert_eq!((account(&paying).as_deref(), paying.secrets().len()), (Some("acct_other"), 1));
    // The mark is on the former account only, whose functions still settle what is open.
    assert_eq!(leaving(&paying).await, Some(former()));
    let findings = paying.findings().await;
    assert!(findings.iter().all(|finding| finding["check"] != "new checkouts"), "{findings:?}");
    assert_eq!(status(&paying, &order).await, (OrderStatus::Pending, None));
    let back = paying.ok(&[connect(&paying, KEY), vec!["--yes"]].concat()).await;
    assert_eq!((&back["left_open"], account(&paying).as_deref()), (&json!(""), Some("acct_standin")));
    assert_eq!(leaving(&paying).await.and_then(|account| account.id).as_deref(), Some("acct_other"));
}

fn former() -> ProviderAccount {
    ProviderAccount { id: Some("acct_standin".to_owned()), live: false }
}

async fn leaving(paying: &Paying) -> Option<ProviderAccount> {
    read_active_version(&paying.bench.db).await.unwrap().unwrap().leaving
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
    let connect = paying.connect();
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
    let connect = paying.connect();
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
