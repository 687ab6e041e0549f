//! Commands as an owner sees them, and the owner's decisions about them.

use super::commands::{Decided, WRITES_AT_ONCE, in_transactions, place_of};
use super::follow::{all_ids, given_ids};
use super::{commands, deliveries, holding};
use crate::clock::Clock;
use crate::model::{
    Command, CommandEvent, CommandId, CommandState, Delivery, Entitlement, InternalId, Lasting, OrderDelivery,
    OrderLine, OrderStatus, ServerId, UserId, UserName,
};
use crate::rules::delivery::shown::{LineState, line_state};
use crate::rules::delivery::{Word, state_at, waits_long};
use crate::rules::refund::line_id;
use crate::shop::orders::{self, StoredOrder};
use crate::table::bulk::each;
use crate::table::codec::{Row, decode_live, key_of, noted};
use crate::table::keys::{self, Key, prefix};
use crate::table::transaction::{Write, send, sent};
use crate::table::{Db, StoreError, TURNS, Turns, in_turns};
use std::collections::BTreeSet;

/// Commands that were read one by one.
#[derive(Debug, Default)]
pub struct Listed {
    pub commands: Vec<Command>,
    /// The keys of those that cannot be read.
    pub unreadable: Vec<Key>,
}

/// The commands of an order by id, those that take it back last.
pub async fn listed_of(db: &Db, stored: &StoredOrder) -> Result<Listed, StoreError> {
    let Some(delivery) = &stored.effects.delivery else { return Ok(Listed::default()) };
    let (found, unreadable) = commands::read_each(db, all_ids(delivery)).await?;
    Ok(Listed { commands: found.into_values().collect(), unreadable })
}

/// As [`listed_of`], those that can be read.
pub async fn commands_of(db: &Db, stored: &StoredOrder) -> Result<Vec<Command>, StoreError> {
    listed_of(db, stored).await.map(|listed| listed.commands)
}

/// The delivery of a line of an order, as its buyer is shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineDelivery {
    /// The item's name when it was sold; empty if it was recorded without.
    pub name: String,
    pub state: LineState,
    /// Of a line that waits for its player to join: the player's name, and the servers.
    pub waits_for: Option<(String, Vec<ServerId>)>,
}

/// The delivery of each line of an order.
pub async fn lines_of(db: &Db, clock: &dyn Clock, stored: &StoredOrder) -> Result<Vec<LineDelivery>, StoreError> {
    let ids = stored.effects.delivery.as_ref().map(given_ids).unwrap_or_default();
    let commands: Vec<Command> = commands::read(db, ids.into_iter()).await?.into_values().collect();
    let is_on_its_way = stored.order.status == OrderStatus::Paid && stored.delivery_due();
    let entitlement = stored.effects.delivery.as_ref().map(|delivery| delivery.entitlement).unwrap_or_default();
    let lines = (0_u16..).zip(&stored.order.lines).map(|(place, line)| {
        let id = line_id(usize::from(place), line);
        let is_part = |part: &OrderLine| part.bundle.is_some_and(|of| of.line == id);
        let is_of_part = |place: u16| stored.order.lines.get(usize::from(place)).is_some_and(is_part);
        // A bundle is shown with all that its parts run.
        let is_of = |of: u16| of == place || is_of_part(of);
        let own = || commands.iter().filter(|command| is_of(command.line) && command.event == CommandEvent::Bought);
        let states = own().map(|command| state_at(&command.delivery, clock.seconds()));
        let name = line.chosen.as_ref().map_or_else(String::new, |chosen| chosen.name.clone());
        let state = line_state(states, entitlement, is_on_its_way);
        let kept: Vec<&Command> = own().filter(|command| command.delivery.state == CommandState::Kept).collect();
        let servers: BTreeSet<ServerId> = kept.iter().map(|command| command.server).collect();
        let first = kept.first().filter(|command| state == LineState::Join && !command.player.is_empty());
        let waits_for = first.map(|command| (command.player.clone(), servers.into_iter().collect()));
        LineDelivery { name, state, waits_for }
    });
    Ok(lines.collect())
}

