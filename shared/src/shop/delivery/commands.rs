//! Commands of orders, and the queues of game servers with a copy of each that waits. A command's row is the truth about it. What was
//! decided about commands is written here.

use crate::model::{Command, CommandId, CommandState, Entitlement, ServerId};
use crate::rules::delivery::{Outcome, Place, Word, decide, place, state_at};
use crate::table::codec::{Item, Row, decode_live, encode_live, noted};
use crate::table::keys::{self, Key, prefix};
use crate::table::transaction::{Write, sent};
use crate::table::{Db, StoreError, read_live, single};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The condition that a command is as it was read; changes nothing.
pub fn unchanged(command: &Command) -> Write {
    Write::check(keys::command(command.id)).only_if_equal("version", command.version)
}

/// Reads a command, strongly consistent.
pub async fn get(db: &Db, id: CommandId) -> Result<Option<Command>, StoreError> {
    read_live(db, &keys::command(id)).await
}

/// Reads commands, strongly consistent. Those that do not exist are missing. Fails if one cannot be read: for what decides about
/// all commands of an order.
pub async fn read(db: &Db, ids: impl Iterator<Item = CommandId>) -> Result<BTreeMap<CommandId, Command>, StoreError> {
    rows(db, ids).await?.into_iter().map(|(key, row)| decode_row(&key, row)).collect()
}

/// Reads commands as [`read`] does, one by one. Those that cannot be read are left out, see [`noted`], and their keys are returned.
pub async fn read_each(
    db: &Db,
    ids: impl Iterator<Item = CommandId>,
) -> Result<(BTreeMap<CommandId, Command>, Vec<Key>), StoreError> {
    let (mut found, mut unreadable) = (BTreeMap::new(), Vec::new());
    for (key, row) in rows(db, ids).await? {
        match noted(decode_row(&key, row)) {
            Some((id, command)) => _ = found.insert(id, command),
            None => unreadable.push(key),
        }
    }
    Ok((found, unreadable))
}

async fn rows(db: &Db, ids: impl Iterator<Item = CommandId>) -> Result<Vec<(Key, Row)>, StoreError> {
    let wanted: Vec<Key> = ids.map(keys::command).collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows = db.batch_get(wanted.clone()).await?;
    Ok(wanted.into_iter().filter_map(|key| rows.take(&key).map(|row| (key, row))).collect())
}

fn decode_row(key: &Key, row: Row) -> Result<(CommandId, Command), StoreError> {
    row.live(key).map(|command: Command| (command.id, command))
}

/// Reads a command's item that a failed condition returned.
pub fn decode(id: CommandId, item: Item) -> Result<Command, StoreError> {
    decode_live(&keys::command(id), item)
}

/// The writes of a new command and of its place in the queue. Repeating them after they were written is a conflict.
pub fn put_new(command: &Command, place: Option<&Key>) -> Result<Vec<Write>, StoreError> {
    let own = Write::put_live(keys::command(command.id), command)?.only_if_absent();
    let queued = place.map(|place| put_queued(place, command)).transpose()?;
    Ok([own].into_iter().chain(queued).collect())
}

/// The writes that change a command, on the condition that it is as it was read, and that move it in the queue from one
/// place to another. The copy in the queue stays unchanged if the place does.
pub fn change(
    before: &Command,
    after: &Command,
    from: Option<Key>,
    to: Option<&Key>,
) -> Result<Vec<Write>, StoreError> {
    let after = Command { version: before.version.wrapping_add(1), ..after.clone() };
    let own = Write::put_live(keys::command(before.id), &after)?.only_if_equal("version", before.version);
    let mut writes = vec![own];
    if from.as_ref() != to {
        writes.extend(from.map(Write::delete));
        writes.extend(to.map(|to| put_queued(to, &after)).transpose()?);
    }
    Ok(writes)
}

/// Reserves `count` consecutive ids and returns the first of them.
pub async fn reserve(db: &Db, count: u32) -> Result<CommandId, StoreError> {
    let first = single::reserve(db, single::COMMANDS, u64::from(count)).await?;
    let last = CommandId::new(first + u64::from(count));
    last.map_err(|_| StoreError::unreadable(&keys::sequence(single::COMMANDS), single::NEXT))?;
    CommandId::new(first).map_err(|_| StoreError::unreadable(&keys::sequence(single::COMMANDS), single::NEXT))
}

/// A row of a queue: a command as it was when it got this place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    pub key: Key,
    pub command: Command,
}

#[derive(Serialize, Deserialize)]
struct Attributes<C> {
    command: C,
}

/// The server whose queue a place is in.
pub fn server_of(place: &Key) -> Option<ServerId> {
    place.pk.strip_prefix(prefix::QUEUE)?.parse().ok()
}

/// A command's copy in a queue.
pub fn item(place: &Key, command: &Command) -> Result<Item, StoreError> {
    encode_live(place, &Attributes { command })
}

/// The write of a command's copy in a queue.
pub fn put_queued(place: &Key, command: &Command) -> Result<Write, StoreError> {
    Write::put_live(place.clone(), &Attributes { command })
}

/// At most `most` rows of a server that are due at `now` (seconds since 1970 UTC), the longest due first. Those that cannot be read
/// are left out, see [`noted`].
pub async fn due(db: &Db, server: ServerId, now: i64, most: usize) -> Result<Vec<Queued>, StoreError> {
    let last = keys::due_until(now);
    db.query_first(&keys::queue(server), ("0", &last), most, |row| noted(decode_queued(row))).await
}

/// At most `most` commands of a server that are in a state since `until` (seconds since 1970 UTC) or before. As [`due`].
pub async fn open(
    db: &Db,
    server: ServerId,
    state: CommandState,
    until: i64,
    most: usize,
) -> Result<Vec<Queued>, StoreError> {
    let (first, last) = keys::open_commands(state, until);
    db.query_first(&keys::queue(server), (&first, &last), most, |row| noted(decode_queued(row))).await
}

