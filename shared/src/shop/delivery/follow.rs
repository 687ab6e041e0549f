//! The delivery of an order after it was paid, refunded or disputed. It is done in steps, which are marked on
//! the order: each is one transaction with the mark, so that any caller continues where another one stopped.

use super::commands::{Decided, write_all};
use super::making::{Access, Making, Players};
use super::moving::{before_move, part_of};
use super::{commands, deliveries};
use crate::clock::Clock;
use crate::model::{
    Command, CommandEvent, CommandId, DeliveryStep, Entitlement, FrozenCommands, OrderDelivery, OrderStatus,
    OrderSubscription, Server,
};
use crate::rules::delivery::frozen::{Expanded, when_paid};
use crate::rules::delivery::{Word, can_still_run};
use crate::rules::dispute::is_taken_back;
use crate::rules::subscription::access_until;
use crate::shop::orders::{self, StoredOrder};
use crate::shop::subscriptions;
use crate::table::published::read_active_version;
use crate::table::transaction::{Write, send};
use crate::table::{Db, StoreError, TURNS, Turns};
use crate::telemetry;
use std::collections::BTreeSet;

/// The most steps of one call. A thousand commands take 25 of them.
const MOST_STEPS: u32 = 200;
/// How many commands are recalled in one transaction: each takes up to three writes.
const RECALLED_AT_ONCE: usize = 30;

/// The outcome of a step.
pub(super) enum Step {
    /// This mark is written.
    Marked(Box<OrderDelivery>),
    /// A command can still run.
    Waits,
}

/// Does what is left to do about an order's delivery. `false` if it has to wait until nothing of the order can run.
///
/// It begins with the order as the caller knows it, and reads it if that has nothing to do, or has changed. After an
/// error the same call continues.
pub async fn follow(db: &Db, clock: &dyn Clock, known: &StoredOrder) -> Result<bool, StoreError> {
    let id = &known.order.internal_id;
    let mut known = known.delivery_due().then(|| known.clone());
    let mut read: Option<FrozenCommands> = None;
    let (mut steps, mut turns) = (0..MOST_STEPS, Turns::of(TURNS));
    while steps.next().is_some() && turns.next().await {
        let stored = match known.take() {
            Some(stored) => Some(stored),
            None => orders::get(db, id).await?,
        };
        let Some(mut stored) = stored.filter(StoredOrder::delivery_due) else { return Ok(true) };
        let view = delivered(&stored);
        let Some(delivery) = &view.effects.delivery else { return Ok(true) };
        let all: &FrozenCommands = match &mut read {
            Some(read) => read,
            none => none.insert(deliveries::frozen(db, id).await?),
        };
        let moved = delivery.moving.as_ref().map(|moving| part_of(all, moving));
        let frozen = moved.as_ref().unwrap_or(all);
        let order = Following { db, now: clock.seconds(), stored: &view, delivery, frozen, all };
        let step = order.step().await;
        // A new season has replaced them, here or in another process.
        if delivery.step == DeliveryStep::TakeBack || matches!(step, Err(StoreError::Contended)) {
            read = None;
        }
        match step {
            Ok(Step::Marked(next)) => {
                turns = Turns::of(TURNS);
                stored.effects.delivery = Some(*next);
                known = Some(stored);
            }
            Ok(Step::Waits) => return Ok(false),
            Err(StoreError::Contended) => telemetry::conflict(),
            Err(error) => return Err(error),
        }
    }
    Err(StoreError::Contended)
}

/// [`follow`], for a caller whose own work is done: what fails is left to the sweep.
pub async fn follow_or_leave(db: &Db, clock: &dyn Clock, known: &StoredOrder) {
    if let Err(error) = follow(db, clock, known).await {
        tracing::warn!(order = %known.order.internal_id, %error, "the delivery is left to the sweep");
    }
}

/// The order as it is delivered: its lines have the units that are left, and those that are still to be taken back.
pub(super) fn delivered(stored: &StoredOrder) -> StoredOrder {
    let mut order = stored.clone();
    let pending = order.effects.delivery.as_ref().map(|delivery| delivery.units.clone()).unwrap_or_default();
    for (place, line) in (0_u16..).zip(&mut order.order.lines).filter(|(_, line)| line.returned > 0) {
        line.total = line.total.less(line.returned_total());
        line.count = line.count.saturating_sub(std::mem::take(&mut line.returned));
        for units in pending.iter().filter(|units| units.line == place) {
            line.count = line.count.saturating_add(units.count);
            line.total = line.total + units.total;
        }
    }
    if let Some(moving) = stored.effects.delivery.as_ref().filter(|delivery| delivery.step != DeliveryStep::Queue)
        && let Some(moving) = &moving.moving
    {
        before_move(&mut order, moving);
    }
    order
}

