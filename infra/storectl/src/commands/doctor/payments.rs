//! Whether buyers can pay, and whether anything is left undone.

use super::finding::Finding;
use crate::commands::common::{shown_account, shown_time};
use crate::commands::payments::{endpoint_of, missing_rights, of_stripe, webhook_url};
use crate::error::Failure;
use crate::target::Target;
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use shared::config::StripeKeys;
use shared::rules::payment::is_left;
use shared::shop::orders::unfinished::{self, Due, DueRow};
use shared::shop::payments::OVERDUE;
use shared::shop::payments::webhook_events::EventCursor;
use shared::table::connector;
use shared::table::keys::due_second;
use shared::table::published::read_active_version;
use stripe::WebhookEndpoint;

const CHECK: &str = "payments";
/// How many orders or events a finding names.
const NAMED: usize = 10;
/// After how many seconds without all of the provider's events something is wrong: they are asked for every hour.
const BEHIND: i64 = 3 * 3_600;
const ORDERS: &str = "`storectl order list --open` shows orders, `storectl order settle ID` finishes one";
const SUBSCRIPTIONS: &str = "`storectl subscription settle ID` asks the provider about a subscription now";
const CONNECT: &str = "run `storectl payments connect stripe`, and deploy what it prints";

/// Compares store, stack and keys, and asks Stripe for the endpoint of the webhooks.
pub(super) async fn check(target: &Target) -> Vec<Finding> {
    let mut findings = vec![overdue(target).await, webhook_events(target).await];
    match keys(target).await {
        Ok(Some(keys)) => {
            findings.push(at_stripe(target, &keys).await.unwrap_or_else(|failure| Finding::failed(CHECK, failure)));
            findings.push(rights(target, &keys).await.unwrap_or_else(|failure| Finding::failed(CHECK, failure)));
            findings.extend(account(target, &keys).await);
            findings.extend(reachable(target).await);
        }
        Ok(None) => findings.push(without_keys(target).await),
        Err(failure) => findings.push(Finding::failed(CHECK, failure)),
    }
    findings.extend(receipts(target).await);
    findings
}

/// Whether orders can say their account, and whether the store is leaving it.
async fn account(target: &Target, keys: &StripeKeys) -> Vec<Finding> {
    let mut findings = Vec::new();
    if keys.account.is_none() {
        let said = "the account of the keys is not stored, so that orders do not have it";
        findings.push(Finding::note("account", said, "run `storectl payments connect stripe` with the same key"));
    }
    let ours = keys.provider_account();
    let active = read_active_version(&target.db).await.ok().flatten();
    if active.is_some_and(|active| is_left(active.leaving.as_ref(), &ours)) {
        let said = format!("none begins in {}: another account was about to be connected", shown_account(&ours));
        findings.push(Finding::bad(
            "new checkouts",
            said,
            "run `storectl payments connect stripe` with the key that is to be used",
        ));
    }
    findings
}

/// Where buyers' receipts come from, if anything can be paid. Stripe does not say whether it sends them.
async fn receipts(target: &Target) -> Option<Finding> {
    let active = read_active_version(&target.db).await.ok()??;
    let next = "switch them on in its dashboard: Settings, Customer emails, \"Successful payments\" and \"Refunds\"";
    let said = "the store sends none, and Stripe only if they are switched on there";
    (!active.config.payments.methods.is_empty()).then(|| Finding::note("receipts", said, next))
}

/// Orders that were due long ago: the sweep does not run, or cannot finish them.
pub(super) async fn overdue(target: &Target) -> Finding {
    const CHECK: &str = "open orders";
    match unfinished::due(&target.db, target.clock.seconds().saturating_sub(OVERDUE)).await {
        Ok(due) if due.is_empty() => Finding::ok(CHECK, "none is overdue"),
        Ok(due) => {
            let is_subscription = |row: &DueRow| matches!(row.due, Ok(Due::Subscription(_)));
            let next = match (due.iter().any(is_subscription), due.iter().all(is_subscription)) {
                (_, true) => SUBSCRIPTIONS.to_owned(),
                (true, false) => format!("{ORDERS}; {SUBSCRIPTIONS}"),
                (false, false) => ORDERS.to_owned(),
            };
            let named: Vec<String> = due.iter().take(NAMED).map(named).collect();
            let more = if due.len() > NAMED { ", …" } else { "" };
            let said = format!("{} are overdue for over 15 minutes: {}{more}", due.len(), named.join(", "));
            Finding::bad(CHECK, said, next)
        }
        Err(error) => Finding::failed(CHECK, error.into()),
    }
}

