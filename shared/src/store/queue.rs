//! The queues of game servers: what polls find, and what is open otherwise.

use super::StoreError;
use super::client::Db;
use super::codec::{Row, encode_live};
use super::keys::{self, Key};
use super::transaction::Write;
use crate::model::{Command, CommandId, CommandState, ServerId};
use serde::{Deserialize, Serialize};

/// A login in the game, as polls find it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedLogin {
    pub id: CommandId,
    pub player: String,
    /// What the game server sends when the player confirms the login.
    pub auth_id: String,
    /// When it ends, seconds since 1970 UTC.
    pub until: i64,
}

/// What is queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A command as it was when it got this place.
    Command(Command),
    Login(QueuedLogin),
}

/// A row of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    pub key: Key,
    pub entry: Entry,
}

#[derive(Serialize, Deserialize)]
struct Attributes<C, L> {
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    command: Option<C>,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    login: Option<L>,
}

const fn none<T>() -> Option<T> {
    None
}

/// The write of a command's copy in a queue.
///
/// # Errors
/// [`StoreError::Unreadable`] if it cannot be encoded.
pub fn put(place: &Key, command: &Command) -> Result<Write, StoreError> {
    let row = Attributes { command: Some(command), login: None::<&QueuedLogin> };
    Ok(Write::put(place.clone(), encode_live(place, &row)?))
}

/// The write that queues a login for a server from `due` (seconds since 1970 UTC) on.
///
/// # Errors
/// [`StoreError::Unreadable`] if it cannot be encoded.
pub fn put_login(server: ServerId, login: &QueuedLogin, due: i64) -> Result<Write, StoreError> {
    let key = keys::queued(server, due, login.id);
    let row = Attributes { command: None::<&Command>, login: Some(login) };
    Ok(Write::put(key.clone(), encode_live(&key, &row)?))
}

/// At most `most` rows of a server that are due at `now` (seconds since 1970 UTC), the longest due first.
///
/// # Errors
/// [`StoreError`] if they can be neither read nor decoded.
pub async fn due(db: &Db, server: ServerId, now: i64, most: usize) -> Result<Vec<Queued>, StoreError> {
    let rows = db.query_first(&keys::queue(server), ("0", &keys::due_until(now)), most).await?;
    rows.into_iter().map(decode).collect()
}

/// At most `most` commands of a server that are in a state since `until` (seconds since 1970 UTC) or before.
///
/// # Errors
/// [`StoreError`] if they can be neither read nor decoded.
pub async fn open(
    db: &Db,
    server: ServerId,
    state: CommandState,
    until: i64,
    most: usize,
) -> Result<Vec<Queued>, StoreError> {
    let (first, last) = keys::open_commands(state, until);
    let rows = db.query_first(&keys::queue(server), (&first, &last), most).await?;
    rows.into_iter().map(decode).collect()
}

fn decode(row: Row) -> Result<Queued, StoreError> {
    let key = row.key()?;
    let entry = match row.live(&key)? {
        Attributes { command: Some(command), .. } => Entry::Command(command),
        Attributes { login: Some(login), .. } => Entry::Login(login),
        Attributes { .. } => return Err(StoreError::unreadable(&key, "command")),
    };
    Ok(Queued { key, entry })
}
