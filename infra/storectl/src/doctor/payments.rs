//! Whether buyers can pay, whether anything is left undone.

use super::{Finding, Found, named};
use crate::payments::ways::{SWITCH_ON, TAXES, tax_problem, ways};
use crate::payments::{endpoints, missing_rights, shown_account, webhook_url};
use crate::prelude::*;
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use shared::config::StripeKeys;
use shared::model::TaxMode;
use shared::rules::payment::is_left;
use shared::shop::orders::unfinished::{self, Due, DueRow};
use shared::shop::payments::webhook_events::{EventCursor, FailedEvent};
use shared::shop::payments::{Desk, OVERDUE};
use shared::shop::report::{Listed, listed};
use shared::table::connector;
use shared::table::keys::due_second;
use shared::table::published::read_active_version;
use stripe::Session;

const CHECK: &str = "payments";

/// After how many seconds without all of the provider's events something is wrong: they are asked for every hour.
const BEHIND: i64 = 3 * 3_600;

/// How many of the last payments are looked at for a receipt.
const RECEIPTS: usize = 10;

const ORDERS: &str = "`storectl order list --open` shows orders, `storectl order settle ID` finishes one";

const SUBSCRIPTIONS: &str = "`storectl subscription settle ID` asks the provider about a subscription now";

const CONNECT: &str = "run `storectl payments connect stripe`, and deploy what it prints";

/// Compares store, stack and keys, and asks Stripe for the endpoint of the webhooks.
pub async fn check(at: &Deployment) -> Vec<Finding> {
    let failed = |failure: Failure| Finding::of(CHECK, Err(failure));
    let mut findings = vec![overdue(at).await, webhook_events(at).await.named("payment events")];
    let keys = at.payments.read().await.map(|keys| keys.stripe);
    let receipts = receipts(at, keys.as_ref().ok().and_then(Option::as_ref)).await;
    match keys {
        Ok(Some(keys)) => {
            findings.push(Finding::of(CHECK, at_stripe(at, &keys).await));
            findings.push(rights(at, &keys).await.map_or_else(failed, |found| found.named("payment key")));
            findings.extend(account(at, &keys).await);
            findings.extend(ways_to_pay(at, &keys).await.map(|found| found.named("ways to pay")));
            findings.extend(taxes(at, &keys).await.map(|found| found.named("taxes")));
            findings.extend(reachable(at).await.map(|found| found.named("webhooks")));
        }
        Ok(None) => findings.push(Finding::of(CHECK, without_keys(at).await)),
        Err(failure) => findings.push(failed(failure)),
    }
    findings.extend(receipts.map(|found| found.named("receipts")));
    findings
}

/// Of how many of the last real payments the buyer was sent a receipt, and how many there are.
async fn sent_receipts(at: &Deployment, keys: &StripeKeys) -> Option<(usize, usize)> {
    if !keys.key.is_live() {
        return None;
    }
    let sessions = at.payments.client(keys.key.clone()).ok()?.send(&Session::list_complete(0, None)).await.ok()?;
    let intents = sessions.data.iter().filter_map(|session| session.payment_intent.as_ref()?.object());
    let charges = intents.filter_map(|intent| intent.latest_charge.as_ref()?.object()).take(RECEIPTS);
    let sent: Vec<bool> = charges.map(|charge| charge.receipt_number.is_some()).collect();
    Some((sent.iter().filter(|is_sent| **is_sent).count(), sent.len()))
}

/// Whether buyers get receipts, if anything can be paid. The store sends none, and Stripe does not say whether it is told to: its
/// last payments show it.
async fn receipts(at: &Deployment, keys: Option<&StripeKeys>) -> Option<Finding> {
    let active = read_active_version(&at.db).await.ok()??;
    if active.config.payments.methods.is_empty() {
        return None;
    }
    let (sent, of) = match keys {
        Some(keys) => sent_receipts(at, keys).await.unwrap_or_default(),
        None => (0, 0),
    };
    let next = "switch them on in its dashboard: Settings, Customer emails, \"Successful payments\" and \"Refunds\"";
    Some(match (sent, of) {
        (0, 0) => Finding::note("the store sends none, and Stripe only if they are switched on there", next),
        (0, of) => {
            Finding::note(format!("Stripe sent none for the last {of} payments, and the store sends none"), next)
        }
        (sent, of) => Finding::ok(format!("Stripe sent them for {sent} of the last {of} payments")),
    })
}

