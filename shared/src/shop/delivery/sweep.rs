//! The sweep's part for game servers: it notes what was validated and did not run, and measures what is stuck.

use super::leases::Lease;
use super::write::{Decided, write_all};
use super::{commands, holding};
use crate::clock::Clock;
use crate::model::{CommandId, CommandState, ServerId};
use crate::rules::delivery::{LEASE, Word};
use crate::table::transaction::is_written;
use crate::table::{Db, StoreError, keys};
use crate::telemetry::{ServerFigures, server_figures, unreadable_row};
use futures_util::future::join_all;
use std::collections::BTreeSet;

pub use crate::telemetry::{READY_TOO_LONG, SILENT_TOO_LONG};

/// How many commands of a state are looked at in one sweep.
const MOST_COMMANDS_OF_A_STATE: usize = 300;
/// A server that was seen within so many seconds polls: that it was seen is noted every five minutes.
const POLLING: i64 = 600;

/// Figures of what is stuck at a game server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerHealth {
    pub server: ServerId,
    /// Seconds since the oldest command that no poll has finished was due; 0 if there is none.
    pub oldest_ready: i64,
    /// Seconds since the last poll, to five minutes; `None` if it never polled, or has no key any more.
    pub silent_for: Option<i64>,
    /// How many commands the owner has to decide about, because they may have run or were refused: at most 300 of each.
    pub undecided: usize,
}

impl ServerHealth {
    /// Seconds since the oldest command was due that a server that polls has not finished.
    #[must_use]
    pub fn stuck_for(&self) -> Option<i64> {
        self.silent_for.filter(|silent| *silent <= POLLING).map(|_| self.oldest_ready)
    }

    /// Notes the figures for the metrics, unless the server was never connected.
    fn note(&self) {
        if self.silent_for.is_some() || self.undecided > 0 {
            server_figures(ServerFigures {
                server: self.server,
                oldest_ready: self.stuck_for(),
                silence: self.silent_for,
                undecided: self.undecided,
            });
        }
    }
}

/// Notes what was validated or served, and did not run in time, and measures each server. One that cannot be measured keeps no
/// other from it.
pub async fn sweep_servers(
    db: &Db,
    clock: &dyn Clock,
    servers: impl Iterator<Item = ServerId>,
) -> Result<(), StoreError> {
    let sweep = async |server| {
        sweep_server(db, clock, server).await.inspect_err(|error| match error {
            StoreError::Unreadable { .. } => unreadable_row(error),
            _ => tracing::error!(%server, %error, "the game server was not looked at"),
        })
    };
    join_all(servers.map(sweep)).await.into_iter().collect()
}

async fn sweep_server(db: &Db, clock: &dyn Clock, server: ServerId) -> Result<(), StoreError> {
    let lease = silence(db, clock.seconds(), server).await?;
    health(db, clock.seconds(), server, &lease).await.map(|health| health.note())
}

/// Measures what is stuck at a game server.
pub async fn measure(db: &Db, clock: &dyn Clock, server: ServerId) -> Result<ServerHealth, StoreError> {
    let lease = read_lease(db, server).await?;
    health(db, clock.seconds(), server, &lease).await
}

async fn read_lease(db: &Db, server: ServerId) -> Result<Lease, StoreError> {
    let mut rows = db.batch_get(vec![keys::lease(server)]).await?;
    Lease::take(&mut rows, server)
}

async fn health(db: &Db, now: i64, server: ServerId, lease: &Lease) -> Result<ServerHealth, StoreError> {
    let unknown = commands::open(db, server, CommandState::Unknown, now, MOST_COMMANDS_OF_A_STATE);
    let refused = commands::open(db, server, CommandState::Refused, now, MOST_COMMANDS_OF_A_STATE);
    let (due, unknown, refused) = tokio::try_join!(commands::due(db, server, now, 1), unknown, refused)?;
    let oldest = due.iter().find_map(|queued| keys::due_second(&queued.key));
    Ok(ServerHealth {
        server,
        oldest_ready: oldest.map_or(0, |oldest| now.saturating_sub(oldest)),
        silent_for: lease.seen.map(|seen| now.saturating_sub(seen)),
        undecided: unknown.len() + refused.len(),
    })
}

/// Notes what was validated or served, and did not run in time. Returns the server's lease.
async fn silence(db: &Db, now: i64, server: ServerId) -> Result<Lease, StoreError> {
    let validated = commands::open(db, server, CommandState::Validated, now, MOST_COMMANDS_OF_A_STATE);
    let (validated, lease) = tokio::try_join!(validated, read_lease(db, server))?;
    // A server that polls again is served them again, as far as that may be.
    let silent = lease.ids.iter().copied().filter(|_| !lease.over && lease.taken_at + LEASE <= now);
    let ids: BTreeSet<CommandId> = validated.iter().map(|queued| queued.command.id).chain(silent).collect();
    let (mut found, _) = commands::read_each(db, ids.into_iter()).await?;
    holding::refresh(db, found.values_mut()).await?;
    let decided = found.into_values().map(|command| Decided::new(command, Word::Silence, now)).collect();
    // If it conflicts, a word has come.
    is_written(write_all(db, decided).await)?;
    Ok(lease)
}
