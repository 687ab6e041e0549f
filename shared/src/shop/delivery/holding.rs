//! Holding the texts that take an order back: the rows of the texts, and the commands that run at their ends.
//!
//! A line that is paid holds its texts ([`Lasting`]), so that neither another order's end nor its refund runs them. The last
//! one to go runs them, if anything of what they take was given.

use super::commands::{Decided, moved, place_of, waits};
use super::making::Making;
use super::take_back::{Ends, Text};
use super::{commands, deliveries};
use crate::model::{
    Command, CommandEvent, CommandId, Entitlement, Holder, InternalId, ItemEnds, Lasting, LastingText, Lasts,
};
use crate::rules::delivery::frozen::Expanded;
use crate::rules::delivery::{Word, may_have_run};
use crate::table::keys::{self, Key};
use crate::table::transaction::Write;
use crate::table::{Db, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// The keys of the texts that end what a command gives, or of the one that it is.
pub(super) fn texts_of(command: &Command) -> impl Iterator<Item = Key> {
    let of_name = |LastingText { account, text, also }: &LastingText| {
        std::iter::once(text).chain(also).map(|text| keys::held(*account, command.server, text)).collect::<Vec<_>>()
    };
    command.lasting.as_ref().map(of_name).unwrap_or_default().into_iter()
}

/// Brings commands up to date with the end of what they give: later payments, cancellations and refunds move it.
pub(super) async fn refresh<'a>(db: &Db, commands: impl Iterator<Item = &'a mut Command>) -> Result<(), StoreError> {
    let timed: Vec<&mut Command> = commands.filter(|command| command.delivery.ends_at.is_some()).collect();
    let ends = deliveries::ends(db, timed.iter().flat_map(|command| texts_of(command)).collect()).await?;
    for command in timed {
        let last = texts_of(command).filter_map(|key| ends.get(&key).copied()).max();
        command.delivery.ends_at = last.or(command.delivery.ends_at);
    }
    Ok(())
}

/// The most writes of a text in one transaction.
pub(super) const WRITES_OF_TEXT: usize = 6;
/// The most writes of a text that an item's end no longer runs.
const WRITES_OF_DROPPED: usize = 3;

/// The rows of texts, with the commands that wait for their ends. Each is written once.
#[derive(Default)]
pub(super) struct Rows {
    held: BTreeMap<Key, Lasting>,
    ends: BTreeMap<Key, ItemEnds>,
    commands: BTreeMap<CommandId, Command>,
    written: BTreeSet<Key>,
}

