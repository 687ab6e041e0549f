//! The owner's decisions about commands: `delivery cancel`, `done` and `retry` of single ones, and `delivery retry --server`, a
//! named run of a server, or with `--today` a new season of it.

use super::queue::find;
use super::{CommandFacts, DecideDelivery, RetryDelivery, left_out, named, table};
use crate::arguments::past;
use crate::order::find as find_order;
use crate::prelude::*;
use jiff::Timestamp;
use serde_json::Value;
use shared::model::{CommandId, CommandState, DeliveryRun, InternalId, OwnerRun, RunName, Server};
use shared::rules::delivery::state_at;
use shared::shop::delivery::run;
use shared::shop::delivery::{
    LeftOut, OwnerOutcome, cancel, commands_of, done, give_season, orders_of, preview, preview_season,
    retry as send_again, run_again, season_orders,
};
use shared::table::StoreError;
use shared::table::keys::Key;
use std::collections::BTreeMap;

/// A decision of the owner about commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Retry,
    Cancel,
    Done,
}

impl Decision {
    /// The states of an order's commands that `--order` is about.
    const fn states(self) -> &'static [CommandState] {
        match self {
            Self::Retry => &[CommandState::Unknown, CommandState::Refused],
            Self::Cancel => &[
                CommandState::Waiting,
                CommandState::Ready,
                CommandState::Kept,
                CommandState::Unknown,
                CommandState::Refused,
            ],
            Self::Done => &[CommandState::Kept, CommandState::Unknown, CommandState::Refused],
        }
    }

    const fn question(self) -> &'static str {
        match self {
            Self::Retry => "Run these again, although they may have run?",
            Self::Cancel => "Cancel these?",
            Self::Done => "Note these as done by hand?",
        }
    }
}

pub async fn decide(at: &Deployment, console: &Console, options: &DecideDelivery, decision: Decision) -> Outcome {
    let active = at.published().await?;
    let now = at.clock.seconds();
    let ids = match &options.order {
        Some(order) => {
            let mut commands = commands_of(&at.db, &find_order(at, &InternalId::new(order)).await?).await?;
            commands.retain(|command| decision.states().contains(&state_at(&command.delivery, now)));
            if commands.is_empty() {
                let states: Vec<&str> = decision.states().iter().map(|state| state.as_str()).collect();
                let what = format!("No command of the order is {}.", states.join(", "));
                return Err(Failure::refused(what, "Name commands by their ids: `storectl delivery list --order ID`."));
            }
            let ids = commands.iter().map(|command| command.id).collect();
            console.confirm(&table(&CommandFacts::all(commands, &active, now)), decision.question(), options.yes)?;
            ids
        }
        None => {
            if decision == Decision::Retry {
                let shown: Vec<String> = options.ids.iter().map(ToString::to_string).collect();
                console.confirm(&format!("Commands {}", shown.join(", ")), decision.question(), options.yes)?;
            }
            options.ids.clone()
        }
    };
    decide_each(at, &ids, decision).await
}

async fn decide_each(at: &Deployment, ids: &[CommandId], decision: Decision) -> Outcome {
    let (db, clock) = (&at.db, at.clock.as_ref());
    let (mut said, mut refused, mut commands) = (Vec::new(), Vec::new(), Vec::new());
    for id in ids {
        let outcome = match decision {
            Decision::Retry => send_again(db, clock, *id).await,
            Decision::Cancel => cancel(db, clock, *id).await,
            Decision::Done => done(db, clock, *id).await,
        };
        let decided = said.len() + refused.len();
        let done = format!("{decided} of {} commands are decided; it is not known about {id}.", ids.len());
        let outcome = outcome.unsure(done, "Look at `storectl delivery list`, then run it again for the others.")?;
        match outcome_of(*id, &outcome) {
            Ok((text, entry)) => {
                said.push(text);
                commands.push(entry);
            }
            Err(text) => refused.push(text),
        }
    }
    if !refused.is_empty() {
        let next = "`storectl delivery list` and `storectl order show ID` show their states.";
        let failure = Failure::refused(refused.join("\n"), next);
        return Err(if said.is_empty() { failure } else { failure.done(said.join("\n")) });
    }
    let lines: Vec<String> = said.iter().map(|text| ok!("{text}")).collect();
    Ok(Printed::new(lines.join("\n"), &facts! { commands }))
}

/// The outcome of a decision about a command.
fn outcome_of(id: CommandId, outcome: &OwnerOutcome) -> Result<(String, Value), String> {
    Err(match outcome {
        OwnerOutcome::Done(command) => {
            let state = command.delivery.state;
            return Ok((format!("Command {id} is {}.", state.as_str()), value(&facts! { id, state })));
        }
        OwnerOutcome::SentAgain(again) => {
            let delivery = &again.delivery;
            let waits = (delivery.state == CommandState::Waiting).then_some(Time(delivery.due));
            let until = waits.map_or_else(String::new, |due| format!(", when its item expires: {due}"));
            let said = format!("Command {id} is sent again as {}{until}.", again.id);
            return Ok((said, value(&facts! { id, again: again.id })));
        }
        OwnerOutcome::TakenBack => format!(
            "Command {id} is not sent again: its order was refunded, disputed, moved or given again in a new season. \
             `storectl delivery cancel {id}` ends it."
        ),
        OwnerOutcome::Ended => format!("Command {id} is not sent again: its item has expired."),
        OwnerOutcome::LastsAgain => {
            format!("Command {id} is not sent again: its item was bought again since, and another command ends it.")
        }
        OwnerOutcome::Refused(state) => format!("Command {id} is {} and stays so.", state.as_str()),
        OwnerOutcome::Unknown => format!("There is no command {id}."),
    })
}

