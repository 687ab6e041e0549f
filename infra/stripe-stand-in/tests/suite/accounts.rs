//! Several accounts and modes at one stand-in: a key sees only what is its own.

use crate::support::{NOW, client, key, refused, session_of};
use stripe::{
    Account, Balance, Event, EventKind, NewRefund, NewWebhookEndpoint, Refund, RefusalKind, Session, WebhookEndpoint,
};
use stripe_stand_in::{Account as Known, Action, KEY, Options, start};

const OTHER: &str = "rk_test_other";
const LIVE: &str = "rk_live_standin";

#[tokio::test]
async fn a_key_sees_only_what_belongs_to_its_account_and_mode() {
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