/// A row that is overdue: its order, since when, and why it could not be finished.
fn named(row: &DueRow) -> String {
    let since = due_second(&row.key).map(shown_time).unwrap_or_default();
    let name = match (&row.due, row.order()) {
        (Err(error), _) => return format!("the row {} {} cannot be read ({error})", row.key.pk, row.key.sk),
        (Ok(Due::Subscription(id)), _) => format!("subscription {id}"),
        (Ok(_), order) => order.map(ToString::to_string).unwrap_or_default(),
    };
    let failed = match (&row.reason, row.again_at) {
        (Some(reason), Some(again)) => {
            format!(", failed {} times, again at {}: {reason}", row.failed, shown_time(again))
        }
        _ => String::new(),
    };
    format!("{name} (since {since}{failed})")
}

/// Whether the provider's events are asked for, and which of them fail.
async fn webhook_events(target: &Target) -> Finding {
    const CHECK: &str = "payment events";
    let mark = match EventCursor::read(&target.db).await {
        Ok(Some(mark)) => mark,
        Ok(None) => return Finding::ok(CHECK, "the sweep has not asked for any yet"),
        Err(error) => {
            let next = "delete the row OPEN NOTICES, and compare with `storectl payments reconcile`";
            return Finding::bad(CHECK, format!("the row of what was asked for cannot be read: {error}"), next);
        }
    };
    if !mark.failed.is_empty() {
        let named: Vec<String> = mark
            .failed
            .iter()
            .take(NAMED)
            .map(|event| format!("{} {} (since {})", event.kind, event.id, shown_time(event.since)))
            .collect();
        let more = if mark.failed.len() > NAMED { ", …" } else { "" };
        let said = format!("{} events could not be acted on: {}{more}", mark.failed.len(), named.join(", "));
        return Finding::bad(CHECK, said, "the log has the cause; they are tried again, at the latest after six hours");
    }
    let (since, now) = (shown_time(mark.since), target.clock.seconds());
    if now.saturating_sub(mark.since) > BEHIND {
        let next = "see that the sweep runs (deployment.md, SweepStopped); it continues where it stopped";
        return Finding::bad(CHECK, format!("those since {since} were not all asked for yet"), next);
    }
    Finding::ok(CHECK, format!("all before {since} were acted on"))
}

async fn keys(target: &Target) -> Result<Option<StripeKeys>, Failure> {
    Ok(target.payments.read().await?.stripe)
}

async fn without_keys(target: &Target) -> Finding {
    let methods = match read_active_version(&target.db).await {
        Ok(active) => active.unwrap_or_default().config.payments.methods,
        Err(error) => return Finding::failed(CHECK, error.into()),
    };
    match (methods.is_empty(), target.payments.is_known()) {
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
    let client = target.payments.client(keys.key.clone()).await?;
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
            let next = match endpoint.update() {
                Some(_) => "run `storectl payments connect stripe`, which updates it",
                None => "run `storectl payments connect stripe --new-secret`",
            };
            Finding::bad(CHECK, format!("the webhook endpoint {} {problem}", endpoint.id), next)
        }
        (None, None) => Finding::bad(CHECK, format!("Stripe sends no webhooks to {url}"), CONNECT),
    })
}

/// Whether a restricted key has every right that it needs.
async fn rights(target: &Target, keys: &StripeKeys) -> Result<Finding, Failure> {
    const CHECK: &str = "payment key";
    let missing = missing_rights(&target.payments.client(keys.key.clone()).await?).await?;
    if missing.is_empty() {
        return Ok(Finding::ok(CHECK, "it has every right that it needs"));
    }
    let next = "add them in Stripe's dashboard: Developers, API keys";
    Ok(Finding::bad(CHECK, format!("it lacks rights: {}", missing.join(", ")), next))
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
