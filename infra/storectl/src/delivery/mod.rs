//! `delivery …`: commands on their way to game servers.

pub mod decide;
pub mod queue;

use crate::arguments::seconds;
use crate::prelude::*;
use crate::table;
use crate::user::if_any_as_at_login;
use serde::Serialize;
use shared::model::{
    ActiveVersion, Command, CommandEvent, CommandId, CommandState, Entitlement, InternalId, ItemId, RunName, ServerId,
};
use shared::rules::delivery::state_at;
use shared::shop::delivery::{Filter, Listed, commands_of, matching};
use shared::shop::orders::StoredOrder;
use shared::table::keys::Key;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Clone, Subcommand)]
pub enum DeliveryCommand {
    /// List commands on their way to game servers, the longest due first; looks through the whole table.
    #[command(after_help = "Examples:\n  storectl delivery list --state unknown --stack storefront\n  \
                            storectl delivery list --user Thornwick --stack storefront\n  \
                            storectl delivery list --waiting --stack storefront\n  \
                            storectl delivery list --server Survival --state ready --older 15m --stack storefront\n  \
                            storectl delivery list --order xihrrpwsa7d4vdj2 --json --stack storefront")]
    List(ListDelivery),
    /// Send commands again under new ids: they run once more, whether or not they ran before.
    #[command(after_help = "Examples:\n  storectl delivery retry 1042 1043 --stack storefront\n  \
                            storectl delivery retry --order xihrrpwsa7d4vdj2 --stack storefront\n  \
                            storectl delivery retry --server Survival --since 2031-05-01T03:00Z --run rollback-2031-05-01 \
                            --stack storefront\n\n\
                            With --order those that are unknown or refused. If the game server asks about the old id again, \
                            the response is not to run it.\n\n\
                            With --server a run: the `bought` commands that the server ran in that time, or may have run, or \
                            keeps, run again, because it was reset or has lost what they gave. Orders must be paid and not disputed; \
                            refunded units, items that have ended, banned players and what you did by hand are left out. The \
                            commands are those of the purchase, for the players' present names. The same command with the same \
                            name goes on where it stopped, and gives nothing twice; another name is another run.\n\n\
                            With --today a new season: paid orders that were made in that time are given what their items give \
                            on the server as they are published now, and a later end or refund takes that back. What timed \
                            items were paid for stays as it is; what every sale of the store runs is not run again.")]
    Retry(RetryDelivery),
    /// Cancel commands that have not run.
    #[command(after_help = "Example:\n  storectl delivery cancel --order xihrrpwsa7d4vdj2 --stack storefront\n\n\
                            With --order those that wait, are ready, kept, unknown or refused.")]
    Cancel(DecideDelivery),
    /// Note that you have done by hand what commands do.
    #[command(after_help = "Example:\n  storectl delivery done 1042 --stack storefront\n\n\
                            With --order those that are kept, unknown or refused.")]
    Done(DecideDelivery),
    /// After a table was restored to a point in time, before functions use it: what may have run since becomes unknown.
    #[command(after_help = "Example:\n  storectl delivery restored --table store-restored --region eu-central-1\n\n\
                            The game servers went on after that moment, so that nothing of it is served again by itself. \
                            Commands that are due later stay. `storectl restore` does this with every backup.")]
    Restored(RestoredDelivery),
}

#[derive(Debug, Clone, Args)]
pub struct RestoredDelivery {
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Clone, Args)]
pub struct ListDelivery {
    /// Only commands of this server: its id or name.
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Only commands of this order, or of a goal that was reached, such as goal-1-3.
    #[arg(long, value_name = "ID")]
    pub order: Option<String>,
    /// Only commands for the user of this name, with or without an account; case does not matter.
    #[arg(long, alias = "player", value_name = "NAME")]
    pub user: Option<String>,
    /// Only commands in this state, such as `ready`, `kept`, `unknown` or `refused`.
    #[arg(long, value_name = "STATE", value_parser = state)]
    pub state: Option<CommandState>,
    /// Only commands that have been due for this long, such as 15m or 2d.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub older: Option<i64>,
    /// Only commands that have waited for their player for more than three days.
    #[arg(long)]
    pub waiting: bool,
}

