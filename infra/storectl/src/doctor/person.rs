//! Checks for work that waits for a person: orders, subscriptions, game servers and their commands. Whether every command is where its
//! game server finds it, and nothing of it is stuck; and whether paid orders hold the texts that take them back, and no others do (rules.md,
//! "Delivery").

use super::{Finding, Found, named, payments};
use crate::delivery::queue::{of_unpublished, waiting};
use crate::prelude::*;
use shared::model::{AnswerOutcome, Command, DisputeAnswer, InternalId, Server, ServerId, Subscription, Try};
use shared::rules::dispute::needs_response;
use shared::rules::subscription::access_until;
use shared::shop::delivery::{
    HoldersAudit, READY_TOO_LONG, SILENT_TOO_LONG, Silent, audit, audit_holders, follow, hold_again, measure,
    remove_stray, requeue,
};
use shared::shop::orders::StoredOrder;
use shared::shop::payments::ANSWERED_BEFORE;
use shared::shop::upkeep::{Attention, attention};
use shared::table::StoreError;
use shared::table::keys::Key;
use shared::table::published::read_active_version;
use std::collections::{BTreeMap, BTreeSet};

pub async fn check(at: &Deployment) -> Result<Vec<Finding>> {
    let found = attention(&at.db, at.clock.seconds()).await?;
    let mut findings = of_orders(at, &found).await?;
    findings.extend(of_servers(at, &found.connected).await?);
    if findings.is_empty() {
        findings.push(Finding::ok("no order, subscription or game server does").named("what waits for you"));
    }
    Ok(findings)
}

/// The names of the checks that find something for a person, without those that compare the whole table; and the servers
/// that have a key.
pub async fn of_store(at: &Deployment, undecided: &Undecided) -> Result<(Vec<&'static str>, BTreeSet<ServerId>)> {
    let found = attention(&at.db, at.clock.seconds()).await?;
    let mut findings = vec![payments::overdue(at).await];
    findings.extend(of_orders(at, &found).await?);
    findings.extend(of_servers(at, &found.connected).await?);
    findings.extend(undecided.findings());
    let mut checks: Vec<&str> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.state.is_open()) {
        if !checks.contains(&finding.check) {
            checks.push(finding.check);
        }
    }
    Ok((checks, found.connected))
}

/// How many commands the owner has to decide about.
#[derive(Debug, Clone, Copy, Default)]
pub struct Undecided {
    /// They may have run or not.
    pub unknown: usize,
    /// Game servers say that they did nothing.
    pub refused: usize,
    /// They wait for their player, who may be another one than the buyer meant, for over three days.
    pub waiting_long: usize,
}

impl Undecided {
    pub fn findings(&self) -> Vec<Finding> {
        let Self { unknown, refused, waiting_long } = self;
        let all = [
            (
                *unknown,
                "commands",
                format!("{unknown} may have run or not"),
                "`storectl delivery list --state unknown` shows them; `delivery retry` or `done` decides",
            ),
            (
                *refused,
                "refused commands",
                format!("game servers refused {refused}: they did nothing"),
                "`storectl delivery list --state refused` shows the responses; then `delivery retry`, `done` or `cancel`",
            ),
            (
                *waiting_long,
                "waiting commands",
                format!("{waiting_long} have waited for their player for more than three days"),
                "`storectl delivery list --waiting` shows them: ask whether the name is right, or whether the plugin \
                 lost them; then `delivery retry`, `done` or `cancel`",
            ),
        ];
        all.into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(_, check, said, next)| Finding::todo(said, next).named(check))
            .collect()
    }
}

