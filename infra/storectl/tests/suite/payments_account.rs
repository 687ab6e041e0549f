//! `payments connect` with another account or mode, `payments drain`, and what becomes of orders that are left behind.

use crate::payments::{API, Paying};
use crate::subscriptions::{put, subscription};
use local::stripe::{ACCOUNT, Account, Action, Fault, FaultKind, KEY};
use serde_json::{Value, json};
use shared::model::{InternalId, OrderStatus};
use shared::store::published::read_active_version;
use shared::store::{keys, orders};
use std::time::Duration;
use storectl::console::Console;
use storectl::error::Exit;
use stripe::{EventKind, WebhookEndpoint};

const OTHER: &str = "rk_test_other";
const LIVE: &str = "rk_live_standin";
const KEYS: [&str; 3] = [KEY, OTHER, LIVE];

async fn paying() -> Paying {
    let others = vec![Account::new(OTHER, "acct_other"), Account::new(LIVE, ACCOUNT)];
    let paying = Paying::open_with(others).await;
    for key in KEYS {
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

fn with<'a>(mut line: Vec<&'a str>, more: &[&'a str]) -> Vec<&'a str> {
    line.extend(more);
    line
}

async fn status(paying: &Paying, order: &InternalId) -> (OrderStatus, Option<String>) {
    let stored = orders::get(&paying.bench.db, order).await.unwrap().unwrap();
    (stored.order.status, stored.effects.review)
}

fn account(paying: &Paying) -> Option<String> {
    paying.keys().stripe.unwrap().account
}

#[tokio::test]
async fn the_account_is_stored_beside_the_key() {
    let paying = paying().await;
    assert_eq!(account(&paying).as_deref(), Some(ACCOUNT));
    assert_eq!(paying.ok(&connect(&paying, KEY)).await["account"], ACCOUNT);
    let another = paying.fails(&with(connect(&paying, KEY), &["--account", "acct_other"])).await;
    assert!(another.what.contains("belongs to the account acct_standin, not to acct_other"), "{another}");
    let wrong = paying.fails(&with(connect(&paying, KEY), &["--account", "us_1"])).await;
    assert!(wrong.what.contains("us_1 is not the id of an account"), "{wrong}");
}

#[tokio::test]
async fn a_key_that_may_not_read_its_account_needs_to_be_told_it() {
    let paying = Paying::open_with(Vec::new()).await;
    paying.bench.write(&format!("{KEY}.txt"), KEY);
    let forbid = || paying.stand_in.inject(Fault::before(FaultKind::Status(403)).on("/v1/account"));
    forbid();
    let missing = paying.fails(&connect(&paying, KEY)).await;
    assert_eq!((missing.exit, missing.what.as_str()), (Exit::Denied, "The key has no right to read its account."));
    assert!(missing.next.contains("--account") && !paying.bench.path("payment-keys.json").exists(), "{missing}");
    forbid();
    paying.ok(&with(connect(&paying, KEY), &["--account", ACCOUNT])).await;
    assert_eq!(account(&paying).as_deref(), Some(ACCOUNT));
}

#[tokio::test]
async fn keys_of_before_the_account_was_stored_are_completed() {
    let paying = paying().await;
    let mut keys = paying.keys();
    keys.stripe.as_mut().unwrap().account = None;
    paying.bench.write("payment-keys.json", &keys.expose());
    let secrets = paying.secrets();
    assert_eq!(paying.doctor("account").await["state"], "note");
    paying.ok(&connect(&paying, KEY)).await;
    assert_eq!((account(&paying).as_deref(), paying.secrets()), (Some(ACCOUNT), secrets));
    // The stored key is no longer accepted, so that it is not known whose it was.
    let text = keys.expose().replace(KEY, "rk_test_gone");
    paying.bench.write("payment-keys.json", &text);
    assert_eq!(paying.fails(&connect(&paying, KEY)).await.exit, Exit::Declined);
}

#[tokio::test]
async fn connecting_another_account_or_mode_names_the_open_orders_and_asks_to_drain() {
    let paying = paying().await;
    let order = paying.checkout().await;
    for (key, of) in [(OTHER, "acct_other in test mode"), (LIVE, "acct_standin in live mode")] {
        let asked = paying.fails(&connect(&paying, key)).await;
        assert_eq!(asked.exit, Exit::Declined, "{asked}");
        assert!(asked.what.contains(of) && asked.what.contains(order.as_str()), "{asked}");
        assert!(asked.next.contains("storectl payments drain"), "{asked}");
        assert_eq!(paying.keys().stripe.unwrap().key.expose(), KEY, "nothing is stored");
    }
    // The same account is not asked about.
    paying.ok(&with(connect(&paying, KEY), &["--new-secret"])).await;
}

#[tokio::test]
async fn an_account_with_active_subscriptions_is_not_left_without_a_question() {
    let paying = paying().await;
    paying.ok(&["payments", "drain", "--yes"]).await;
    paying.bench.clock.advance(Duration::from_secs(80));
    put(&paying, subscription(&paying, "sub_1"), &[]).await;
    let asked = paying.fails(&connect(&paying, OTHER)).await;
    assert!(asked.exit == Exit::Declined && asked.what.contains("1 subscriptions are active there"), "{asked}");
    paying.ok(&["subscription", "cancel", "sub_1", "--yes"]).await;
    paying.ok(&connect(&paying, OTHER)).await;
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
    paying.bench.clock.advance(Duration::from_secs(80));
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
async fn draining_settles_what_was_paid_meanwhile() {
    let paying = paying().await;
    let paid = paying.checkout().await;
    paying.stand_in.act(&paying.stand_in.sessions()[0], &Action::Pay).unwrap();
    let drained = paying.ok(&["payments", "drain", "--yes"]).await;
    assert_eq!((&drained["paid"], &drained["ended"]), (&json!(1), &json!(0)));
    assert_eq!(status(&paying, &paid).await.0, OrderStatus::Paid);
}

#[tokio::test]
async fn a_delayed_payment_is_named_by_a_drain_and_left_until_it_has_an_outcome() {
    for (outcome, becomes) in [(Action::Succeed, OrderStatus::Paid), (Action::Fail, OrderStatus::Failed)] {
        let paying = paying().await;
        // Delayed methods are offered if the store says so, for a cart without limited items.
        let mut active = read_active_version(&paying.bench.db).await.unwrap().unwrap();
        active.config.payments.delayed = true;
        paying.bench.put(&keys::active_version(), &active).await;
        paying.bench.ok(&["cart", "clear", "Newt"]).await;
        paying.bench.cart_add(&["Newt", "201"]).await;
        let order = paying.checkout().await;
        let session = paying.stand_in.sessions().pop().unwrap();
        paying.stand_in.act(&session, &Action::PayDelayed).unwrap();
        // Also after the time at which the session would have ended.
        for wait in [Duration::ZERO, Duration::from_hours(2)] {
            paying.bench.clock.advance(wait);
            let left = paying.answer(&Console::nobody(), &["payments", "drain", "--yes"]).await;
            assert_eq!(left.exit(), Exit::Faults.code());
            let json = left.json();
            assert_eq!((&json["ended"], &json["paid"], &json["ready"]), (&json!(0), &json!(0), &json!(false)));
            assert_eq!(json["open"], json!([order.as_str()]));
            let text = left.text();
            assert!(text.contains(&format!("{order}: the payment is being processed")), "{text}");
            assert_eq!(status(&paying, &order).await, (OrderStatus::Pending, None));
        }
        let refused = paying.fails(&connect(&paying, OTHER)).await;
        assert!(refused.what.contains(order.as_str()), "{refused}");
        paying.stand_in.act(&session, &outcome).unwrap();
        let drained = paying.ok(&["payments", "drain", "--yes"]).await;
        assert_eq!((&drained["open"], &drained["ready"]), (&json!([]), &json!(true)), "{outcome:?}: {drained}");
        assert_eq!(status(&paying, &order).await, (becomes, None));
        paying.ok(&connect(&paying, OTHER)).await;
    }
}

#[tokio::test]
async fn an_order_that_is_stranded_all_the_same_is_named_and_given_up_after_its_end() {
    let paying = paying().await;
    let order = paying.checkout().await;
    paying.ok(&with(connect(&paying, LIVE), &["--yes"])).await;
    let named = paying.doctor("open checkouts").await;
    assert_eq!(named["state"], "bad");
    assert!(named["said"].as_str().unwrap().contains(order.as_str()), "{named}");
    let cancel = paying.fails(&["order", "cancel", order.as_str(), "--yes"]).await;
    assert!(cancel.what.contains("another account or mode") && cancel.next.contains("after its time"), "{cancel}");
    assert_eq!(paying.ok(&["order", "settle", order.as_str()]).await["status"], "PENDING");
    paying.bench.clock.advance(Duration::from_mins(36));
    assert_eq!(paying.ok(&["order", "settle", order.as_str()]).await["status"], "CANCELLED");
    assert!(status(&paying, &order).await.1.is_some());
    let review = paying.ok(&["order", "list", "--review"]).await;
    assert_eq!(review["orders"].as_array().unwrap().len(), 1);
    assert_eq!(paying.doctor("sums of orders").await["state"], "ok");
    assert_eq!(paying.doctor("open checkouts").await["state"], "ok");
    // The key of live mode is paid with, and it stays so.
    let again = paying.checkout().await;
    assert_eq!(status(&paying, &again).await.0, OrderStatus::Pending);
}

#[tokio::test]
async fn a_checkout_that_was_deleted_is_cancelled_after_a_question() {
    let paying = paying().await;
    let order = paying.checkout().await;
    // The stand-in is restarted: it has forgotten its sessions, and is the same account.
    let paying = paying.with_new_stand_in(Vec::new()).await;
    let named: Value = paying.doctor("open checkouts").await;
    assert!(named["said"].as_str().unwrap().contains(order.as_str()), "{named}");
    assert!(named["next"].as_str().unwrap().contains("order cancel"), "{named}");
    let asked = paying.fails(&["order", "cancel", order.as_str()]).await;
    assert_eq!((asked.exit, status(&paying, &order).await), (Exit::Declined, (OrderStatus::Pending, None)));
    let cancelled = paying.answering(&Console::answering(true), &["order", "cancel", order.as_str()]).await;
    assert_eq!(cancelled["status"], "CANCELLED");
    assert_eq!(status(&paying, &order).await, (OrderStatus::Cancelled, None));
    assert_eq!(paying.doctor("open checkouts").await["state"], "ok");
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

#[tokio::test]
async fn rights_that_the_key_lacks_are_named() {
    let paying = Paying::open().await;
    for path in ["/v1/refunds", "/v1/events", "/v1/subscriptions", "/v1/billing_portal/sessions"] {
        paying.stand_in.inject(Fault::before(FaultKind::Status(403)).on(path));
    }
    let connect = ["payments", "connect", "stripe", "--stripe-key", &paying.path("key.txt"), "--url", API];
    let refused = paying.fails(&connect).await;
    assert_eq!(
        (refused.exit, &*refused.what),
        (Exit::Denied, "The key lacks rights: Refunds write, Events read, Subscriptions write, Customers read.")
    );
    assert!(!paying.bench.path("payment-keys.json").exists());
    paying.ok(&connect).await;
    assert_eq!(paying.doctor("payment key").await["state"], "ok");
    paying.stand_in.inject(Fault::before(FaultKind::Status(403)).on("/v1/disputes"));
    assert_eq!(paying.doctor("payment key").await["said"], "it lacks rights: Disputes read");
}
