//! The step after units of a line were refunded while the order stays paid. What they gave is taken back once nothing of the
//! line can run any more; the rest of the line goes on, and ends as the rest.

use super::commands;
use super::commands::{Decided, WRITES_AT_ONCE, place_of, waits, write_all};
use super::follow::{Following, Inputs, Step, id, is_given, is_own_end};
use super::holding::{Rows, WRITES_OF_TEXT};
use super::making::Making;
use super::take_back::{Back, Text, backs, name_of, texts};
use crate::model::{Command, CommandEvent, CommandId, Entitlement, Money, OrderDelivery, TakenUnits};
use crate::rules::delivery::frozen::{Expanded, when_paid, when_taken_back};
use crate::rules::delivery::{Word, can_still_run};
use crate::shop::orders::StoredOrder;
use crate::table::StoreError;
use crate::table::transaction::Write;
use std::collections::BTreeSet;

/// The order as the units of a line see it: before they are taken, they alone, and without them.
struct Views {
    before: StoredOrder,
    taken: StoredOrder,
    rest: StoredOrder,
}

/// What takes units back, in this order.
struct Plan<'a> {
    /// The ends of this order alone, whose texts count units.
    ends: Vec<Expanded<'a>>,
    backs: Vec<Back<'a>>,
    /// The texts of the line.
    texts: Vec<Text<'a>>,
}

impl Plan<'_> {
    /// The text at a place after ends and commands: its time becomes shorter.
    fn shorter(&self, place: usize, left: u32) -> Option<&Text<'_>> {
        self.texts.get(place.checked_sub(self.ends.len() + self.backs.len())?).filter(|_| left > 0)
    }

    fn len(&self, left: u32) -> usize {
        self.ends.len() + self.backs.len() + if left > 0 { self.texts.len() } else { 0 }
    }
}

