//! Commands of orders. A command's row is the truth about it; the queue of its server has a copy.

use super::queue;
use crate::model::{Command, CommandId};
use crate::table::client::Db;
use crate::table::codec::{Item, Row, decode_live, encode_live, noted};
use crate::table::keys::{self, Key};
use crate::table::sequences;
use crate::table::transaction::Write;
use crate::table::{StoreError, read_live};
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
