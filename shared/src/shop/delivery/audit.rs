//! Whether every command is where its game server finds it, and nothing of it is stuck; and the repair of what is not.

use super::commands;
use super::commands::place_of;
use super::servers::Lease;
use crate::model::{
    Command, CommandId, CommandState, Delivery, Entitlement, InternalId, ItemEnds, Lasting, OrderStatus, OwnerRun,
    PendingLogin, ServerId, Try,
};
use crate::rules::delivery::waits_long;
use crate::shop::orders::{self, StoredOrder};
use crate::table::bulk::each;
use crate::table::codec::{Item, Row, decode_live, key_of};
use crate::table::keys::{self, Key, prefix};
use crate::table::transaction::{Write, sent};
use crate::table::{Db, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// For how many seconds a command that will not run is worth a note.
const RECENT: i64 = 30 * 86_400;
/// After how many seconds something that is under way is late.
const STEP_LATE: i64 = 15 * 60;

/// A server that took commands and has said nothing about them since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silent {
    pub server: ServerId,
    pub commands: usize,
    /// Seconds since 1970 UTC.
    pub since: i64,
}

/// The state of all deliveries in a table.
#[derive(Debug, Default)]
pub struct DeliveryAudit {
    /// Commands that are in no queue.
    pub lost: Vec<Command>,
    /// Rows of queues whose command is not there, or elsewhere.
    pub stray: Vec<Key>,
    /// Paid orders whose commands should be queued by now; first those that the sweep does not know of.
    pub late: Vec<StoredOrder>,
    pub silent: Vec<Silent>,
    /// How many commands may have run or not.
    pub unknown: usize,
    /// How many commands game servers refused.
    pub refused: usize,
    /// How many commands wait for their player for longer than three days.
    pub waiting_long: usize,
    /// Paid orders with commands that were stopped or cancelled without the owner, and how many.
    pub withdrawn: BTreeMap<InternalId, usize>,
    /// Tries of the owner's that are not over.
    pub tries: Vec<Try>,
    /// The servers that the places of commands are in the queues of.
    pub servers: BTreeSet<ServerId>,
    /// Rows that cannot be read, with the reason.
    pub unreadable: Vec<(Key, String)>,
}

/// The rows of deliveries, as they were found one after another.
#[derive(Default)]
struct Found {
    /// The places of commands in queues, by where they should be.
    places: BTreeMap<Key, CommandId>,
    /// The rows of queues that are copies of commands.
    copies: BTreeSet<Key>,
    leases: Vec<(ServerId, Lease)>,
    /// Late orders that the sweep knows of.
    known: Vec<StoredOrder>,
    audit: DeliveryAudit,
}

impl Found {
    fn add(&mut self, item: Item, now: i64) -> Result<(), StoreError> {
        let key = key_of(&item)?;
        if let Err(error) = self.take(&key, item, now) {
            self.audit.unreadable.push((key, error.to_string()));
        }
        Ok(())
    }

    fn take(&mut self, key: &Key, item: Item, now: i64) -> Result<(), StoreError> {
        if key.pk.starts_with(prefix::COMMAND) {
            let command: Command = decode_live(key, item)?;
            self.audit.unknown += usize::from(command.delivery.state == CommandState::Unknown);
            self.audit.refused += usize::from(command.delivery.state == CommandState::Refused);
            self.audit.waiting_long += usize::from(waits_long(&command.delivery, now));
            let Delivery { state, entitlement, due, .. } = command.delivery;
            let is_withdrawn = entitlement == Entitlement::Stopped
                && matches!(state, CommandState::Stopped | CommandState::Cancelled)
                && !command.player.is_empty();
            if is_withdrawn && due + RECENT > now {
                *self.audit.withdrawn.entry(command.order.clone()).or_default() += 1;
            }
            self.places.extend(place_of(&command).map(|place| (place, command.id)));
        } else if key.pk.starts_with(prefix::QUEUE) {
            commands::decode_queued(Row::from(item))?;
            self.copies.insert(key.clone());
        } else if keys::is_delivery_times(key) {
            // Counts, which nothing depends on.
        } else if let Some(server) = key.pk.strip_prefix(prefix::LEASE) {
            if let Ok(server) = server.parse() {
                self.leases.push((server, decode_live(key, item)?));
            }
        } else if key.pk.starts_with(prefix::RUN) {
            if let OwnerRun::Try(begun) = decode_live(key, item)? {
                self.audit.tries.push(begun);
            }
        } else if key.pk == keys::pending_logins() {
            decode_live::<PendingLogin>(key, item)?;
        } else if key.pk.starts_with(prefix::EXPIRY) {
            match key.sk.split('#').next() {
                Some("TEXT") => decode_live::<Lasting>(key, item).map(drop)?,
                _ => decode_live::<ItemEnds>(key, item).map(drop)?,
            }
        } else if keys::is_order(key) {
            let stored = StoredOrder::decode(key, Row::from(item))?;
            let is_late = stored.effects.due.is_none_or(|due| due + STEP_LATE < now);
            if stored.order.status == OrderStatus::Paid && stored.delivery_due() && is_late {
                let list = if stored.effects.due.is_none() { &mut self.audit.late } else { &mut self.known };
                list.push(stored);
            }
        }
        Ok(())
    }
}