impl Following<'_> {
    /// Takes back what the first of the refunded units gave.
    pub(super) async fn take_units(&self, units: &TakenUnits) -> Result<Step, StoreError> {
        let decide = |command: Command| {
            let is_recalled = units.left == 0 && command.delivery.entitlement == Entitlement::Good;
            let word = if is_recalled { Word::Recall(Entitlement::Refunded) } else { Word::Silence };
            Decided::new(command, word, self.now)
        };
        let of_line = |command: &Command| command.line == units.line;
        let (given, mut queued): (Vec<Command>, Vec<Command>) =
            self.queued().await?.into_iter().filter(of_line).partition(is_given);
        let decided: Vec<Decided> = given.into_iter().map(decide).collect();
        let given: Vec<Command> = decided.iter().map(|decided| decided.after.clone()).collect();
        write_all(self.db, decided).await?;
        if given.iter().any(|command| can_still_run(&command.delivery, self.now)) {
            return Ok(Step::Waits);
        }
        queued.extend(given);
        self.take_part(units, &queued).await
    }

    /// Writes a part of what takes units back.
    async fn take_part(&self, units: &TakenUnits, queued: &[Command]) -> Result<Step, StoreError> {
        let views = self.views(units);
        let plan = self.plan(units, &views);
        let (mut place, len) = (self.place(), plan.len(units.left));
        let inputs = self.inputs(units.first, len);
        let (inputs, mut rows) = tokio::try_join!(inputs, Rows::read(self.db, plan.texts.iter(), &[]))?;
        let own: Vec<&Command> =
            queued.iter().filter(|command| is_own_end(command) && waits(command, self.now)).collect();
        let Inputs { players, servers, first, .. } = inputs;
        let making = |stored| Making {
            stored,
            frozen: self.frozen,
            players: &players,
            servers: servers.as_deref(),
            access: None,
            moves: false,
            now: self.now,
        };
        let (before, taken, rest) = (making(&views.before), making(&views.taken), making(&views.rest));
        let (mut writes, mut further, mut used) = (Vec::new(), self.delivery.further.clone(), BTreeSet::new());
        while place < len && writes.len() + WRITES_OF_TEXT <= WRITES_AT_ONCE {
            let new = id(first, place)?;
            if let Some(entry) = plan.ends.get(place) {
                let ended =
                    own.iter().find(|command| !used.contains(&command.id) && is_end(command, &before, entry, new));
                if let Some(command) = ended {
                    used.insert(command.id);
                    let (more, is_new) = shorter_end(command, &rest, entry, (new, units.left))?;
                    writes.extend(more);
                    further.extend(is_new.then_some(new));
                }
            } else if let Some(back) = plan.backs.get(place - plan.ends.len()) {
                let Some(more) = self.take_one((&plan, back), &mut rows, &taken, queued, new)? else { break };
                writes.extend(more);
            } else if let Some(text) = plan.shorter(place, units.left) {
                if rows.is_written(&text.key) {
                    break;
                }
                let after = i64::from(text.entry.line.expires_after.unwrap_or_default());
                let less = after.saturating_mul(i64::from(units.count));
                writes.extend(rows.shorten(&self.stored.order.internal_id, text, less, self.now)?);
            }
            place += 1;
        }
        self.mark(self.after_part(first, (place, len), further), writes).await
    }

    /// The writes of a command that takes units back, or lets go of its text; `None` if its text was written already.
    fn take_one(
        &self,
        (plan, back): (&Plan<'_>, &Back<'_>),
        rows: &mut Rows,
        taken: &Making<'_>,
        queued: &[Command],
        id: CommandId,
    ) -> Result<Option<Vec<Write>>, StoreError> {
        let text = back.text.and_then(|(place, holds)| Some((plan.texts.get(place)?, holds)));
        if text.is_some_and(|(text, _)| rows.is_written(&text.key)) {
            return Ok(None);
        }
        let ran = taken.has_to_take(&back.entry, queued, self.delivery.restored);
        let writes = match (text, taken.player(&back.entry)) {
            (Some((text, holds)), Some(player)) => {
                rows.release(taken, (text, &back.entry), (holds, back.is_due && ran), (id, &player))?
            }
            (None, Some(player)) if ran => {
                let command = taken.command(id, &back.entry, &player);
                commands::put_new(&command, place_of(&command).as_ref())?
            }
            _ => Vec::new(),
        };
        Ok(Some(writes))
    }

    /// The mark at a place among what takes the first units back; at its end they are done.
    fn after_part(&self, first: CommandId, (place, len): (usize, usize), further: Vec<CommandId>) -> OrderDelivery {
        let mut next = OrderDelivery { further, ..self.delivery.clone() };
        if place < len {
            next.next = u32::try_from(place).unwrap_or(u32::MAX);
            if let Some(units) = next.units.first_mut() {
                units.first = Some(first);
            }
        } else {
            next.next = 0;
            next.units.drain(..next.units.len().min(1));
            next.earlier.extend((len > 0).then(|| (first, u32::try_from(len).unwrap_or(u32::MAX))));
        }
        next
    }

    fn views(&self, units: &TakenUnits) -> Views {
        let with = |count: u32, total: Money| {
            let mut stored = self.stored.clone();
            if let Some(line) = stored.order.lines.get_mut(usize::from(units.line)) {
                (line.count, line.total) = (count, total);
            }
            stored
        };
        Views {
            before: with(units.count.saturating_add(units.left), units.total + units.left_total),
            taken: with(units.count, units.total),
            rest: with(units.left, units.left_total),
        }
    }

    fn plan(&self, units: &TakenUnits, views: &Views) -> Plan<'_> {
        let is_own = |entry: &Expanded<'_>| entry.line.line == units.line;
        let lines = &views.taken.order.lines;
        let mut ends = when_paid(self.frozen, lines, CommandEvent::Bought);
        ends.retain(|entry| is_own(entry) && entry.template.on == CommandEvent::Expired && entry.is_of_purchase());
        let mut texts =
            texts(&views.before, self.frozen, &when_paid(self.frozen, &views.before.order.lines, CommandEvent::Bought));
        texts.retain(|text| is_own(&text.entry));
        let mut commands = when_taken_back(self.frozen, lines, false);
        // What counts no units is taken with the last of them.
        commands.retain(|entry| is_own(entry) && (units.left == 0 || entry.is_of_purchase()));
        let held = if units.left == 0 { texts.len() } else { 0 };
        let backs = backs(commands, &texts, held, |entry| name_of(&views.taken, self.frozen, entry));
        Plan { ends, backs, texts }
    }
}

/// Whether a command is the end of units as they were before.
fn is_end(command: &Command, before: &Making<'_>, entry: &Expanded<'_>, id: CommandId) -> bool {
    let made = before.player(entry).map(|player| before.command(id, entry, &player));
    command.server == entry.server && made.is_some_and(|made| made.text == command.text)
}

/// The writes after which an end takes only what is left of its units, and whether they make a new command.
fn shorter_end(
    command: &Command,
    rest: &Making<'_>,
    entry: &Expanded<'_>,
    (id, left): (CommandId, u32),
) -> Result<(Vec<Write>, bool), StoreError> {
    let decided = Decided::new(command.clone(), Word::Recall(Entitlement::Superseded), rest.now);
    let mut writes = decided.changes()?;
    let player = rest.player(entry).filter(|_| left > 0 && !entry.template.per_unit);
    if let Some(player) = &player {
        let end = command.delivery.due.saturating_sub(i64::from(entry.template.delay));
        let next = Command { ends: command.ends, ..rest.command_after(id, entry, player, end) };
        writes.extend(commands::put_new(&next, place_of(&next).as_ref())?);
    }
    Ok((writes, player.is_some()))
}
