//! The queues of game servers: what polls find, and what is open otherwise.

use crate::model::{Command, CommandState, ServerId};
use crate::table::StoreError;
use crate::table::client::Db;
use crate::table::codec::{Item, Row, encode_live, noted};
use crate::table::keys::{self, Key, prefix};
use crate::table::transaction::Write;
use serde::{Deserialize, Serialize};

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
pub fn put(place: &Key, command: &Command) -> Result<Write, StoreError> {
    Ok(Write::put(place.clone(), item(place, command)?))
}

/// At most `most` rows of a server that are due at `now` (seconds since 1970 UTC), the longest due first. Those that cannot be read
/// are left out, see [`noted`].
pub async fn due(db: &Db, server: ServerId, now: i64, most: usize) -> Result<Vec<Queued>, StoreError> {
    let last = keys::due_until(now);
    db.query_first(&keys::queue(server), ("0", &last), most, |row| noted(decode(row))).await
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
    db.query_first(&keys::queue(server), (&first, &last), most, |row| noted(decode(row))).await
}

/// Reads a row of a queue.
pub fn decode(row: Row) -> Result<Queued, StoreError> {
    let key = row.key()?;
    let Attributes { command } = row.live(&key)?;
    Ok(Queued { key, command })
}
