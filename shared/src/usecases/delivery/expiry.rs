//! When an item of a player expires on a server. All purchases of it add to one time; the commands of one of them run then.

use super::making::Making;
use super::write::{Decided, place_of};
use crate::model::{
    Command, CommandEvent, CommandId, CommandState, Entitlement, Expiry, Holder, InternalId, ItemId, ServerId, UserName,
};
use crate::rules::delivery::frozen::{Expanded, MOST_EXPIRED};
use crate::rules::delivery::{Word, state_at};
use crate::store::keys::{self, Key};
use crate::store::transaction::{Sent, Write, send};
use crate::store::{Db, RETRIES, StoreError, commands, deliveries, pause_before};

/// The key of when an item of a player expires; `None` for a name that no player can have.
pub(super) fn key(player: &str, item: ItemId, server: ServerId) -> Option<Key> {
    UserName::parse(player).ok().map(|name| keys::expiry(&name, item, server))
}

/// Brings commands up to date with the end of what they give: later payments, cancellations and refunds move it.
pub(super) async fn refresh<'a>(db: &Db, commands: impl Iterator<Item = &'a mut Command>) -> Result<(), StoreError> {
    let timed = commands.filter(|command| command.delivery.ends_at.is_some());
    let timed: Vec<(Key, &mut Command)> =
        timed.filter_map(|command| Some((key(&command.player, command.item, command.server)?, command))).collect();
    let ends = deliveries::ends(db, timed.iter().map(|(key, _)| key.clone()).collect()).await?;
    for (key, command) in timed {
        command.delivery.ends_at = ends.get(&key).copied().or(command.delivery.ends_at);
    }
    Ok(())
}