/// Whether the provider's changes of the balance are kept, if there is a provider. With `repairs` all of them are asked for again.
pub async fn balance(at: &Deployment, repairs: bool) -> Result<Option<Finding>> {
    if at.payments.read().await.is_ok_and(|keys| keys.stripe.is_none()) {
        return Ok(None);
    }
    if repairs && let Some(stripe) = at.payments.stripe().await? {
        let kept = Desk::new(&at.db, at.clock.as_ref(), &stripe.for_many_calls()).keep_whole_balance().await?;
        return Ok(Some(Finding::ok(format!("all {kept} changes are kept"))));
    }
    let next =
        "run `storectl doctor --repair`: it asks for all of them; a key without the right Balance *read* is refused";
    Ok(Some(match listed(&at.db).await? {
        Listed::Never => {
            Finding::note("the sweep has not asked for it yet", "it does within some minutes of the deploy")
        }
        Listed::Filling => Finding::note("it is being asked for, for the first time", next),
        Listed::Until(until) if at.clock.seconds().saturating_sub(until) > BEHIND => {
            Finding::bad(format!("it is known until {} only", Time(until)), next)
        }
        Listed::Until(until) => Finding::ok(format!("it is known until {}", Time(until))),
    }))
}

/// Orders that were due long ago: the sweep does not run, or cannot finish them.
pub async fn overdue(at: &Deployment) -> Finding {
    let due = unfinished::due(&at.db, at.clock.seconds().saturating_sub(OVERDUE)).await.map(|due| {
        if due.is_empty() {
            return Finding::ok("none is overdue");
        }
        let is_subscription = |row: &DueRow| matches!(row.due, Ok(Due::Subscription(_)));
        let next = match (due.iter().any(is_subscription), due.iter().all(is_subscription)) {
            (_, true) => SUBSCRIPTIONS.to_owned(),
            (true, false) => format!("{ORDERS}; {SUBSCRIPTIONS}"),
            (false, false) => ORDERS.to_owned(),
        };
        let said = format!("{} are overdue for over 15 minutes: {}", due.len(), named(due.iter().map(described)));
        Finding::bad(said, next)
    });
    Finding::of("open orders", due.map_err(Failure::from))
}

/// A row that is overdue: its order, since when, and why it could not be finished.
fn described(row: &DueRow) -> String {
    let since = due_second(&row.key).map(|since| Time(since).to_string()).unwrap_or_default();
    let name = match (&row.due, row.order()) {
        (Err(error), _) => return format!("the row {} {} cannot be read ({error})", row.key.pk, row.key.sk),
        (Ok(Due::Subscription(id)), _) => format!("subscription {id}"),
        (Ok(_), order) => order.map(ToString::to_string).unwrap_or_default(),
    };
    let failed = match (&row.reason, row.again_at) {
        (Some(reason), Some(again)) => {
            format!(", failed {} times, again at {}: {reason}", row.failed, Time(again))
        }
        _ => String::new(),
    };
    format!("{name} (since {since}{failed})")
}

/// Whether the provider's events are asked for, and which of them fail.
async fn webhook_events(at: &Deployment) -> Finding {
    let mark = match EventCursor::read(&at.db).await {
        Ok(Some(mark)) => mark,
        Ok(None) => return Finding::ok("the sweep has not asked for any yet"),
        Err(error) => {
            let next = "delete the row UNFINISHED EVENTS, and compare with `storectl payments reconcile`";
            return Finding::bad(format!("the row of what was asked for cannot be read: {error}"), next);
        }
    };
    if !mark.failed.is_empty() {
        let event = |event: &FailedEvent| format!("{} {} (since {})", event.kind, event.id, Time(event.since));
        let said =
            format!("{} events could not be acted on: {}", mark.failed.len(), named(mark.failed.iter().map(event)));
        return Finding::bad(said, "the log has the cause; they are tried again, at the latest after six hours");
    }
    let (since, now) = (Time(mark.since), at.clock.seconds());
    if now.saturating_sub(mark.since) > BEHIND {
        let next = "see that the sweep runs (deployment.md, SweepStopped); it continues where it stopped";
        return Finding::bad(format!("those since {since} were not all asked for yet"), next);
    }
    Finding::ok(format!("all before {since} were acted on"))
}

async fn without_keys(at: &Deployment) -> Found {
    let methods = read_active_version(&at.db).await?.unwrap_or_default().config.payments.methods;
    Ok(match (methods.is_empty(), at.payments.is_known()) {
        (true, _) => Finding::ok("off"),
        (false, true) => Finding::bad(format!("store.yaml has {}, but there are no keys", methods.join(", ")), CONNECT),
        (false, false) => {
            Finding::note("not known without the payment keys", "name the stack with --stack to have them checked")
        }
    })
}