/// At most `most` commands of [`open`] that the owner was not notified of. As [`due`].
pub async fn untold(
    db: &Db,
    server: ServerId,
    state: CommandState,
    until: i64,
    most: usize,
) -> Result<Vec<Queued>, StoreError> {
    let (first, last) = keys::open_commands(state, until);
    let untold = |row: Row| match noted(row.clone().live_found::<Mark>())? {
        Mark { told: true } => None,
        Mark { told: false } => noted(decode_queued(row)),
    };
    db.query_first(&keys::queue(server), (&first, &last), most, untold).await
}

/// The write that notes on a row of a queue that the owner was notified of its command, unless that is noted.
pub fn set_told(place: &Key) -> Write {
    let write = Write::update(place.clone(), "SET told = :yes").only_if_present();
    write.and_if("attribute_not_exists(told)").flag(":yes", true)
}

#[derive(Deserialize)]
struct Mark {
    #[serde(default)]
    told: bool,
}

/// Reads a row of a queue.
pub fn decode_queued(row: Row) -> Result<Queued, StoreError> {
    let key = row.key()?;
    let Attributes { command } = row.live(&key)?;
    Ok(Queued { key, command })
}

/// The most writes of a transaction that is not limited otherwise. The database takes a hundred.
pub(super) const WRITES_AT_ONCE: usize = 90;

/// The place of a command in its server's queue.
pub fn place_of(command: &Command) -> Option<Key> {
    let delivery = &command.delivery;
    match place(delivery.state) {
        Place::Queue => Some(keys::queued(command.server, delivery.due, command.id)),
        Place::Open(state) => {
            let since = match state {
                CommandState::Kept => delivery.delivered_at,
                CommandState::Validated => delivery.silent_at,
                CommandState::Refused => delivery.refused_at,
                _ => None,
            };
            Some(keys::open_command(command.server, state, since.unwrap_or(delivery.due), command.id))
        }
        Place::Gone => None,
    }
}

/// Whether a command waits until it is due.
pub(super) fn waits(command: &Command, now: i64) -> bool {
    command.delivery.entitlement == Entitlement::Good && state_at(&command.delivery, now) == CommandState::Waiting
}

/// The writes after which a command waits for another end, and for its delay after that.
pub(super) fn moved(command: &Command, before: i64, end: i64) -> Result<Vec<Write>, StoreError> {
    if before == end {
        return Ok(Vec::new());
    }
    let mut after = command.clone();
    after.delivery.due = end.saturating_add(command.delivery.due.saturating_sub(before));
    change(command, &after, place_of(command), place_of(&after).as_ref())
}

/// A command with what was decided about it.
pub(super) struct Decided {
    pub(super) before: Command,
    pub(super) after: Command,
    pub(super) answer: bool,
}

impl Decided {
    pub(super) fn new(before: Command, word: Word, now: i64) -> Self {
        let Outcome { next, answer } = decide(&before.delivery, word, now);
        Self { after: Command { delivery: next, ..before.clone() }, before, answer }
    }

    /// Keeps the game server's answer with what is new. An erased command keeps none.
    pub(super) fn with_output(mut self, output: &str) -> Self {
        let is_new = self.before.output.is_none() || self.before.delivery.state != self.after.delivery.state;
        if is_new && !output.is_empty() && !self.before.player.is_empty() {
            // It is shown in terminals.
            let shown = output.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
            self.after.output = Some(shown.collect());
        }
        self
    }

    /// Whether it has changed, except that what waited is due by now.
    pub(super) fn has_changed(&self) -> bool {
        let (before, after) = (&self.before.delivery, &self.after.delivery);
        let is_due = before.state == CommandState::Waiting && after.state == CommandState::Ready;
        let is_decided = before != after && !(is_due && after.entitlement == before.entitlement);
        is_decided || self.before.output != self.after.output
    }

    /// The writes of what has changed; empty if nothing has.
    pub(super) fn changes(&self) -> Result<Vec<Write>, StoreError> {
        if self.has_changed() { self.writes() } else { Ok(Vec::new()) }
    }

    /// The writes of the change, on the condition that the command is as it was read.
    pub(super) fn writes(&self) -> Result<Vec<Write>, StoreError> {
        change(&self.before, &self.after, place_of(&self.before), place_of(&self.after).as_ref())
    }
}

/// Writes what was decided, in as many transactions as needed. If a command has changed since it was read, those of its
/// transaction stay as they are, and it is a lost race once the others are written.
pub(super) async fn write_all(db: &Db, decided: Vec<Decided>) -> Result<(), StoreError> {
    let mut parts = Vec::new();
    for decided in decided.into_iter().filter(Decided::has_changed) {
        parts.push(((), decided.writes()?));
    }
    let mut is_written = true;
    for (_, writes) in in_transactions(parts, WRITES_AT_ONCE) {
        is_written &= sent(db, writes).await?;
    }
    if is_written { Ok(()) } else { Err(StoreError::Contended) }
}

/// Divides writes that belong together into transactions.
pub(in crate::shop) fn in_transactions<T>(parts: Vec<(T, Vec<Write>)>, most: usize) -> Vec<(Vec<T>, Vec<Write>)> {
    let mut all: Vec<(Vec<T>, Vec<Write>)> = Vec::new();
    for (thing, writes) in parts {
        match all.last_mut().filter(|(_, last)| last.len() + writes.len() <= most) {
            Some((things, last)) => {
                things.push(thing);
                last.extend(writes);
            }
            None => all.push((vec![thing], writes)),
        }
    }
    all
}
