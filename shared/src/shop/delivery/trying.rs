//! A try of the owner's: what an item runs for a player, and what takes it back, without an order. The commands are made at once, those
//! that take back far in the future, with a row under a run's name: whoever finds it can end the try. At the end all of it is
//! deleted (rules.md, "Trying an item").

use super::commands::{Decided, moved, place_of, waits, write_all};
use super::follow::block;
use super::making::{Making, Players};
use super::take_back::texts;
use super::{commands, deliveries};
use crate::clock::Clock;
use crate::model::{
    ActiveVersion, Chosen, Command, CommandEvent, CommandId, CommandState, Entitlement, InternalId, ItemId, Ledger,
    Money, Order, OrderEffects, OrderLine, OrderNumber, OrderStatus, OwnerRun, PlayerName, PublishedItem, RunName,
    ServerId, StoreDelivery, Try, User, UserId,
};
use crate::rules::delivery::frozen::{Expanded, freeze, when_paid, when_taken_back};
use crate::rules::delivery::{Place, Word, can_still_run, may_have_run, place};
use crate::shop::accounts::names;
use crate::shop::orders::StoredOrder;
use crate::shop::stock::ledgers;
use crate::table::keys::{self, Key};
use crate::table::transaction::{Write, send, sent};
use crate::table::{Db, StoreError, TURNS, in_turns, read_live};
use std::collections::BTreeSet;

/// After how many seconds what takes back would run if no one ended the try: never, in the life of a store.
const NEVER: i64 = 100 * 365 * 86_400;
/// The most commands of a try: one transaction makes them.
pub const MOST_COMMANDS: usize = 45;

/// The reason for which an item cannot be tried, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TryRefusal {
    #[error("The player has this item: the end of the try would take it away.")]
    Owned,
    #[error("The player has something that ends with the same command: the end of the try would take it away.")]
    Held,
    #[error("The name is banned: nothing is delivered to it.")]
    Banned,
    #[error("Nothing runs when this item is bought; of a bundle, the items that it consists of run.")]
    NoCommands,
    #[error("It runs {0} commands on all servers together, and a try at most {MOST_COMMANDS}.")]
    TooMany(usize),
    #[error("It would not be delivered: `{0}` cannot be made of this name and these values.")]
    NotMade(String),
}

/// The commands of a try, before they have ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TryPlan {
    pub item: ItemId,
    /// The player, as the account is called if there is one.
    pub player: String,
    pub given: Vec<Command>,
    pub back: Vec<Command>,
    texts: Vec<Key>,
}

impl TryPlan {
    /// The servers that the commands run on.
    pub fn servers(&self) -> BTreeSet<ServerId> {
        self.given.iter().chain(&self.back).map(|command| command.server).collect()
    }
}

/// The name of the run of an item's try: one at a time.
pub fn run_of(item: ItemId) -> Option<RunName> {
    RunName::parse(&format!("try-{item}")).ok()
}

/// Whether a command is of a try. It has no order, and who began the try sees what becomes of it.
pub fn is_tried(command: &Command) -> bool {
    run_of(command.item).is_some_and(|run| command.order.as_str() == run.as_str() && command.runs.contains(&run))
}