impl Rows {
    /// Reads texts, and the items in `ends` with all texts that run when they end.
    pub(super) async fn read<'a>(
        db: &Db,
        texts: impl Iterator<Item = &'a Text<'a>>,
        ends: &[Ends],
    ) -> Result<Self, StoreError> {
        let keys: BTreeSet<Key> = texts.map(|text| text.key.clone()).collect();
        let items = ends.iter().map(|ends| ends.key.clone()).collect();
        let (mut held, ends) = deliveries::lasting_and_ends(db, keys.clone(), items).await?;
        let of_item = |(item, ends): (&Key, &ItemEnds)| keys_of(item, ends).collect::<Vec<_>>();
        let further: BTreeSet<Key> = ends.iter().flat_map(of_item).filter(|key| !keys.contains(key)).collect();
        held.extend(deliveries::lasting(db, further).await?);
        let commands = commands::read(db, held.values().filter_map(|held| held.command)).await?;
        Ok(Self { held, ends, commands, written: BTreeSet::new() })
    }

    /// Whether a text's row is written already, so that it can be written again only in another transaction.
    pub(super) fn is_written(&self, key: &Key) -> bool {
        self.written.contains(key)
    }

    /// A text as it is now.
    pub(super) fn get(&self, key: &Key) -> Option<&Lasting> {
        self.held.get(key)
    }

    fn before(&self, key: &Key) -> (Lasting, Option<Command>) {
        let before = self.held.get(key).cloned().unwrap_or_default();
        let found = before.command.and_then(|id| self.commands.get(&id)).cloned();
        (before, found)
    }

    fn put(&mut self, key: &Key, next: Lasting) -> Result<Option<Write>, StoreError> {
        let write = deliveries::put_lasting(key, self.held.get(key), &next)?;
        self.held.insert(key.clone(), next);
        self.written.insert(key.clone());
        Ok(write)
    }

    /// The writes after which a line holds a text. `id` is for the command that runs at the end, if none is there yet.
    pub(super) fn hold(
        &mut self,
        making: &Making<'_>,
        text: &Text<'_>,
        ends: Option<&Ends>,
        (id, player): (CommandId, &str),
    ) -> Result<Vec<Write>, StoreError> {
        let Some(lasts) = making.lasts(text.entry.line) else { return Ok(Vec::new()) };
        let (now, line) = (making.now, text.entry.line);
        let (before, found) = self.before(&text.key);
        let mut next = before.clone();
        let (order, closes) = (making.stored.order.internal_id.clone(), making.ends_on(&text.entry));
        let holder = Holder { order, line: line.line, item: line.item, lasts, ends: text.end.is_some(), closes };
        if making.season().is_some() {
            next.resume(holder, making.end_of_season(line.line).map_or(0, |end| end.at), now);
        } else {
            let after = ends.and_then(|ends| self.end_of_item(making, text, ends));
            next.hold(holder, after, making.since(line), now);
        }
        // Without an end, the command takes back what an order before gave.
        let from = before.end();
        if !next.lasts(now) && !found.as_ref().is_some_and(|command| from.is_some() && waits(command, now)) {
            // A period that is over gives nothing that would have to end.
            return Ok(Vec::new());
        }
        let mut writes = Vec::new();
        match (next.is_permanent(), from.zip(next.end()), found) {
            (false, Some((from, end)), Some(command))
                if waits(&command, now) && is_as_published(making, (text, player), &command, from) =>
            {
                writes.extend(moved(&command, from, end)?);
            }
            (is_permanent, _, found) => {
                next.command = None;
                if let Some(command) = found {
                    let decided = Decided::new(command, Word::Recall(Entitlement::Superseded), now);
                    // What it takes is still there.
                    next.owed |= !may_have_run(&decided.after.delivery);
                    writes.extend(decided.changes()?);
                }
                if let Some(end) = next.end().filter(|_| !is_permanent && next.is_due_at_end()) {
                    writes.extend(at_end(making, (text, &text.entry), &mut next, end, (id, player))?);
                }
            }
        }
        writes.extend(self.put(&text.key, next)?);
        Ok(writes)
    }

    /// When an item ends that has had other texts for it: the time that was paid goes on for a text that is new, or comes to
    /// another player with what is moved.
    fn end_of_item(&self, making: &Making<'_>, text: &Text<'_>, ends: &Ends) -> Option<i64> {
        let known = self.ends.get(&ends.key)?;
        if text.end.is_none() || (!making.moves && known.texts.contains(&text.on_server())) {
            return None;
        }
        let own = &making.stored.order.internal_id;
        let of_item = |held: &&Lasting| held.holders.iter().any(|holder| holder.item == ends.item && holder.ends);
        let others = keys_of(&ends.key, known).filter_map(|key| self.held.get(&key)).filter(of_item);
        others.filter_map(|held| held.end_without(own, text.entry.line.line)).max()
    }

    /// The writes, at most `most`, after which the item's end runs the texts in `ends` and no others, and whether that is
    /// all of it.
    pub(super) fn replace_ends(
        &mut self,
        ends: &Ends,
        now: i64,
        most: usize,
    ) -> Result<(Vec<Write>, bool), StoreError> {
        let read = self.ends.get(&ends.key).cloned();
        let known = read.clone().unwrap_or_default().texts;
        if known == ends.texts {
            return Ok((Vec::new(), true));
        }
        let (mut writes, mut left) = (Vec::new(), Vec::new());
        for text in known.into_iter().filter(|text| !ends.texts.contains(text)) {
            let key = keys::held_beside(&ends.key, text.0, &text.1);
            if self.is_written(&key) || writes.len() + WRITES_OF_DROPPED >= most {
                left.push(text);
                continue;
            }
            let (mut next, found) = self.before(&key);
            let is_needed = !next.drop_end_of(ends.item, now);
            if let Some(command) = found.filter(|command| !is_needed && command.event == CommandEvent::Expired) {
                next.command = None;
                writes.extend(Decided::new(command, Word::Recall(Entitlement::Superseded), now).changes()?);
            }
            if self.held.contains_key(&key) {
                writes.extend(self.put(&key, next)?);
            }
        }
        if writes.len() >= most {
            return Ok((Vec::new(), false));
        }
        let is_all = left.is_empty();
        let mut texts = [ends.texts.clone(), left].concat();
        texts.sort_unstable();
        writes.push(deliveries::put_item_ends(&ends.key, read.as_ref(), &ItemEnds { version: 0, texts })?);
        Ok((writes, is_all))
    }

    /// The writes after which a line that never ends holds a text that it does not hold.
    pub(super) fn hold_again(&mut self, making: &Making<'_>, text: &Text<'_>) -> Result<Vec<Write>, StoreError> {
        let (now, line, order) = (making.now, text.entry.line, &making.stored.order.internal_id);
        let (mut next, found) = self.before(&text.key);
        if next.is_held_by(order, line.line) {
            return Ok(Vec::new());
        }
        let ends = text.end.is_some();
        let holder = Holder {
            order: order.clone(),
            line: line.line,
            item: line.item,
            lasts: Lasts::Always,
            ends,
            closes: making.ends_on(&text.entry),
        };
        next.adopt(holder, 0);
        let mut writes = Vec::new();
        if let Some(command) = found.filter(|command| waits(command, now)) {
            let mut decided = Decided::new(command, Word::Recall(Entitlement::Superseded), now);
            decided.after.lasting = Some(text.name.clone());
            next.command = None;
            next.owed = true;
            writes.extend(decided.writes()?);
        } else if ends && next.command.is_none() {
            next.owed |= next.end().is_some();
        }
        writes.extend(self.put(&text.key, next)?);
        Ok(writes)
    }

    /// The write after which the end of an item runs further texts.
    pub(super) fn add_ends(&self, ends: &Ends) -> Result<Option<Write>, StoreError> {
        let read = self.ends.get(&ends.key);
        let mut texts = [read.map_or(&[][..], |read| &read.texts), &ends.texts].concat();
        texts.sort_unstable();
        texts.dedup();
        if read.map_or(0, |read| read.texts.len()) == texts.len() {
            return Ok(None);
        }
        deliveries::put_item_ends(&ends.key, read, &ItemEnds { version: 0, texts }).map(Some)
    }

    /// The writes after which a line of an order holds a text for so many seconds less.
    pub(super) fn shorten(
        &mut self,
        order: &InternalId,
        text: &Text<'_>,
        less: i64,
        now: i64,
    ) -> Result<Vec<Write>, StoreError> {
        let (before, found) = self.before(&text.key);
        let mut next = before.clone();
        if !next.shorten(order, text.entry.line.line, less) {
            return Ok(Vec::new());
        }
        let mut writes = Vec::new();
        if let (Some(command), Some(from), Some(to)) =
            (found.filter(|command| waits(command, now)), before.end(), next.end())
        {
            writes.extend(moved(&command, from, to)?);
        }
        writes.extend(self.put(&text.key, next)?);
        Ok(writes)
    }

    /// The writes after which a line that is taken back no longer holds a text, if it `holds` it, and which run it, let
    /// it wait for the others' end, or leave it to the last of them. `entry` is what runs. It is due if this line `takes` it,
    /// or if an end or a refund before it left it to the last.
    pub(super) fn release(
        &mut self,
        making: &Making<'_>,
        (text, entry): (&Text<'_>, &Expanded<'_>),
        (holds, takes): (bool, bool),
        (id, player): (CommandId, &str),
    ) -> Result<Vec<Write>, StoreError> {
        let (now, line) = (making.now, text.entry.line);
        let (before, found) = self.before(&text.key);
        let mut next = before.clone();
        let begins_anew = making.season().is_some();
        if holds {
            next.release(&making.stored.order.internal_id, line.line, !line.expires());
        }
        if begins_anew {
            // What others have paid ends when it would have.
            next.ends_at = before.ends_at;
        }
        // What the command at the end has taken is owed no more. One that waits may be recalled before it does.
        next.owed &= !found.as_ref().is_some_and(|command| may_have_run(&command.delivery));
        next.owed |= takes;
        let mut writes = Vec::new();
        if next.is_permanent() {
            // The last of them runs it.
        } else if let Some(end) = next.end().filter(|end| now < *end) {
            match found {
                Some(command) if waits(&command, now) => {
                    writes.extend(moved(&command, before.end().unwrap_or(end), end)?);
                }
                _ if next.is_due_at_end() => {
                    writes.extend(at_end(making, (text, entry), &mut next, end, (id, player))?);
                }
                _ => {}
            }
        } else {
            writes = let_go(making, (text, entry), (before.end().is_some(), found), &mut next, (id, player))?;
        }
        writes.extend(self.put(&text.key, next)?);
        Ok(writes)
    }
}

