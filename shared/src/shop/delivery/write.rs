//! Writing what was decided about commands.

use super::commands;
use crate::model::{Command, CommandState, Entitlement};
use crate::rules::delivery::{Outcome, Place, Word, decide, place, state_at};
use crate::table::keys::{self, Key};
use crate::table::transaction::{Write, sent};
use crate::table::{Db, StoreError};

/// The most writes of a transaction that is not limited otherwise. The database takes a hundred.
pub(super) const WRITES_AT_ONCE: usize = 90;

/// The place of a command in its server's queue.
pub fn place_of(command: &Command) -> Option<Key> {
    let delivery = &command.delivery;
    match place(delivery.state) {
        Place::Queue => Some(keys::queued(command.server, delivery.due, command.id)),
        Place::Open(state) => {
            let since = match state {
                CommandState::Kept => delivery.delivered_at,
                CommandState::Validated => delivery.silent_at,
                CommandState::Refused => delivery.refused_at,
                _ => None,
            };
            Some(keys::open_command(command.server, state, since.unwrap_or(delivery.due), command.id))
        }
        Place::Gone => None,
    }
}

/// Whether a command waits until it is due.
pub(super) fn waits(command: &Command, now: i64) -> bool {
    command.delivery.entitlement == Entitlement::Good && state_at(&command.delivery, now) == CommandState::Waiting
}

/// The writes after which a command waits for another end, and for its delay after that.
pub(super) fn moved(command: &Command, before: i64, end: i64) -> Result<Vec<Write>, StoreError> {
    if before == end {
        return Ok(Vec::new());
    }
    let mut after = command.clone();
    after.delivery.due = end.saturating_add(command.delivery.due.saturating_sub(before));
    commands::change(command, &after, place_of(command), place_of(&after).as_ref())
}

/// A command with what was decided about it.
pub(super) struct Decided {
    pub(super) before: Command,
    pub(super) after: Command,
    pub(super) answer: bool,
}

impl Decided {
    pub(super) fn new(before: Command, word: Word, now: i64) -> Self {
        let Outcome { next, answer } = decide(&before.delivery, word, now);
        Self { after: Command { delivery: next, ..before.clone() }, before, answer }
    }

    /// Keeps the game server's answer with what is new. An erased command keeps none.
    pub(super) fn with_output(mut self, output: &str) -> Self {
        let is_new = self.before.output.is_none() || self.before.delivery.state != self.after.delivery.state;
        if is_new && !output.is_empty() && !self.before.player.is_empty() {
            // It is shown in terminals.
            let shown = output.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
            self.after.output = Some(shown.collect());
        }
        self
    }

    /// Whether it has changed, except that what waited is due by now.
    pub(super) fn has_changed(&self) -> bool {
        let (before, after) = (&self.before.delivery, &self.after.delivery);
        let is_due = before.state == CommandState::Waiting && after.state == CommandState::Ready;
        let is_decided = before != after && !(is_due && after.entitlement == before.entitlement);
        is_decided || self.before.output != self.after.output
    }

    /// The writes of what has changed; empty if nothing has.
    pub(super) fn changes(&self) -> Result<Vec<Write>, StoreError> {
        if self.has_changed() { self.writes() } else { Ok(Vec::new()) }
    }

    /// The writes of the change, on the condition that the command is as it was read.
    pub(super) fn writes(&self) -> Result<Vec<Write>, StoreError> {
        commands::change(&self.before, &self.after, place_of(&self.before), place_of(&self.after).as_ref())
    }
}

/// Writes what was decided, in as many transactions as needed. If a command has changed since it was read, those of its
/// transaction stay as they are, and it is a lost race once the others are written.
pub(super) async fn write_all(db: &Db, decided: Vec<Decided>) -> Result<(), StoreError> {
    let mut parts = Vec::new();
    for decided in decided.into_iter().filter(Decided::has_changed) {
        parts.push(((), decided.writes()?));
    }
    let mut is_written = true;
    for (_, writes) in in_transactions(parts, WRITES_AT_ONCE) {
        is_written &= sent(db, writes).await?;
    }
    if is_written { Ok(()) } else { Err(StoreError::Contended) }
}

/// Divides writes that belong together into transactions.
pub(in crate::shop) fn in_transactions<T>(parts: Vec<(T, Vec<Write>)>, most: usize) -> Vec<(Vec<T>, Vec<Write>)> {
    let mut all: Vec<(Vec<T>, Vec<Write>)> = Vec::new();
    for (thing, writes) in parts {
        match all.last_mut().filter(|(_, last)| last.len() + writes.len() <= most) {
            Some((things, last)) => {
                things.push(thing);
                last.extend(writes);
            }
            None => all.push((vec![thing], writes)),
        }
    }
    all
}
