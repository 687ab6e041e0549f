//! Commands of orders. A command's row is the truth about it; the queue of its server has a copy.

use super::client::Db;
use super::codec::{Item, decode_live, encode_live};
use super::keys::{self, Key};
use super::queue;
use super::sequences;
use super::transaction::Write;
use super::{StoreError, read_live};
use crate::model::{Command, CommandId};
use std::collections::BTreeMap;

/// The condition that a command is as it was read; changes nothing.
pub fn unchanged(command: &Command) -> Write {
    Write::check(keys::command(command.id)).only_if_equal("version", command.version)
}

/// Reads a command, strongly consistent.
pub async fn get(db: &Db, id: CommandId) -> Result<Option<Command>, StoreError> {
    read_live(db, &keys::command(id)).await
}

/// Reads commands, strongly consistent. Those that do not exist are missing.
pub async fn read(db: &Db, ids: impl Iterator<Item = CommandId>) -> Result<BTreeMap<CommandId, Command>, StoreError> {
    let ids: Vec<CommandId> = ids.collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut rows = db.batch_get(ids.iter().copied().map(keys::command).collect()).await?;
    let mut found = BTreeMap::new();
    for id in ids {
        let key = keys::command(id);
        if let Some(row) = rows.take(&key) {
            found.insert(id, row.live(&key)?);
        }
    }
    Ok(found)
}

/// Reads a command's item that a failed condition returned.
pub fn decode(id: CommandId, item: Item) -> Result<Command, StoreError> {
    decode_live(&keys::command(id), item)
}

/// The writes of a new command and of its place in the queue. Repeating them after they were written is a conflict.
pub fn put_new(command: &Command, place: Option<&Key>) -> Result<Vec<Write>, StoreError> {
    let key = keys::command(command.id);
    let own = Write::put(key.clone(), encode_live(&key, command)?).only_if_absent();
    let queued = place.map(|place| queue::put(place, command)).transpose()?;
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
    let key = keys::command(before.id);
    let after = Command { version: before.version.wrapping_add(1), ..after.clone() };
    let own = Write::put(key.clone(), encode_live(&key, &after)?).only_if_equal("version", before.version);
    let mut writes = vec![own];
    if from.as_ref() != to {
        writes.extend(from.map(Write::delete));
        writes.extend(to.map(|to| queue::put(to, &after)).transpose()?);
    }
    Ok(writes)
}

/// Reserves `count` consecutive ids and returns the first of them.
pub async fn reserve(db: &Db, count: u32) -> Result<CommandId, StoreError> {
    let first = sequences::reserve(db, sequences::COMMANDS, u64::from(count)).await?;
    let last = CommandId::new(first + u64::from(count));
    last.map_err(|_| StoreError::unreadable(&keys::sequence(sequences::COMMANDS), sequences::NEXT))?;
    CommandId::new(first).map_err(|_| StoreError::unreadable(&keys::sequence(sequences::COMMANDS), sequences::NEXT))
}
