//! Named runs of the owner's, with a row for each name: a game server was reset, or lost what it had since a backup, and what it gave
//! runs again.

use super::commands::{Decided, WRITES_AT_ONCE, place_of};
use super::follow::{access, delivered, given_ids, id};
use super::making::{Access, Making, Players};
use super::owner::{Filter, is_taken_back, matching, with_further};
use super::{commands, deliveries, holding};
use crate::clock::Clock;
use crate::model::{
    Command, CommandEvent, CommandId, CommandState, DeliveryRun, DeliveryStep, FrozenCommands, InternalId,
    OrderDelivery, OwnerRun, RunName, Server,
};
use crate::rules::delivery::frozen::{Expanded, when_paid};
use crate::rules::delivery::{Word, can_be_lost, given_at};
use crate::rules::dispute::is_taken_back as is_disputed;
use crate::shop::orders::{self, StoredOrder};
use crate::table::keys::{self, Key};
use crate::table::published::read_active_version;
use crate::table::transaction::{Write, send, sent};
use crate::table::{Db, StoreError, TURNS, in_turns, read_live};
use serde::Serialize;
use std::collections::BTreeSet;

/// The most writes of a command that runs again: its own three, those of its successor, and the condition that its player is
/// not banned.
const WRITES_OF_COMMAND: usize = 6;

/// The reason for which a run leaves a command out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// Its order was refunded or disputed.
    TakenBack,
    /// Its units were refunded, as far as they were.
    UnitsRefunded,
    /// Its player is banned.
    Banned,
    /// Its player's account was erased.
    Erased,
    /// What it gave has ended by itself.
    Ended,
    /// The game server has it, or may still run it.
    OnItsWay,
    /// The owner did it by hand.
    DoneByHand,
    /// Its item gives nothing on the server now.
    GivesNothing,
    /// It cannot be made again from what was published when it was bought.
    NotMade,
}

/// The commands of an order that a run sends again, with their successors, and those that it leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrderRun {
    pub again: Vec<(Command, Command)>,
    pub left_out: Vec<(Command, LeftOut)>,
}

/// The orders that a run is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunOrders {
    pub orders: BTreeSet<InternalId>,
    /// The keys of commands that cannot be read.
    pub unreadable: Vec<Key>,
}

/// The orders with commands that a run is about. Reads every item.
pub async fn orders_of(db: &Db, name: &RunName, run: &DeliveryRun, now: i64) -> Result<RunOrders, StoreError> {
    let filter = Filter { server: Some(run.server), ..Filter::default() };
    let found = matching(db, &filter, now).await?.unwrap_or_default();
    let own = found.commands.into_iter().filter(|command| is_of(command, name, run));
    Ok(RunOrders { orders: own.map(|command| command.order).collect(), unreadable: found.unreadable })
}

/// Whether a run is about a command, whatever becomes of it.
fn is_of(command: &Command, name: &RunName, run: &DeliveryRun) -> bool {
    let is_in_time = given_at(&command.delivery).is_some_and(|at| (run.since..run.until).contains(&at));
    command.server == run.server
        && command.event == CommandEvent::Bought
        && run.item.is_none_or(|item| item == command.item)
        && command.retried_as.is_none()
        && !command.runs.contains(name)
        && is_in_time
}

/// What a run does about an order. Changes nothing.
pub async fn preview(
    db: &Db,
    clock: &dyn Clock,
    (name, run): (&RunName, &DeliveryRun),
    order: &InternalId,
) -> Result<OrderRun, StoreError> {
    let plan = Plan::read(db, (name, run), order, clock.seconds()).await?;
    Ok(plan.map(|plan| plan.run).unwrap_or_default())
}

/// Lets the commands of an order run again that the run is about. After an error the same call continues, and the same call
/// later does nothing more.
pub async fn run_again(
    db: &Db,
    clock: &dyn Clock,
    (name, run): (&RunName, &DeliveryRun),
    order: &InternalId,
) -> Result<OrderRun, StoreError> {
    let mut done = OrderRun::default();
    loop {
        let turn = in_turns(TURNS, || async {
            let Some(mut plan) = Plan::read(db, (name, run), order, clock.seconds()).await? else { return Ok(None) };
            let left_out = std::mem::take(&mut plan.run.left_out);
            Ok(Some((left_out, plan.write(db, clock.seconds()).await?)))
        });
        let Some((left_out, written)) = turn.await? else { return Ok(done) };
        done.left_out = left_out;
        if written.is_empty() {
            return Ok(done);
        }
        done.again.extend(written);
    }
}

struct Plan {
    stored: StoredOrder,
    run: OrderRun,
}

