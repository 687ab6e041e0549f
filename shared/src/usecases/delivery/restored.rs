//! Deliveries after a restore (rules.md, "Delivery"): the game servers went on after the backup was made, so nothing
//! of it becomes ready.

use super::write::place_of;
use crate::model::Command;
use crate::rules::delivery;
use crate::store::codec::{Item, decode_live, encode_live, key_of};
use crate::store::keys::{self, prefix};
use crate::store::{StoreError, deliveries, queue};

/// How far the ids of commands go on above the highest of a backup: those in between were used after it.
pub const IDS_AFTER_RESTORE: u64 = 1_000_000;

/// The items that take the place of a backup's item.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Restored {
    pub items: Vec<Item>,
    /// Whether it is a command that may have run since.
    pub is_unknown: bool,
    /// Whether it is an order whose further commands may have run since.
    pub is_unmarked: bool,
}

/// The items that take the place of a backup's item, if it is restored at `at`, seconds since 1970 UTC. Leases and logins in
/// the game end, and the queues are made of the commands.
///
/// # Errors
/// [`StoreError::Unreadable`] if it does not decode.
pub fn restored(mut item: Item, at: i64) -> Result<Restored, StoreError> {
    let key = key_of(&item)?;
    if keys::is_brief(&key) || key.pk.starts_with(prefix::QUEUE) {
        return Ok(Restored::default());
    }
    if keys::is_order(&key) {
        let is_unmarked = deliveries::mark_restored(&key, &mut item)?;
        return Ok(Restored { items: vec![item], is_unmarked, ..Restored::default() });
    }
    if !key.pk.starts_with(prefix::COMMAND) {
        return Ok(Restored { items: vec![item], ..Restored::default() });
    }
    let mut command: Command = decode_live(&key, item)?;
    let before = command.delivery;
    command.delivery = delivery::restored(&before, at);
    let is_unknown = command.delivery != before;
    let place = place_of(&command).map(|place| queue::item(&place, &command)).transpose()?;
    let items = [encode_live(&key, &command)?].into_iter().chain(place).collect();
    Ok(Restored { items, is_unknown, is_unmarked: false })
}