/// The access that the subscription of an order gives; `None` if it is not a subscription's.
pub(super) async fn access(db: &Db, stored: &StoredOrder) -> Result<Option<Access>, StoreError> {
    let id = stored.effects.subscription.as_ref().and_then(|own| own.id.as_deref());
    let Some(id) = id else { return Ok(None) };
    let subscription = subscriptions::get(db, id).await?;
    Ok(subscription.map(|subscription| Access {
        until: access_until(&subscription),
        is_newest: subscription.newest == stored.order.internal_id,
    }))
}

/// An order whose delivery has something to do.
pub(super) struct Following<'a> {
    pub(super) db: &'a Db,
    pub(super) now: i64,
    pub(super) stored: &'a StoredOrder,
    pub(super) delivery: &'a OrderDelivery,
    /// The commands that are concerned: if lines are moved, theirs.
    pub(super) frozen: &'a FrozenCommands,
    /// The commands of all lines.
    pub(super) all: &'a FrozenCommands,
}

/// The inputs of new commands that are read for them.
pub(super) struct Inputs {
    pub(super) players: Players,
    /// The servers that are published; `None` if nothing is.
    pub(super) servers: Option<Vec<Server>>,
    pub(super) access: Option<Access>,
    /// The first of their ids, and how many there are.
    pub(super) first: CommandId,
    pub(super) made: u32,
}

impl Following<'_> {
    async fn step(&self) -> Result<Step, StoreError> {
        match (self.delivery.step, self.stored.order.status) {
            (DeliveryStep::Queue, OrderStatus::Paid) if is_taken_back(&self.stored.effects) => {
                self.mark(self.begin_take_back(Entitlement::ChargedBack), Vec::new()).await
            }
            (DeliveryStep::Queue, OrderStatus::Paid) => self.queue().await,
            (DeliveryStep::Queued, OrderStatus::Paid) => match self.delivery.units.first() {
                Some(units) => self.take_units(units).await,
                None => Ok(Step::Marked(Box::new(self.delivery.clone()))),
            },
            (DeliveryStep::Queue | DeliveryStep::Queued, _) => {
                self.mark(self.begin_take_back(Entitlement::Refunded), Vec::new()).await
            }
            (DeliveryStep::Recall, _) => self.recall().await,
            (DeliveryStep::Settle, _) => self.settle().await,
            (DeliveryStep::TakeBack, _) => self.take_back().await,
            (DeliveryStep::Over, _) => Ok(Step::Marked(Box::new(self.delivery.clone()))),
        }
    }

    /// The mark at the beginning of a step.
    pub(super) fn begin(&self, step: DeliveryStep) -> OrderDelivery {
        OrderDelivery { step, next: 0, ..self.delivery.clone() }
    }

    fn begin_take_back(&self, entitlement: Entitlement) -> OrderDelivery {
        OrderDelivery { entitlement, ..self.not_moving(self.begin(DeliveryStep::Recall)) }
    }

    /// The mark at a place of the step's work; at its end that of the following step.
    pub(super) fn at(&self, place: usize, end: usize, following: DeliveryStep) -> OrderDelivery {
        match u32::try_from(place) {
            Ok(next) if place < end => OrderDelivery { next, ..self.delivery.clone() },
            _ => self.begin(following),
        }
    }

    /// Writes a mark, on the condition that it and the order's status are as they were read, and what it marks.
    pub(super) async fn mark(&self, next: OrderDelivery, writes: Vec<Write>) -> Result<Step, StoreError> {
        let (mark, next) = self.stored.set_delivery(next)?;
        send(self.db, [mark].into_iter().chain(writes).collect()).await?;
        Ok(Step::Marked(Box::new(next)))
    }

    pub(super) fn place(&self) -> usize {
        usize::try_from(self.delivery.next).unwrap_or(usize::MAX)
    }

    /// The inputs of `count` new commands. Their ids are reserved if they are not yet: the first part that is written marks them.
    pub(super) async fn inputs(&self, first: Option<CommandId>, count: usize) -> Result<Inputs, StoreError> {
        let made = u32::try_from(count).unwrap_or(u32::MAX);
        let first = async {
            match first {
                Some(first) => Ok(first),
                None => commands::reserve(self.db, made.max(1)).await,
            }
        };
        let players = Players::read(self.db, &self.stored.order);
        let active = read_active_version(self.db);
        let (players, active, access, first) = tokio::try_join!(players, active, access(self.db, self.stored), first)?;
        Ok(Inputs { players, servers: active.map(|active| active.config.delivery.servers), access, first, made })
    }

    pub(super) fn making<'a>(
        &'a self,
        players: &'a Players,
        servers: Option<&'a [Server]>,
        access: Option<Access>,
    ) -> Making<'a> {
        let moves = self.delivery.moving.is_some();
        Making { stored: self.stored, frozen: self.frozen, players, servers, access, moves, now: self.now }
    }

    pub(super) fn renews(&self) -> bool {
        self.stored.effects.subscription.as_ref().is_some_and(OrderSubscription::only_renews)
    }

    /// The commands of the order's payment.
    pub(super) fn paid(&self) -> Vec<Expanded<'_>> {
        when_paid(self.frozen, &self.stored.order.lines, self.given_event())
    }

    /// The event whose commands give what the order is paid for.
    pub(super) fn given_event(&self) -> CommandEvent {
        if self.renews() && self.season().is_none() { CommandEvent::Renewed } else { CommandEvent::Bought }
    }

    /// Recalls a part of the commands of an order that is taken back.
    async fn recall(&self) -> Result<Step, StoreError> {
        let (all, place) = (given_ids(self.delivery), self.place());
        let part = all.iter().skip(place).take(RECALLED_AT_ONCE).copied();
        let (end, next) = (all.len(), place.saturating_add(part.len()));
        if place >= end {
            return self.mark(self.begin(DeliveryStep::Settle), Vec::new()).await;
        }
        let mut found = commands::read(self.db, part).await?;
        // What others may hold too is left to the step that takes back.
        found.retain(|_, command| (command.lasting.is_none() || is_given(command)) && self.concerns(command));
        let entitlement =
            if self.delivery.moving.is_some() { Entitlement::Superseded } else { self.delivery.entitlement };
        let mut writes = Vec::new();
        for command in found.into_values() {
            let decided = Decided::new(command, Word::Recall(entitlement), self.now);
            writes.extend(decided.changes()?);
        }
        self.mark(self.at(next, end, DeliveryStep::Settle), writes).await
    }

    /// The commands that were queued because the order was paid: what it gives, and its ends.
    pub(super) async fn queued(&self) -> Result<Vec<Command>, StoreError> {
        let all = given_ids(self.delivery);
        let mut found: Vec<Command> = commands::read(self.db, all.into_iter()).await?.into_values().collect();
        found.retain(|command| self.concerns(command));
        Ok(found)
    }

    /// Waits until no command of the order can run any more.
    async fn settle(&self) -> Result<Step, StoreError> {
        let decide = |command| Decided::new(command, Word::Silence, self.now);
        let all: Vec<Decided> = self.queued().await?.into_iter().filter(is_given).map(decide).collect();
        let waits = all.iter().any(|decided| can_still_run(&decided.after.delivery, self.now));
        write_all(self.db, all).await?;
        if waits { Ok(Step::Waits) } else { self.mark(self.begin(DeliveryStep::TakeBack), Vec::new()).await }
    }
}

