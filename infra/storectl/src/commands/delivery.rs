//! `delivery …`: commands on their way to game servers.

use super::common::{published, shown_time};
use super::queues::{find, shown_server};
use crate::answer::{Answer, GOOD, WARN, columns, paint};
use crate::cli::{DecideDelivery, ListDelivery};
use crate::console::Console;
use crate::error::Failure;
use crate::target::Target;
use serde::Serialize;
use serde_json::{Value, json};
use shared::model::{ActiveVersion, Command, CommandEvent, CommandId, CommandState, InternalId};
use shared::rules::delivery::state_at;
use shared::shop::delivery::{Filter, Listed, OwnerOutcome, cancel, commands_of, done, matching, retry};
use shared::shop::orders::{self, StoredOrder};
use shared::table::keys::Key;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// A decision of the owner about commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
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

pub(super) async fn list(target: &Target, options: &ListDelivery) -> Result<Answer, Failure> {
    let active = published(target).await?;
    let now = target.clock.seconds();
    let server = options.server.as_deref().map(|text| find(&active, text)).transpose()?;
    let filter = Filter {
        server: server.map(|server| server.id),
        order: options.order.as_deref().map(InternalId::new),
        player: options.user.clone(),
        state: options.state,
        due_until: options.older.map(|older| now.saturating_sub(older)),
        waits_long: options.waiting,
    };
    let Listed { commands, unreadable } = matching(&target.db, &filter, now).await?.ok_or_else(no_order)?;
    let mut text =
        if commands.is_empty() { "There are no such commands.".to_owned() } else { table(&commands, &active, now) };
    for line in left_out(&unreadable) {
        _ = write!(text, "\n{line}");
    }
    let entries: Vec<Value> = commands.iter().map(|command| facts(command, &active, now)).collect();
    Ok(Answer::new(text, json!({ "commands": entries, "unreadable": named(&unreadable) })))
}

/// The keys of rows that cannot be read, as they are in the table.
pub(super) fn named(unreadable: &[Key]) -> Vec<String> {
    unreadable.iter().map(|key| format!("{} {}", key.pk, key.sk)).collect()
}

/// A line for each command that cannot be read.
pub(super) fn left_out(unreadable: &[Key]) -> impl Iterator<Item = String> {
    let line = |name| format!("{} {name} cannot be read; `storectl doctor` says why", paint(WARN, "left out:"));
    named(unreadable).into_iter().map(line)
}

/// How far the commands of an order have come, without those that are due when an item expires.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(super) struct Progress {
    ran: usize,
    commands: usize,
    /// How many are in each other state.
    others: BTreeMap<&'static str, usize>,
}

impl Progress {
    /// `None` if there are no commands.
    pub(super) fn of<'a>(commands: impl Iterator<Item = &'a Command>, now: i64) -> Option<Self> {
        let mut progress = Self::default();
        for command in commands {
            let state = state_at(&command.delivery, now);
            match state {
                // Another command was sent in its place.
                CommandState::Retried => continue,
                CommandState::Waiting if command.event == CommandEvent::Expired => continue,
                CommandState::Delivered | CommandState::Executed | CommandState::Done => progress.ran += 1,
                other => *progress.others.entry(other.as_str()).or_default() += 1,
            }
            progress.commands += 1;
        }
        (progress.commands > 0).then_some(progress)
    }

    /// Those of several orders, by internal id.
    pub(super) async fn of_orders(target: &Target, stored: &[StoredOrder]) -> Result<BTreeMap<String, Self>, Failure> {
        /// Up to so many orders are read one by one.
        const FEW: usize = 20;
        let now = target.clock.seconds();
        let mut commands: BTreeMap<String, Vec<Command>> = BTreeMap::new();
        if stored.len() <= FEW {
            for one in stored {
                let of_order = commands_of(&target.db, one).await?;
                commands.insert(one.order.internal_id.to_string(), of_order);
            }
        } else {
            let all = matching(&target.db, &Filter::default(), now).await?.unwrap_or_default();
            for command in all.commands {
                commands.entry(command.order.to_string()).or_default().push(command);
            }
        }
        let progress = commands.into_iter().filter_map(|(id, all)| Some((id, Self::of(all.iter(), now)?)));
        Ok(progress.collect())
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} ran", self.ran, self.commands)?;
        self.others.iter().try_for_each(|(state, count)| write!(f, ", {count} {state}"))
    }
}