/// Looks at every item. Commands move meanwhile, so that what differs is read again.
pub async fn audit(db: &Db, now: i64) -> Result<DeliveryAudit, StoreError> {
    let mut found = Found::default();
    each(db, "", |item| found.add(item, now)).await?;
    let Found { places, copies, leases, known, mut audit } = found;
    audit.late.extend(known);
    let missing = places.iter().filter(|(place, _)| !copies.contains(*place)).map(|(_, id)| *id);
    for command in commands::read_each(db, missing).await?.0.into_values() {
        let Some(place) = place_of(&command) else { continue };
        // A copy that cannot be read is as good as none.
        if db.get(&place, true).await?.is_none_or(|item| commands::decode_queued(Row::from(item)).is_err()) {
            audit.lost.push(command);
        }
    }
    for place in copies.iter().filter(|place| !places.contains_key(*place)) {
        let command = match command_at(db, place).await {
            // Where it belongs is not known.
            Err(StoreError::Unreadable { .. }) => continue,
            found => found?,
        };
        let is_its_place = command.as_ref().and_then(place_of).as_ref() == Some(place);
        if !is_its_place && db.get(place, true).await?.is_some() {
            audit.stray.push(place.clone());
        }
    }
    // Also the places of commands that are in no queue: a repair puts them there.
    audit.servers = copies.iter().chain(places.keys()).filter_map(commands::server_of).collect();
    for (server, lease) in leases.into_iter().filter(|(_, lease)| !lease.over && lease.taken_at + STEP_LATE < now) {
        let (served, _) = commands::read_each(db, lease.ids.iter().copied()).await?;
        let commands = served.values().filter(|command| command.delivery.state == CommandState::Served).count();
        audit.silent.extend((commands > 0).then_some(Silent { server, commands, since: lease.taken_at }));
    }
    for (id, count) in std::mem::take(&mut audit.withdrawn) {
        let stored = match orders::get(db, &id).await {
            Err(StoreError::Unreadable { .. }) => continue,
            found => found?,
        };
        let is_paid = stored.is_some_and(|stored| stored.order.status == OrderStatus::Paid);
        audit.withdrawn.extend(is_paid.then_some((id, count)));
    }
    Ok(audit)
}

fn id_of(place: &Key) -> Option<CommandId> {
    place.sk.rsplit('#').next()?.parse::<u32>().ok().and_then(|number| CommandId::new(number).ok())
}

/// The command whose copy is at a place of a queue.
async fn command_at(db: &Db, place: &Key) -> Result<Option<Command>, StoreError> {
    match id_of(place) {
        Some(id) => commands::get(db, id).await,
        None => Ok(None),
    }
}

/// Puts commands into their queues that are in none, unless they have changed since. Returns how many.
pub async fn requeue(db: &Db, lost: &[Command]) -> Result<usize, StoreError> {
    let mut repaired = 0;
    for command in lost {
        let Some(place) = place_of(command) else { continue };
        let writes: Vec<Write> = vec![commands::unchanged(command), commands::put_queued(&place, command)?];
        repaired += usize::from(sent(db, writes).await?);
    }
    Ok(repaired)
}

/// Removes rows of queues whose command is elsewhere. Returns how many.
pub async fn remove_stray(db: &Db, stray: &[Key]) -> Result<usize, StoreError> {
    let mut removed = 0;
    for place in stray {
        let own = match command_at(db, place).await? {
            Some(command) => Some(commands::unchanged(&command)),
            None => id_of(place).map(|id| Write::check(keys::command(id)).only_if_absent()),
        };
        let writes: Vec<Write> = own.into_iter().chain([Write::delete(place.clone())]).collect();
        removed += usize::from(sent(db, writes).await?);
    }
    Ok(removed)
}