pub async fn retry(at: &Deployment, console: &Console, options: &RetryDelivery, server: &str) -> Outcome {
    let active = at.published().await?;
    let server = find(&active, server)?;
    let now = at.clock.seconds();
    let name = options.run.as_ref().ok_or_else(|| {
        nameless("A run of a server needs a name, under which nothing runs again twice.", &server.name, now)
    })?;
    let run = wanted(at, options, (name, server), now).await?;
    let run = Run { at, name, server, scope: run };
    let (orders, unreadable) = run.orders(now).await?;
    let sums = || Sums { unreadable: unreadable.clone(), ..Sums::default() };
    let mut planned = sums();
    for order in &orders {
        run.add(&mut planned, order, true).await?;
    }
    let (verb, question) = if run.scope.today {
        ("run", "Give these orders what is published now?")
    } else {
        ("run again", "Run these again, although they have run?")
    };
    let counted = planned.counted();
    if options.dry_run || planned.commands == 0 {
        return Ok(run.printed(planned, &format!("{counted} would {verb}.")));
    }
    let shown = format!("{}\n{}", run.introduced(), planned.lines(&format!("{counted} {verb}.")));
    console.confirm(&shown, question, options.yes)?;
    begin(at, name, &OwnerRun::Delivery(run.scope.clone())).await?;
    let mut done = sums();
    let progress = console.progress("Orders", Some(orders.len() as u64));
    for order in &orders {
        let of = if run.scope.today { "" } else { "those of " };
        let known = format!("{} {verb}; it is not known about {of}order {order}.", done.counted());
        let next = "Run the same command with the same --run again: it goes on, and gives nothing twice.";
        run.add(&mut done, order, false).await.unsure(known, next)?;
        progress.advance(1);
    }
    let first = ok!("{} {verb}.", done.counted());
    Ok(run.printed(done, &first))
}

/// Stores a run under its name, unless it is.
pub async fn begin(at: &Deployment, name: &RunName, run: &OwnerRun) -> Result<()> {
    if run::begin(&at.db, name, run).await? == *run {
        return Ok(());
    }
    Err(Failure::new(Exit::Raced, "Another call began a run of this name just now.", "Run the same command again."))
}

/// A run needs a name; proposes one that begins with `about`.
pub fn nameless(what: &str, about: &str, now: i64) -> Failure {
    let about = about.to_lowercase();
    let signs = about.chars().map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '-' });
    let name: String = signs.take(RunName::LONGEST / 2).collect();
    let day = Timestamp::from_second(now).map_or_else(|_| now.to_string(), |at| at.strftime("%Y-%m-%d").to_string());
    Failure::new(Exit::Usage, what, format!("Add --run {name}-{day}, and use the same name if you repeat it."))
}

/// The run as it was begun under its name, or as it is to begin. Refuses another run under the same name.
async fn wanted(
    at: &Deployment,
    options: &RetryDelivery,
    (name, server): (&RunName, &Server),
    now: i64,
) -> Result<DeliveryRun> {
    let before = run::get(&at.db, name).await?;
    // Times are those of when it was begun.
    let begun = if let Some(OwnerRun::Delivery(run)) = &before { run.until } else { now };
    let time = past(options.since.as_deref(), options.until.as_deref(), begun)?;
    let run =
        DeliveryRun { server: server.id, since: time.start, until: time.end, item: options.item, today: options.today };
    match before {
        Some(OwnerRun::Delivery(before)) if before == run => Ok(run),
        None => Ok(run),
        Some(OwnerRun::Delivery(before)) => {
            let what = format!("There is a run {name} already, of {}.", time_of(&before));
            let next = "Repeat it with the same --server, --since, --until, --item and --today, or take another name.";
            Err(Failure::refused(what, next))
        }
        Some(OwnerRun::Extension(_) | OwnerRun::Try(_)) => Err(taken(name)),
    }
}

/// Another kind of run has the name.
pub fn taken(name: &RunName) -> Failure {
    Failure::refused(format!("There is a run {name} already, of another command."), "Take another name.")
}

/// The server, the item and the time of a run.
fn time_of(run: &DeliveryRun) -> String {
    let item = run.item.map_or_else(String::new, |item| format!(", item {item}"));
    let since = if run.since > 0 { Time(run.since).to_string() } else { "the beginning".to_owned() };
    format!("server {}{item}, from {since} until {}", run.server, Time(run.until))
}