/// The writes after which a line of an order makes an item last longer. The commands that wait for its end are moved;
/// if they no longer wait, those of this order take their place.
pub(super) async fn extend(
    db: &Db,
    making: &Making<'_>,
    unit: &[Expanded<'_>],
    first: CommandId,
    player: &str,
) -> Result<Vec<Write>, StoreError> {
    let (Some(entry), now) = (unit.first(), making.now) else { return Ok(Vec::new()) };
    let Some((key, seconds)) = key(player, entry.line.item, entry.server).zip(making.lasts(entry)) else {
        return Ok(Vec::new());
    };
    let read = deliveries::expiry(db, &key).await?;
    let before = read.clone().filter(|read| now < read.ends_at);
    let mut ends_at = before.as_ref().map_or(now, |before| before.ends_at);
    let mut holders = before.map(|before| before.holders).unwrap_or_default();
    let renews = entry.line.renews;
    let seconds = if renews {
        // The period takes the place of the one before it, after what else makes the item last.
        ends_at = without_subscription(&mut holders, ends_at, now);
        now.saturating_add(seconds).saturating_sub(ends_at).max(0)
    } else {
        seconds
    };
    ends_at = ends_at.saturating_add(seconds);
    let set: Vec<CommandId> = read.as_ref().map(|read| read.commands.clone()).unwrap_or_default();
    let found: Vec<Command> = commands::read(db, set.iter().copied()).await?.into_values().collect();
    let are_waiting = !set.is_empty() && found.len() == set.len() && found.iter().all(|command| waits(command, now));
    if ends_at <= now && !are_waiting {
        // A period that is over gives nothing that would have to end.
        return Ok(Vec::new());
    }
    let order = making.stored.order.internal_id.clone();
    holders.push(Holder { order, line: entry.line.line, seconds, renews });
    let (mut writes, mut ids) = (Vec::new(), set.clone());
    if are_waiting {
        let before = read.as_ref().map_or(ends_at, |read| read.ends_at);
        for command in found {
            writes.extend(moved(&command, before, ends_at)?);
        }
    } else {
        for command in found {
            let decided = Decided::new(command, Word::Recall(Entitlement::Superseded), now);
            writes.extend(decided.changes()?);
        }
        ids.clear();
        for (place, entry) in (0..).zip(unit) {
            let id = CommandId::new(first.get() + place).map_err(|_| StoreError::no_more_ids())?;
            let command = making.command_after(id, entry, player, ends_at);
            writes.extend(commands::put_new(&command, place_of(&command).as_ref())?);
            ids.push(id);
        }
    }
    let next = Expiry { version: 0, ends_at, holders, commands: ids };
    writes.push(deliveries::put_expiry(&key, read.as_ref(), &next)?);
    Ok(writes)
}

/// Takes the period of a subscription out of the holders. Returns when the others end, `now` if there are none.
fn without_subscription(holders: &mut Vec<Holder>, ends_at: i64, now: i64) -> i64 {
    let taken: i64 = holders.iter().filter(|holder| holder.renews).map(|holder| holder.seconds).sum();
    holders.retain(|holder| !holder.renews);
    if holders.is_empty() { now } else { ends_at.saturating_sub(taken) }
}

/// The writes after which what a subscription's newest order gives ends at `until` (seconds since 1970 UTC) on one server;
/// empty if it is not this order that holds it.
pub(super) async fn set_end(
    db: &Db,
    (key, order): (&Key, &InternalId),
    until: i64,
    now: i64,
) -> Result<Vec<Write>, StoreError> {
    let Some(read) = deliveries::expiry(db, key).await? else { return Ok(Vec::new()) };
    let is_own = |holder: &&Holder| holder.renews && holder.order == *order;
    let Some(own) = read.holders.iter().find(is_own).cloned() else { return Ok(Vec::new()) };
    let mut holders = read.holders.clone();
    let others_end = without_subscription(&mut holders, read.ends_at, now.min(until));
    let ends_at = others_end.max(until);
    if ends_at == read.ends_at {
        return Ok(Vec::new());
    }
    holders.push(Holder { seconds: ends_at.saturating_sub(others_end), ..own });
    let mut writes = Vec::new();
    for command in commands::read(db, read.commands.iter().copied()).await?.into_values() {
        writes.extend(if waits(&command, now) { moved(&command, read.ends_at, ends_at)? } else { Vec::new() });
    }
    let next = Expiry { version: 0, ends_at, holders, commands: read.commands.clone() };
    writes.push(deliveries::put_expiry(key, Some(&read), &next)?);
    Ok(writes)
}

/// The place of a command that is sent again among those that end an item.
pub(super) enum Replaced {
    /// It ends nothing, or nothing is known of what it ends.
    Not,
    /// The write after which a further purchase moves or recalls it, and when it is due, seconds since 1970 UTC.
    By(Box<Write>, i64),
    /// The item was bought again, and has other commands for its end.
    ByAnother,
}

/// Replaces a command that ends an item by one under another id, which waits until then.
pub(super) async fn replace(db: &Db, command: &Command, by: CommandId, now: i64) -> Result<Replaced, StoreError> {
    let key = key(&command.player, command.item, command.server).filter(|_| command.event == CommandEvent::Expired);
    let Some(key) = key else { return Ok(Replaced::Not) };
    let Some(read) = deliveries::expiry(db, &key).await? else { return Ok(Replaced::Not) };
    let lasts = now < read.ends_at && !read.holders.is_empty();
    let mut ids = read.commands.clone();
    match ids.iter().position(|id| *id == command.id) {
        Some(place) => ids[place] = by,
        None if lasts => return Ok(Replaced::ByAnother),
        // All of them are moved in one transaction.
        None if ids.len() >= MOST_EXPIRED => ids[0] = by,
        None => ids.push(by),
    }
    // With its delay, as long as the end was not moved since.
    let due = if lasts { read.ends_at.max(command.delivery.due) } else { now };
    let write = deliveries::put_expiry(&key, Some(&read), &Expiry { commands: ids, ..read.clone() })?;
    Ok(Replaced::By(Box::new(write), due))
}

/// The writes after which a line of an order no longer makes an item last longer. If no other line does, what waits for its
/// end is recalled.
pub(super) async fn release(
    db: &Db,
    making: &Making<'_>,
    entry: &Expanded<'_>,
    player: &str,
    entitlement: Entitlement,
) -> Result<Vec<Write>, StoreError> {
    let Some(key) = key(player, entry.line.item, entry.server) else { return Ok(Vec::new()) };
    let Some(read) = deliveries::expiry(db, &key).await? else { return Ok(Vec::new()) };
    let is_own = |holder: &&Holder| holder.order == making.stored.order.internal_id && holder.line == entry.line.line;
    let Some(own) = read.holders.iter().find(is_own) else { return Ok(Vec::new()) };
    let holders: Vec<Holder> = read.holders.iter().filter(|holder| !is_own(holder)).cloned().collect();
    let ends_at = read.ends_at.saturating_sub(own.seconds);
    let mut writes = Vec::new();
    for command in commands::read(db, read.commands.iter().copied()).await?.into_values() {
        if holders.is_empty() {
            let decided = Decided::new(command, Word::Recall(entitlement), making.now);
            writes.extend(decided.changes()?);
        } else if waits(&command, making.now) {
            writes.extend(moved(&command, read.ends_at, ends_at)?);
        }
    }
    let next = Expiry { version: 0, ends_at, holders, commands: read.commands.clone() };
    writes.push(deliveries::put_expiry(&key, Some(&read), &next)?);
    Ok(writes)
}

/// Moves when a player's items expire from a former name to another one at `now` (seconds since 1970 UTC). If an item lasts
/// under both, their times add up. The same call continues what was interrupted.
pub(in crate::usecases) async fn rename(db: &Db, from: &UserName, to: &UserName, now: i64) -> Result<(), StoreError> {
    for before in deliveries::expiries(db, from).await? {
        let after = Key { pk: keys::expiries(to), ..before.clone() };
        let mut round = 0;
        while !rename_one(db, (&before, &after), now).await? {
            round += 1;
            if round > RETRIES {
                return Err(StoreError::Contended);
            }
            pause_before(round).await;
        }
    }
    Ok(())
}

/// Moves one row; `false` if it was changed meanwhile.
async fn rename_one(db: &Db, (from, to): (&Key, &Key), now: i64) -> Result<bool, StoreError> {
    let (own, other) = tokio::try_join!(deliveries::expiry(db, from), deliveries::expiry(db, to))?;
    let Some(own) = own else { return Ok(true) };
    let lasts = |row: &&Expiry| now < row.ends_at;
    let mut writes = vec![Write::delete(from.clone()).only_if_equal("version", own.version)];
    match (Some(&own).filter(lasts), other.as_ref().filter(lasts)) {
        (Some(own), Some(last)) => {
            let ends_at = last.ends_at.saturating_add(own.ends_at.saturating_sub(now));
            let holders = [last.holders.clone(), own.holders.clone()].concat();
            let ids = [last.commands.clone(), own.commands.clone()].concat();
            for command in commands::read(db, ids.iter().copied()).await?.into_values() {
                let before = if own.commands.contains(&command.id) { own.ends_at } else { last.ends_at };
                writes.extend(if waits(&command, now) { moved(&command, before, ends_at)? } else { Vec::new() });
            }
            let joint = Expiry { version: 0, ends_at, holders, commands: ids };
            writes.push(deliveries::put_expiry(to, other.as_ref(), &joint)?);
        }
        // What has expired gives way.
        (None, _) if other.is_some() => {}
        _ => writes.push(deliveries::put_expiry(to, other.as_ref(), &own)?),
    }
    Ok(send(db, writes).await? == Sent::Written)
}

fn waits(command: &Command, now: i64) -> bool {
    command.delivery.entitlement == Entitlement::Good && state_at(&command.delivery, now) == CommandState::Waiting
}

/// The writes after which a command waits for another end, and for its delay after that.
fn moved(command: &Command, before: i64, end: i64) -> Result<Vec<Write>, StoreError> {
    let mut after = command.clone();
    after.delivery.due = end.saturating_add(command.delivery.due.saturating_sub(before));
    commands::change(command, &after, place_of(command), place_of(&after).as_ref())
}
