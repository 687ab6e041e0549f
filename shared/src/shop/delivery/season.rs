//! A new season: a game server is wiped, and orders that are paid are given there what their items give as they are
//! published now, with what ends it and takes it back.
//!
//! An order begins in one write, which notes the run, the lines and when they end. The steps of a move do the rest
//! ([`super::moving`]), wherever it is interrupted: what has not run is recalled, the texts on the server are let go of without
//! running, the commands are replaced, and what they give is queued.

use super::commands::waits;
use super::deliveries::published;
use super::follow::{access, delivered, follow_or_leave, given_ids, is_own_end};
use super::making::{Access, Making, Players};
use super::run::LeftOut;
use super::take_back::texts;
use super::{commands, deliveries};
use crate::clock::Clock;
use crate::model::{
    Command, CommandEvent, DeliveryRun, DeliveryStep, Entitlement, FrozenCommands, InternalId, ItemId, LineEnd, Moving,
    OrderDelivery, OrderStatus, RunName, Season, ServerId,
};
use crate::rules::delivery::frozen::{Expanded, replaced, when_paid};
use crate::rules::dispute::is_taken_back;
use crate::shop::orders::{self, StoredOrder, each_order};
use crate::table::transaction::send;
use crate::table::{Db, StoreError, TURNS, in_turns};
use std::collections::BTreeSet;

/// What a run gives an order: how many commands, and why lines of it are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SeasonOrder {
    pub commands: usize,
    pub left_out: BTreeSet<LeftOut>,
}

impl SeasonOrder {
    fn left_out(reason: LeftOut) -> Self {
        Self { commands: 0, left_out: [reason].into() }
    }
}

/// The orders of a run's time that were paid and delivered, and that it has not begun with, the oldest first: what was bought
/// later runs later. Reads every item.
pub async fn season_orders(db: &Db, name: &RunName, run: &DeliveryRun) -> Result<Vec<InternalId>, StoreError> {
    let mut found = BTreeSet::new();
    each_order(db, |stored| {
        let has_item = |item: ItemId| stored.order.lines.iter().any(|line| line.item == item);
        let is_in_time = (run.since..run.until).contains(&stored.order.created_at);
        if is_in_time && run.item.is_none_or(has_item) && is_open(&stored, name) {
            found.insert((stored.order.created_at, stored.order.id, stored.order.internal_id));
        }
    })
    .await?;
    Ok(found.into_iter().map(|(_, _, order)| order).collect())
}

/// Whether an order was paid and delivered, and a run has not begun with it.
fn is_open(stored: &StoredOrder, name: &RunName) -> bool {
    let was_paid = stored.order.status.was_paid();
    was_paid && stored.effects.delivery.as_ref().is_some_and(|delivery| !delivery.runs.contains(name))
}

/// What a run does about an order. Changes nothing.
pub async fn preview_season(
    db: &Db,
    clock: &dyn Clock,
    (name, run): (&RunName, &DeliveryRun),
    order: &InternalId,
) -> Result<SeasonOrder, StoreError> {
    match orders::get(db, order).await?.filter(|stored| is_open(stored, name)) {
        Some(stored) => Ok(plan(db, clock.seconds(), (name, run), &stored).await?.0),
        None => Ok(SeasonOrder::default()),
    }
}

/// Gives an order what its lines give on the run's server as it is published now. What is left to do when it has begun is done
/// by the sweep. After an error the same call may be repeated, and the same call later does nothing more.
pub async fn give_season(
    db: &Db,
    clock: &dyn Clock,
    (name, run): (&RunName, &DeliveryRun),
    order: &InternalId,
) -> Result<SeasonOrder, StoreError> {
    in_turns(TURNS, || async {
        let now = clock.seconds();
        let Some(stored) = orders::get(db, order).await?.filter(|stored| is_open(stored, name)) else {
            return Ok(SeasonOrder::default());
        };
        let (outcome, next) = plan(db, now, (name, run), &stored).await?;
        let Some(next) = next else { return Ok(outcome) };
        let (own, others) = stored.begin_delivery(next, now)?;
        send(db, [own].into_iter().chain(others).collect()).await?;
        follow_or_leave(db, clock, &stored).await;
        Ok(outcome)
    })
    .await
}