/// The writes of a text that no one holds any more: the command for its end, if it had one, is recalled, and what is owed runs.
fn let_go(
    making: &Making<'_>,
    (text, entry): (&Text<'_>, &Expanded<'_>),
    (had_end, found): (bool, Option<Command>),
    next: &mut Lasting,
    (id, player): (CommandId, &str),
) -> Result<Vec<Write>, StoreError> {
    let has_ended = next.holders.iter().any(|holder| holder.ends);
    next.holders.clear();
    // What takes back an order before goes on by itself.
    next.command = found.as_ref().filter(|command| !had_end && place_of(command).is_some()).map(|found| found.id);
    let mut writes = Vec::new();
    if let Some(command) = found.filter(|_| had_end) {
        let decided = Decided::new(command, Word::Recall(Entitlement::Superseded), making.now);
        next.owed |= has_ended && decided.has_changed() && !may_have_run(&decided.after.delivery);
        writes.extend(decided.changes()?);
    } else {
        // Its end came while another order held it.
        next.owed |= has_ended;
    }
    // Nothing is on a server that was wiped.
    if std::mem::take(&mut next.owed) && making.season().is_none() {
        let mut command = making.command(id, entry, player);
        command.lasting = Some(text.name.clone());
        if command.delivery.online || command.delayed {
            // What is bought before it runs recalls it.
            next.command = Some(id);
        }
        writes.extend(commands::put_new(&command, place_of(&command).as_ref())?);
    }
    Ok(writes)
}

