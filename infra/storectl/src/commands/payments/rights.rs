//! The rights that a restricted key needs. Each is tried by a call that has no effect: it names an object that does not exist,
//! or only reads. Stripe looks at the rights before it looks for the object.

use super::of_stripe;
use crate::error::{Exit, Failure};
use futures_util::future::{BoxFuture, join_all};
use serde::de::DeserializeOwned;
use shared::random;
use stripe::{
    Balance, Call, Charge, Client, Dispute, Error, Event, EventKind, IdempotencyKey, Invalid, Invoice, NewRefund,
    ObjectId, PaymentIntent, PortalConfiguration, PortalSession, Refund, RefusalKind, Session, Subscription,
    WebhookEndpoint,
};

/// The rights that a key lacks, in the words of the dashboard.
pub(in crate::commands) async fn missing(client: &Client) -> Result<Vec<&'static str>, Failure> {
    let unknown = |error: Invalid| Failure::refused(format!("{error}."), "Report this.");
    let id = |kind: &str| ObjectId::parse(&format!("{kind}_none")).map_err(unknown);
    let once = random::uuid().unwrap_or_else(|| "rights".to_owned());
    let new = NewRefund { payment_intent: &id("pi")?, amount: None, order: "none", attempt: 1 };
    let refund = Refund::create(&new, IdempotencyKey::parse(&once).map_err(unknown)?);
    let tries: [Try<'_>; 12] = [
        attempt(client, "Checkout Sessions write", Session::expire(&id("cs")?)),
        attempt(client, "Refunds write", refund),
        attempt(client, "Webhook Endpoints write", WebhookEndpoint::delete(&id("we")?)),
        attempt(client, "PaymentIntents read", PaymentIntent::retrieve(&id("pi")?)),
        attempt(client, "Charges read", Charge::retrieve(&id("ch")?)),
        attempt(client, "Disputes read", Dispute::retrieve(&id("du")?)),
        attempt(
            client,
            "Events read",
            Event::list(&[EventKind::SessionCompleted], (i64::from(i32::MAX), i64::from(i32::MAX)), None),
        ),
        attempt(client, "Balance read", Balance::retrieve()),
        attempt(client, "Subscriptions write", Subscription::cancel(&id("sub")?)),
        attempt(client, "Invoices write", Invoice::void(&id("in")?)),
        attempt(client, "Customer portal write", PortalConfiguration::update(&id("bpc")?)),
        attempt(client, "Customers read", PortalSession::create(&id("cus")?, "https://shop.example")),
    ];
    let lacking: Result<Vec<Option<&'static str>>, Failure> = join_all(tries).await.into_iter().collect();
    Ok(lacking?.into_iter().flatten().collect())
}

type Try<'a> = BoxFuture<'a, Result<Option<&'static str>, Failure>>;

/// The right, if the key lacks it. That the object does not exist is known only to a key that has the right.
fn attempt<'a, T: DeserializeOwned + 'a>(client: &'a Client, right: &'static str, call: Call<T>) -> Try<'a> {
    Box::pin(async move {
        match client.send(&call).await {
            Ok(_) => Ok(None),
            Err(Error::Refused(refusal)) if refusal.kind == RefusalKind::Permission => Ok(Some(right)),
            Err(Error::Refused(refusal)) if refusal.kind != RefusalKind::Key => Ok(None),
            Err(error) => Err(of_stripe(&error)),
        }
    })
}

/// Refuses a key that lacks a right.
pub(super) async fn must_have_all(client: &Client) -> Result<(), Failure> {
    let missing = missing(client).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let next = "Add them in Stripe's dashboard (Developers, API keys), and run it again.";
    Err(Failure::new(Exit::Denied, format!("The key lacks rights: {}.", missing.join(", ")), next))
}
