//! The step after a payment: the order holds the texts that take it back, and its commands are queued.

use super::commands::{WRITES_AT_ONCE, place_of};
use super::follow::{Following, Inputs, Step, id};
use super::holding::{Rows, WRITES_OF_TEXT};
use super::making::{Making, Players};
use super::take_back::{Ends, Text, ends, texts};
use super::{commands, deliveries};
use crate::model::{Command, CommandEvent, CommandId, DeliveryStep, LastingText, OrderDelivery, ServerId};
use crate::rules::delivery::frozen::Expanded;
use crate::table::StoreError;
use crate::table::transaction::Write;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// How many texts are read for one transaction.
const READ_AT_ONCE: usize = 40;

/// The texts of an order and its items with their ends: what it holds, in this order.
struct ToHold<'a> {
    texts: Vec<Text<'a>>,
    ends: Vec<Ends>,
}

impl ToHold<'_> {
    fn len(&self) -> usize {
        self.texts.len() + self.ends.len()
    }
}

/// A transaction while it is made.
struct Part {
    writes: Vec<Write>,
    held: usize,
    /// Ids of commands beyond the order's own.
    further: Vec<CommandId>,
}

impl Following<'_> {
    /// Holds a part of what takes a paid order back, and queues a part of its commands.
    pub(super) async fn queue(&self) -> Result<Step, StoreError> {
        let all = self.paid();
        let texts = texts(self.stored, self.frozen, &all);
        let to_hold = ToHold { ends: ends(self.stored, self.frozen, &texts), texts };
        let (held, mut place) = (usize::try_from(self.delivery.held).unwrap_or(usize::MAX), self.place());
        if held >= to_hold.len() && place >= all.len() {
            return self.mark(self.not_moving(self.begin(DeliveryStep::Queued)), Vec::new()).await;
        }
        let window: &[Text<'_>] = to_hold.texts.get(held..).unwrap_or_default();
        let window = &window[..window.len().min(READ_AT_ONCE)];
        let items = if held < to_hold.len() { to_hold.ends.as_slice() } else { &[] };
        let inputs = self.inputs(self.delivery.first, all.len());
        let (inputs, mut rows) = tokio::try_join!(inputs, Rows::read(self.db, window.iter(), items))?;
        let Inputs { players, servers, access, first, made } = inputs;
        let making = self.making(&players, servers.as_deref(), access);
        let mut part = Part { writes: Vec::new(), held, further: self.delivery.further.clone() };
        self.hold(&making, &to_hold, &mut rows, first, &mut part).await?;
        if part.held >= to_hold.len() {
            let mut ends_at = BTreeMap::new();
            let mut checked = BTreeSet::new();
            while let Some(entry) = all.get(place).filter(|_| part.writes.len() + 3 < WRITES_AT_ONCE) {
                let new = id(first, place)?;
                part.writes.extend(self.command(&making, &to_hold, &rows, (entry, new, first), &mut ends_at).await?);
                // One player may be written in several ways.
                let player = making.player(entry);
                let ban = player.filter(|player| !players.is_banned(player)).and_then(|player| Players::ban(&player));
                let ban = ban.filter(|ban| checked.insert(ban.clone()));
                part.writes.extend(ban.map(|ban| Write::check(ban).only_if_absent()));
                place += 1;
            }
        }
        let is_all = part.held >= to_hold.len();
        let next = if is_all { self.at(place, all.len(), DeliveryStep::Queued) } else { self.delivery.clone() };
        // An order that holds nothing has done so as well.
        let held = u32::try_from(part.held).unwrap_or(u32::MAX).max(u32::from(is_all));
        let next = OrderDelivery { first: Some(first), made, held, further: part.further, ..next };
        let next = if next.step == DeliveryStep::Queued { self.not_moving(next) } else { next };
        self.mark(next, part.writes).await
    }

    /// Holds as many texts, and then items, as one transaction takes.
    async fn hold(
        &self,
        making: &Making<'_>,
        to_hold: &ToHold<'_>,
        rows: &mut Rows,
        first: CommandId,
        part: &mut Part,
    ) -> Result<(), StoreError> {
        let begun = part.held;
        while let Some(text) = to_hold.texts.get(part.held).filter(|_| part.held < begun + READ_AT_ONCE) {
            if part.writes.len() + WRITES_OF_TEXT > WRITES_AT_ONCE || rows.is_written(&text.key) {
                return Ok(());
            }
            if let Some(player) = making.player(&text.entry) {
                let own = text.end.map(|place| id(first, place)).transpose()?;
                let new = match own {
                    Some(own) => own,
                    // It is needed if what others left, or were to end, has to run at another end.
                    None if text.entry.line.expires() && rows.get(&text.key).is_some() => {
                        commands::reserve(self.db, 1).await?
                    }
                    None => first,
                };
                let ends = to_hold.ends.iter().find(|ends| ends.texts.contains(&text.on_server()));
                part.writes.extend(rows.hold(making, text, ends, (new, &player))?);
                let is_used = rows.get(&text.key).is_some_and(|held| held.command == Some(new));
                part.further.extend((is_used && own.is_none()).then_some(new));
            }
            part.held += 1;
        }
        while let Some(place) = part.held.checked_sub(to_hold.texts.len()) {
            let Some(ends) = to_hold.ends.get(place) else { return Ok(()) };
            let own = self.frozen.lines.iter().find(|line| line.line == ends.line);
            // An older period of a subscription decides nothing.
            if own.is_some_and(|line| making.lasts(line).is_some()) {
                let most = WRITES_AT_ONCE.saturating_sub(part.writes.len());
                let (writes, is_all) = if making.moves {
                    // What the player has bought since is published later.
                    (rows.add_ends(ends)?.into_iter().collect(), true)
                } else {
                    rows.replace_ends(ends, self.now, most)?
                };
                part.writes.extend(writes);
                if !is_all {
                    return Ok(());
                }
            }
            part.held += 1;
        }
        Ok(())
    }

    /// The writes of a command of the payment; none if it runs at an end that others may hold.
    async fn command(
        &self,
        making: &Making<'_>,
        to_hold: &ToHold<'_>,
        rows: &Rows,
        (entry, id, first): (&Expanded<'_>, CommandId, CommandId),
        ends_at: &mut BTreeMap<(u16, ServerId), Option<i64>>,
    ) -> Result<Vec<Write>, StoreError> {
        let Some(player) = making.player(entry) else { return Ok(Vec::new()) };
        let is_of_line = |text: &&Text<'_>| text.end.is_some() && text.entry.line.line == entry.line.line;
        let on_server = |text: &&Text<'_>| is_of_line(text) && text.entry.server == entry.server;
        let command = if entry.template.on == CommandEvent::Expired {
            let is_shared = !entry.is_of_purchase() && to_hold.texts.iter().any(|text| is_of_line(&text));
            let Some(end) = making.own_end(entry).filter(|end| !is_shared && self.now < *end) else {
                return Ok(Vec::new());
            };
            let ends = self.given_by(entry.line.line, first)?;
            Command { ends, ..making.command_after(id, entry, &player, end) }
        } else if making.moves && making.is_over(entry) {
            return Ok(Vec::new());
        } else {
            let mut command = making.command(id, entry, &player);
            command.paid_at = self.paid_at();
            // What ends with the purchase runs until that end. All that a subscription gives ends with its access.
            let ends_alone = making.ends_alone(entry) && !entry.line.renews;
            let texts: Vec<&Text<'_>> = to_hold.texts.iter().filter(on_server).collect();
            if let Some((text, others)) = texts.split_first().filter(|_| !ends_alone) {
                let last = match ends_at.entry((entry.line.line, entry.server)) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(unknown) => {
                        let unread = texts.iter().filter(|text| rows.get(&text.key).is_none());
                        let read = deliveries::ends(self.db, unread.map(|text| text.key.clone()).collect()).await?;
                        let held = texts.iter().filter_map(|text| rows.get(&text.key)?.until());
                        *unknown.insert(held.chain(read.into_values()).max())
                    }
                };
                // What is over already is too late in any case.
                command.delivery.ends_at = last.or_else(|| making.own_end(entry));
                let also = others.iter().map(|text| text.name.text.clone()).collect();
                command.lasting = Some(LastingText { also, ..text.name.clone() });
            } else if making.moves && making.own_end(entry).is_some_and(|end| end <= self.now) {
                return Ok(Vec::new());
            } else if entry.template.online && making.ends_on(entry) {
                // What runs without a player runs before its end, however late.
                command.delivery.ends_at = making.own_end(entry);
            }
            command
        };
        commands::put_new(&command, place_of(&command).as_ref())
    }

    /// When the order was paid, seconds since 1970 UTC, if what it gives is queued for the first time because of that.
    fn paid_at(&self) -> Option<i64> {
        let delivery = self.delivery;
        let is_first = delivery.moving.is_none() && delivery.earlier.is_empty() && !delivery.restored;
        self.stored.effects.paid_at.filter(|_| is_first && self.given_event() == CommandEvent::Bought)
    }

    /// The block of the commands that a line gives, which follow each other.
    fn given_by(&self, line: u16, first: CommandId) -> Result<Option<(CommandId, u32)>, StoreError> {
        let all = self.paid();
        let is_given = |entry: &Expanded<'_>| entry.line.line == line && entry.template.on != CommandEvent::Expired;
        let Some(place) = all.iter().position(is_given) else { return Ok(None) };
        let count = u32::try_from(all.iter().filter(|entry| is_given(entry)).count()).unwrap_or(u32::MAX);
        Ok(Some((id(first, place)?, count)))
    }
}