/// The write of a new command that runs a text at its end.
fn at_end(
    making: &Making<'_>,
    (text, entry): (&Text<'_>, &Expanded<'_>),
    next: &mut Lasting,
    end: i64,
    (id, player): (CommandId, &str),
) -> Result<Vec<Write>, StoreError> {
    let mut command = making.command_after(id, entry, player, end);
    command.lasting = Some(text.name.clone());
    next.command = Some(id);
    commands::put_new(&command, place_of(&command).as_ref())
}

/// Whether a command that waits for an end is as it is published now, and for the player's present name: a text that does
/// not run at an end leaves it as it is.
fn is_as_published(making: &Making<'_>, (text, player): (&Text<'_>, &str), command: &Command, end: i64) -> bool {
    let published = text.entry.template;
    // However a name is written, it is the same player.
    let is_same = |one: &str, other: &str| one.to_lowercase() == other.to_lowercase();
    let is_as_made = || {
        command.delivery.online == published.online
            && command.delivery.once == published.once
            && command.delivery.due.saturating_sub(end) == i64::from(published.delay)
            && is_same(&command.player, player)
            && making.text(&text.entry, player).is_none_or(|made| is_same(&command.text, &made))
    };
    text.end.is_none() || is_as_made()
}

/// The writes after which a subscription's order holds its texts until `until` (seconds since 1970 UTC) on one server;
/// empty if it does not hold this one, or does so already.
pub(super) async fn set_end(
    db: &Db,
    text: &Text<'_>,
    order: &InternalId,
    until: i64,
    now: i64,
) -> Result<Vec<Write>, StoreError> {
    let mut rows = Rows::read(db, std::iter::once(text), &[]).await?;
    let (before, found) = rows.before(&text.key);
    let mut next = before.clone();
    let is_own = |holder: &&mut Holder| holder.order == *order && holder.line == text.entry.line.line;
    let Some(own) = next.holders.iter_mut().find(is_own) else { return Ok(Vec::new()) };
    own.lasts = Lasts::Until(until);
    if next == before {
        return Ok(Vec::new());
    }
    let mut writes = Vec::new();
    if let (Some(command), Some(from), Some(to)) =
        (found.filter(|command| waits(command, now)), before.end(), next.end())
        && from != to
    {
        writes.extend(moved(&command, from, to)?);
    }
    writes.extend(rows.put(&text.key, next)?);
    Ok(writes)
}

/// The keys of the texts that run when an item ends.
fn keys_of(item: &Key, ends: &ItemEnds) -> impl Iterator<Item = Key> {
    ends.texts.iter().map(|(server, text)| keys::held_beside(item, *server, text))
}