/// The commands of an order after those of some of its lines on a server are as they are published now.
pub(super) async fn as_published(
    db: &Db,
    stored: &StoredOrder,
    bought: &FrozenCommands,
    of: (ServerId, &[u16]),
) -> Result<FrozenCommands, StoreError> {
    Ok(replaced(bought, &published(db, stored).await?, of, &stored.order.lines))
}

/// What a run does about an order, and the delivery that begins with it; `None` if it gives nothing.
async fn plan(
    db: &Db,
    now: i64,
    (name, run): (&RunName, &DeliveryRun),
    stored: &StoredOrder,
) -> Result<(SeasonOrder, Option<OrderDelivery>), StoreError> {
    let delivery = stored.effects.delivery.clone().unwrap_or_default();
    let is_good = stored.order.status == OrderStatus::Paid && delivery.entitlement == Entitlement::Good;
    if !is_good || is_taken_back(&stored.effects) {
        return Ok((SeasonOrder::left_out(LeftOut::TakenBack), None));
    }
    if delivery.step != DeliveryStep::Queued || !delivery.units.is_empty() {
        return Ok((SeasonOrder::left_out(LeftOut::OnItsWay), None));
    }
    let view = delivered(stored);
    let of_item = (0_u16..).zip(&view.order.lines).filter(|(_, line)| run.item.is_none_or(|item| item == line.item));
    let lines: Vec<u16> = of_item.map(|(place, _)| place).collect();
    let (given, players, bought, access) = tokio::try_join!(
        commands::read(db, given_ids(&delivery).into_iter()),
        Players::read(db, &stored.order),
        deliveries::frozen(db, &stored.order.internal_id),
        access(db, stored),
    )?;
    let next = as_published(db, &view, &bought, (run.server, &lines)).await?;
    let given = given.into_values().collect();
    let order = Order { db, now, server: run.server, view, players, access, given, bought, next };
    let ends = order.ends(&lines).await?;
    let (outcome, lines) = order.judge(&lines, &ends);
    if lines.is_empty() {
        return Ok((outcome, None));
    }
    let ends = ends.into_iter().filter(|end| lines.contains(&end.line)).collect();
    let moving = moving(run.server, lines, ends);
    let runs = delivery.runs.iter().chain([name]).cloned().collect();
    // All of it was queued, so that a restore before that matters no more.
    let next =
        OrderDelivery { step: DeliveryStep::Recall, next: 0, restored: false, moving: Some(moving), runs, ..delivery };
    Ok((outcome, Some(next)))
}

fn moving(server: ServerId, lines: Vec<u16>, ends: Vec<LineEnd>) -> Moving {
    let season = Some(Season { server, ends });
    Moving { lines, from: None, gift_to: None, restart: false, season }
}

/// An order with the units that are left of it, and what decides about its lines.
struct Order<'a> {
    db: &'a Db,
    now: i64,
    server: ServerId,
    view: StoredOrder,
    players: Players,
    access: Option<Access>,
    /// What was queued because it was paid.
    given: Vec<Command>,
    /// The commands as they are, and as they are published now.
    bought: FrozenCommands,
    next: FrozenCommands,
}