/// A run of a server, or a season.
struct Run<'a> {
    at: &'a Deployment,
    name: &'a RunName,
    server: &'a Server,
    scope: DeliveryRun,
}

impl Run<'_> {
    /// The orders that it is about, and rows that cannot be read.
    async fn orders(&self, now: i64) -> Result<(Vec<InternalId>, Vec<Key>)> {
        let (db, name, run) = (&self.at.db, self.name, &self.scope);
        if run.today {
            return Ok((season_orders(db, name, run).await?, Vec::new()));
        }
        let found = orders_of(db, name, run, now).await?;
        Ok((found.orders.into_iter().collect(), found.unreadable))
    }

    /// Runs what an order is given again, or only looks what that would be.
    async fn add(&self, sums: &mut Sums, order: &InternalId, is_preview: bool) -> Result<(), StoreError> {
        let (db, clock, run) = (&self.at.db, self.at.clock.as_ref(), (self.name, &self.scope));
        let before = sums.commands;
        if self.scope.today {
            let found = if is_preview {
                preview_season(db, clock, run, order).await?
            } else {
                give_season(db, clock, run, order).await?
            };
            sums.commands += found.commands;
            for reason in found.left_out {
                sums.left_out.entry(reason).or_default().push(order.as_str().into());
            }
        } else {
            let found = if is_preview {
                preview(db, clock, run, order).await?
            } else {
                run_again(db, clock, run, order).await?
            };
            sums.commands += found.again.len();
            let again = |next: CommandId| (!is_preview).then_some(next);
            sums.again.extend(found.again.iter().map(|(before, next)| (before.id, again(next.id))));
            for (command, reason) in found.left_out {
                sums.left_out.entry(reason).or_default().push(value(&command.id));
            }
        }
        sums.orders += usize::from(sums.commands > before);
        Ok(())
    }

    fn introduced(&self) -> String {
        let (name, server) = (self.name, &self.server.name);
        let of = if self.scope.today {
            format!("{server}, as published today")
        } else {
            format!("{server} ({})", self.scope.server)
        };
        format!("Run {name} of {of}: {}", time_of(&self.scope))
    }

    fn printed(&self, sums: Sums, first: &str) -> Printed {
        let text = format!("{}\n{}", self.introduced(), sums.lines(first));
        let DeliveryRun { server, item, since, until, today } = self.scope.clone();
        let (since, until, name) = (Time(since), Time(until), self.name);
        let Sums { orders, commands, again, left_out, unreadable } = sums;
        if today {
            let facts = facts! { run: name, server, item, since, until, today, orders, commands, left_out };
            return Printed::new(text, &facts);
        }
        let commands: Vec<_> = again.into_iter().map(|(id, again)| facts! { id, again }).collect();
        let unreadable = named(&unreadable);
        Printed::new(text, &facts! { run: name, server, item, since, until, orders, commands, left_out, unreadable })
    }
}

/// The commands that run again, and what is left out, by reason.
#[derive(Default)]
struct Sums {
    orders: usize,
    commands: usize,
    /// The commands, with the ids under which they run again, once they have them; of a season only their number is known.
    again: Vec<(CommandId, Option<CommandId>)>,
    /// The ids of commands, or of a season those of orders.
    left_out: BTreeMap<LeftOut, Vec<Value>>,
    unreadable: Vec<Key>,
}

impl Sums {
    fn counted(&self) -> String {
        format!("{} commands of {} orders", self.commands, self.orders)
    }

    /// The first line, then one for each reason to leave something out.
    fn lines(&self, first: &str) -> String {
        let line = |(reason, ids): (&LeftOut, &Vec<Value>)| {
            let (label, count, reason) = (paint(WARN, "left out:"), ids.len(), reason_of(*reason));
            let is_order = ids.iter().any(Value::is_string);
            let text = |id: &Value| id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            let shown: Vec<String> = ids.iter().take(if is_order { 5 } else { 10 }).map(text).collect();
            let (more, shown) = (if count > shown.len() { ", …" } else { "" }, shown.join(", "));
            if is_order {
                format!("{label} in {count} orders, lines {reason} ({shown}{more})")
            } else {
                format!("{label} {count} {reason} (ids {shown}{more})")
            }
        };
        let unreadable = named(&self.unreadable);
        let lines = [first.to_owned()].into_iter().chain(self.left_out.iter().map(line)).chain(left_out(&unreadable));
        lines.collect::<Vec<_>>().join("\n")
    }
}

const fn reason_of(reason: LeftOut) -> &'static str {
    match reason {
        LeftOut::TakenBack => "of orders that were refunded or disputed",
        LeftOut::UnitsRefunded => "of units that were refunded",
        LeftOut::Banned => "of banned players",
        LeftOut::Erased => "of erased players",
        LeftOut::Ended => "of items that have ended",
        LeftOut::OnItsWay => "still on their way; repeat the run in five minutes",
        LeftOut::GivesNothing => "of items that give nothing there now",
        LeftOut::DoneByHand => "done by hand",
        LeftOut::NotMade => "that cannot be made again; give them by hand, or `delivery retry ID` sends the same text",
    }
}
