//! Measures of game servers. The sweep notes what was validated and did not run, and measures what is stuck. How long commands took
//! from the payment to the word that they ran is counted in the transaction with that word (rules.md, "From paid to the game").

pub use crate::telemetry::{READY_TOO_LONG, SILENT_TOO_LONG};

use super::commands::{self, Decided, write_all};
use super::holding;
use super::servers::Lease;
use crate::clock::Clock;
use crate::model::{CommandId, CommandState, ServerId};
use crate::rules::delivery::{LEASE, Word};
use crate::rules::delivery_times::{DeliveryTimes, step_of};
use crate::table::codec::noted;
use crate::table::keys::{self, TTL};
use crate::table::transaction::{Write, is_written};
use crate::table::{Db, StoreError};
use crate::telemetry::{ServerFigures, server_figures, unreadable_row};
use futures_util::future::join_all;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

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

/// How long the counts of an hour are kept, in seconds.
const COUNTS_KEPT: i64 = 40 * 86_400;
const HOUR: i64 = 3_600;
/// How many parts an hour has: the transactions of a call run at once, and each counts in a part of its own.
const PARTS: usize = 16;
/// The most rows that are read at once: those of two months.
const MOST_ROWS: usize = 24 * 62 * PARTS;
/// The beginnings of the names of counts: of commands that run by themselves, and of those that wait for their player or have a delay.
const OWN: &str = "own";
const WAITED: &str = "waited";

/// The name of the count of a command that runs by a game server's word at `now` (milliseconds since 1970 UTC), with the end of
/// its step; `None` if it ran before, or is not one that follows from a payment at once.
pub(super) fn took(decided: &Decided, now: u64) -> Option<String> {
    use CommandState::{Delivered, Done, Executed, Retried};
    let (before, after) = (&decided.before.delivery, &decided.after.delivery);
    let runs = matches!(after.state, Delivered | Executed);
    let ran = matches!(before.state, Delivered | Executed | Done | Retried);
    let paid_at = decided.after.paid_at.filter(|_| runs && !ran)?;
    let paid = u64::try_from(paid_at).ok()?.saturating_mul(1_000);
    let kind = if before.online || decided.after.delayed { WAITED } else { OWN };
    Some(format!("{kind}{}", step_of(now.saturating_sub(paid))))
}

/// The write that counts what ran with the transaction number `part` of a call at `now`, seconds since 1970 UTC; `None` if
/// nothing did.
pub(super) fn count(server: ServerId, part: usize, took: impl Iterator<Item = String>, now: i64) -> Option<Write> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    took.for_each(|name| *counts.entry(name).or_default() += 1);
    if counts.is_empty() {
        return None;
    }
    let hour = now - now.rem_euclid(HOUR);
    let adds: Vec<String> = counts.keys().map(|name| format!("{name} :{name}")).collect();
    let key = keys::delivery_times(server, hour, part % PARTS);
    let write = Write::update(key, format!("ADD {} SET {TTL} = :ends", adds.join(", ")));
    let write = write.number(":ends", hour + COUNTS_KEPT);
    Some(counts.into_iter().fold(write, |write, (name, count)| write.number(format!(":{name}"), count)))
}

/// The times of a game server's commands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerTimes {
    /// Of commands that run by themselves.
    pub own: DeliveryTimes,
    /// Of those that waited for their player, or had a delay: the wait is not the server's.
    pub waited: DeliveryTimes,
}

/// The times of what ran on a server from the hour of `since` on and before `until`, both seconds since 1970 UTC. One query.
pub async fn times(db: &Db, server: ServerId, since: i64, until: i64) -> Result<ServerTimes, StoreError> {
    let mut times = ServerTimes::default();
    let (first, last) = keys::delivery_times_between(since - since.rem_euclid(HOUR), until - 1);
    let partition = keys::lease(server).pk;
    let rows = db
        .query_first(&partition, (&first, &last), MOST_ROWS, |row| noted(row.live_found::<BTreeMap<String, Value>>()));
    for (name, count) in rows.await?.into_iter().flatten() {
        let own = name.strip_prefix(OWN).map(|step| (step, &mut times.own));
        let of = own.or_else(|| name.strip_prefix(WAITED).map(|step| (step, &mut times.waited)));
        if let Some(((step, of), count)) = of.zip(count.as_u64())
            && let Ok(step) = step.parse()
        {
            of.add(step, count);
        }
    }
    Ok(times)
}