/// Which commands are listed. What is `None` does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    pub server: Option<ServerId>,
    pub order: Option<InternalId>,
    /// Without regard to case.
    pub player: Option<String>,
    pub state: Option<CommandState>,
    /// Those that became due at this second (since 1970 UTC) or before.
    pub due_until: Option<i64>,
    /// Only those that wait for their player for longer than three days.
    pub waits_long: bool,
}

impl Filter {
    /// Whether a command is listed at `now`, seconds since 1970 UTC.
    #[must_use]
    pub fn matches(&self, command: &Command, now: i64) -> bool {
        let is_player = |player: &String| player.to_lowercase() == command.player.to_lowercase();
        self.server.is_none_or(|server| server == command.server)
            && self.order.as_ref().is_none_or(|order| *order == command.order)
            && self.player.as_ref().is_none_or(is_player)
            && self.state.is_none_or(|state| state == state_at(&command.delivery, now))
            && self.due_until.is_none_or(|until| command.delivery.due <= until)
            && (!self.waits_long || waits_long(&command.delivery, now))
    }
}

/// The commands that a filter lets through at `now` (seconds since 1970 UTC), the longest due first; `None` if there is no
/// such order, and no goal's commands have its id.
pub async fn matching(db: &Db, filter: &Filter, now: i64) -> Result<Option<Listed>, StoreError> {
    let mut found = Listed::default();
    let stored = match &filter.order {
        Some(order) => orders::get(db, order).await?,
        None => None,
    };
    if let Some(stored) = stored {
        found = listed_of(db, &stored).await?;
        found.commands.retain(|command| filter.matches(command, now));
    } else {
        let mut is_known = filter.order.is_none();
        each(db, prefix::COMMAND, |item| {
            let key = key_of(&item)?;
            match noted(decode_live::<Command>(&key, item)) {
                Some(command) => {
                    is_known |= filter.order.as_ref() == Some(&command.order);
                    found.commands.extend(filter.matches(&command, now).then_some(command));
                }
                None => found.unreadable.push(key),
            }
            Ok::<(), StoreError>(())
        })
        .await?;
        if !is_known {
            return Ok(None);
        }
    }
    found.commands.sort_by_key(|command| (command.delivery.due, command.id));
    Ok(Some(found))
}

