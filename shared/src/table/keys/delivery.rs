//! Keys of what is delivered to game servers.

use super::{Key, key, second_text};
use crate::model::{AuthId, CommandId, CommandState, InternalId, ItemId, RunName, ServerId, UserId, UserName};

/// The commands of an order, as they were published when it was created.
pub fn order_commands(id: &InternalId) -> Key {
    key(format!("ORDER#{id}"), "COMMANDS")
}

/// Whether a key is that of an order itself, and not of its commands.
pub fn is_order(key: &Key) -> bool {
    key.pk.starts_with(super::prefix::ORDER) && key.sk == "ORDER"
}

/// Whether a key is that of something brief, which a backup leaves out and a restore does not bring back: requests of an
/// address, chat logins, leases, times of commands, logins in the game, and what owners are notified of.
pub fn is_brief(key: &Key) -> bool {
    use super::prefix::{CHAT, LEASE, LOGIN, RATE};
    [RATE, CHAT, LEASE, LOGIN].iter().any(|kind| key.pk.starts_with(kind))
        || key.pk == pending_logins()
        || key.pk == super::notices()
}

pub fn command(id: CommandId) -> Key {
    key(format!("COMMAND#{id}"), "COMMAND")
}

/// Partition of what a game server is to be given.
pub fn queue(server: ServerId) -> String {
    format!("QUEUE#{server}")
}

/// A command that polls of a game server find from the second `due` (since 1970 UTC) on.
pub fn queued(server: ServerId, due: i64, id: CommandId) -> Key {
    key(queue(server), &format!("{}#{:010}", second_text(due), id.get()))
}

/// A command in a state in which no poll finds it, since the second `since`. States sort behind all seconds.
pub fn open_command(server: ServerId, state: CommandState, since: i64, id: CommandId) -> Key {
    key(queue(server), &format!("{}#{}#{:010}", state.as_str(), second_text(since), id.get()))
}

/// The first and the last sort key of [`open_command`] in a state until the second `until`.
pub fn open_commands(state: CommandState, until: i64) -> (String, String) {
    (format!("{}#", state.as_str()), format!("{}#{}#~", state.as_str(), second_text(until)))
}

/// A run of the owner's.
pub fn run(name: &RunName) -> Key {
    key(format!("RUN#{name}"), "RUN")
}

/// The lease of the last poll of a game server.
pub fn lease(server: ServerId) -> Key {
    key(format!("LEASE#{server}"), "LEASE")
}

/// A part of the times of the commands of a game server that ran in the hour that begins at `hour`, seconds since 1970 UTC.
pub fn delivery_times(server: ServerId, hour: i64, part: usize) -> Key {
    key(lease(server).pk, &format!("TIMES#{}#{part:02}", second_text(hour)))
}

/// The first and the last sort key of [`delivery_times`] of the hours from `since` to `until`, seconds since 1970 UTC.
pub fn delivery_times_between(since: i64, until: i64) -> (String, String) {
    (format!("TIMES#{}", second_text(since)), format!("TIMES#{}#~", second_text(until)))
}

/// Whether a key is one of [`delivery_times`].
pub fn is_delivery_times(key: &Key) -> bool {
    key.pk.starts_with(super::prefix::LEASE) && key.sk.starts_with("TIMES#")
}

/// A game server by the SHA-256 of its key, in hexadecimal.
pub fn server_key(hash: &str) -> Key {
    key(format!("SERVER#{hash}"), "SERVER")
}

/// Partition of the texts that take something from an account. The id of an account is no name.
pub fn held_by(account: UserId) -> String {
    format!("EXPIRY#{account}")
}

/// A text that takes something from an account on a server, by its hash.
pub fn held(account: UserId, server: ServerId, text: &str) -> Key {
    key(held_by(account), &format!("TEXT#{server}#{text}"))
}

/// Whether a key is one of [`held`].
pub fn is_held(key: &Key) -> bool {
    key.pk.starts_with(super::prefix::EXPIRY) && key.sk.starts_with("TEXT#")
}

/// The texts that run when an item of an account ends, by a hash of what was chosen with it.
pub fn item_ends(account: UserId, item: ItemId, choice: &str) -> Key {
    key(held_by(account), &format!("ITEM#{item}#{choice}"))
}

/// A text of the account that a key of [`item_ends`] is of.
pub fn held_beside(item: &Key, server: ServerId, text: &str) -> Key {
    key(item.pk.clone(), &format!("TEXT#{server}#{text}"))
}

pub fn game_login(name: &UserName) -> Key {
    key(format!("LOGIN#{name}"), "LOGIN")
}

/// Partition of the logins that game servers are notified of.
pub fn pending_logins() -> String {
    "LOGINS".to_owned()
}

/// A login that game servers are notified of.
pub fn pending_login(id: &AuthId) -> Key {
    key(pending_logins(), id.as_str())
}