impl Plan {
    /// `None` if there is nothing to do.
    async fn read(
        db: &Db,
        (name, run): (&RunName, &DeliveryRun),
        order: &InternalId,
        now: i64,
    ) -> Result<Option<Self>, StoreError> {
        let Some(stored) = orders::get(db, order).await? else { return Ok(None) };
        let Some(delivery) = &stored.effects.delivery else { return Ok(None) };
        let mut given: Vec<Command> =
            commands::read(db, given_ids(delivery).into_iter()).await?.into_values().collect();
        if !given.iter().any(|command| is_of(command, name, run)) {
            return Ok(None);
        }
        holding::refresh(db, given.iter_mut()).await?;
        let (players, frozen, active, access) = tokio::try_join!(
            Players::read(db, &stored.order),
            deliveries::frozen(db, order),
            read_active_version(db),
            access(db, &stored),
        )?;
        let servers = active.map(|active| active.config.delivery.servers);
        let order = Order { stored: &stored, frozen: &frozen, players: &players, access, now };
        let run = order.judge(given, name, run, servers.as_deref());
        Ok(Some(Self { stored, run }))
    }

    /// Writes as many commands as one transaction takes, and returns them.
    async fn write(mut self, db: &Db, now: i64) -> Result<Vec<(Command, Command)>, StoreError> {
        if self.run.again.is_empty() {
            return Ok(Vec::new());
        }
        self.run.again.truncate(WRITES_AT_ONCE / WRITES_OF_COMMAND);
        let mut again = self.run.again;
        let first = commands::reserve(db, u32::try_from(again.len()).unwrap_or(u32::MAX)).await?;
        let (mut writes, mut bans) = (Vec::new(), BTreeSet::new());
        for (place, (before, next)) in again.iter_mut().enumerate() {
            next.id = id(first, place)?;
            let mut lost = Decided::new(before.clone(), Word::Lost, now);
            lost.after.retried_as = Some(next.id);
            writes.extend(lost.writes()?);
            writes.extend(commands::put_new(next, place_of(next).as_ref())?);
            bans.extend(Players::ban(&next.player));
        }
        let Some(delivery) = &self.stored.effects.delivery else { return Ok(Vec::new()) };
        writes.push(with_further(&self.stored, delivery, again.iter().map(|(_, next)| next.id))?);
        writes.extend(bans.into_iter().map(|ban| Write::check(ban).only_if_absent()));
        send(db, writes).await?;
        Ok(again)
    }
}

/// An order, and the inputs of its new commands.
struct Order<'a> {
    stored: &'a StoredOrder,
    frozen: &'a FrozenCommands,
    players: &'a Players,
    access: Option<Access>,
    now: i64,
}