/// Stops what a banned player has bought and what has not run, also what was made for a former name of the account; returns
/// how many commands. Reads every item.
pub async fn stop_banned(
    db: &Db,
    clock: &dyn Clock,
    name: &UserName,
    account: Option<UserId>,
) -> Result<usize, StoreError> {
    let filter = Filter { player: Some(name.to_string()), ..Filter::default() };
    let (now, mut commands, mut lines) = (clock.seconds(), Vec::new(), BTreeSet::new());
    each(db, "", |item| {
        let key = key_of(&item)?;
        if key.pk.starts_with(prefix::COMMAND) {
            let open = noted(decode_live::<Command>(&key, item)).filter(|command| place_of(command).is_some());
            commands
                .extend(open.map(|command| (command.id, filter.matches(&command, now), (command.order, command.line))));
        } else if keys::is_order(&key)
            && let Some(StoredOrder { order, .. }) = noted(StoredOrder::decode(&key, Row::from(item)))
        {
            let player = order.player();
            let is_its = |line: &OrderLine| account.is_some() && line.beneficiary(player) == account;
            let places = (0..).zip(&order.lines).filter(|(_, line)| is_its(line));
            lines.extend(places.map(|(place, _)| (order.internal_id.clone(), place)));
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    let is_its = |(_, is_named, line): &(CommandId, bool, (InternalId, u16))| *is_named || lines.contains(line);
    let ids: Vec<CommandId> = commands.iter().filter(|one| is_its(one)).map(|(id, ..)| *id).collect();
    stop(db, clock, &ids, StopReason::Banned).await
}

/// The outcome of what an owner decided about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnerOutcome {
    /// The command in its present state.
    Done(Command),
    /// It was sent again as this command.
    SentAgain(Command),
    /// Its state does not allow it.
    Refused(CommandState),
    /// Its order is not paid any more, was taken back, or moved to another player: what it gives would be a present.
    TakenBack,
    /// Its item has expired: nothing would end it again.
    Ended,
    /// It ends an item that was bought again since, which other commands end.
    LastsAgain,
    /// There is no such command.
    Unknown,
}

/// Cancels a command that has not run.
pub async fn cancel(db: &Db, clock: &dyn Clock, id: CommandId) -> Result<OwnerOutcome, StoreError> {
    decided(db, clock, id, Word::Cancel).await
}

/// Notes that the owner did by hand what a command does.
pub async fn done(db: &Db, clock: &dyn Clock, id: CommandId) -> Result<OwnerOutcome, StoreError> {
    decided(db, clock, id, Word::Done).await
}

/// Sends a command again, under a new id.
pub async fn retry(db: &Db, clock: &dyn Clock, id: CommandId) -> Result<OwnerOutcome, StoreError> {
    decided(db, clock, id, Word::Retry).await
}

async fn decided(db: &Db, clock: &dyn Clock, id: CommandId, word: Word) -> Result<OwnerOutcome, StoreError> {
    in_turns(TURNS, || async {
        let Some(mut command) = commands::get(db, id).await? else { return Ok(OwnerOutcome::Unknown) };
        holding::refresh(db, std::iter::once(&mut command)).await?;
        let now = clock.seconds();
        let mut decided = Decided::new(command, word, now);
        // One whose text was erased cannot run.
        if !decided.answer || (word == Word::Retry && decided.before.text.is_empty()) {
            return Ok(OwnerOutcome::Refused(state_at(&decided.before.delivery, now)));
        }
        let (mut writes, mut outcome) = (Vec::new(), OwnerOutcome::Done(decided.after.clone()));
        if word == Word::Retry {
            let stored = orders::get(db, &decided.before.order).await?;
            if stored.as_ref().is_some_and(|stored| is_taken_back(stored, &decided.before)) {
                return Ok(OwnerOutcome::TakenBack);
            }
            if decided.before.delivery.ends_at.is_some_and(|end| end <= now) {
                return Ok(OwnerOutcome::Ended);
            }
            let id = commands::reserve(db, 1).await?;
            let due = match replace(db, &decided.before, id, now).await? {
                Replaced::Not if decided.before.event == CommandEvent::Expired => decided.before.delivery.due.max(now),
                Replaced::Not => now,
                Replaced::By(write, due) => {
                    writes.extend(write.map(|write| *write));
                    due
                }
                Replaced::ByAnother => return Ok(OwnerOutcome::LastsAgain),
            };
            let again = again(&decided.before, id, due, now);
            decided.after.retried_as = Some(again.id);
            writes.extend(commands::put_new(&again, place_of(&again).as_ref())?);
            writes.extend(stored.map(|stored| of_order(&stored, &again)).transpose()?.flatten());
            outcome = OwnerOutcome::SentAgain(again);
        }
        writes.extend(decided.writes()?);
        send(db, writes).await?;
        Ok(outcome)
    })
    .await
}

/// The place of a command that is sent again among those that run a text.
enum Replaced {
    /// It runs no text that others can hold, or nothing is known of it.
    Not,
    /// The write after which a further purchase moves or recalls it, and when it is due, seconds since 1970 UTC.
    By(Option<Box<Write>>, i64),
    /// Another order holds the text, or another command runs it.
    ByAnother,
}

/// Replaces a command that takes something back by one under another id, which waits until no one holds its text.
async fn replace(db: &Db, command: &Command, by: CommandId, now: i64) -> Result<Replaced, StoreError> {
    let takes = !matches!(command.event, CommandEvent::Bought | CommandEvent::Renewed);
    let Some(key) = holding::texts_of(command).next().filter(|_| takes) else { return Ok(Replaced::Not) };
    let found = deliveries::lasting(db, [key.clone()].into()).await?.remove(&key);
    let read = found.clone().unwrap_or_default();
    let lasts = read.lasts(now);
    if lasts && (read.is_permanent() || read.command != Some(command.id)) {
        return Ok(Replaced::ByAnother);
    }
    // With its delay, as long as the end was not moved since.
    let due = read.end().filter(|_| lasts).map_or(now, |end| end.max(command.delivery.due));
    let write = deliveries::put_lasting(&key, found.as_ref(), &Lasting { command: Some(by), ..read })?;
    Ok(Replaced::By(write.map(Box::new), due))
}

/// The same command under a new id, ready at `due`.
fn again(before: &Command, id: CommandId, due: i64, now: i64) -> Command {
    let Delivery { online, once, ends_at, .. } = before.delivery;
    let state = if due > now { CommandState::Waiting } else { CommandState::Ready };
    let delivery = Delivery { online, once, ends_at, ..Delivery::new(state, due) };
    let (retried_as, retry_of, output) = (None, Some(before.id), None);
    Command { id, version: 0, retried_as, retry_of, paid_at: None, output, delivery, ..before.clone() }
}

/// Whether an order no longer gives what a command gives: it was taken back, or moved to another player.
pub(super) fn is_taken_back(stored: &StoredOrder, command: &Command) -> bool {
    let stands = |delivery: &OrderDelivery| {
        let is_present = delivery.moving.is_none() && given_ids(delivery).contains(&command.id);
        delivery.entitlement == Entitlement::Good && is_present
    };
    let is_paid = stored.order.status == OrderStatus::Paid && stored.effects.delivery.as_ref().is_none_or(stands);
    matches!(command.event, CommandEvent::Bought | CommandEvent::Renewed) && !is_paid
}

/// The write after which a refund of the order recalls the command too, on the condition that it stands as it was read.
fn of_order(stored: &StoredOrder, command: &Command) -> Result<Option<Write>, StoreError> {
    let Some(delivery) = &stored.effects.delivery else { return Ok(None) };
    with_further(stored, delivery, [command.id]).map(Some)
}

/// The write after which further commands are the order's, on the condition that it stands as it was read.
pub(super) fn with_further(
    stored: &StoredOrder,
    delivery: &OrderDelivery,
    ids: impl IntoIterator<Item = CommandId>,
) -> Result<Write, StoreError> {
    let mut next = delivery.clone();
    next.further.extend(ids);
    let (write, _) = stored.set_delivery(next)?;
    Ok(write)
}

/// The reason for which commands are stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The player is banned: what takes back, or ends, still runs.
    Banned,
    /// The player is erased: nothing runs, and the commands no longer name the player.
    Erased,
}

/// Stops commands that have not run. Returns how many it stopped. The same call may be repeated.
pub async fn stop(db: &Db, clock: &dyn Clock, ids: &[CommandId], reason: StopReason) -> Result<usize, StoreError> {
    let (mut left, mut stopped, mut turns) = (ids.to_vec(), 0, Turns::of(TURNS));
    while turns.next().await {
        let mut parts = Vec::new();
        for command in commands::read(db, left.iter().copied()).await?.into_values() {
            let stops = matches!(command.event, CommandEvent::Bought | CommandEvent::Renewed);
            if reason == StopReason::Banned && !stops {
                continue;
            }
            let (id, mut decided) =
                (command.id, Decided::new(command, Word::Recall(Entitlement::Stopped), clock.seconds()));
            let is_stopped = decided.has_changed() && decided.after.delivery.state == CommandState::Stopped;
            if reason == StopReason::Erased {
                decided.after.player.clear();
                decided.after.text.clear();
                (decided.after.player_id, decided.after.output) = (None, None);
            }
            if decided.after == decided.before {
                continue;
            }
            let mut writes = decided.writes()?;
            // The copy in the queue has the names too.
            let kept = place_of(&decided.after).filter(|place| Some(place) == place_of(&decided.before).as_ref());
            if let Some(place) = kept.filter(|_| reason == StopReason::Erased) {
                writes.push(commands::put_queued(&place, &decided.after)?);
            }
            parts.push(((id, is_stopped), writes));
        }
        left.clear();
        for (said, writes) in in_transactions(parts, WRITES_AT_ONCE) {
            let is_written = sent(db, writes).await?;
            stopped += said.iter().filter(|(_, is_stopped)| is_written && *is_stopped).count();
            left.extend(said.into_iter().filter(|_| !is_written).map(|(id, _)| id));
        }
        if left.is_empty() {
            return Ok(stopped);
        }
    }
    Err(StoreError::Contended)
}
