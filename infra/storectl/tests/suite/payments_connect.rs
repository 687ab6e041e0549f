//! `payments connect` with another account or mode, and again with the same; and the endpoint of the webhooks: it is changed, by a
//! command that may be killed, and no event is lost.

use crate::payments::{API, Paying, WEBHOOK};
use serde_json::{Value, json};
use shared::model::{InternalId, OrderStatus, ProviderAccount};
use shared::shop::orders;
use shared::table::published::{read_active_version, set_leaving};
use std::time::Duration;
use storectl::error::Exit;
use stripe::{API_VERSION, EventKind, IdempotencyKey, NewWebhookEndpoint, ObjectId, WebhookEndpoint};
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

const FINISH: [&str; 6] = ["payments", "connect", "stripe", "--url", API, "--finish"];
/// A version of the API from before this one.
const FORMER: &str = "2020-08-27";
/// The first calls of `connect` only try what the key may do: it is killed after the last of them, and then after each call.
const TRIES: usize = 13;

/// The endpoints at the provider, oldest first.
fn all(paying: &Paying) -> Vec<String> {
    paying.stand_in.webhook_endpoints().into_iter().map(|(id, _)| id).collect()
}

/// Those whose events functions with these secrets accept.
fn accepted(paying: &Paying, secrets: &[String]) -> Vec<String> {
    let endpoints = paying.stand_in.webhook_endpoints().into_iter();
    endpoints.filter(|(_, secret)| secrets.contains(secret)).map(|(id, _)| id).collect()
}

/// Adds an endpoint of the same address that the owner has made in the dashboard.
async fn add_by_hand(paying: &Paying) -> String {
    let new = NewWebhookEndpoint { url: WEBHOOK, kinds: &[EventKind::SessionCompleted], description: "Mine" };
    let once = IdempotencyKey::parse("by-hand").unwrap();
    paying.client().send(&WebhookEndpoint::create(&new, once)).await.unwrap().id.to_string()
}

/// Runs a command, and kills it when the provider has carried out the call after so many. Whether it ended before.
async fn ends_within(paying: &Paying, calls: usize, command: &[&str]) -> bool {
    let stand_in = &paying.stand_in;
    let before = stand_in.received().len();
    for _ in 0..calls {
        stand_in.inject(Fault::after(FaultKind::Slow(Duration::ZERO)));
    }
    stand_in.inject(Fault::after(FaultKind::Silence).for_ever());
    let is_killed = async {
        while stand_in.received().len() <= before + calls {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let ended = tokio::select! {
        _ = Box::pin(paying.answer(command)) => true,
        () = is_killed => false,
    };
    stand_in.clear_faults();
    ended
}

/// The states in which a change begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// The store was never connected.
    New,
    /// The provider's version has changed since.
    Former,
    /// As [`Self::Former`], and the change is deployed, with an endpoint whose secret a killed `connect` has lost.
    Deployed,
}

#[tokio::test]
async fn whenever_a_change_of_the_endpoint_is_killed_the_repeated_one_loses_no_event() {
    for start in [Start::New, Start::Former, Start::Deployed] {
        let mut ended = false;
        for calls in if start == Start::Deployed { 0.. } else { TRIES.. } {
            if ended {
                break;
            }
            let paying = Paying::open().await;
            let (connect, by_hand) = (paying.connect(), add_by_hand(&paying).await);
            let mut deployed = Vec::new();
            if start != Start::New {
                let id = paying.ok(&connect).await["created"].as_str().unwrap().to_owned();
                paying.stand_in.change_endpoint(&id, FORMER, false);
                deployed = paying.secrets();
            }
            if start == Start::Deployed {
                assert!(!ends_within(&paying, TRIES + 2, &connect).await && paying.secrets() == deployed);
                paying.ok(&connect).await;
                assert_eq!(all(&paying).len(), 4);
                deployed = paying.secrets();
            }
            let at = format!("{start:?}, killed after {calls} calls");
            let command = if start == Start::Deployed { FINISH.to_vec() } else { connect.clone() };
            ended = ends_within(&paying, calls, &command).await;
            assert!(start == Start::New || !accepted(&paying, &deployed).is_empty(), "{at}: before it is repeated");
            let repeated = paying.ok(&command).await;
            assert!(start == Start::New || !accepted(&paying, &deployed).is_empty(), "{at}: before the deploy");
            let deployed = paying.secrets();
            assert!(!accepted(&paying, &deployed).is_empty(), "{at}: after the deploy");
            if repeated["overlap"] == true {
                paying.ok(&FINISH).await;
            }
            let kept = accepted(&paying, &paying.secrets());
            assert_eq!((paying.secrets().len(), kept.len()), (1, 1), "{at}");
            assert_eq!(all(&paying), [by_hand.clone(), kept[0].clone()], "{at}");
            assert!(deployed.contains(&paying.secrets()[0]), "{at}: what is deployed accepts it");
            let again = paying.ok(&connect).await;
            assert_eq!((&again["created"], &again["overlap"]), (&Value::Null, &json!(false)), "{at}");
        }
    }
}

#[tokio::test]
async fn nothing_is_deleted_unless_the_endpoint_of_the_newest_secret_can_take_its_place() {
    for (change, said) in [
        ("unknown", "It is not stored which"),
        ("deleted", "Stripe has no webhook endpoint"),
        ("disabled", "is switched off"),
        ("former", "is of another version"),
    ] {
        let paying = Paying::connected().await;
        let changed = paying.ok(&[paying.connect(), vec!["--new-secret"]].concat()).await;
        let (newest, secrets) = (changed["created"].as_str().unwrap(), paying.secrets());
        match change {
            // The form in which the keys were stored before they had the endpoint.
            "unknown" => {
                let keys = std::fs::read_to_string(paying.bench.path("payment-keys.json")).unwrap();
                let former = keys.replace(&format!(r#""endpoint":"{newest}","#), "");
                assert_ne!(former, keys);
                paying.bench.write("payment-keys.json", &former);
            }
            "deleted" => {
                _ = paying.client().send(&WebhookEndpoint::delete(&ObjectId::parse(newest).unwrap())).await.unwrap();
            }
            "disabled" => paying.stand_in.change_endpoint(newest, API_VERSION, true),
            _ => {
                paying.stand_in.change_endpoint(newest, FORMER, false);
                let shown = paying.ok(&["payments", "show"]).await["stripe"]["at_stripe"]["endpoints"].take();
                assert_eq!((&shown[0]["id"], &shown[0]["problem"]), (&json!(newest), &Value::Null));
                assert!(shown[0]["hint"].as_str().unwrap().contains(said), "{shown}");
                assert!(shown[1]["hint"].as_str().unwrap().contains("newest secret"), "{shown}");
            }
        }
        let before = all(&paying);
        let refused = paying.fails(&FINISH).await;
        assert_eq!(refused.exit, Exit::Refused, "{change}");
        assert!(refused.what.contains(said), "{change}: {refused}");
        assert_eq!((all(&paying), paying.secrets()), (before.clone(), secrets.clone()), "{change}");
        // What it says to do ends the change, and what was deployed is heard until then.
        let again = paying.ok(&paying.connect()).await;
        assert_eq!(again["overlap"], true, "{change}");
        assert_eq!((all(&paying).len(), &paying.secrets()[1..]), (before.len() + 1, &secrets[..]), "{change}");
        let finished = paying.ok(&FINISH).await;
        assert_eq!(finished["forgotten"], 2, "{change}");
        assert_eq!(all(&paying), [again["created"].as_str().unwrap()], "{change}");
    }
}
