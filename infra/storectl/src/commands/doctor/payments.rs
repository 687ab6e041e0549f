//! Whether buyers can pay, and whether anything is left undone.

use super::finding::Finding;
use crate::commands::payments::{endpoint_of, of_stripe, webhook_url};
use crate::error::Failure;
use crate::target::Target;
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use shared::config::StripeKeys;
use shared::store::published::read_active_version;
use shared::store::{connector, unfinished};
use shared::usecases::checkouts::OVERDUE;
use stripe::WebhookEndpoint;

const CHECK: &str = "payments";
const CONNECT: &str = "run `storectl payments connect stripe`, and deploy what it prints";

/// Compares store, stack and keys, and asks Stripe for the endpoint of the webhooks.
pub(super) async fn check(target: &Target) -> Vec<Finding> {
    let mut findings = vec![overdue(target).await];
    match keys(target).await {
        Ok(Some(keys)) => {
            findings.push(at_stripe(target, &keys).await.unwrap_or_else(|failure| Finding::failed(CHECK, failure)));
            findings.extend(reachable(target).await);
        }
        Ok(None) => findings.push(without_keys(target).await),
        Err(failure) => findings.push(Finding::failed(CHECK, failure)),
    }
    findings
}

/// Orders that were due long ago: the sweep does not run, or cannot finish them.
async fn overdue(target: &Target) -> Finding {
    const CHECK: &str = "open orders";
    match unfinished::due(&target.db, target.clock.seconds().saturating_sub(OVERDUE)).await {
        Ok(due) if due.is_empty() => Finding::ok(CHECK, "none is overdue"),
        Ok(due) => {
            let next = "`storectl order list --open` shows them, `storectl order settle ID` finishes one";
            Finding::bad(CHECK, format!("{} are overdue for over 15 minutes", due.len()), next)
        }
        Err(error) => Finding::failed(CHECK, error.into()),
    }
}

async fn keys(target: &Target) -> Result<Option<StripeKeys>, Failure> {
    Ok(target.payment_keys().await?.stripe)
}

async fn without_keys(target: &Target) -> Finding {
    let methods = match read_active_version(&target.db).await {
        Ok(active) => active.unwrap_or_default().config.payments.methods,
        Err(error) => return Finding::failed(CHECK, error.into()),
    };
    match (methods.is_empty(), target.knows_payments()) {
        (true, _) => Finding::ok(CHECK, "off"),
        (false, true) => {
            Finding::bad(CHECK, format!("store.yaml has {}, but there are no keys", methods.join(", ")), CONNECT)
        }
        (false, false) => Finding::note(
            CHECK,
            "not known without the payment keys",
            "name the stack with --stack to have them checked",
        ),
    }
}

async fn at_stripe(target: &Target, keys: &StripeKeys) -> Result<Finding, Failure> {
    if target.stack.as_ref().is_some_and(|stack| !stack.takes_payments) {
        let next = "deploy with Payments=true";
        return Ok(Finding::note(CHECK, "there are keys, but the parameter Payments is false", next));
    }
    let mode = if keys.key.is_live() { "real" } else { "test" };
    let client = target.stripe_client(keys.key.clone())?;
    let all = client.send(&WebhookEndpoint::list()).await.map_err(|error| of_stripe(&error))?;
    let Some(url) = webhook_url(target, None) else {
        return Ok(Finding::ok(CHECK, format!("Stripe accepts the key, for {mode} money")));
    };
    let ours: Vec<_> = all.data.iter().filter(|endpoint| endpoint.url == url).map(endpoint_of).collect();
    let sound = ours.iter().find(|endpoint| endpoint.problem().is_none());
    Ok(match (sound, ours.first()) {
        (Some(endpoint), _) => Finding::ok(
            CHECK,
            format!("Stripe accepts the key, for {mode} money, and sends webhooks to {} at {url}", endpoint.id),
        ),
        (None, Some(endpoint)) => {
            let problem = endpoint.problem().unwrap_or_default();
            Finding::bad(
                CHECK,
                format!("the webhook endpoint {} {problem}", endpoint.id),
                "run `storectl payments connect stripe --new-secret`",
            )
        }
        (None, None) => Finding::bad(CHECK, format!("Stripe sends no webhooks to {url}"), CONNECT),
    })
}

/// Whether the endpoint of the deployed stack responds as it must to a request that is not signed.
async fn reachable(target: &Target) -> Option<Finding> {
    const CHECK: &str = "webhooks";
    let url = webhook_url(target, None)?;
    let request = Request::builder().method(Method::POST).uri(&url).body(Bytes::from_static(b"{}")).ok()?;
    let client = outgoing::Client::new(connector::roots());
    let next = "check that the stack is deployed with Payments=true";
    Some(match client.send(request).await {
        Ok(response) if response.status() == StatusCode::BAD_REQUEST => {
            Finding::ok(CHECK, format!("{url} responds, and refuses what is not signed"))
        }
        Ok(response) => Finding::bad(CHECK, format!("{url} responds {} instead of 400", response.status()), next),
        Err(error) => Finding::bad(CHECK, format!("{url} does not respond: {error}"), next),
    })
}
