//! `try ITEM --player NAME`: what an item runs for a player on the real game servers, and what takes it back, without a purchase.

use crate::delivery::queue;
use crate::prelude::*;
use crate::user::as_at_login;
use serde::Serialize;
use shared::model::{
    ActiveVersion, Chosen, Command, CommandState, ItemId, ItemType, LineId, LineVariable, PlayerName, PublishedItem,
    RunName, ServerId, Settings, Try, Variable,
};
use shared::rules::delivery::state_at;
use shared::rules::delivery_times::shown;
use shared::rules::variable;
use shared::shop::delivery::measure;
use shared::shop::delivery::trying::{self, TryPlan, is_over};
use shared::table::{keys, read_published};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often the game servers' words are looked for: so many times in a second.
const LOOKS: u32 = 4;
/// A server that polled within so many seconds runs.
const POLLING: i64 = 600;
const UNFINISHED: &str = "The commands were sent, and are not taken back yet.";
const TAKES_BACK: &str = "Run the same command again: it takes them back first.";

#[derive(Debug, Clone, Args)]
pub struct TryItem {
    /// The item's id.
    pub item: ItemId,
    /// The player that it runs for, best one of your own.
    #[arg(long, value_name = "NAME")]
    pub player: String,
    /// The server, by its id or name, of an item whose buyer selects one.
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// A variable's value.
    #[arg(long = "var", value_name = "ID=VALUE", value_parser = id_and_value)]
    pub variables: Vec<(u64, String)>,
    /// How many seconds the commands may take, and what takes them back.
    #[arg(long, value_name = "SECONDS", default_value_t = 180)]
    pub wait: u32,
}

fn id_and_value(text: &str) -> Result<(u64, String), String> {
    let parts = text.split_once('=').and_then(|(id, value)| Some((id.trim().parse().ok()?, value.to_owned())));
    parts.ok_or_else(|| "write it as ID=VALUE, such as 1=Morning".to_owned())
}

/// A command of a try, as it is printed.
#[derive(Serialize)]
struct Ran {
    server: ServerId,
    command: String,
    state: CommandState,
    /// The time until the game server's word, in milliseconds.
    took: Option<u64>,
    output: Option<String>,
}

impl Ran {
    fn has_run(&self) -> bool {
        matches!(self.state, CommandState::Delivered | CommandState::Executed | CommandState::Done)
    }

    fn line(&self) -> String {
        let state = match self.took.filter(|_| self.has_run()) {
            Some(took) => format!("ran after {}", shown(took.max(1))),
            None => self.state.as_str().to_owned(),
        };
        let output = self.output.as_ref().map_or_else(String::new, |output| format!("; responded: {output}"));
        format!("  server {}: {}: {state}{output}", self.server, self.command)
    }
}

pub async fn run(at: &Deployment, console: &Console, options: &TryItem) -> Outcome {
    let active = at.published().await?;
    let name = trying::run_of(options.item).ok_or_else(|| unknown(options.item))?;
    let trial = Trial { at, console, active: &active, name: &name, options };
    if let Some(before) = trying::unfinished(&at.db, &name).await?
        && let Some(back) = trial.take_back(&before).await?
    {
        must_be_over(&before, &back)?;
    }
    let begun = trying::begin(&at.db, &name, trial.plan().await?).await;
    let begun = begun.unsure("It is not known whether the try has begun.", TAKES_BACK)?;
    let begun = begun.ok_or_else(|| {
        let what = "Another try of this item has begun just now, or the player was banned.";
        Failure::new(Exit::Raced, what, AGAIN)
    })?;
    let ran = trial.watch(&begun, true).await.unsure(UNFINISHED, TAKES_BACK)?.ok_or_else(ended)?;
    let back = trial.take_back(&begun).await.unsure(UNFINISHED, TAKES_BACK)?.ok_or_else(ended)?;
    let player = &begun.player;
    let is_well = ran.iter().all(Ran::has_run);
    let mut lines = vec![format!("Item {} for {player}:", options.item)];
    lines.extend(ran.iter().map(Ran::line));
    lines.push("Taken back:".to_owned());
    lines.extend(back.iter().map(Ran::line));
    if back.is_empty() {
        lines.push(warning!("nothing: without a command on: refunded or expired {player} keeps it."));
    }
    must_be_over(&begun, &back).map_err(|failure| failure.done(lines.join("\n")))?;
    lines.push(if is_well { ok!("It works, and is taken back.") } else { warning!("Not every command ran.") });
    let printed = Printed::new(lines.join("\n"), &facts! { item: options.item, player, ran, taken_back: back });
    Ok(if is_well { printed } else { printed.with_exit(Exit::Faults) })
}