/// Disputes in which the bank waits. Those that are answered by themselves are a person's matter from three days before.
fn of_disputes(disputes: &[StoredOrder], is_on: bool, now: i64) -> Vec<Finding> {
    const SOON: i64 = 3 * 86_400;
    let (mut by_itself, mut by_hand) = (Vec::new(), Vec::new());
    // Those of what the provider sells in its own name it answers itself.
    for stored in disputes.iter().filter(|stored| !stored.is_sold_by_provider()) {
        let (id, effects) = (&stored.order.internal_id, &stored.effects);
        let awaited =
            effects.answers.iter().filter(|(id, _)| effects.disputes.get(*id).is_some_and(|it| needs_response(it)));
        let first = awaited.map(|(_, answer)| answer).min_by_key(|answer| answer.due_by.unwrap_or(i64::MAX));
        let until = first.and_then(|answer| answer.due_by);
        let said = first.map(|answer| answer_line(answer, is_on)).unwrap_or_default();
        let is_later = is_on && until.is_some_and(|until| now < until - SOON);
        (if is_later { &mut by_itself } else { &mut by_hand }).push(format!("{id}{said}"));
    }
    let next = "`storectl order evidence ID` prints what to send in Stripe's dashboard, which says until when";
    let found = [(by_hand, Finding::todo as fn(String, &'static str) -> Finding), (by_itself, Finding::note)];
    let found = found.into_iter().filter(|(orders, _)| !orders.is_empty());
    found.map(|(orders, finding)| finding(named(orders.iter()), next).named("disputes")).collect()
}

/// Until when a dispute is answered, and what is done by itself.
fn answer_line(answer: &DisputeAnswer, is_on: bool) -> String {
    let Some(until) = answer.due_by else { return String::new() };
    let said = match (answer.outcome, answer.due) {
        (Some(AnswerOutcome::Refused), _) => "; Stripe refused the evidence".to_owned(),
        (Some(AnswerOutcome::Others), _) => "; Stripe has evidence that may not be submitted yet".to_owned(),
        (Some(AnswerOutcome::Submitted), _) => "; an inquiry before was answered".to_owned(),
        (None, Some(_)) if is_on => format!("; evidence is sent by itself at {}", Time(until - ANSWERED_BEFORE)),
        (None, _) => String::new(),
    };
    format!(" (until {}{said})", Time(until))
}

/// Orders and subscriptions.
async fn of_orders(at: &Deployment, found: &Attention) -> Result<Vec<Finding>> {
    let Attention { reviews, refunds, disputes, warnings, ownerless, past_due, .. } = found;
    let active = read_active_version(&at.db).await?.unwrap_or_default();
    let subscription =
        |one: &Subscription| format!("{} of user {} (access until {})", one.id, one.user, Time(access_until(one)));
    let all = [
        (
            "orders in review",
            named(reviews.iter()),
            "`storectl order show ID` has the reason; then `order accept`, `order refund` or `order cancel`",
        ),
        (
            "failed refunds",
            named(refunds.iter()),
            "`storectl order refund ID` tries again, with the same --to if it was a part",
        ),
        (
            "orders without an owner",
            named(ownerless.iter()),
            "nothing of them runs: `storectl order set-status ID REFUNDED`, and record it with --owner and another --id",
        ),
        (
            "past due",
            named(past_due.iter().map(subscription)),
            "ask the buyers to pay in the portal; `storectl subscription show ID`, `subscription cancel ID`",
        ),
    ];
    let is_found = |(_, said, _): &(&str, String, &str)| !said.is_empty();
    let mut findings = of_disputes(disputes, active.config.payments.answer_disputes, at.clock.seconds());
    findings.extend(all.into_iter().filter(is_found).map(|(check, said, next)| Finding::todo(said, next).named(check)));
    if !warnings.is_empty() {
        let next = "`storectl order refund ID` usually prevents a dispute, and its fee";
        findings.push(Finding::note(named(warnings.iter()), next).named("fraud warnings"));
    }
    Ok(findings)
}

/// Servers for which commands wait although they have no key, and those about which an alarm goes off.
async fn of_servers(at: &Deployment, connected: &BTreeSet<ServerId>) -> Result<Vec<Finding>> {
    let active = read_active_version(&at.db).await?.unwrap_or_default();
    let mut findings = Vec::new();
    for server in &active.config.delivery.servers {
        if connected.contains(&server.id) {
            findings.extend(late(at, server).await?);
        } else {
            findings.extend(without_key(at, server).await?);
        }
    }
    Ok(findings)
}

async fn without_key(at: &Deployment, server: &Server) -> Result<Option<Finding>> {
    let waiting = waiting(at, server.id, at.clock.seconds()).await?;
    Ok(waiting.iter().map(|command| command.delivery.due).min().map(|since| {
        let (count, since) = (waiting.len(), Time(since));
        let said = format!("{count} commands wait for {} ({}), the first since {since}", server.name, server.id);
        let next = format!("`storectl server add {}` makes one", server.id);
        Finding::todo(said, next).named("servers without a key")
    }))
}

async fn late(at: &Deployment, server: &Server) -> Result<Option<Finding>> {
    const CHECK: &str = "game servers";
    let health = match measure(&at.db, at.clock.as_ref(), server.id).await {
        // Its row is named elsewhere.
        Err(StoreError::Unreadable { .. }) => return Ok(None),
        measured => measured?,
    };
    let named = format!("{} ({})", server.name, server.id);
    if health.silent_for.is_none() && health.oldest_ready > READY_TOO_LONG {
        let count = waiting(at, server.id, at.clock.seconds()).await?.len();
        let said = format!("{count} commands wait for {named}, which has not polled with its key");
        let next =
            format!("enter the line of the key into its console; `storectl server rotate {}` makes one", server.id);
        return Ok(Some(Finding::todo(said, next).named("servers that have not polled")));
    }
    if let Some(silent) = health.silent_for.filter(|silent| *silent > SILENT_TOO_LONG) {
        let said = format!("{named} has not polled for {}", about(silent));
        let next = "see that it runs, and enter `ms reload` into its console";
        return Ok(Some(Finding::todo(said, next).named(CHECK)));
    }
    Ok(health.stuck_for().filter(|stuck| *stuck > READY_TOO_LONG).map(|stuck| {
        let said = format!("{named} polls, and commands have been ready for {}", about(stuck));
        let next = format!("see its console; `storectl delivery list --server {} --older 15m` shows them", server.id);
        Finding::todo(said, next).named(CHECK)
    }))
}

/// Seconds in the unit in which they are easily read.
fn about(seconds: i64) -> String {
    let minutes = seconds / 60;
    match minutes {
        ..120 => format!("{minutes} minutes"),
        120..2_880 => format!("{} hours", minutes / 60),
        _ => format!("{} days", minutes / 1_440),
    }
}

pub async fn check_delivery(at: &Deployment, repairs: bool) -> Result<Vec<Finding>> {
    let found = audit(&at.db, at.clock.seconds()).await?;
    let mut findings = vec![
        without_copy(at, &found.lost, repairs).await?.named("commands in queues"),
        without_command(at, &found.stray, repairs).await?.named("rows of queues"),
        unqueued(at, &found.late, repairs).await?.named("delivery of orders"),
    ];
    findings.extend(unreadable(&found.unreadable).map(|found| found.named("rows that cannot be read")));
    findings.extend(found.silent.iter().map(|one| silent(one).named("game servers")));
    findings.extend(withdrawn(&found.withdrawn).map(|found| found.named("commands that were withdrawn")));
    findings.extend(unfinished(&found.tries).map(|found| found.named("tries")));
    findings.extend(unpublished(at, found.servers).await?.map(|found| found.named("removed servers")));
    let undecided = Undecided { unknown: found.unknown, refused: found.refused, waiting_long: found.waiting_long };
    findings.extend(undecided.findings());
    Ok(findings)
}

async fn without_copy(at: &Deployment, lost: &[Command], repairs: bool) -> Found {
    if lost.is_empty() {
        return Ok(Finding::ok("each is where its game server finds it"));
    }
    let ids = named(lost.iter().map(|command| command.id));
    if !repairs {
        let said = format!("{} are in no queue: {ids}", lost.len());
        return Ok(Finding::bad(said, "run `storectl doctor --repair`"));
    }
    let repaired = requeue(&at.db, lost).await?;
    Ok(Finding::repaired(format!("{repaired} were in no queue and are again: {ids}")))
}

async fn without_command(at: &Deployment, stray: &[Key], repairs: bool) -> Found {
    if stray.is_empty() {
        return Ok(Finding::ok("each is of a command that is due there"));
    }
    let keys_of = named(stray.iter().map(|key| format!("{} {}", key.pk, key.sk)));
    if !repairs {
        let said = format!("{} have no command: {keys_of}", stray.len());
        return Ok(Finding::bad(said, "run `storectl doctor --repair`"));
    }
    let removed = remove_stray(&at.db, stray).await?;
    Ok(Finding::repaired(format!("{removed} had no command and are removed: {keys_of}")))
}

async fn unqueued(at: &Deployment, all: &[StoredOrder], repairs: bool) -> Found {
    if all.is_empty() {
        return Ok(Finding::ok("the commands of every paid order are queued"));
    }
    let ids = named(all.iter().map(|stored| &stored.order.internal_id));
    if !repairs {
        let said = format!("{} paid orders wait for their commands to be queued: {ids}", all.len());
        return Ok(Finding::bad(said, "see that the sweep runs, or run `storectl doctor --repair`"));
    }
    for stored in all {
        follow(&at.db, at.clock.as_ref(), stored).await?;
    }
    Ok(Finding::repaired(format!("the commands of {} paid orders are queued now: {ids}", all.len())))
}

/// Rows that are left out everywhere, because this version cannot read them.
fn unreadable(found: &[(Key, String)]) -> Option<Finding> {
    let rows = named(found.iter().map(|(key, reason)| format!("{} {} ({reason})", key.pk, key.sk)));
    let said = format!("{} cannot be read and are left out: {rows}", found.len());
    let next = "deploy the version that wrote them, or put them right in DynamoDB's console";
    (!found.is_empty()).then(|| Finding::bad(said, next))
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
    (count > 0).then(|| Finding::note(said, next))
}

/// Tries that were interrupted, or run just now.
fn unfinished(tries: &[Try]) -> Option<Finding> {
    let Try { item, player, .. } = tries.first()?;
    let all = named(tries.iter().map(|one| format!("item {} for {}", one.item, one.player)));
    let next = format!("`storectl try {item} --player {player}` takes it back first, if it does not run just now");
    Some(Finding::todo(format!("not taken back: {all}"), next))
}

/// Commands that wait for servers that are not published.
async fn unpublished(at: &Deployment, servers: BTreeSet<ServerId>) -> Result<Option<Finding>> {
    let found = of_unpublished(at, servers).await?;
    let counts = found.iter().map(|(server, waiting)| format!("{} for server {server}", waiting.len()));
    let said = format!("commands wait for servers that are not published: {}", named(counts));
    let next = "`storectl publish DIR --drop-queue` cancels them; or publish the server again";
    Ok((!found.is_empty()).then(|| Finding::todo(said, next)))
}

/// A server that took commands and has said nothing about them since.
fn silent(silent: &Silent) -> Finding {
    let Silent { server, commands, since } = silent;
    let since = Time(*since);
    let said = format!("server {server} took {commands} commands at {since}, and said nothing about them since");
    let next = "see whether it runs; its next poll gets them again, and what it was served three times is unknown";
    Finding::todo(said, next)
}

pub async fn holders(at: &Deployment, repairs: bool) -> Found {
    let now = at.clock.seconds();
    let found = audit_holders(&at.db, now).await?;
    if !repairs || found.missing.is_empty() {
        return Ok(described(&found));
    }
    for order in &found.missing {
        hold_again(&at.db, now, order).await?;
    }
    let left = audit_holders(&at.db, now).await?;
    if left.is_clean() {
        let said = format!("{} hold again what takes them back", named(found.missing.iter()));
        return Ok(Finding::repaired(said));
    }
    Ok(described(&left))
}

fn described(found: &HoldersAudit) -> Finding {
    let HoldersAudit { missing, stray } = found;
    match (missing.is_empty(), stray.is_empty()) {
        (true, true) => Finding::ok("each paid order that lasts holds what takes it back, and no other does"),
        (false, _) => {
            let said = format!(
                "these are paid and do not hold what takes them back, so that a refund of another order takes what they \
                 gave: {}",
                named(missing.iter())
            );
            Finding::bad(said, "run `storectl doctor --repair`")
        }
        (true, false) => {
            let said = format!(
                "these were taken back, or are gone, and still keep refunds of other orders from taking the same: {}",
                named(stray.iter())
            );
            let next = "`storectl order show ID`; when another order with that item is refunded, take it back by hand";
            Finding::bad(said, next)
        }
    }
}
