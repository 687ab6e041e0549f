//! What waits for a person: orders, subscriptions, game servers and their commands.

use super::finding::{Finding, named};
use super::payments;
use crate::commands::common::shown_time;
use crate::commands::queues::waiting;
use crate::error::Failure;
use crate::target::Target;
use shared::model::{InternalId, Server, ServerId, Subscription};
use shared::rules::subscription::access_until;
use shared::shop::delivery::{READY_TOO_LONG, SILENT_TOO_LONG, measure};
use shared::shop::orders::StoredOrder;
use shared::shop::upkeep::attention::{Attention, attention};
use shared::table::StoreError;
use shared::table::published::read_active_version;
use std::collections::{BTreeMap, BTreeSet};
use stripe::{Dispute, ObjectId};

const CHECK: &str = "what waits for you";
/// How many disputes the provider is asked about.
const ASKED: usize = 10;

pub(super) async fn check(target: &Target) -> Vec<Finding> {
    look(target).await.unwrap_or_else(|failure| vec![Finding::failed(CHECK, failure)])
}

async fn look(target: &Target) -> Result<Vec<Finding>, Failure> {
    let found = attention(&target.db, target.clock.seconds()).await?;
    let until = deadlines(target, &found.disputes).await;
    let mut findings = of_orders(&found, &until);
    findings.extend(of_servers(target, &found.connected).await?);
    if findings.is_empty() {
        findings.push(Finding::ok(CHECK, "no order, subscription or game server does"));
    }
    Ok(findings)
}

/// The names of the checks that find something for a person, without those that compare the whole table; and the servers
/// that have a key.
pub(in crate::commands) async fn of_store(
    target: &Target,
    undecided: &Undecided,
) -> Result<(Vec<&'static str>, BTreeSet<ServerId>), Failure> {
    let found = attention(&target.db, target.clock.seconds()).await?;
    let mut findings = vec![payments::overdue(target).await];
    findings.extend(of_orders(&found, &BTreeMap::new()));
    findings.extend(of_servers(target, &found.connected).await?);
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
pub(in crate::commands) struct Undecided {
    /// They may have run or not.
    pub(in crate::commands) unknown: usize,
    /// Game servers say that they did nothing.
    pub(in crate::commands) refused: usize,
    /// They wait for their player, who may be another one than the buyer meant, for over three days.
    pub(in crate::commands) waiting_long: usize,
}

impl Undecided {
    pub(super) fn findings(&self) -> Vec<Finding> {
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
            .map(|(_, check, said, next)| Finding::todo(check, said, next))
            .collect()
    }
}

/// Orders and subscriptions; `until` says when responses to disputes are due, as far as it is known.
fn of_orders(found: &Attention, until: &BTreeMap<InternalId, i64>) -> Vec<Finding> {
    let Attention { reviews, refunds, disputes, warnings, ownerless, past_due, .. } = found;
    let dispute = |stored: &StoredOrder| {
        let id = &stored.order.internal_id;
        until.get(id).map_or_else(|| id.to_string(), |until| format!("{id} (until {})", shown_time(*until)))
    };
    let subscription = |one: &Subscription| {
        format!("{} of user {} (access until {})", one.id, one.user, shown_time(access_until(one)))
    };
    let all = [
        (
            "disputes",
            named(disputes.iter().map(dispute)),
            "`storectl order evidence ID` prints what to send in Stripe's dashboard, which says until when",
        ),
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
    let mut findings: Vec<Finding> =
        all.into_iter().filter(is_found).map(|(check, said, next)| Finding::todo(check, said, next)).collect();
    if !warnings.is_empty() {
        let next = "`storectl order refund ID` usually prevents a dispute, and its fee";
        findings.push(Finding::note("fraud warnings", named(warnings.iter()), next));
    }
    findings
}

/// Until when the provider's disputes have to be responded to, by the orders; of those that it does not say, nothing.
async fn deadlines(target: &Target, disputes: &[StoredOrder]) -> BTreeMap<InternalId, i64> {
    let mut until = BTreeMap::new();
    if disputes.is_empty() {
        return until;
    }
    let Some(keys) = target.payments.read().await.ok().and_then(|keys| keys.stripe) else { return until };
    let Ok(client) = target.payments.client(keys.key).await else { return until };
    for stored in disputes.iter().take(ASKED) {
        let intent = stored.intent();
        let Some(Ok(intent)) = intent.map(ObjectId::parse) else { continue };
        let Ok(all) = client.send(&Dispute::list(&intent)).await else { continue };
        let first = all.data.iter().filter_map(|dispute| dispute.evidence_details.due_by).min();
        until.extend(first.map(|first| (stored.order.internal_id.clone(), first)));
    }
    until
}

/// Servers for which commands wait although they have no key, and those about which an alarm goes off.
async fn of_servers(target: &Target, connected: &BTreeSet<ServerId>) -> Result<Vec<Finding>, Failure> {
    let active = read_active_version(&target.db).await?.unwrap_or_default();
    let mut findings = Vec::new();
    for server in &active.config.delivery.servers {
        if connected.contains(&server.id) {
            findings.extend(late(target, server).await?);
        } else {
            findings.extend(without_key(target, server).await?);
        }
    }
    Ok(findings)
}

async fn without_key(target: &Target, server: &Server) -> Result<Option<Finding>, Failure> {
    let waiting = waiting(target, server.id, target.clock.seconds()).await?;
    Ok(waiting.iter().map(|command| command.delivery.due).min().map(|since| {
        let (count, since) = (waiting.len(), shown_time(since));
        let said = format!("{count} commands wait for {} ({}), the first since {since}", server.name, server.id);
        Finding::todo("servers without a key", said, format!("`storectl server add {}` makes one", server.id))
    }))
}

async fn late(target: &Target, server: &Server) -> Result<Option<Finding>, Failure> {
    const CHECK: &str = "game servers";
    let health = match measure(&target.db, target.clock.as_ref(), server.id).await {
        // Its row is named elsewhere.
        Err(StoreError::Unreadable { .. }) => return Ok(None),
        measured => measured?,
    };
    let named = format!("{} ({})", server.name, server.id);
    if let Some(silent) = health.silent_for.filter(|silent| *silent > SILENT_TOO_LONG) {
        let said = format!("{named} has not polled for {} minutes", silent / 60);
        return Ok(Some(Finding::todo(CHECK, said, "see that it runs, and enter `ms reload` into its console")));
    }
    Ok(health.stuck_for().filter(|stuck| *stuck > READY_TOO_LONG).map(|stuck| {
        let said = format!("{named} polls, and commands have been ready for {} minutes", stuck / 60);
        let next = format!("see its console; `storectl delivery list --server {} --older 15m` shows them", server.id);
        Finding::todo(CHECK, said, next)
    }))
}