/// Whether a command gives something, and takes nothing.
pub(super) fn is_given(command: &Command) -> bool {
    gives(command.event)
}

/// Whether a command runs at an end that its order alone decides.
pub(super) fn is_own_end(command: &Command) -> bool {
    command.event == CommandEvent::Expired && command.lasting.is_none()
}

/// Of the commands that a line gives on a server, those that an end of its order alone ends. Those that know the text of
/// another end are left out, unless all do.
pub(super) fn ended_alone(mut given: Vec<&Command>) -> Vec<&Command> {
    let is_any = given.iter().any(|command| command.lasting.is_none());
    given.retain(|command| !is_any || command.lasting.is_none());
    given
}

/// Whether commands of an event give something, and take nothing.
pub(super) const fn gives(event: CommandEvent) -> bool {
    matches!(event, CommandEvent::Bought | CommandEvent::Renewed)
}

/// The id at a place of a reserved block.
pub(super) fn id(first: CommandId, place: usize) -> Result<CommandId, StoreError> {
    let id = u32::try_from(place).ok().and_then(|place| CommandId::new(first.get().checked_add(place)?).ok());
    id.ok_or_else(StoreError::no_more_ids)
}

/// The ids of a block.
pub(super) fn block(first: Option<CommandId>, count: u32) -> impl Iterator<Item = CommandId> {
    let numbers = first.map(|first| first.get()..first.get().saturating_add(count));
    numbers.into_iter().flatten().filter_map(|number| CommandId::new(number).ok())
}

/// The ids of what was queued because the order was paid.
pub(super) fn given_ids(delivery: &OrderDelivery) -> Vec<CommandId> {
    block(delivery.first, delivery.made).chain(delivery.further.iter().copied()).collect()
}

/// The ids of what takes the order back.
pub(super) fn back_ids(delivery: &OrderDelivery) -> impl Iterator<Item = CommandId> {
    block(delivery.back_first, delivery.back_made)
}

/// Every id of the order's commands, in blocks: the first of each, and how many they are.
pub(super) fn blocks(delivery: &OrderDelivery) -> Vec<(CommandId, u32)> {
    let given = delivery.first.map(|first| (first, delivery.made));
    let further = delivery.further.iter().map(|id| (*id, 1));
    let back = delivery.back_first.map(|first| (first, delivery.back_made));
    delivery.earlier.iter().copied().chain(given).chain(further).chain(back).collect()
}

/// Every id of the order's commands, each once.
pub(super) fn all_ids(delivery: &OrderDelivery) -> impl Iterator<Item = CommandId> {
    let all = blocks(delivery).into_iter().flat_map(|(first, count)| block(Some(first), count));
    all.collect::<BTreeSet<CommandId>>().into_iter()
}