/// A command in lines that fit into a terminal.
pub(super) fn lines(command: &Command, active: &ActiveVersion, now: i64) -> Vec<String> {
    let state = shown_state(state_at(&command.delivery, now));
    let (on, server) = (command.event.as_str(), shown_server(active, command.server));
    let player = if command.player.is_empty() { "an erased player" } else { command.player.as_str() };
    let mut lines = vec![format!("command {} ({on}) on {server} for {player}: {state}", command.id)];
    lines.push(format!("  {}", if command.text.is_empty() { "(erased)" } else { command.text.as_str() }));
    lines.push(format!("  {}", times(command)));
    lines.extend(command.output.as_ref().map(|output| format!("  responded: {output}")));
    lines
}

async fn of_order(target: &Target, id: &InternalId) -> Result<Vec<Command>, Failure> {
    let stored = orders::get(&target.db, id).await?.ok_or_else(no_order)?;
    Ok(commands_of(&target.db, &stored).await?)
}

fn no_order() -> Failure {
    Failure::refused("There is no order with this internal id.", "It is matched exactly, case included.")
}

/// A state as people read it.
pub(super) const fn shown_state(state: CommandState) -> &'static str {
    match state {
        CommandState::Kept => "kept, or lost if the player was online",
        other => other.as_str(),
    }
}

