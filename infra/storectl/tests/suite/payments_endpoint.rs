//! `payments connect` and the endpoint of the webhooks: it is changed, by a command that may be killed, and no event is lost.

use crate::payments::{API, Paying, WEBHOOK};
use serde_json::{Value, json};
use std::time::Duration;
use storectl::error::Exit;
use stripe::{API_VERSION, EventKind, IdempotencyKey, NewWebhookEndpoint, ObjectId, WebhookEndpoint};
use stripe_stand_in::{Fault, FaultKind};

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
