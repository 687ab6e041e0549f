//! `payments drain`: before another account or mode is connected, no checkout begins any more, and open ones are ended.

use super::account::list;
use super::{no_keys, of_settle};
use crate::answer::{Answer, GOOD, WARN, paint};
use crate::cli::Drain;
use crate::commands::common::{nothing_published, published, shown_account, shown_time};
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use serde_json::json;
use shared::model::Drained;
use shared::store::published::set_drained;
use shared::usecases::checkouts::{Desk, EndedAll, OperatorError, open_orders, settled_at};

pub(in crate::commands) async fn drain(target: &Target, console: &Console, options: &Drain) -> Result<Answer, Failure> {
    if options.off {
        mark(target, None).await?;
        let text = format!("{} Checkouts can begin again.", paint(GOOD, "ok"));
        return Ok(Answer::new(text, json!({ "drained": false })));
    }
    let keys = target.payments.read().await?.stripe.ok_or_else(no_keys)?;
    let (account, provider) = (keys.provider_account(), target.payments.stripe().await?.ok_or_else(no_keys)?);
    let open = open_orders(&target.db).await?.len();
    let shown_now = format!("{open} checkouts are open in {}.", shown_account(&account));
    console.confirm(&shown_now, "End them, and let no other begin?", options.yes)?;
    let drained = published(target).await?.drained.filter(|drained| drained.account == account);
    let drained = drained.unwrap_or_else(|| Drained { account: account.clone(), since: target.clock.seconds() });
    mark(target, Some(&drained)).await?;
    let EndedAll { ended, paid, failed } = Desk::new(&target.db, target.clock.as_ref(), &provider).end_all().await?;
    let left = open_orders(&target.db).await?;
    let ready_at = settled_at(&drained);
    let is_ready = left.is_empty() && ready_at <= target.clock.seconds();
    let mut lines = vec![
        format!("{} No checkout begins in {} any more.", paint(GOOD, "ok"), shown_account(&account)),
        format!("{} {ended} checkouts ended, {paid} were paid already.", paint(GOOD, "ok")),
    ];
    if !left.is_empty() {
        let number = left.len();
        lines.push(format!("{} {number} are still open: {}.", paint(WARN, "note"), list(&left)));
    }
    let is_whole = failed.is_empty();
    for (id, error) in failed {
        let reason = match error {
            OperatorError::Settle(error) => of_settle(error).what,
            error => error.to_string(),
        };
        lines.push(format!("{} {id}: {reason}", paint(WARN, "note")));
    }
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
    Ok(if is_whole { answer } else { answer.with_exit(Exit::Faults) })
}

async fn mark(target: &Target, drained: Option<&Drained>) -> Result<(), Failure> {
    if set_drained(&target.db, drained).await? { Ok(()) } else { Err(nothing_published(target)) }
}