#[derive(Debug, Clone, Args)]
pub struct RetryDelivery {
    /// The ids of the commands, as `delivery list` shows them.
    #[arg(value_name = "ID", value_parser = id, required_unless_present_any = ["order", "server"])]
    pub ids: Vec<CommandId>,
    /// The commands of this order instead.
    #[arg(long, value_name = "ID", conflicts_with_all = ["ids", "server"])]
    pub order: Option<String>,
    /// What this server ran instead: its id or name.
    #[arg(long, value_name = "SERVER", conflicts_with = "ids")]
    pub server: Option<String>,
    /// With --server: only what ran at this time or later, or on this day (UTC) or later.
    #[arg(long, value_name = "TIME", requires = "server")]
    pub since: Option<String>,
    /// With --server: only what ran before this time, or on this day (UTC) or before; until now by default.
    #[arg(long, value_name = "TIME", requires = "server")]
    pub until: Option<String>,
    /// With --server: only commands of this item.
    #[arg(long, value_name = "ID", requires = "server")]
    pub item: Option<ItemId>,
    /// With --server: a new season: the orders of that time are given what is published now.
    #[arg(long, requires = "server")]
    pub today: bool,
    /// With --server: a name for this run, under which nothing runs again twice.
    #[arg(long, value_name = "NAME", value_parser = RunName::parse, requires = "server")]
    pub run: Option<RunName>,
    /// With --server: show what would run again, and change nothing.
    #[arg(long, requires = "server")]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Clone, Args)]
pub struct DecideDelivery {
    /// The ids of the commands, as `delivery list` shows them.
    #[arg(value_name = "ID", value_parser = id, required_unless_present = "order")]
    pub ids: Vec<CommandId>,
    /// The commands of this order instead.
    #[arg(long, value_name = "ID", conflicts_with = "ids")]
    pub order: Option<String>,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

fn state(text: &str) -> Result<CommandState, String> {
    let wanted = text.trim().to_lowercase();
    CommandState::ALL.into_iter().find(|state| state.as_str() == wanted).ok_or_else(|| {
        let all: Vec<&str> = CommandState::ALL.into_iter().map(CommandState::as_str).collect();
        format!("must be one of {}", all.join(", "))
    })
}

fn id(text: &str) -> Result<CommandId, String> {
    let wrong = || "must be the id of a command, such as 1042".to_owned();
    text.trim().parse::<u32>().ok().and_then(|number| CommandId::new(number).ok()).ok_or_else(wrong)
}

impl DeliveryCommand {
    pub async fn run(&self, at: &Deployment, console: &Console) -> Outcome {
        match self {
            Self::List(options) => list(at, options).await,
            Self::Retry(options) => match &options.server {
                Some(server) => decide::retry(at, console, options, server).await,
                None => {
                    let RetryDelivery { ids, order, yes, .. } = options.clone();
                    decide::decide(at, console, &DecideDelivery { ids, order, yes }, decide::Decision::Retry).await
                }
            },
            Self::Cancel(options) => decide::decide(at, console, options, decide::Decision::Cancel).await,
            Self::Restored(options) => table::restored(at, console, options.yes).await,
            Self::Done(options) => decide::decide(at, console, options, decide::Decision::Done).await,
        }
    }
}

/// A command, as it is printed.
#[derive(Serialize)]
pub struct CommandFacts {
    id: CommandId,
    state: CommandState,
    on: CommandEvent,
    server: ServerId,
    server_name: Option<String>,
    player: String,
    order: InternalId,
    line: u16,
    item: ItemId,
    command: String,
    online: bool,
    once: bool,
    due: Time,
    ends_at: Option<Time>,
    served: u8,
    served_at: Option<Time>,
    delivered_at: Option<Time>,
    validated_at: Option<Time>,
    executed_at: Option<Time>,
    retried_as: Option<CommandId>,
    entitlement: Entitlement,
    output: Option<String>,
    retry_of: Option<CommandId>,
    player_id: Option<String>,
    unknown_at: Option<Time>,
    refused_at: Option<Time>,
    by_agent: bool,
    runs: Vec<RunName>,
}

impl CommandFacts {
    pub fn all(commands: Vec<Command>, active: &ActiveVersion, now: i64) -> Vec<Self> {
        commands.into_iter().map(|command| Self::new(command, active, now)).collect()
    }

    fn new(command: Command, active: &ActiveVersion, now: i64) -> Self {
        let delivery = command.delivery;
        let known = active.config.delivery.servers.iter().find(|server| server.id == command.server);
        Self {
            id: command.id,
            state: state_at(&delivery, now),
            on: command.event,
            server: command.server,
            server_name: known.map(|server| server.name.clone()),
            player: command.player,
            order: command.order,
            line: command.line,
            item: command.item,
            command: command.text,
            online: delivery.online,
            once: delivery.once,
            due: Time(delivery.due),
            ends_at: delivery.ends_at.map(Time),
            served: delivery.served,
            served_at: delivery.served_at.map(Time),
            delivered_at: delivery.delivered_at.map(Time),
            validated_at: delivery.validated_at.map(Time),
            executed_at: delivery.executed_at.map(Time),
            retried_as: command.retried_as,
            entitlement: delivery.entitlement,
            output: command.output,
            retry_of: command.retry_of,
            player_id: command.player_id,
            unknown_at: delivery.unknown_at.map(Time),
            refused_at: delivery.refused_at.map(Time),
            by_agent: delivery.by_agent,
            runs: command.runs,
        }
    }

    /// The server as people read it: its name, if it is published, and its id.
    fn server(&self) -> String {
        let id = self.server;
        self.server_name.as_ref().map_or_else(|| format!("server {id}"), |name| format!("{name} ({id})"))
    }