pub(super) fn table(commands: &[Command], active: &ActiveVersion, now: i64) -> String {
    let row = |command: &Command| {
        vec![
            command.id.to_string(),
            shown_state(state_at(&command.delivery, now)).to_owned(),
            command.event.as_str().to_owned(),
            shown_server(active, command.server),
            command.player.clone(),
            command.order.to_string(),
            times(command),
            command.text.clone(),
            command.output.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<Vec<String>> = commands.iter().map(row).collect();
    columns(&["ID", "STATE", "ON", "SERVER", "PLAYER", "ORDER", "TIMES", "COMMAND", "RESPONSE"], &rows)
}

/// The times of a command, in their order.
pub(super) fn times(command: &Command) -> String {
    let delivery = &command.delivery;
    let known = [
        ("due", Some(delivery.due)),
        ("served", delivery.served_at),
        ("received", delivery.delivered_at),
        ("asked", delivery.validated_at),
        ("ran", delivery.executed_at),
        ("began", delivery.unknown_at),
        ("refused", delivery.refused_at),
    ];
    let shown = known.into_iter().filter_map(|(word, at)| Some(format!("{word} {}", shown_time(at?))));
    shown.collect::<Vec<_>>().join(", ")
}

pub(super) fn facts(command: &Command, active: &ActiveVersion, now: i64) -> Value {
    let delivery = &command.delivery;
    let known = active.config.delivery.servers.iter().find(|server| server.id == command.server);
    json!({
        "id": command.id, "state": state_at(delivery, now), "on": command.event, "server": command.server,
        "server_name": known.map(|server| &server.name), "player": command.player, "order": command.order,
        "line": command.line, "item": command.item, "command": command.text, "online": delivery.online,
        "once": delivery.once, "due": shown_time(delivery.due), "ends_at": delivery.ends_at.map(shown_time),
        "served": delivery.served, "served_at": delivery.served_at.map(shown_time),
        "delivered_at": delivery.delivered_at.map(shown_time), "validated_at": delivery.validated_at.map(shown_time),
        "executed_at": delivery.executed_at.map(shown_time), "retried_as": command.retried_as,
        "standing": delivery.entitlement, "output": command.output, "retry_of": command.retry_of,
        "player_id": command.player_id, "unknown_at": delivery.unknown_at.map(shown_time),
        "refused_at": delivery.refused_at.map(shown_time), "by_agent": delivery.by_agent, "runs": command.runs,
    })
}

pub(super) async fn decide(
    target: &Target,
    console: &Console,
    options: &DecideDelivery,
    decision: Decision,
) -> Result<Answer, Failure> {
    let active = published(target).await?;
    let now = target.clock.seconds();
    let ids = match &options.order {
        Some(order) => {
            let mut commands = of_order(target, &InternalId::new(order)).await?;
            commands.retain(|command| decision.states().contains(&state_at(&command.delivery, now)));
            if commands.is_empty() {
                let states: Vec<&str> = decision.states().iter().map(|state| state.as_str()).collect();
                let what = format!("No command of the order is {}.", states.join(", "));
                return Err(Failure::refused(what, "Name commands by their ids: `storectl delivery list --order ID`."));
            }
            console.confirm(&table(&commands, &active, now), decision.question(), options.yes)?;
            commands.iter().map(|command| command.id).collect()
        }
        None => {
            if decision == Decision::Retry {
                let shown: Vec<String> = options.ids.iter().map(ToString::to_string).collect();
                console.confirm(&format!("Commands {}", shown.join(", ")), decision.question(), options.yes)?;
            }
            options.ids.clone()
        }
    };
    decide_each(target, &ids, decision).await
}

async fn decide_each(target: &Target, ids: &[CommandId], decision: Decision) -> Result<Answer, Failure> {
    let (db, clock) = (&target.db, target.clock.as_ref());
    let (mut said, mut refused, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    for id in ids {
        let outcome = match decision {
            Decision::Retry => retry(db, clock, *id).await,
            Decision::Cancel => cancel(db, clock, *id).await,
            Decision::Done => done(db, clock, *id).await,
        };
        let outcome = outcome.map_err(|error| {
            let decided = said.len() + refused.len();
            let done = format!("{decided} of {} commands are decided; it is not known about {id}.", ids.len());
            let next = "Look at `storectl delivery list`, then run it again for the others.";
            Failure::from(error).done(done).next(next)
        })?;
        match outcome_of(*id, &outcome) {
            Ok((text, entry)) => {
                said.push(text);
                entries.push(entry);
            }
            Err(text) => refused.push(text),
        }
    }
    if !refused.is_empty() {
        let next = "`storectl delivery list` and `storectl order show ID` show their states.";
        let failure = Failure::refused(refused.join("\n"), next);
        return Err(if said.is_empty() { failure } else { failure.done(said.join("\n")) });
    }
    let lines: Vec<String> = said.iter().map(|text| format!("{} {text}", paint(GOOD, "ok"))).collect();
    Ok(Answer::new(lines.join("\n"), json!({ "commands": entries })))
}

/// What was done about a command, or why nothing was.
fn outcome_of(id: CommandId, outcome: &OwnerOutcome) -> Result<(String, Value), String> {
    Err(match outcome {
        OwnerOutcome::Done(command) => {
            let state = command.delivery.state;
            return Ok((format!("Command {id} is {}.", state.as_str()), json!({ "id": id, "state": state })));
        }
        OwnerOutcome::SentAgain(again) => {
            let delivery = &again.delivery;
            let waits = (delivery.state == CommandState::Waiting).then(|| shown_time(delivery.due));
            let until = waits.map_or_else(String::new, |due| format!(", when its item expires: {due}"));
            let said = format!("Command {id} is sent again as {}{until}.", again.id);
            return Ok((said, json!({ "id": id, "again": again.id })));
        }
        OwnerOutcome::TakenBack => format!(
            "Command {id} is not sent again: its order was refunded, disputed, moved or given again in a new season. \
             `storectl delivery cancel {id}` ends it."
        ),
        OwnerOutcome::Ended => format!("Command {id} is not sent again: its item has expired."),
        OwnerOutcome::LastsAgain => {
            format!("Command {id} is not sent again: its item was bought again since, and another command ends it.")
        }
        OwnerOutcome::Refused(state) => format!("Command {id} is {} and stays so.", shown_state(*state)),
        OwnerOutcome::Unknown => format!("There is no command {id}."),
    })
}