async fn at_stripe(at: &Deployment, keys: &StripeKeys) -> Found {
    if at.stack.as_ref().is_some_and(|stack| !stack.takes_payments) {
        let next = "deploy with Payments=true";
        return Ok(Finding::note("there are keys, but the parameter Payments is false", next));
    }
    let mode = if keys.key.is_live() { "real" } else { "test" };
    let client = at.payments.client(keys.key.clone())?;
    let url = webhook_url(at, None);
    let all = endpoints(&client, url.as_deref().unwrap_or_default()).await?;
    let Some(url) = url else {
        return Ok(Finding::ok(format!("Stripe accepts the key, for {mode} money")));
    };
    let of_secret = all.iter().filter(|one| keys.endpoint.as_ref().is_none_or(|stored| *stored == one.id));
    let Some(endpoint) = of_secret.min_by_key(|endpoint| endpoint.problem().is_some()) else {
        return Ok(Finding::bad(format!("Stripe sends no webhooks with the stored secret to {url}"), CONNECT));
    };
    let said = |what: String| format!("the webhook endpoint {} {what}", endpoint.id);
    let sound = || format!("Stripe accepts the key, for {mode} money, and sends webhooks to {} at {url}", endpoint.id);
    Ok(match (endpoint.problem(), endpoint.hint()) {
        (Some(problem), _) => Finding::bad(said(problem), CONNECT),
        (None, Some(hint)) => Finding::note(said(hint), CONNECT),
        (None, None) => Finding::ok(sound()),
    })
}

/// What buyers can pay with, if the key may know it.
async fn ways_to_pay(at: &Deployment, keys: &StripeKeys) -> Option<Finding> {
    let payments = read_active_version(&at.db).await.ok()??.config.payments;
    let found = ways(&at.payments.client(keys.key.clone()).ok()?, &payments).await?;
    Some(match found.problem() {
        Some(problem) => Finding::bad(problem, SWITCH_ON),
        None => Finding::ok(found.said()),
    })
}

/// Whether the account can do what the store asks about taxes.
async fn taxes(at: &Deployment, keys: &StripeKeys) -> Option<Finding> {
    let payments = read_active_version(&at.db).await.ok()??.config.payments;
    if payments.tax == TaxMode::None {
        return None;
    }
    Some(match tax_problem(&at.payments.client(keys.key.clone()).ok()?, &payments).await {
        Some(problem) => Finding::bad(problem, TAXES),
        None => Finding::ok("nothing is known to be missing for the taxes of payments"),
    })
}

/// Whether a restricted key has every right that it needs.
async fn rights(at: &Deployment, keys: &StripeKeys) -> Found {
    let missing = missing_rights(at, &at.payments.client(keys.key.clone())?).await?;
    if missing.is_empty() {
        return Ok(Finding::ok("it has every right that it needs"));
    }
    let next = "add them in Stripe's dashboard: Developers, API keys";
    Ok(Finding::bad(format!("it lacks rights: {}", missing.join(", ")), next))
}

/// Whether the endpoint of the deployed stack responds as it must to a request that is not signed.
async fn reachable(at: &Deployment) -> Option<Finding> {
    let url = webhook_url(at, None)?;
    let request = Request::builder().method(Method::POST).uri(&url).body(Bytes::from_static(b"{}")).ok()?;
    let client = outgoing::Client::new(connector::roots());
    let next = "check that the stack is deployed with Payments=true";
    Some(match client.send(request).await {
        Ok(response) if response.status() == StatusCode::BAD_REQUEST => {
            Finding::ok(format!("{url} responds, and refuses what is not signed"))
        }
        Ok(response) => Finding::bad(format!("{url} responds {} instead of 400", response.status()), next),
        Err(error) => Finding::bad(format!("{url} does not respond: {error}"), next),
    })
}

/// Whether orders can say their account, and whether the store is leaving it.
async fn account(at: &Deployment, keys: &StripeKeys) -> Vec<Finding> {
    let mut findings = Vec::new();
    if keys.account.is_none() {
        let said = "the account of the keys is not stored, so that orders do not have it";
        findings.push(Finding::note(said, "run `storectl payments connect stripe` with the same key").named("account"));
    }
    let ours = keys.provider_account();
    let active = read_active_version(&at.db).await.ok().flatten();
    if active.is_some_and(|active| is_left(active.leaving.as_ref(), &ours)) {
        let said = format!("none begins in {}: another account was about to be connected", shown_account(&ours));
        let next = "run `storectl payments connect stripe` with the key that is to be used";
        findings.push(Finding::bad(said, next).named("new checkouts"));
    }
    findings
}
