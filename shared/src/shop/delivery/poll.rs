//! A poll of a game server, and the question after which its last one is given back.

use super::commands::{self, Decided, Queued, WRITES_AT_ONCE, in_transactions};
use super::follow::{block, ended_alone};
use super::servers::{self, AnotherAgent, Lease, ServerKey, StoredKey};
use super::{CallError, holding, known};
use crate::clock::Clock;
use crate::model::{AgentId, Command, CommandId, CommandState, Entitlement, ServerId};
use crate::rules::delivery::{LEASE, Word, can_still_run, has_ended, may_have_run};
use crate::table::codec::noted;
use crate::table::transaction::{Write, send, send_guarded, send_or_read, sent};
use crate::table::{Db, LostRace, StoreError, TURNS, in_turns, keys};
use std::collections::BTreeSet;

/// The most rows of a response.
pub const MOST_ROWS: usize = 90;
/// The most writes of a poll's transaction, without that of the lease.
const MOST_WRITES: usize = 98;
/// How old a lease may be that is given back, in seconds.
const GIVEN_BACK_WITHIN: i64 = 15;
/// After how many seconds it is noted again that a server was seen.
const SEEN_EVERY: i64 = 300;

/// The reason for which a poll has no result.
#[derive(Debug, thiserror::Error)]
pub enum PollError {
    /// Another agent polls for the server.
    #[error("another agent polls for this server")]
    AnotherAgent,
    #[error(transparent)]
    Call(#[from] CallError),
}

impl From<StoreError> for PollError {
    fn from(error: StoreError) -> Self {
        Self::Call(error.into())
    }
}

impl LostRace for PollError {
    fn is_contended(&self) -> bool {
        matches!(self, Self::Call(error) if error.is_contended())
    }
}

/// Serves what is due to a game server, and keeps it from other polls until it is delivered, or for a minute. An agent's own
/// lease does not keep it from polling for more: its journal has what it was served. Without a response of the database
/// it is not known whether the rows are served: they are served again.
pub async fn poll(
    db: &Db,
    clock: &dyn Clock,
    key: &ServerKey,
    agent: Option<&AgentId>,
) -> Result<Vec<Command>, PollError> {
    let server = key.server();
    in_turns(TURNS, || async {
        let now = clock.seconds();
        let asked = vec![keys::server_key(key.hash()), keys::lease(server)];
        let (mut rows, due) = tokio::try_join!(db.batch_get(asked), commands::due(db, server, now, MOST_ROWS))?;
        let stored = known(&mut rows, key)?;
        let lease = Lease::take(&mut rows, server)?;
        match agent {
            None => see(db, key, &stored, &lease, now).await,
            Some(agent) => see_agent(db, key, &stored, &lease, (agent, now)).await?,
        }
        let is_own = agent.is_some() && lease.taken_by.as_ref() == agent;
        if is_held(&lease, now) && !is_own {
            if !lease.refused {
                let refuse: Write = lease.refuse(server);
                sent(db, vec![refuse]).await?;
            }
            return Ok(Vec::new());
        }
        Ok(if due.is_empty() { Vec::new() } else { serve(db, server, &lease, agent, (due, now)).await? })
    })
    .await
}

/// Whether a poll has what it was served for itself.
fn is_held(lease: &Lease, now: i64) -> bool {
    lease.number > 0 && !lease.over && now < lease.taken_at + LEASE
}

/// Whether it is to be noted again that something was seen.
fn is_old(seen: Option<i64>, now: i64) -> bool {
    seen.is_none_or(|seen| seen + SEEN_EVERY <= now)
}

/// Notes that the agent was seen, if that was not noted for a minute.
async fn see_agent(
    db: &Db,
    key: &ServerKey,
    stored: &StoredKey,
    lease: &Lease,
    (agent, now): (&AgentId, i64),
) -> Result<(), PollError> {
    if lease.is_of_another(agent, now) {
        return Err(PollError::AnotherAgent);
    }
    if !lease.needs(agent, now) {
        return Ok(());
    }
    let mut writes = vec![Lease::see_agent(key.server(), agent, now)];
    if is_old(stored.seen, now) {
        writes.push(servers::see(key.hash(), now).into());
    }
    send_guarded(db, writes).await?.map_err(|AnotherAgent| PollError::AnotherAgent)
}

/// Notes that the server was seen, if that was not noted for five minutes.
async fn see(db: &Db, key: &ServerKey, stored: &StoredKey, lease: &Lease, now: i64) {
    if !is_old(stored.seen, now) && !is_old(lease.seen, now) {
        return;
    }
    let writes: Vec<Write> = vec![servers::see(key.hash(), now), Lease::see(key.server(), now)];
    if let Err(error) = send(db, writes).await {
        tracing::warn!(server = %key.server(), %error, "it was not noted that the server was seen");
    }
}

/// The response and the writes of a poll for a row that it found.
struct Found {
    row: Option<Command>,
    writes: Vec<Write>,
}

/// Takes the lease and the rows in one transaction. The copies in the queue may be older than the commands; then the
/// transaction fails, returns the commands, and is sent once more.
async fn serve(
    db: &Db,
    server: ServerId,
    lease: &Lease,
    agent: Option<&AgentId>,
    (mut due, now): (Vec<Queued>, i64),
) -> Result<Vec<Command>, StoreError> {
    let word = Word::Polled { by_agent: agent.is_some() };
    // The places of rows whose command does not exist, and of those whose command cannot be read.
    let (mut gone, mut unreadable) = (BTreeSet::new(), BTreeSet::new());
    holding::refresh(db, due.iter_mut().map(|queued| &mut queued.command)).await?;
    let needless = needless(db, &due, now).await?;
    for _ in 0..2 {
        let (mut writes, mut owners, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (place, queued) in due.iter().enumerate().filter(|(place, _)| !unreadable.contains(place)) {
            let is_needless = needless.contains(&queued.command.id);
            let word = if is_needless { Word::Recall(Entitlement::Superseded) } else { word };
            let found = if gone.contains(&place) { without_command(queued) } else { look_at(queued, word, now)? };
            if writes.len() + found.writes.len() > MOST_WRITES {
                break;
            }
            owners.extend(std::iter::repeat_n(place, found.writes.len()));
            writes.extend(found.writes);
            rows.extend(found.row);
        }
        if writes.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<CommandId> = rows.iter().map(|row: &Command| row.id).collect();
        if !ids.is_empty() {
            writes.push(lease.next(server, agent, &ids, now));
        }
        let Err(failed) = send_or_read(db, writes).await? else { return Ok(rows) };
        if failed.iter().any(|(place, _)| *place >= owners.len()) {
            // Another poll was faster.
            return Ok(Vec::new());
        }
        let failed = failed.into_iter().map(|(place, item)| (owners[place], item));
        for (place, item) in failed {
            let command = &mut due[place].command;
            match item {
                Some(item) => match noted(commands::decode(command.id, item)) {
                    Some(present) => {
                        let ends_at = command.delivery.ends_at;
                        *command = present;
                        command.delivery.ends_at = ends_at;
                    }
                    None => _ = unreadable.insert(place),
                },
                None => _ = gone.insert(place),
            }
        }
    }
    Ok(Vec::new())
}

/// The ends among what is due that have nothing to take: nothing of what they end ran, or can still run.
async fn needless(db: &Db, due: &[Queued], now: i64) -> Result<BTreeSet<CommandId>, StoreError> {
    let ends = || due.iter().filter_map(|queued| Some((&queued.command, queued.command.ends?)));
    let given = ends().flat_map(|(_, (first, count))| block(Some(first), count));
    let (mut given, _) = commands::read_each(db, given).await?;
    holding::refresh(db, given.values_mut()).await?;
    let is_over = |(end, (first, count)): (&Command, (CommandId, u32))| {
        let of_end = block(Some(first), count).filter_map(|id| given.get(&id));
        let on_server = ended_alone(of_end.filter(|one| one.server == end.server).collect());
        // One that was sent again gives under another id.
        let may_give = |one: &Command| {
            let delivery = &one.delivery;
            one.retried_as.is_some()
                || may_have_run(delivery)
                || can_still_run(delivery, now) && !has_ended(delivery, now)
        };
        let has_given = on_server.is_empty() || on_server.into_iter().any(may_give);
        (!has_given).then_some(end.id)
    };
    Ok(ends().filter_map(is_over).collect())
}

/// A row that was left behind, for example by a restore of half a backup. Many of them would keep the queue from being read.
fn without_command(Queued { key, command }: &Queued) -> Found {
    let is_absent = Write::check(keys::command(command.id)).only_if_absent();
    Found { row: None, writes: vec![is_absent, Write::delete(key.clone())] }
}

fn look_at(Queued { key, command }: &Queued, word: Word, now: i64) -> Result<Found, StoreError> {
    if super::commands::place_of(command).as_ref() != Some(key) {
        // It has moved, and was left here.
        return Ok(Found { row: None, writes: vec![Write::delete(key.clone())] });
    }
    let decided = Decided::new(command.clone(), word, now);
    let row = decided.answer.then(|| command.clone());
    Ok(Found { row, writes: decided.changes()? })
}

/// Gives back what the server's last poll was served, if nothing was said about it: a game server that starts throws its
/// first response away and then asks this. After an error, commands that were not given back are served again when the
/// lease is over. What an `agent` was served is given back by itself alone: the plugin's next poll would be served it too.
pub async fn paynow(db: &Db, clock: &dyn Clock, key: &ServerKey, agent: Option<&AgentId>) -> Result<(), PollError> {
    let (now, server) = (clock.seconds(), key.server());
    let mut rows = db.batch_get(vec![keys::server_key(key.hash()), keys::lease(server)]).await?;
    known(&mut rows, key)?;
    let lease = Lease::take(&mut rows, server)?;
    if agent.is_some_and(|agent| lease.is_of_another(agent, now)) {
        return Err(PollError::AnotherAgent);
    }
    let is_own = lease.taken_by.as_ref() == agent;
    if !is_own || !is_held(&lease, now) || lease.refused || lease.taken_at + GIVEN_BACK_WITHIN < now {
        return Ok(());
    }
    let (found, _) = commands::read_each(db, lease.ids.iter().copied()).await?;
    let is_silent = |command: &Command| {
        command.delivery.state == CommandState::Served && command.delivery.served_at == Some(lease.taken_at)
    };
    if !found.values().all(is_silent) {
        return Ok(());
    }
    let mut parts = Vec::new();
    for command in found.into_values() {
        parts.push(((), Decided::new(command, Word::GivenBack, now).writes()?));
    }
    for (_, mut writes) in in_transactions(parts, WRITES_AT_ONCE) {
        writes.push(lease.is_untouched(server));
        if !sent(db, writes).await? {
            // A word came, or another poll.
            return Ok(());
        }
    }
    let end: Write = lease.give_back(server);
    sent(db, vec![end]).await?;
    Ok(())
}