    /// The times, in their order.
    fn times(&self) -> String {
        let known = [
            ("due", Some(self.due)),
            ("served", self.served_at),
            ("received", self.delivered_at),
            ("asked", self.validated_at),
            ("ran", self.executed_at),
            ("began", self.unknown_at),
            ("refused", self.refused_at),
        ];
        let shown = known.into_iter().filter_map(|(word, at)| Some(format!("{word} {}", at?)));
        shown.collect::<Vec<_>>().join(", ")
    }

    /// The command in lines that fit into a terminal.
    pub fn lines(&self) -> Vec<String> {
        let on = format!("command {} ({})", self.id, self.on.as_str());
        self.lines_after(&on, "")
    }

    /// The same without its id, for a bank.
    pub fn evidence(&self) -> Vec<String> {
        self.lines_after(&format!("  {}", self.on.as_str()), "  ")
    }

    fn lines_after(&self, head: &str, indent: &str) -> Vec<String> {
        let player = if self.player.is_empty() { "an erased player" } else { &self.player };
        let text = if self.command.is_empty() { "(erased)" } else { &self.command };
        let mut lines = vec![
            format!("{head} on {} for {player}: {}", self.server(), shown_state(self.state, self.by_agent)),
            format!("{indent}  {text}"),
            format!("{indent}  {}", self.times()),
        ];
        lines.extend(self.output.as_ref().map(|output| format!("{indent}  responded: {output}")));
        lines
    }
}

/// A state as people read it. An agent loses nothing that it keeps.
const fn shown_state(state: CommandState, by_agent: bool) -> &'static str {
    match state {
        CommandState::Kept if !by_agent => "kept, or lost if the player was online",
        other => other.as_str(),
    }
}

fn table(commands: &[CommandFacts]) -> String {
    let row = |command: &CommandFacts| {
        [
            command.id.to_string(),
            shown_state(command.state, command.by_agent).to_owned(),
            command.on.as_str().to_owned(),
            command.server(),
            command.player.clone(),
            command.order.to_string(),
            command.times(),
            command.command.clone(),
            command.output.clone().unwrap_or_default(),
        ]
    };
    let headings = ["ID", "STATE", "ON", "SERVER", "PLAYER", "ORDER", "TIMES", "COMMAND", "RESPONSE"];
    columns(headings, commands.iter().map(row))
}

async fn list(at: &Deployment, options: &ListDelivery) -> Outcome {
    let active = at.published().await?;
    let now = at.clock.seconds();
    let server = options.server.as_deref().map(|text| queue::find(&active, text)).transpose()?;
    let filter = Filter {
        server: server.map(|server| server.id),
        order: options.order.as_deref().map(InternalId::new),
        player: if_any_as_at_login(at, options.user.as_deref()).await?,
        state: options.state,
        due_until: options.older.map(|older| now.saturating_sub(older)),
        waits_long: options.waiting,
    };
    let found = matching(&at.db, &filter, now).await?.ok_or_else(crate::order::no_order)?;
    let Listed { commands, unreadable } = found;
    let (commands, unreadable) = (CommandFacts::all(commands, &active, now), named(&unreadable));
    let shown = if commands.is_empty() { "There are no such commands.".to_owned() } else { table(&commands) };
    let text = [shown].into_iter().chain(left_out(&unreadable)).collect::<Vec<_>>().join("\n");
    Ok(Printed::new(text, &facts! { commands, unreadable }))
}

/// The keys of rows that cannot be read, as they are in the table.
pub fn named(unreadable: &[Key]) -> Vec<String> {
    unreadable.iter().map(|key| format!("{} {}", key.pk, key.sk)).collect()
}

/// A line for each row that cannot be read.
pub fn left_out(unreadable: &[String]) -> impl Iterator<Item = String> {
    unreadable
        .iter()
        .map(|name| format!("{} {name} cannot be read; `storectl doctor` says why", paint(WARN, "left out:")))
}

/// How far the commands of an order have come, without those that are due when an item expires.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Progress {
    ran: usize,
    commands: usize,
    /// How many are in each other state.
    others: BTreeMap<&'static str, usize>,
}

impl Progress {
    /// `None` if there are no commands.
    pub fn of<'a>(commands: impl Iterator<Item = &'a Command>, now: i64) -> Option<Self> {
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
    pub async fn of_orders(at: &Deployment, stored: &[StoredOrder]) -> Result<BTreeMap<String, Self>> {
        /// Up to so many orders are read one by one.
        const FEW: usize = 20;
        let now = at.clock.seconds();
        let mut commands: BTreeMap<String, Vec<Command>> = BTreeMap::new();
        if stored.len() <= FEW {
            for one in stored {
                let of_order = commands_of(&at.db, one).await?;
                commands.insert(one.order.internal_id.to_string(), of_order);
            }
        } else {
            let all = matching(&at.db, &Filter::default(), now).await?.unwrap_or_default();
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