/// Plans a try of an item with what was chosen. Changes nothing.
pub async fn plan(
    db: &Db,
    clock: &dyn Clock,
    (active, currency): (&ActiveVersion, &str),
    (published, chosen): (&PublishedItem, Chosen),
    player: &PlayerName,
) -> Result<Result<TryPlan, TryRefusal>, StoreError> {
    let (item, now) = (published.item.id, clock.seconds());
    let account = names::owner(db, player.key()).await?;
    let of_account = account.into_iter().flat_map(|user| [keys::user(user), keys::ledger(user)]);
    let mut rows = db.batch_get([keys::ban(player.key())].into_iter().chain(of_account).collect()).await?;
    if rows.take(&keys::ban(player.key())).is_some() {
        return Ok(Err(TryRefusal::Banned));
    }
    let mut name = player.as_str().to_owned();
    if let Some(user) = account {
        let key = keys::user(user);
        name = rows.take(&key).map(|row| row.live::<User>(&key)).transpose()?.map_or(name, |user| user.username);
        let ledger: Ledger = ledgers::take(&mut rows, user)?;
        if ledger.of(item).at(now).units > 0 {
            return Ok(Err(TryRefusal::Owned));
        }
    }
    let user = account.unwrap_or(UserId::new(0));
    let stored = order_of(published, chosen, user, (active.config.digits, currency), now);
    let server = stored.order.lines.first().and_then(|line| line.chosen.as_ref()?.server);
    let delivery = StoreDelivery { commands: Vec::new(), ..active.config.delivery.clone() };
    let frozen = freeze(std::iter::once((0, published, server)), &delivery).unwrap_or_default();
    let players = Players::of(user, &name);
    let making = Making {
        stored: &stored,
        frozen: &frozen,
        players: &players,
        servers: Some(&active.config.delivery.servers),
        access: None,
        moves: false,
        now,
    };
    let (given, back) = match commands_of(&making) {
        Ok(commands) => commands,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let entries = when_paid(&frozen, &stored.order.lines, CommandEvent::Bought);
    let texts: Vec<Key> =
        account.map_or_else(Vec::new, |_| texts(&stored, &frozen, &entries).into_iter().map(|text| text.key).collect());
    if is_held(db, &texts).await? {
        return Ok(Err(TryRefusal::Held));
    }
    Ok(Ok(TryPlan { item, player: name, given, back, texts }))
}

async fn is_held(db: &Db, texts: &[Key]) -> Result<bool, StoreError> {
    let held = deliveries::lasting(db, texts.iter().cloned().collect()).await?;
    Ok(held.values().any(|held| !held.holders.is_empty() || held.more > 0))
}

/// The order that a purchase would make. It is never written.
fn order_of(
    published: &PublishedItem,
    chosen: Chosen,
    user: UserId,
    (digits, currency): (u8, &str),
    now: i64,
) -> StoredOrder {
    let item = published.item.id;
    let line = OrderLine { chosen: Some(chosen), ..OrderLine::new(item, 1, Money::ZERO) };
    let order = Order {
        id: OrderNumber::new(0),
        internal_id: InternalId::new(&format!("try-{item}")),
        price: Money::ZERO,
        currency: currency.to_owned(),
        digits,
        status: OrderStatus::Paid,
        gateway: String::new(),
        created_at: now,
        owner: Some(user),
        moved_to: None,
        lines: vec![line],
        tax: None,
    };
    StoredOrder { order, effects: OrderEffects::default() }
}

type Commands = (Vec<Command>, Vec<Command>);

/// The commands that give, without their delays, and those that take back, each text once on a server.
fn commands_of(making: &Making<'_>) -> Result<Commands, TryRefusal> {
    let lines = &making.stored.order.lines;
    let paid = when_paid(making.frozen, lines, CommandEvent::Bought);
    let (bought, ends): (Vec<Expanded<'_>>, Vec<_>) =
        paid.into_iter().partition(|entry| entry.template.on == CommandEvent::Bought);
    let make = |entry: &Expanded<'_>| -> Result<Command, TryRefusal> {
        let not_made = || TryRefusal::NotMade(entry.template.run.clone());
        let player = making.player(entry).ok_or_else(not_made)?;
        let mut command = making.command(CommandId::FIRST, entry, &player);
        if command.delivery.entitlement != Entitlement::Good {
            return Err(not_made());
        }
        (command.delivery.due, command.delivery.state) = (making.now, CommandState::Ready);
        Ok(command)
    };
    let given = bought.iter().map(make).collect::<Result<Vec<_>, _>>()?;
    let mut back: Vec<Command> = Vec::new();
    for entry in ends.iter().chain(&when_taken_back(making.frozen, lines, false)) {
        let mut command = make(entry)?;
        (command.delivery.due, command.delivery.state) = (making.now + NEVER, CommandState::Waiting);
        if !back.iter().any(|other| (other.server, &other.text) == (command.server, &command.text)) {
            back.push(command);
        }
    }
    match given.len() + back.len() {
        _ if given.is_empty() => Err(TryRefusal::NoCommands),
        all if all > MOST_COMMANDS => Err(TryRefusal::TooMany(all)),
        _ => Ok((given, back)),
    }
}

/// Begins a try; `None` if another one of the item has begun meanwhile.
pub async fn begin(db: &Db, name: &RunName, plan: TryPlan) -> Result<Option<Try>, StoreError> {
    let TryPlan { item, player, given, back, texts } = plan;
    let all = u32::try_from(given.len() + back.len()).unwrap_or(u32::MAX);
    let first = commands::reserve(db, all).await?;
    let given_count = given.len();
    let mut writes = Vec::new();
    for (number, command) in (first.get()..).zip(given.into_iter().chain(back)) {
        let id = CommandId::new(number).map_err(|_| StoreError::no_more_ids())?;
        let command = Command { id, runs: vec![name.clone()], ..command };
        writes.extend(commands::put_new(&command, place_of(&command).as_ref())?);
    }
    let texts = texts.into_iter().map(|key| (key.pk, key.sk)).collect();
    let begun = Try { item, player, first, given: u32::try_from(given_count).unwrap_or(u32::MAX), all, texts };
    writes.push(Write::put_live(keys::run(name), &OwnerRun::Try(begun.clone()))?.only_if_absent());
    writes.extend(Players::ban(&begun.player).map(|ban| Write::check(ban).only_if_absent()));
    Ok(sent(db, writes).await?.then_some(begun))
}

/// The commands of a try that give, and those that take back.
pub async fn read(db: &Db, begun: &Try) -> Result<Commands, StoreError> {
    let ids = block(Some(begun.first), begun.all);
    let found: Vec<Command> = commands::read(db, ids).await?.into_values().collect();
    let is_given = |command: &Command| command.id.get() < begun.first.get().saturating_add(begun.given);
    Ok(found.into_iter().partition(is_given))
}

/// Recalls what has not run, and once nothing of it can run any more lets run what takes back. `false` if it has to wait; the same
/// call continues.
pub async fn take_back(db: &Db, clock: &dyn Clock, begun: &Try) -> Result<bool, StoreError> {
    in_turns(TURNS, || async {
        let now = clock.seconds();
        let (given, back) = read(db, begun).await?;
        let decide = |command, word| Decided::new(command, word, now);
        let recalled = given.into_iter().map(|command| {
            let recalled = decide(command, Word::Recall(Entitlement::Refunded));
            let silent = decide(recalled.after, Word::Silence);
            Decided { before: recalled.before, ..silent }
        });
        let recalled: Vec<Decided> = recalled.collect();
        let given: Vec<Command> = recalled.iter().map(|decided| decided.after.clone()).collect();
        write_all(db, recalled).await?;
        if given.iter().any(|command| can_still_run(&command.delivery, now)) {
            return Ok(false);
        }
        let texts: Vec<Key> = begun.texts.iter().map(|(pk, sk)| Key { pk: pk.clone(), sk: sk.clone() }).collect();
        // What the player bought meanwhile keeps it.
        let is_held = is_held(db, &texts).await?;
        let mut writes = Vec::new();
        for command in back.into_iter().filter(|command| waits(command, now)) {
            let there = given.iter().filter(|given| given.server == command.server);
            let ran = |command: &Command| may_have_run(&command.delivery);
            let has_run = if there.clone().next().is_some() { there.clone().any(ran) } else { given.iter().any(ran) };
            if has_run && !is_held {
                writes.extend(moved(&command, command.delivery.due, now)?);
            } else {
                writes.extend(decide(command, Word::Cancel).writes()?);
            }
        }
        if !writes.is_empty() {
            send(db, writes).await?;
        }
        Ok(true)
    })
    .await
}

/// Whether a game server ran a command, or nothing is expected of it.
pub fn is_over(command: &Command) -> bool {
    place(command.delivery.state) == Place::Gone
}

/// Deletes what is left of a try whose commands are over; `false` if one is not. Where another one has ended it before, nothing is
/// left, and a try that began under its name since stays.
pub async fn finish(db: &Db, clock: &dyn Clock, (name, begun): (&RunName, &Try)) -> Result<bool, StoreError> {
    in_turns(TURNS, || async {
        let (given, back) = read(db, begun).await?;
        let own = Write::delete(keys::run(name)).only_if_equal("first", begun.first);
        if given.is_empty() && back.is_empty() {
            return sent(db, vec![own]).await.map(|_| true);
        }
        let mut writes: Vec<Write> = vec![own];
        // What was served and never answered may have run, and was taken back.
        let waits = |command: &Command| can_still_run(&command.delivery, clock.seconds());
        if given.iter().any(waits) || !back.iter().all(is_over) {
            return Ok(false);
        }
        for command in given.iter().chain(&back) {
            writes.extend(place_of(command).map(Write::delete));
            writes.push(Write::delete(keys::command(command.id)).only_if_equal("version", command.version));
        }
        send(db, writes).await?;
        Ok(true)
    })
    .await
}

/// The unfinished try under a name.
pub async fn unfinished(db: &Db, name: &RunName) -> Result<Option<Try>, StoreError> {
    Ok(match read_live(db, &keys::run(name)).await? {
        Some(OwnerRun::Try(begun)) => Some(begun),
        Some(OwnerRun::Delivery(_) | OwnerRun::Extension(_)) | None => None,
    })
}
