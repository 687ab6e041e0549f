//! `payments drain`: before another account or mode is connected, no checkout begins any more, and open ones are ended.

use super::account::{list, open_orders, shown};
use super::{no_keys, of_settle};
use crate::answer::{Answer, GOOD, WARN, paint};
use crate::cli::Drain;
use crate::commands::common::{nothing_published, published, shown_time};
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use shared::model::{Drained, InternalId, OrderStatus, ProviderAccount};
use shared::providers::Stripe;
use shared::rules::payment::is_drained;
use shared::store::published::{read_active_version, set_drained};
use shared::usecases::checkouts::{self, OperatorError};

/// How many seconds after the mark the last checkout may have begun: functions trust what they know of the store for
/// `CacheSeconds`, at most 60, and a request takes at most 20.
const SETTLED: i64 = 80;
/// How many checkouts are ended at once.
const AT_ONCE: usize = 8;

/// Whether no checkout can begin in an account any more.
pub(super) async fn is_settled(target: &Target, account: &ProviderAccount) -> Result<bool, Failure> {
    if target.stack.as_ref().is_some_and(|stack| !stack.takes_payments) {
        return Ok(true);
    }
    let Some(active) = read_active_version(&target.db).await? else { return Ok(true) };
    let since = active.drained.as_ref().filter(|_| is_drained(active.drained.as_ref(), account));
    Ok(since.is_some_and(|drained| drained.since.saturating_add(SETTLED) <= target.clock.seconds()))
}

pub(in crate::commands) async fn drain(target: &Target, console: &Console, options: &Drain) -> Result<Answer, Failure> {
    if options.off {
        mark(target, None).await?;
        let text = format!("{} Checkouts can begin again.", paint(GOOD, "ok"));
        return Ok(Answer::new(text, json!({ "drained": false })));
    }
    let keys = target.payments.read().await?.stripe.ok_or_else(no_keys)?;
    let (account, provider) = (keys.provider_account(), target.payments.stripe().await?.ok_or_else(no_keys)?);
    let open = open_orders(target).await?.len();
    let shown_now = format!("{open} checkouts are open in {}.", shown(&account));
    console.confirm(&shown_now, "End them, and let no other begin?", options.yes)?;
    let drained = published(target).await?.drained.filter(|drained| drained.account == account);
    let drained = drained.unwrap_or_else(|| Drained { account: account.clone(), since: target.clock.seconds() });
    mark(target, Some(&drained)).await?;
    let (ended, paid, failed) = end_all(target, &provider).await?;
    let left = open_orders(target).await?;
    let ready_at = drained.since.saturating_add(SETTLED);
    let is_ready = left.is_empty() && ready_at <= target.clock.seconds();
    let mut lines = vec![
        format!("{} No checkout begins in {} any more.", paint(GOOD, "ok"), shown(&account)),
        format!("{} {ended} checkouts ended, {paid} were paid already.", paint(GOOD, "ok")),
    ];
    if !left.is_empty() {
        let number = left.len();
        lines.push(format!("{} {number} are still open: {}.", paint(WARN, "note"), list(&left)));
    }
    lines.extend(failed.iter().map(|(id, reason)| format!("{} {id}: {reason}", paint(WARN, "note"))));
    lines.push(if is_ready {
        "Connect the other account now: `storectl payments connect stripe`.".to_owned()
    } else if ready_at <= target.clock.seconds() {
        "Run it again when the orders above have an outcome.".to_owned()
    } else {
        let at = shown_time(ready_at.max(target.clock.seconds()));
        format!("Run it again after {at}: requests that were under way may have begun a checkout.")
    });
    let open: Vec<&str> = left.iter().map(|stored| stored.order.internal_id.as_str()).collect();
    let json = json!({
        "drained": true, "account": account.id, "live": account.live, "ended": ended, "paid": paid, "open": open,
        "ready": is_ready, "ready_at": ready_at,
    });
    let answer = Answer::new(lines.join("\n"), json);
    Ok(if failed.is_empty() { answer } else { answer.with_exit(Exit::Faults) })
}

/// Ends every open checkout: how many ended, how many were paid instead, and those that stay open with the reason.
async fn end_all(target: &Target, provider: &Stripe) -> Result<(usize, usize, Vec<(InternalId, String)>), Failure> {
    let orders = open_orders(target).await?.into_iter().map(|stored| stored.order.internal_id);
    let end = async |id: InternalId| {
        let ended = checkouts::cancel(&target.db, target.clock.as_ref(), provider, &id, true).await;
        (id, ended)
    };
    let outcomes: Vec<_> = stream::iter(orders).map(end).buffer_unordered(AT_ONCE).collect().await;
    let (mut ended, mut paid, mut failed) = (0, 0, Vec::new());
    for (id, outcome) in outcomes {
        match outcome {
            Ok(stored) if stored.order.status == OrderStatus::Paid => paid += 1,
            // It was settled by another request in the meantime.
            Ok(_) | Err(OperatorError::Status(_)) => ended += 1,
            Err(OperatorError::Settle(error)) => failed.push((id, of_settle(error).what)),
            Err(error) => failed.push((id, error.to_string())),
        }
    }
    Ok((ended, paid, failed))
}

async fn mark(target: &Target, drained: Option<&Drained>) -> Result<(), Failure> {
    if set_drained(&target.db, drained).await? { Ok(()) } else { Err(nothing_published(target)) }
}