fn unknown(item: ItemId) -> Failure {
    Failure::refused(format!("There is no item {item} in the published store."), "Publish it first.")
}

fn ended() -> Failure {
    let what = "Another try of this item has taken this one back, before it was over.";
    let failure = Failure::new(Exit::Raced, what, "Run the same command again, once the other one has ended.");
    failure.done("What it gave was taken back.")
}

/// Refuses to say that a try is over of which something is left.
fn must_be_over(begun: &Try, back: &[Ran]) -> Result<()> {
    if back.iter().all(|ran| ran.has_run() || ran.state == CommandState::Cancelled) {
        return Ok(());
    }
    let what = format!("What the try gave {} is not taken back.", begun.player);
    let next = "`storectl delivery list --user NAME` shows why. Once that is set right, or done by hand (`storectl delivery done \
                ID`), run the same command again.";
    Err(Failure::refused(what, next))
}

struct Trial<'a> {
    at: &'a Deployment,
    console: &'a Console,
    active: &'a ActiveVersion,
    name: &'a RunName,
    options: &'a TryItem,
}

impl Trial<'_> {
    async fn plan(&self) -> Result<TryPlan> {
        let (at, options, version) = (self.at, self.options, &self.active.version);
        let published: Option<PublishedItem> = read_published(&at.db, &keys::item(version, options.item)).await?;
        let published = published.ok_or_else(|| unknown(options.item))?;
        let settings: Settings = read_published(&at.db, &keys::settings(version)).await?.unwrap_or_default();
        let player = PlayerName::parse(&as_at_login(at, &options.player).await?)
            .map_err(|error| Failure::refused(format!("The name {error}."), "Type the name of a player."))?;
        let chosen = self.chosen(&published)?;
        let shop = (self.active, settings.system_currency.name.as_str());
        let plan = trying::plan(&at.db, at.clock.as_ref(), shop, (&published, chosen), &player).await?;
        let plan = plan.map_err(|refusal| {
            Failure::refused(refusal.to_string(), "Try another player or item, or correct the item and publish.")
        })?;
        for server in plan.servers() {
            let silent = measure(&at.db, at.clock.as_ref(), server).await?.silent_for;
            let (what, next) = match silent {
                None => ("has never polled", format!("Connect it: `storectl server add {server}`.")),
                Some(silent) if silent > POLLING => ("does not poll now", "Start it.".to_owned()),
                Some(_) => continue,
            };
            return Err(Failure::refused(format!("Server {server} {what}: nothing would run."), next));
        }
        Ok(plan)
    }

    /// What a buyer chooses: of a variable without a value that is named, the first option.
    fn chosen(&self, published: &PublishedItem) -> Result<Chosen> {
        let (item, options) = (&published.item, self.options);
        let server = options.server.as_deref().map(|text| queue::find(self.active, text)).transpose()?;
        let server = server.map(|server| server.id);
        if item.kind == ItemType::CmdServer && !item.servers.iter().any(|own| Some(own.id) == server) {
            let names: Vec<&str> = item.servers.iter().map(|own| own.name.as_str()).collect();
            let next = format!("Add --server with one of: {}.", names.join(", "));
            return Err(Failure::refused("The buyer of this item selects one of its servers.", next));
        }
        if item.kind != ItemType::CmdServer && server.is_some() {
            return Err(Failure::refused("The buyer of this item selects no server.", "Leave --server out."));
        }
        let is_known = |id: &u64| item.variables.iter().any(|variable| variable.id == *id);
        if let Some((id, _)) = options.variables.iter().find(|(id, _)| !is_known(id)) {
            let known: Vec<String> =
                item.variables.iter().map(|variable| format!("{} ({})", variable.id, variable.name)).collect();
            let next = if known.is_empty() {
                "Leave --var out.".to_owned()
            } else {
                format!("There are {}.", known.join(", "))
            };
            return Err(Failure::refused(format!("This item has no variable {id}."), next));
        }
        let value = |variable: &Variable| {
            let given = options.variables.iter().find(|(id, _)| *id == variable.id).map(|(_, value)| value);
            let value = given.or_else(|| variable.options.first()).ok_or_else(|| {
                let what = format!("The buyer of this item enters {}.", variable.name);
                Failure::refused(what, format!("Add --var {}=VALUE.", variable.id))
            })?;
            let stored = variable::parse(variable, value).map_err(|wrong| {
                let what = format!("No buyer can enter that: \"{}\" {wrong}.", variable.name);
                Failure::refused(what, format!("Correct --var {}=VALUE.", variable.id))
            })?;
            Ok(LineVariable { id: variable.id, value: stored.into_owned() })
        };
        let variables = item.variables.iter().map(value).collect::<Result<_>>()?;
        Ok(Chosen { line: LineId::new(1), name: item.name.clone(), variables, server, gift_to: None })
    }

    /// Waits until the commands that give, or those that take back, have run, or for as long as they may take. `None` if another
    /// one has ended the try.
    async fn watch(&self, begun: &Try, is_first: bool) -> Result<Option<Vec<Ran>>> {
        let (at, started) = (self.at, self.at.clock.millis());
        let (label, all) = if is_first { ("Runs", begun.given) } else { ("Taken back", begun.all - begun.given) };
        let progress = self.console.progress(label, Some(u64::from(all)));
        let mut took: BTreeMap<u32, u64> = BTreeMap::new();
        for look in 0.. {
            let (given, back) = trying::read(&at.db, begun).await?;
            if given.is_empty() {
                return Ok(None);
            }
            let commands: Vec<Command> = if is_first { given } else { back };
            let now = at.clock.millis().saturating_sub(started);
            commands.iter().filter(|command| is_over(command)).for_each(|command| {
                took.entry(command.id.get()).or_insert(now);
            });
            progress.advance(u64::try_from(took.len()).unwrap_or_default().saturating_sub(progress.position()));
            // Nothing changes any more without the owner.
            let is_stuck = |state| matches!(state, CommandState::Refused | CommandState::Unknown);
            let is_settled = |command: &Command| is_over(command) || is_stuck(command.delivery.state);
            if look >= self.options.wait.saturating_mul(LOOKS) || commands.iter().all(is_settled) {
                let ran = |command: Command| Ran {
                    server: command.server,
                    state: state_at(&command.delivery, at.clock.seconds()),
                    took: took.get(&command.id.get()).copied(),
                    command: command.text,
                    output: command.output,
                };
                return Ok(Some(commands.into_iter().map(ran).collect()));
            }
            tokio::time::sleep(Duration::from_secs(1) / LOOKS).await;
        }
        Ok(None)
    }

    /// Takes a try back, and deletes what is left of it. `None` if another one has ended it.
    async fn take_back(&self, begun: &Try) -> Result<Option<Vec<Ran>>> {
        let (at, clock) = (self.at, self.at.clock.as_ref());
        let mut looks = 0..self.options.wait.saturating_mul(LOOKS);
        while !trying::take_back(&at.db, clock, begun).await? {
            if looks.next().is_none() {
                let what = "A game server was sent a command and has not said what became of it.";
                return Err(Failure::refused(what, "Run the same command again in five minutes."));
            }
            tokio::time::sleep(Duration::from_secs(1) / LOOKS).await;
        }
        let ran = self.watch(begun, false).await?;
        trying::finish(&at.db, clock, (self.name, begun)).await?;
        Ok(ran)
    }
}
