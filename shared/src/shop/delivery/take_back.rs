//! The step after a refund or a dispute, when nothing of the order can run any more: what may have run is taken back,
//! unless another order still gives it.

use super::commands;
use super::follow::{Following, Inputs, Step, id};
use super::holding::{Rows, WRITES_OF_TEXT};
use super::texts::{Text, name_of, texts};
use super::write::{WRITES_AT_ONCE, place_of};
use crate::model::{CommandEvent, DeliveryStep, Entitlement, LastingText, OrderDelivery};
use crate::rules::delivery::frozen::{Expanded, when_taken_back};
use crate::table::StoreError;

/// How many texts are read for one transaction.
const READ_AT_ONCE: usize = 40;

/// A part of what takes an order back.
pub(super) struct Back<'a> {
    /// What runs, if anything does.
    pub(super) entry: Expanded<'a>,
    /// The place of its text, if others may hold it, and whether the order holds it until then.
    pub(super) text: Option<(usize, bool)>,
    /// Whether it is due because the order is taken back, and not only if others have left it to the last.
    pub(super) is_due: bool,
}

/// What takes an order back that holds the first `held` of its texts: its commands, and then the texts that only end.
pub(super) fn backs<'a>(
    commands: Vec<Expanded<'a>>,
    texts: &[Text<'a>],
    held: usize,
    name_of: impl Fn(&Expanded<'_>) -> Option<LastingText>,
) -> Vec<Back<'a>> {
    let mut released = vec![false; texts.len()];
    let mut all = Vec::new();
    for entry in commands {
        let name = name_of(&entry).filter(|_| entry.template.on == CommandEvent::Refunded);
        let is_its = |text: &Text<'_>| {
            let is_there = (text.entry.line.line, text.entry.server) == (entry.line.line, entry.server);
            is_there && name.as_ref() == Some(&text.name)
        };
        let place = texts.iter().position(is_its);
        let text = place.map(|place| (place, place < held && !std::mem::replace(&mut released[place], true)));
        all.push(Back { entry, text, is_due: true });
    }
    for (place, text) in texts.iter().enumerate().filter(|(place, _)| *place < held && !released[*place]) {
        all.push(Back { entry: text.entry, text: Some((place, true)), is_due: false });
    }
    all
}

impl Following<'_> {
    /// Queues a part of the commands that take back what may have run.
    pub(super) async fn take_back(&self) -> Result<Step, StoreError> {
        let is_dispute = self.delivery.entitlement == Entitlement::ChargedBack;
        let lines = &self.stored.order.lines;
        let texts = texts(self.stored, self.frozen, &self.paid());
        let held = usize::try_from(self.delivery.held).unwrap_or(usize::MAX);
        let name = |entry: &Expanded<'_>| name_of(self.stored, self.frozen, entry);
        let all = backs(when_taken_back(self.frozen, lines, is_dispute), &texts, held, name);
        let (mut place, mut writes) = (self.place(), Vec::new());
        let Some(left) = all.get(place..).filter(|left| !left.is_empty()) else {
            let is_moved = self.delivery.moving.is_some();
            let over = (self.begin(DeliveryStep::Over), writes);
            let (next, writes) = if is_moved { self.begin_again().await? } else { over };
            return self.mark(next, writes).await;
        };
        let window = &left[..left.len().min(READ_AT_ONCE)];
        let read = window.iter().filter_map(|back| texts.get(back.text?.0));
        let (inputs, queued, mut rows) = tokio::try_join!(
            self.inputs(self.delivery.back_first, all.len()),
            self.queued(),
            Rows::read(self.db, read, &[]),
        )?;
        let Inputs { players, servers, access, first, made } = inputs;
        let making = self.making(&players, servers.as_deref(), access);
        for back in window {
            let text = back.text.and_then(|(place, holds)| Some((texts.get(place)?, holds)));
            let is_written = text.is_some_and(|(text, _)| rows.is_written(&text.key));
            if is_written || writes.len() + WRITES_OF_TEXT > WRITES_AT_ONCE {
                break;
            }
            let entry = &back.entry;
            // Before a restore also what is not queued may have run.
            // What a renewal prolongs was given by an order before it.
            let may_have_run = making.has_to_take(entry, &queued, self.delivery.restored || self.renews());
            // An older period of a subscription gives nothing any more that could be taken back.
            let is_over = self.delivery.moving.is_none() && access.is_some_and(|access| !access.is_newest);
            let may_have_run = if is_over { entry.template.on == CommandEvent::ChargedBack } else { may_have_run };
            // It has given something before it was moved, or delivered again.
            let is_again = is_dispute && !self.delivery.earlier.is_empty();
            let may_have_run = may_have_run || is_again && entry.template.on == CommandEvent::ChargedBack;
            // Nothing is on a server that begins anew.
            let may_have_run = may_have_run && self.season().is_none();
            let new = id(first, place)?;
            match (text, making.player(entry)) {
                (Some((text, holds)), Some(player)) => {
                    let whether = (holds, back.is_due && may_have_run);
                    writes.extend(rows.release(&making, (text, entry), whether, (new, &player))?);
                }
                (None, Some(player)) if may_have_run => {
                    let command = making.command(new, entry, &player);
                    writes.extend(commands::put_new(&command, place_of(&command).as_ref())?);
                }
                _ => {}
            }
            place += 1;
        }
        // What is moved is queued again by a step of its own.
        let end = if self.delivery.moving.is_some() { usize::MAX } else { all.len() };
        let next = self.at(place, end, DeliveryStep::Over);
        self.mark(OrderDelivery { back_first: Some(first), back_made: made, ..next }, writes).await
    }
}