impl Order<'_> {
    fn making<'a>(&'a self, stored: &'a StoredOrder, frozen: &'a FrozenCommands) -> Making<'a> {
        let (players, access, now) = (&self.players, self.access, self.now);
        Making { stored, frozen, players, servers: None, access, moves: true, now }
    }

    /// What is given of these lines, why others are left out, and the lines that are given.
    fn judge(&self, lines: &[u16], ends: &[LineEnd]) -> (SeasonOrder, Vec<u16>) {
        let mut stored = self.view.clone();
        let moving = moving(self.server, lines.to_vec(), ends.to_vec());
        stored.effects.delivery = Some(OrderDelivery { moving: Some(moving), ..OrderDelivery::default() });
        let making = self.making(&stored, &self.next);
        let (mut outcome, mut given) = (SeasonOrder::default(), Vec::new());
        for line in lines {
            match self.commands(&making, *line) {
                Ok(commands) => {
                    outcome.commands += commands;
                    given.push(*line);
                }
                Err(reason) => _ = outcome.left_out.insert(reason),
            }
        }
        (outcome, given)
    }

    /// How many commands a line is given, or why none.
    fn commands(&self, making: &Making<'_>, place: u16) -> Result<usize, LeftOut> {
        let order = &self.view.order;
        let line = order.lines.get(usize::from(place)).filter(|line| line.count > 0).ok_or(LeftOut::UnitsRefunded)?;
        let all = when_paid(&self.next, &order.lines, CommandEvent::Bought);
        let gives = |entry: &&Expanded<'_>| {
            entry.template.on == CommandEvent::Bought && (entry.line.line, entry.server) == (place, self.server)
        };
        if !all.iter().any(|entry| gives(&entry)) {
            return Err(LeftOut::GivesNothing);
        }
        let player = self.players.of_line(order, line).ok_or(LeftOut::Erased)?;
        if self.players.is_banned(&player) {
            return Err(LeftOut::Banned);
        }
        let commands = all.iter().filter(gives).filter(|entry| !making.is_over(entry)).count();
        let is_renewed = self.view.effects.subscription.is_some();
        let has_access = self.access.is_some_and(|access| access.is_newest && self.now < access.until);
        if commands == 0 || is_renewed && !has_access {
            return Err(LeftOut::Ended);
        }
        // A renewal looks for them where they were queued with the order.
        let is_own_end = |entry: &Expanded<'_>| entry.template.on == CommandEvent::Expired && entry.is_of_purchase();
        if is_renewed && all.iter().any(is_own_end) { Err(LeftOut::NotMade) } else { Ok(commands) }
    }

    /// When those of the lines end that were bought for a time: as what they hold, or a time after they were paid.
    async fn ends(&self, lines: &[u16]) -> Result<Vec<LineEnd>, StoreError> {
        let order = &self.view.order;
        let all = when_paid(&self.bought, &order.lines, CommandEvent::Bought);
        let texts = texts(&self.view, &self.bought, &all);
        let held = deliveries::lasting(self.db, texts.iter().map(|text| text.key.clone()).collect()).await?;
        let mut ends = Vec::new();
        for place in lines {
            let Some(line) = order.lines.get(usize::from(*place)) else { continue };
            let bought = self.bought.lines.iter().find(|bought| bought.line == *place);
            let Some(after) = bought.map_or(line.lasts, |bought| bought.expires_after) else { continue };
            if bought.is_some_and(|bought| bought.renews) {
                continue;
            }
            let paid_for = |units: u32| line.paid_at(order).saturating_add(i64::from(after) * i64::from(units));
            let mut of_line =
                texts.iter().filter(|text| text.end.is_some() && text.entry.line.line == *place).peekable();
            let is_unknown = of_line.peek().is_none();
            let of_texts = of_line.filter_map(|text| {
                let held = held.get(&text.key)?;
                held.is_held_by(&order.internal_id, *place).then(|| held.end()).flatten()
            });
            // What it holds no more has ended.
            let at = of_texts.max().unwrap_or_else(|| if is_unknown { paid_for(line.count) } else { self.now });
            let own = self.own_end(&all, *place).unwrap_or_else(|| paid_for(1));
            ends.push(LineEnd { line: *place, at, own });
        }
        Ok(ends)
    }

    /// When what counts a line's units ends on the server: the owner may have moved it.
    fn own_end(&self, all: &[Expanded<'_>], line: u16) -> Option<i64> {
        let making = self.making(&self.view, &self.bought);
        let is_own = |command: &&Command| {
            let is_there = (command.line, command.server) == (line, self.server);
            is_there && is_own_end(command) && waits(command, self.now)
        };
        let ends = self.given.iter().filter(is_own).filter_map(|command| {
            let is_same = |entry: &&Expanded<'_>| {
                let is_there = (entry.line.line, entry.server) == (line, self.server);
                is_there && making.text(entry, &command.player).as_ref() == Some(&command.text)
            };
            let entry = all.iter().filter(|entry| entry.template.on == CommandEvent::Expired).find(is_same)?;
            Some(command.delivery.due.saturating_sub(i64::from(entry.template.delay)))
        });
        ends.max()
    }
}
