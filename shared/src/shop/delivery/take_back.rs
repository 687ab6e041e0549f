//! The step after a refund or a dispute, when nothing of the order can run any more: what may have run is taken back, unless another
//! order still gives it. The texts that take an order back are what its lines hold as long as it is paid and lasts. An order that was
//! taken back because of a dispute can be delivered again.

use super::commands::{self, Decided, WRITES_AT_ONCE, place_of, write_all};
use super::follow::{Following, Inputs, Step, back_ids, blocks, follow, id};
use super::holding::{Rows, WRITES_OF_TEXT};
use super::making::value_of_order;
use crate::clock::Clock;
use crate::model::{
    CommandEvent, CommandId, CommandState, DeliveryStep, Entitlement, FrozenCommands, InternalId, ItemId, LastingText,
    OrderDelivery, OrderLine, OrderStatus, ServerId, UserId,
};
use crate::rules::command_text::Placeholder;
use crate::rules::delivery::Word;
use crate::rules::delivery::frozen::{Expanded, fill_unchecked, when_taken_back};
use crate::rules::dispute::takes_back;
use crate::shop::orders::{self, StoredOrder};
use crate::shop::subscriptions::of_orders::resume;
use crate::table::keys::{self, Key};
use crate::table::transaction::send;
use crate::table::{Db, StoreError};
use sha2::{Digest as _, Sha256};

/// How many hexadecimal digits name a text.
const DIGITS: usize = 32;

/// A text that takes from an account, on a server, what a line of the order gives.
pub(super) struct Text<'a> {
    pub(super) name: LastingText,
    pub(super) key: Key,
    /// The first command of the line with this text.
    pub(super) entry: Expanded<'a>,
    /// Its place among the commands of the payment, if it runs when the item ends.
    pub(super) end: Option<usize>,
}

/// An item of an account, with what was chosen, and the texts that run when it ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) key: Key,
    pub(super) item: ItemId,
    /// The first line of the order with it.
    pub(super) line: u16,
    pub(super) texts: Vec<(ServerId, String)>,
}

impl Text<'_> {
    /// The text among those that run when an item ends.
    pub(super) fn on_server(&self) -> (ServerId, String) {
        (self.entry.server, self.name.text.clone())
    }
}

/// The account and the name of the text of a command that takes something back; `None` if it is of its order alone, or
/// there is no account. A player who is renamed has the same texts.
pub(super) fn name_of(stored: &StoredOrder, frozen: &FrozenCommands, entry: &Expanded<'_>) -> Option<LastingText> {
    let account = line_of(stored, entry.line.line)?.beneficiary(stored.order.player())?;
    let text = fill_unchecked(entry.template, |placeholder| match placeholder {
        Placeholder::Player => "\0player".to_owned(),
        Placeholder::Buyer => format!("\0buyer {}", stored.order.owner.map_or(0, UserId::get)),
        other => value_of_order(stored, frozen, other, entry),
    });
    let text = text.filter(|_| !entry.is_of_purchase())?;
    Some(LastingText { account, text: hash(text.as_bytes()), also: Vec::new() })
}

