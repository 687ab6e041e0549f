//! The commands that wait for a game server, and how long the commands of game servers took.

use crate::prelude::*;
use serde::Serialize;
use shared::model::{ActiveVersion, Command, CommandState, Server, ServerId};
use shared::rules::delivery_times::DeliveryTimes;
use shared::shop::delivery::measures::{ServerTimes, times};
use shared::shop::delivery::{OwnerOutcome, cancel, commands};
use shared::table::StoreError;
use shared::table::bulk::each;
use shared::table::codec::key_of;
use shared::table::keys::prefix;
use shared::table::published::read_active_version;
use std::collections::BTreeSet;

/// The last second of the year 9999, after everything that is due at all.
pub const FOREVER: i64 = 253_402_300_799;

/// The most commands of one kind that are read at once.
const MOST_COMMANDS: usize = 10_000;

/// The commands that a server has still to run: those that polls find at the second `until` (since 1970 UTC) or before, and
/// those that it keeps for players who are away.
pub async fn waiting(at: &Deployment, server: ServerId, until: i64) -> Result<Vec<Command>> {
    let db = &at.db;
    let (due, kept) = tokio::try_join!(
        commands::due(db, server, until, MOST_COMMANDS),
        commands::open(db, server, CommandState::Kept, FOREVER, MOST_COMMANDS)
    )?;
    Ok(due.into_iter().chain(kept).map(|queued| queued.command).collect())
}

/// How many commands of a server may have run or not, and how many it refused.
pub async fn undecided(at: &Deployment, server: ServerId) -> Result<[usize; 2], Failure> {
    let open = |state| commands::open(&at.db, server, state, FOREVER, MOST_COMMANDS);
    let (unknown, refused) = tokio::try_join!(open(CommandState::Unknown), open(CommandState::Refused))?;
    Ok([unknown.len(), refused.len()])
}

/// Cancels the commands that [`waiting`] finds, however many; returns how many. One that a poll was just served stays: it may
/// have run.
pub async fn drop_all(at: &Deployment, server: ServerId, until: i64) -> Result<usize> {
    let mut cancelled = 0;
    loop {
        let before = cancelled;
        for command in waiting(at, server, until).await? {
            let outcome = cancel(&at.db, at.clock.as_ref(), command.id).await;
            let outcome = outcome.unsure(format!("{cancelled} commands were cancelled."), AGAIN)?;
            cancelled += usize::from(matches!(outcome, OwnerOutcome::Done(_)));
        }
        if cancelled == before {
            return Ok(cancelled);
        }
    }
}

/// Those of the servers that a publish removes for which commands wait, with what waits for each.
pub async fn of_removed(at: &Deployment, servers: &[Server]) -> Result<Vec<(Server, Vec<Command>)>> {
    let mut found = Vec::new();
    for server in servers {
        let waiting = waiting(at, server.id, FOREVER).await?;
        if !waiting.is_empty() {
            found.push((server.clone(), waiting));
        }
    }
    Ok(found)
}

/// The servers for which commands may wait. Reads every item.
pub async fn servers(at: &Deployment) -> Result<BTreeSet<ServerId>> {
    let mut servers = BTreeSet::new();
    each(&at.db, prefix::QUEUE, |item| {
        servers.extend(commands::server_of(&key_of(&item)?));
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(servers)
}

/// Those of the servers that are not published while commands wait for them, with what can be cancelled of each.
pub async fn of_unpublished(at: &Deployment, servers: BTreeSet<ServerId>) -> Result<Vec<(ServerId, Vec<Command>)>> {
    let active = read_active_version(&at.db).await?.unwrap_or_default();
    let mut found = Vec::new();
    for id in servers {
        if active.config.delivery.servers.iter().any(|server| server.id == id) {
            continue;
        }
        let mut waiting = waiting(at, id, FOREVER).await?;
        waiting.retain(|command| command.delivery.state != CommandState::Served);
        if !waiting.is_empty() {
            found.push((id, waiting));
        }
    }
    Ok(found)
}

/// A server of the published store by its id or name.
pub fn find<'a>(active: &'a ActiveVersion, text: &str) -> Result<&'a Server> {
    let servers = &active.config.delivery.servers;
    let is_named = |server: &&Server| server.name.to_lowercase() == text.trim().to_lowercase();
    let by_id = text.trim().parse::<ServerId>().ok();
    let found = servers.iter().find(|server| Some(server.id) == by_id).or_else(|| servers.iter().find(is_named));
    found.ok_or_else(|| {
        let all: Vec<String> = servers.iter().map(|server| format!("{} ({})", server.name, server.id)).collect();
        let what = match all.as_slice() {
            [] => "The published store has no servers.".to_owned(),
            all => format!("There is no server {text:?}; there are {}.", all.join(", ")),
        };
        Failure::refused(what, "Add it to `servers` in store.yaml and publish.")
    })
}

/// The time that is shown, in seconds.
const LAST: i64 = 86_400;

/// The times of the last 24 hours of a game server: in milliseconds, and as people read it; `None` if nothing ran.
pub async fn last_day(at: &Deployment, server: ServerId) -> Result<(impl Serialize, Option<String>)> {
    let now = at.clock.seconds();
    let ServerTimes { own, waited } = times(&at.db, server, now - LAST, now + 1).await?;
    let said = |times: &DeliveryTimes, kind: &str| {
        (times.commands() > 0).then(|| format!("{}{kind}: {times}", times.commands()))
    };
    let parts = [said(&own, " commands"), said(&waited, " that wait for players or have a delay")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let text = (!parts.is_empty()).then(|| format!("last 24 hours, from paid to run: {}", parts.join("; ")));
    let facts = |times: &DeliveryTimes| {
        facts! { commands: times.commands(), half_within: times.within(50), ninety_five_within: times.within(95),
        slowest: times.slowest() }
    };
    Ok((facts! { #[serde(flatten)] own: facts(&own), waited: facts(&waited) }, text))
}
