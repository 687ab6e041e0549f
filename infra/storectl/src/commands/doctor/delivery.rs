//! Whether every command is where its game server finds it, and nothing of it is stuck.

use super::finding::{Finding, named};
use super::person::Undecided;
use crate::commands::common::shown_time;
use crate::commands::queues::of_unpublished;
use crate::error::Failure;
use crate::target::Target;
use shared::model::{Command, InternalId, ServerId};
use shared::shop::delivery::{Silent, audit, follow, remove_stray, requeue};
use shared::shop::orders::StoredOrder;
use shared::table::keys::Key;
use std::collections::{BTreeMap, BTreeSet};

const CHECK: &str = "delivery";

pub(super) async fn check(target: &Target, repairs: bool) -> Vec<Finding> {
    look(target, repairs).await.unwrap_or_else(|failure| vec![Finding::failed(CHECK, failure)])
}

async fn look(target: &Target, repairs: bool) -> Result<Vec<Finding>, Failure> {
    let found = audit(&target.db, target.clock.seconds()).await?;
    let mut findings = vec![
        without_copy(target, &found.lost, repairs).await?,
        without_command(target, &found.stray, repairs).await?,
        unqueued(target, &found.late, repairs).await?,
    ];
    findings.extend(unreadable(&found.unreadable));
    findings.extend(found.silent.iter().map(silent));
    findings.extend(withdrawn(&found.withdrawn));
    findings.extend(unpublished(target, found.servers).await?);
    let undecided = Undecided { unknown: found.unknown, refused: found.refused, waiting_long: found.waiting_long };
    findings.extend(undecided.findings());
    Ok(findings)
}

async fn without_copy(target: &Target, lost: &[Command], repairs: bool) -> Result<Finding, Failure> {
    const CHECK: &str = "commands in queues";
    if lost.is_empty() {
        return Ok(Finding::ok(CHECK, "each is where its game server finds it"));
    }
    let ids = named(lost.iter().map(|command| command.id));
    if !repairs {
        let said = format!("{} are in no queue: {ids}", lost.len());
        return Ok(Finding::bad(CHECK, said, "run `storectl doctor --repair`"));
    }
    let repaired = requeue(&target.db, lost).await?;
    Ok(Finding::repaired(CHECK, format!("{repaired} were in no queue and are again: {ids}")))
}

async fn without_command(target: &Target, stray: &[Key], repairs: bool) -> Result<Finding, Failure> {
    const CHECK: &str = "rows of queues";
    if stray.is_empty() {
        return Ok(Finding::ok(CHECK, "each is of a command that is due there"));
    }
    let keys_of = named(stray.iter().map(|key| format!("{} {}", key.pk, key.sk)));
    if !repairs {
        let said = format!("{} have no command: {keys_of}", stray.len());
        return Ok(Finding::bad(CHECK, said, "run `storectl doctor --repair`"));
    }
    let removed = remove_stray(&target.db, stray).await?;
    Ok(Finding::repaired(CHECK, format!("{removed} had no command and are removed: {keys_of}")))
}

async fn unqueued(target: &Target, all: &[StoredOrder], repairs: bool) -> Result<Finding, Failure> {
    const CHECK: &str = "delivery of orders";
    if all.is_empty() {
        return Ok(Finding::ok(CHECK, "the commands of every paid order are queued"));
    }
    let ids = named(all.iter().map(|stored| &stored.order.internal_id));
    if !repairs {
        let said = format!("{} paid orders wait for their commands to be queued: {ids}", all.len());
        return Ok(Finding::bad(CHECK, said, "see that the sweep runs, or run `storectl doctor --repair`"));
    }
    for stored in all {
        follow(&target.db, target.clock.as_ref(), stored).await?;
    }
    Ok(Finding::repaired(CHECK, format!("the commands of {} paid orders are queued now: {ids}", all.len())))
}

/// Rows that are left out everywhere, because this version cannot read them.
fn unreadable(found: &[(Key, String)]) -> Option<Finding> {
    let rows = named(found.iter().map(|(key, reason)| format!("{} {} ({reason})", key.pk, key.sk)));
    let said = format!("{} cannot be read and are left out: {rows}", found.len());
    let next = "deploy the version that wrote them, or put them right in DynamoDB's console";
    (!found.is_empty()).then(|| Finding::bad("rows that cannot be read", said, next))
}

/// Commands of paid orders that will not run, although the owner did not decide it for each.
fn withdrawn(found: &BTreeMap<InternalId, usize>) -> Option<Finding> {
    let count: usize = found.values().sum();
    let said = format!(
        "{count} of paid orders will not run, because their player is banned, their server is not published, they are too \
         long, or they have a name that a console could read as a command: {}",
        named(found.keys())
    );
    let next = "`storectl order show ID` shows them; refund the order, give it by hand, or run what has a text with `delivery retry`";
    (count > 0).then(|| Finding::note("commands that were withdrawn", said, next))
}

/// Commands that wait for servers that are not published.
async fn unpublished(target: &Target, servers: BTreeSet<ServerId>) -> Result<Option<Finding>, Failure> {
    let found = of_unpublished(target, servers).await?;
    let counts = found.iter().map(|(server, waiting)| format!("{} for server {server}", waiting.len()));
    let said = format!("commands wait for servers that are not published: {}", named(counts));
    let next = "`storectl publish DIR --drop-queue` cancels them; or publish the server again";
    Ok((!found.is_empty()).then(|| Finding::todo("removed servers", said, next)))
}

/// A server that took commands and has said nothing about them since.
fn silent(silent: &Silent) -> Finding {
    let Silent { server, commands, since } = silent;
    let since = shown_time(*since);
    let said = format!("server {server} took {commands} commands at {since}, and said nothing about them since");
    let next = "see whether it runs; its next poll gets them again, and what it was served three times is unknown";
    Finding::todo("game servers", said, next)
}