impl Order<'_> {
    /// Decides about each command of the order that the run is about.
    fn judge(&self, given: Vec<Command>, name: &RunName, run: &DeliveryRun, servers: Option<&[Server]>) -> OrderRun {
        // Before and without the units that were refunded. A run knows what is to run, also after a restore.
        let mut before = self.stored.clone();
        before.effects.delivery = before.effects.delivery.map(|delivery| OrderDelivery { restored: false, ..delivery });
        let left = delivered(&before);
        let making = |stored| Making {
            stored,
            frozen: self.frozen,
            players: self.players,
            servers,
            access: self.access,
            moves: false,
            now: self.now,
        };
        let views = (making(&before), making(&left));
        let entries = |stored: &StoredOrder| {
            let mut all = when_paid(self.frozen, &stored.order.lines, CommandEvent::Bought);
            all.retain(|entry| entry.template.on == CommandEvent::Bought && entry.server == run.server);
            all
        };
        let (all, mut unused) = (entries(&before), entries(&left));
        let (own, others): (Vec<Command>, Vec<Command>) =
            given.into_iter().partition(|command| is_of(command, name, run));
        // What gives, or has given, takes its place among the units that are left.
        for other in others.iter().filter(|other| uses_units(other)) {
            take(&mut unused, &views, other);
        }
        let mut found = OrderRun::default();
        for command in own {
            match self.again(&command, &views, (&all, &mut unused), name) {
                Ok(next) => found.again.push((command, next)),
                Err(reason) => found.left_out.push((command, reason)),
            }
        }
        found
    }

    /// The command in the place of one that was lost.
    fn again(
        &self,
        command: &Command,
        views: &(Making<'_>, Making<'_>),
        (all, unused): (&[Expanded<'_>], &mut Vec<Expanded<'_>>),
        name: &RunName,
    ) -> Result<Command, LeftOut> {
        let delivery = self.stored.effects.delivery.as_ref();
        if is_taken_back(self.stored, command) || is_disputed(&self.stored.effects) {
            return Err(LeftOut::TakenBack);
        }
        if delivery.is_some_and(|delivery| delivery.step != DeliveryStep::Queued || !delivery.units.is_empty()) {
            return Err(LeftOut::OnItsWay);
        }
        if command.delivery.state == CommandState::Done {
            return Err(LeftOut::DoneByHand);
        }
        if !can_be_lost(&command.delivery, self.now) {
            return Err(LeftOut::OnItsWay);
        }
        let Some(entry) = take(unused, views, command) else {
            let is_known = all.iter().any(|entry| is_made_of(entry, views, command));
            return Err(if is_known { LeftOut::UnitsRefunded } else { LeftOut::NotMade });
        };
        let making = &views.1;
        let player = making.player(&entry).ok_or(LeftOut::Erased)?;
        if self.players.is_banned(&player) {
            return Err(LeftOut::Banned);
        }
        if making.text(&entry, &player).is_none() || !making.is_published(entry.server) {
            return Err(LeftOut::NotMade);
        }
        let ends_at = self.ends_at(command, &entry)?;
        let mut next = making.command(CommandId::FIRST, &entry, &player);
        next.delivery.ends_at = ends_at;
        next.lasting.clone_from(&command.lasting);
        next.retry_of = Some(command.id);
        next.runs = command.runs.iter().chain([name]).cloned().collect();
        Ok(next)
    }

    /// From when on the command is not served, seconds since 1970 UTC; an error if that is over, or what it gave is.
    fn ends_at(&self, command: &Command, entry: &Expanded<'_>) -> Result<Option<i64>, LeftOut> {
        let line = self.stored.order.lines.get(usize::from(command.line));
        // What counts units ends one period after the purchase, whatever its units.
        let units = line.filter(|_| !entry.is_of_purchase()).map_or(1, |line| line.count);
        let lasts = entry.line.expires_after.map(|after| i64::from(after).saturating_mul(i64::from(units)));
        let of_line = match self.access.filter(|_| entry.line.renews) {
            Some(access) => Some(access.until),
            None => lasts.map(|lasts| command.delivery.due.saturating_add(lasts)),
        };
        let known = if entry.line.renews && command.lasting.is_none() { None } else { command.delivery.ends_at };
        match known.or(of_line) {
            Some(end) if end <= self.now => Err(LeftOut::Ended),
            end => Ok(command.delivery.ends_at.and(end)),
        }
    }
}

/// Whether units of its line are used for what a command gives, or has given.
fn uses_units(command: &Command) -> bool {
    use CommandState::{Cancelled, Recalled, Refused, Retried, Stopped};
    let is_void = matches!(command.delivery.state, Cancelled | Recalled | Refused | Retried | Stopped);
    command.event == CommandEvent::Bought && command.retried_as.is_none() && !is_void
}

/// Whether a command was made of this entry, for its player of that time.
fn is_made_of(entry: &Expanded<'_>, (before, left): &(Making<'_>, Making<'_>), command: &Command) -> bool {
    let is_same = |making: &Making<'_>| making.text(entry, &command.player).as_ref() == Some(&command.text);
    (entry.line.line, entry.server) == (command.line, command.server) && (is_same(before) || is_same(left))
}

/// Takes the entry that a command was made of out of those that are unused.
fn take<'a>(
    unused: &mut Vec<Expanded<'a>>,
    views: &(Making<'_>, Making<'_>),
    command: &Command,
) -> Option<Expanded<'a>> {
    let place = unused.iter().position(|entry| is_made_of(entry, views, command))?;
    Some(unused.remove(place))
}

/// Reads a run, strongly consistent; `None` if none was begun under this name.
pub async fn get(db: &Db, name: &RunName) -> Result<Option<OwnerRun>, StoreError> {
    read_live(db, &keys::run(name)).await
}

/// Stores a run under its name, and returns the one that is stored: the first that had it.
pub async fn begin(db: &Db, name: &RunName, run: &OwnerRun) -> Result<OwnerRun, StoreError> {
    let write = Write::put_live(keys::run(name), run)?.only_if_absent();
    let before = if sent(db, vec![write]).await? { None } else { get(db, name).await? };
    Ok(before.unwrap_or_else(|| run.clone()))
}

/// Notes that nothing is left to do of an extension.
pub async fn finish(db: &Db, name: &RunName) -> Result<(), StoreError> {
    let write: Write = Write::update(keys::run(name), "SET done = :yes").only_if_present().flag(":yes", true);
    // One that was removed meanwhile has nothing to note.
    sent(db, vec![write]).await.map(drop)
}
