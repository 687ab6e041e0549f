//! The sweep's part for game servers: it notes what was validated and did not run, and measures what is stuck.

use super::write::{AT_ONCE, Decided, in_transactions};
use crate::clock::Clock;
use crate::model::{CommandId, CommandState, ServerId};
use crate::rules::delivery::{LEASE, Word};
use crate::store::leases::Lease;
use crate::store::queue;
use crate::store::transaction::{Sent, send};
use crate::store::{Db, StoreError, commands, keys};
use futures_util::future::try_join_all;
use std::collections::BTreeSet;

/// How many commands of a state are looked at in one sweep.
const MOST: usize = 300;

/// Figures of what is stuck at a game server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerHealth {
    pub server: ServerId,
    /// Seconds since the oldest command that no poll has finished was due; 0 if there is none.
    pub oldest_ready: i64,
    /// Seconds since the last poll, to five minutes; `None` if it never polled.
    pub silent_for: Option<i64>,
    /// How many commands the owner has to decide about, at most 300.
    pub unknown: usize,
}

/// Notes what was validated or served, and did not run in time, and measures each server.
///
/// # Errors
/// [`StoreError`] if the database does not respond.
pub async fn sweep_servers(
    db: &Db,
    clock: &dyn Clock,
    servers: impl Iterator<Item = ServerId>,
) -> Result<Vec<ServerHealth>, StoreError> {
    try_join_all(servers.map(|server| sweep_server(db, clock.seconds(), server))).await
}

async fn sweep_server(db: &Db, now: i64, server: ServerId) -> Result<ServerHealth, StoreError> {
    silence(db, now, server).await?;
    let (mut rows, due, unknown) = tokio::try_join!(
        db.batch_get(vec![keys::lease(server)]),
        queue::due(db, server, now, 1),
        queue::open(db, server, CommandState::Unknown, now, MOST),
    )?;
    let oldest = due.iter().find_map(|queued| keys::due_second(&queued.key));
    let seen = Lease::take(&mut rows, server)?.seen;
    Ok(ServerHealth {
        server,
        oldest_ready: oldest.map_or(0, |oldest| now.saturating_sub(oldest)),
        silent_for: seen.map(|seen| now.saturating_sub(seen)),
        unknown: unknown.len(),
    })
}

async fn silence(db: &Db, now: i64, server: ServerId) -> Result<(), StoreError> {
    let (validated, mut rows) = tokio::try_join!(
        queue::open(db, server, CommandState::Validated, now, MOST),
        db.batch_get(vec![keys::lease(server)])
    )?;
    let lease = Lease::take(&mut rows, server)?;
    // A server that polls again is served them again, as far as that may be.
    let served = lease.ids.into_iter().filter(|_| !lease.over && lease.taken_at + LEASE <= now);
    let ids: BTreeSet<CommandId> = validated.iter().map(|queued| queued.command.id).chain(served).collect();
    let mut parts = Vec::new();
    for command in commands::read(db, ids.into_iter()).await?.into_values() {
        let decided = Decided::new(command, Word::Silence, now);
        if decided.has_changed() {
            parts.push(((), decided.writes()?));
        }
    }
    for (_, writes) in in_transactions(parts, AT_ONCE) {
        // If it conflicts, a word has come.
        let _: Sent<_> = send(db, writes).await?;
    }
    Ok(())
}
