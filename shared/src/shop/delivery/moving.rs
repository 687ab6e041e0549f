//! The delivery of lines that are moved to another player. First the steps of a take-back go through them, as they were
//! before the move, and then they are queued for the new player: every other line stays as it is. Lines are moved to a new
//! season of a game server ([`super::season`]) in the same steps, of which the first ones run nothing.

use super::commands::place_of;
use super::follow::{Following, blocks, given_ids, is_given};
use super::season::as_published;
use super::take_back::{ends, texts};
use super::{commands, deliveries};
use crate::model::{Command, DeliveryStep, FrozenCommands, InternalId, Moving, OrderDelivery, Season, ServerId};
use crate::rules::delivery::frozen::{when_paid, when_taken_back};
use crate::rules::delivery::may_have_run;
use crate::shop::orders::StoredOrder;
use crate::table::transaction::Write;
use crate::table::{Db, StoreError};

impl Moving {
    /// Whether what a line gives on a server is moved.
    fn concerns(&self, line: u16, server: ServerId) -> bool {
        self.lines.contains(&line) && self.season.as_ref().is_none_or(|season| season.server == server)
    }
}

/// Lets an order be again as it was before lines were moved.
pub(super) fn before_move(stored: &mut StoredOrder, moving: &Moving) {
    if moving.season.is_some() {
        return;
    }
    let last = moving.lines.last().and_then(|place| stored.order.lines.get_mut(usize::from(*place)));
    match last.filter(|line| line.is_gift()) {
        Some(gift) => {
            gift.recipient = moving.from;
            if let Some(chosen) = &mut gift.chosen {
                chosen.gift_to.clone_from(&moving.gift_to);
            }
        }
        None => stored.order.moved_to = moving.from,
    }
    if let Some(subscription) = &mut stored.effects.subscription {
        subscription.restart = moving.restart;
    }
}

/// The commands of what is moved.
pub(super) fn part_of(frozen: &FrozenCommands, moving: &Moving) -> FrozenCommands {
    let mut part = frozen.clone();
    part.lines.retain(|line| moving.lines.contains(&line.line));
    for line in &mut part.lines {
        for command in &mut line.commands {
            command.servers.retain(|server| moving.concerns(line.line, *server));
        }
    }
    part
}

/// The commands that lines of an order have given.
#[derive(Debug, Default)]
pub struct Given {
    /// What may have run, and is taken back by a move.
    pub ran: Vec<Command>,
    /// What has not run, and is recalled by a move.
    pub waiting: Vec<Command>,
    /// The places of lines that may have run, and have no command that takes them back.
    pub stays: Vec<u16>,
}

/// What lines of an order have given.
pub async fn given_of(db: &Db, stored: &StoredOrder, lines: &[u16]) -> Result<Given, StoreError> {
    let Some(delivery) = &stored.effects.delivery else { return Ok(Given::default()) };
    let id: &InternalId = &stored.order.internal_id;
    let (found, frozen) =
        tokio::try_join!(commands::read(db, given_ids(delivery).into_iter()), deliveries::frozen(db, id))?;
    let own = found.into_values().filter(|command| is_given(command) && lines.contains(&command.line));
    let (ran, others): (Vec<Command>, Vec<Command>) = own.partition(|command| may_have_run(&command.delivery));
    let waiting = others.into_iter().filter(|command| place_of(command).is_some()).collect();
    let backs = when_taken_back(&frozen, &stored.order.lines, false);
    let stays = |line: &u16| {
        let is_of_line = |command: &Command| command.line == *line;
        ran.iter().any(is_of_line) && !backs.iter().any(|entry| entry.line.line == *line)
    };
    let stays = lines.iter().copied().filter(stays).collect();
    Ok(Given { ran, waiting, stays })
}

impl Following<'_> {
    /// Whether a command is of what the present steps are about.
    pub(super) fn concerns(&self, command: &Command) -> bool {
        self.delivery.moving.as_ref().is_none_or(|moving| moving.concerns(command.line, command.server))
    }

    /// The new season that lines are moved to.
    pub(super) fn season(&self) -> Option<&Season> {
        self.delivery.moving.as_ref()?.season.as_ref()
    }

    /// The mark after lines were taken back from the player before: they are queued for the new one, under new ids. In a new
    /// season with the writes of what is published now.
    pub(super) async fn begin_again(&self) -> Result<(OrderDelivery, Vec<Write>), StoreError> {
        let mut writes = Vec::new();
        if let Some((season, moving)) = self.season().zip(self.delivery.moving.as_ref()) {
            let next = as_published(self.db, self.stored, self.all, (season.server, &moving.lines)).await?;
            writes.push(deliveries::put_frozen(&self.stored.order.internal_id, &next)?);
        }
        let given = commands::read(self.db, given_ids(self.delivery).into_iter()).await?;
        let others = given.into_values().filter(|command| !self.concerns(command));
        let (first, back_first) = (None, None);
        let next = OrderDelivery {
            held: 0,
            first,
            made: 0,
            back_first,
            back_made: 0,
            further: others.map(|command| command.id).collect(),
            earlier: blocks(self.delivery),
            ..self.begin(DeliveryStep::Queue)
        };
        Ok((next, writes))
    }

    /// A mark of an order of which nothing is moved any more.
    pub(super) fn not_moving(&self, next: OrderDelivery) -> OrderDelivery {
        if next.moving.is_none() {
            return next;
        }
        // What is not held yet is released without an effect.
        let all = texts(self.stored, self.all, &when_paid(self.all, &self.stored.order.lines, self.given_event()));
        let held = all.len() + ends(self.stored, self.all, &all).len();
        OrderDelivery { held: u32::try_from(held).unwrap_or(u32::MAX).max(1), moving: None, ..next }
    }
}