/// The texts of an order that is paid, the commands of whose payment are `all`: each once for every line. The same order
/// has the same ones at any time.
pub(super) fn texts<'a>(stored: &StoredOrder, frozen: &'a FrozenCommands, all: &[Expanded<'a>]) -> Vec<Text<'a>> {
    let is_end = |entry: &Expanded<'_>| entry.template.on == CommandEvent::Expired;
    let ends = all.iter().copied().enumerate().filter(|(_, entry)| is_end(entry));
    let backs = when_taken_back(frozen, &stored.order.lines, false);
    let entries = ends.map(|(place, entry)| (Some(place), entry)).chain(backs.into_iter().map(|entry| (None, entry)));
    let mut texts: Vec<Text<'_>> = Vec::new();
    for (end, entry) in entries {
        let Some(name) = name_of(stored, frozen, &entry) else { continue };
        let key = keys::held(name.account, entry.server, &name.text);
        if !texts.iter().any(|text| text.key == key && text.entry.line.line == entry.line.line) {
            texts.push(Text { name, key, entry, end });
        }
    }
    texts
}

/// The items of an order with the texts that run when they end; of an item that does not end, none.
pub(super) fn ends(stored: &StoredOrder, frozen: &FrozenCommands, texts: &[Text<'_>]) -> Vec<Ends> {
    let mut all: Vec<Ends> = Vec::new();
    for own in &frozen.lines {
        let Some(line) = line_of(stored, own.line) else { continue };
        let Some(account) = line.beneficiary(stored.order.player()) else { continue };
        let key = keys::item_ends(account, own.item, &choice(line));
        let place = all.iter().position(|ends| ends.key == key).unwrap_or_else(|| {
            all.push(Ends { key, item: own.item, line: own.line, texts: Vec::new() });
            all.len() - 1
        });
        let of_line = texts.iter().filter(|text| text.end.is_some() && text.entry.line.line == own.line);
        all[place].texts.extend(of_line.map(Text::on_server));
    }
    for ends in &mut all {
        ends.texts.sort_unstable();
        ends.texts.dedup();
    }
    all
}

fn line_of(stored: &StoredOrder, line: u16) -> Option<&OrderLine> {
    stored.order.lines.get(usize::from(line))
}

/// A hash of what the buyer chose with a line: another choice is another thing, which ends by itself.
fn choice(line: &OrderLine) -> String {
    let mut text = String::new();
    if let Some(chosen) = &line.chosen {
        text.extend(chosen.server.map(|server| format!("{server}")));
        let mut variables: Vec<(u64, &str)> =
            chosen.variables.iter().map(|variable| (variable.id, variable.value.as_str())).collect();
        variables.sort_unstable();
        text.extend(variables.into_iter().map(|(id, value)| format!("\0{id}\0{value}")));
    }
    hash(text.as_bytes())
}

fn hash(text: &[u8]) -> String {
    let mut hash = hex::encode(Sha256::digest(text));
    hash.truncate(DIGITS);
    hash
}

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
            // Nothing is on a server that was wiped.
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

/// The reason for which an order is not delivered again.
#[derive(Debug, thiserror::Error)]
pub enum RedeliverError {
    #[error("there is no order with this internal id")]
    Unknown,
    #[error("the order is {}", .0.as_str())]
    NotPaid(OrderStatus),
    #[error("its payment is disputed ({0})")]
    Disputed(String),
    #[error("it was not taken back")]
    NotTakenBack,
    #[error("a command that takes it back is on its way to a game server")]
    OnItsWay,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Delivers a paid order again, under new ids, after it was taken back because of a dispute that has ended. What is left to do
/// when the call fails is done by the sweep. After an error of the database, [`RedeliverError::NotTakenBack`] says that
/// the call before was written.
pub async fn redeliver(db: &Db, clock: &dyn Clock, id: &InternalId) -> Result<(), RedeliverError> {
    let stored = orders::get(db, id).await?.ok_or(RedeliverError::Unknown)?;
    if stored.order.status != OrderStatus::Paid {
        return Err(RedeliverError::NotPaid(stored.order.status));
    }
    if let Some(dispute) = stored.effects.dispute.as_ref().filter(|dispute| takes_back(dispute)) {
        return Err(RedeliverError::Disputed(dispute.clone()));
    }
    let over = stored.effects.delivery.as_ref().filter(|delivery| delivery.step == DeliveryStep::Over);
    let delivery = over.ok_or(RedeliverError::NotTakenBack)?;
    let now = clock.seconds();
    // A command that the owner sent again is among the further ones.
    recall(db, back_ids(delivery).chain(delivery.further.iter().copied()), now).await?;
    let (version, earlier, runs) = (delivery.version, blocks(delivery), delivery.runs.clone());
    let next = OrderDelivery { version, earlier, runs, ..OrderDelivery::default() };
    let (mut own, others) = stored.begin_delivery(next, now)?;
    if stored.effects.subscription.is_some() {
        // What a subscription gives at its beginning was taken back with it.
        own = own.also(", subscription.#restart = :restart").name("#restart", "restart").flag(":restart", true);
    }
    let resumed = resume(db, &stored, now).await?;
    send(db, [own].into_iter().chain(others).chain(resumed).collect()).await?;
    follow(db, clock, &stored).await?;
    Ok(())
}

/// Recalls what takes an order back and has not run: it would run after what is delivered again.
async fn recall(db: &Db, ids: impl Iterator<Item = CommandId>, now: i64) -> Result<(), RedeliverError> {
    let decide = |command| Decided::new(command, Word::Recall(Entitlement::Superseded), now);
    let all: Vec<Decided> = commands::read(db, ids).await?.into_values().map(decide).collect();
    let is_on_its_way =
        |decided: &Decided| matches!(decided.after.delivery.state, CommandState::Served | CommandState::Validated);
    if all.iter().any(is_on_its_way) {
        return Err(RedeliverError::OnItsWay);
    }
    Ok(write_all(db, all).await?)
}
