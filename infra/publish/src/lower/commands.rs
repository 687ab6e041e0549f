//! Commands: their texts, and the servers on which they run.

use super::item::ItemReader;
use super::site::Site;
use crate::duration;
use crate::fault::Report;
use crate::files::{At, CategoryFile, CommandFile, GoalFile, ItemFile, Source, StoreFile, StoreFiles};
use shared::model::{CommandEvent, CommandTemplate, FreeNames, ItemDelivery, ServerId};
use shared::rules::command_text::{CommandText, MOST_PLACEHOLDERS, Placeholder};
use std::collections::BTreeSet;

/// The most commands of an item, and of every sale.
const MOST_COMMANDS: usize = 20;
/// The most characters of a command.
const LONGEST_COMMAND: usize = 1_024;
/// The most bytes of all commands of an item, and of every sale.
const LARGEST_COMMANDS: usize = 4 * 1_024;

/// Line, field below `commands`, and problem.
type Note = (Option<u64>, &'static str, String);

/// Where commands are written, and the servers and variables that they may name.
struct Scope<'a> {
    /// The path of the item's fields in its file; empty for the commands of every sale.
    path: String,
    /// The ids of the item's variables; `None` for the commands of every sale.
    variables: Option<Vec<u64>>,
    /// The servers that the item, or any item, is delivered to.
    servers: &'a BTreeSet<u64>,
    /// Whether the item, or any item, ends: by `expires_after`, or as a subscription.
    ends: bool,
    /// Whether the item, or any item, is a subscription.
    renews: bool,
    /// Whether they are a goal's, which no player has caused.
    of_goal: bool,
}

impl Scope<'_> {
    fn field(&self, name: &str) -> String {
        format!("{}{name}", self.path)
    }
}

/// Reads the commands of an item.
pub(super) fn of_item(reader: &mut ItemReader<'_>) -> ItemDelivery {
    let file = reader.file;
    let servers = delivered_to(file, reader.category.site);
    let scope = Scope {
        path: reader.field(""),
        variables: Some(file.variables.iter().map(|variable| *variable.id).collect()),
        servers: &servers,
        ends: ends(file),
        renews: file.subscription.is_some(),
        of_goal: false,
    };
    let commands = lower(&file.commands, &scope, reader.report);
    let expires_after = file.expires_after.as_ref().and_then(|written| match duration::seconds(written) {
        Ok(seconds) => Some(seconds),
        Err(error) => {
            reader.fault(written.line, "expires_after", &error.to_string());
            None
        }
    });
    ItemDelivery { commands, expires_after }
}

/// Reads the commands of every sale; the file being looked at is `store.yaml`.
pub(super) fn of_store(
    file: &StoreFile,
    categories: &[Source<CategoryFile>],
    site: &Site,
    report: &mut Report,
) -> Vec<CommandTemplate> {
    let items = || CategoryFile::items_of(categories);
    let servers = if items().next().is_none() {
        site.servers.keys().copied().collect()
    } else {
        items().flat_map(|item| delivered_to(item, site)).collect()
    };
    let renews = items().any(|item| item.subscription.is_some());
    let (path, ends) = (String::new(), items().any(ends));
    let scope = Scope { path, variables: None, servers: &servers, ends, renews, of_goal: false };
    lower(&file.commands, &scope, report)
}

/// The most commands of a goal on all servers together: one transaction takes them.
const MOST_OF_GOAL: usize = 45;

/// Reads the commands of a goal; the file being looked at is `store.yaml`.
pub(super) fn of_goal(file: &GoalFile, site: &Site, report: &mut Report) -> Vec<CommandTemplate> {
    let servers: BTreeSet<u64> = site.servers.keys().copied().collect();
    let path = format!("goals[{}].", *file.id);
    let scope = Scope { path, variables: None, servers: &servers, ends: true, renews: true, of_goal: true };
    for command in &file.commands {
        for (is_written, word, problem) in [
            (command.on != CommandEvent::Bought, "on", "is not for a goal, which is only reached: leave it out"),
            (command.online, "online", "is not for a goal: no player has to be on the server"),
            (command.per_unit, "per_unit", "is not for a goal, which has no units: leave it out"),
        ] {
            if is_written {
                report.fault(command.run.line, scope.field(&format!("commands.{word}")), problem);
            }
        }
    }
    let on = |command: &CommandFile| servers.iter().filter(|server| runs_on(command, **server)).count();
    let all: usize = file.commands.iter().map(on).sum();
    if all > MOST_OF_GOAL {
        let problem =
            format!("run {all} times on all servers together; at most {MOST_OF_GOAL} fit: name `servers` for some");
        report.fault(file.id.line, scope.field("commands"), problem);
    }
    lower(&file.commands, &scope, report)
}

/// Whether commands run when a unit of the item ends.
const fn ends(item: &ItemFile) -> bool {
    item.expires_after.is_some() || item.subscription.is_some()
}

/// The servers that an item is delivered to: all of the store if it names none.
fn delivered_to(item: &ItemFile, site: &Site) -> BTreeSet<u64> {
    if item.servers.is_empty() {
        return site.servers.keys().copied().collect();
    }
    item.servers.iter().map(|id| id.value).collect()
}

fn lower(files: &[CommandFile], scope: &Scope<'_>, report: &mut Report) -> Vec<CommandTemplate> {
    if let Some(extra) = files.get(MOST_COMMANDS) {
        let problem = format!("has {} commands; at most {MOST_COMMANDS} fit", files.len());
        report.fault(extra.run.line, scope.field("commands"), problem);
    }
    let size: usize = files.iter().map(|file| file.run.len()).sum();
    if size > LARGEST_COMMANDS {
        let line = files.first().and_then(|file| file.run.line);
        let problem = format!("has {size} bytes in all its commands; at most {LARGEST_COMMANDS} fit");
        report.fault(line, scope.field("commands"), problem);
    }
    if let Some(first) = files.first().filter(|_| scope.servers.is_empty()) {
        let problem = "has no server to run on: add servers to store.yaml, such as servers: [{id: 1, name: Survival}]";
        report.fault(first.run.line, scope.field("commands"), problem);
    }
    let command = |file: &CommandFile| {
        check_text(&file.run, scope, report);
        check_servers(file, scope, report);
        check_event(file, scope, report);
        let delay = file.delay.as_ref().map_or(Ok(0), |delay| duration::seconds(delay));
        if let (Err(error), Some(written)) = (&delay, &file.delay) {
            report.fault(written.line, scope.field("commands.delay"), error.to_string());
        }
        CommandTemplate {
            run: file.run.value.clone(),
            on: file.on,
            online: file.online,
            delay: delay.unwrap_or_default(),
            once: file.once,
            per_unit: file.per_unit,
            servers: file.servers.iter().map(|id| ServerId::new(**id)).collect(),
        }
    };
    files.iter().map(command).collect()
}

/// Refuses commands for the end of what never ends, and warns of those for renewals of what is not a subscription.
fn check_event(file: &CommandFile, scope: &Scope<'_>, report: &mut Report) {
    let (line, field) = (file.run.line, scope.field("commands.on"));
    match (file.on, &scope.variables) {
        (CommandEvent::Expired, Some(_)) if !scope.ends => {
            report.fault(line, field, "needs expires_after on the item, such as expires_after: 30 days");
        }
        (CommandEvent::Expired, None) if !scope.ends => {
            report.fault(line, field, "never runs: no item has expires_after or is a subscription");
        }
        (CommandEvent::Renewed, Some(_)) if !scope.renews => {
            report.warn(line, field, "never runs: the item is not a subscription");
        }
        (CommandEvent::Renewed, None) if !scope.renews => {
            report.warn(line, field, "never runs: no item is a subscription");
        }
        _ => {}
    }
}

fn check_text(run: &At<String>, scope: &Scope<'_>, report: &mut Report) {
    let field = scope.field("commands.run");
    let characters = run.chars().count();
    if characters > LONGEST_COMMAND {
        report.fault(run.line, &field, format!("has {characters} characters; at most {LONGEST_COMMAND} fit"));
    }
    if run.trim_start().starts_with('/') {
        let problem = "begins with a slash, which consoles do not know: leave it out";
        report.warn(run.line, &field, problem);
    }
    let text = match CommandText::parse(run) {
        Ok(text) => text,
        Err(error) => return report.fault(run.line, &field, error.to_string()),
    };
    let placeholders = text.placeholders().count();
    if placeholders > MOST_PLACEHOLDERS {
        let problem = format!("has {placeholders} placeholders; at most {MOST_PLACEHOLDERS} fit");
        report.fault(run.line, &field, problem);
    }
    for placeholder in text.placeholders() {
        if scope.of_goal {
            if !matches!(placeholder, Placeholder::Server | Placeholder::Currency) {
                let problem = format!(
                    "{placeholder} is not for a goal's command: no sale is behind it; {{server}} and {{currency}} are"
                );
                report.fault(run.line, &field, problem);
            }
            continue;
        }
        let Placeholder::Variable(id) = placeholder else { continue };
        let problem = match &scope.variables {
            None => format!("{placeholder} is not for a command of every sale: variables belong to an item"),
            Some(known) if known.contains(&id) => continue,
            Some(known) if known.is_empty() => format!("{placeholder} is not known: the item has no variables"),
            Some(known) => format!("{placeholder} is not known: the item's variables are {}", list(known)),
        };
        report.fault(run.line, &field, problem);
    }
}

fn check_servers(file: &CommandFile, scope: &Scope<'_>, report: &mut Report) {
    for (place, id) in file.servers.iter().enumerate() {
        let problem = if file.servers.iter().take(place).any(|other| other == id) {
            format!("server {} is named twice", **id)
        } else if scope.servers.contains(&id.value) {
            continue;
        } else if scope.of_goal {
            format!("there is no server {}; there are {}", **id, list(scope.servers))
        } else if scope.variables.is_some() {
            format!("the item is not delivered to server {}, but to {}", **id, list(scope.servers))
        } else {
            format!("no item is delivered to server {}; items are delivered to {}", **id, list(scope.servers))
        };
        report.fault(id.line, scope.field("commands.servers"), problem);
    }
}

/// Ids as they are read: `1, 2, 4`, or `none`.
fn list<'a>(ids: impl IntoIterator<Item = &'a u64>) -> String {
    let ids: Vec<String> = ids.into_iter().map(u64::to_string).collect();
    if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }
}

/// Refuses commands that need a player whom no id names, and warns of items whose delivery looks forgotten: sold without a
/// command, not taken back, never ended.
pub(super) fn check_deliveries(files: &StoreFiles, site: &Site, report: &mut Report) {
    let of_store = &files.store.content.commands;
    let has_any =
        !of_store.is_empty() || CategoryFile::items_of(&files.categories).any(|item| !item.commands.is_empty());
    if !has_any && CategoryFile::items_of(&files.categories).all(|item| item.expires_after.is_none()) {
        return;
    }
    for source in &files.categories {
        report.enter(&source.path);
        for (prefix, category) in source.content.visible() {
            for item in &category.items {
                for (line, field, problem) in unknown_players(item, of_store, site) {
                    report.fault(line, format!("{prefix}items[{}].{field}", *item.id), problem);
                }
            }
            for item in category.items.iter().filter(|item| item.active) {
                let notes = forgotten(item, of_store, has_any).into_iter().chain(uncounted(item, category.cumulative));
                for (line, field, problem) in notes {
                    report.warn(line, format!("{prefix}items[{}].{field}", *item.id), problem);
                }
            }
        }
    }
}

fn runs_on(command: &CommandFile, server: u64) -> bool {
    command.servers.is_empty() || command.servers.iter().any(|id| id.value == server)
}

/// The commands that need a player where anyone may take the buyer's name, and no id says who it is.
fn unknown_players(item: &ItemFile, of_store: &[CommandFile], site: &Site) -> impl Iterator<Item = Note> {
    let servers = delivered_to(item, site);
    let own = item.commands.iter().map(|command| (command.run.line, command));
    let all = own.chain(of_store.iter().map(|command| (item.id.line, command)));
    let mut notes: Vec<Note> = Vec::new();
    for (line, command) in all.filter(|(_, command)| command.online) {
        let on = |free: &&FreeNames| servers.contains(&free.server.get()) && runs_on(command, free.server.get());
        for FreeNames { server, variable } in site.config.delivery.free_names.iter().filter(on) {
            let problem = match variable {
                None => format!(
                    "is not for server {server}, where anyone may take the buyer's name: give players.id of the server \
                     a variable in store.yaml, such as \"{{var:7}}\""
                ),
                Some(id) if item.variables.iter().any(|variable| *variable.id == *id) => continue,
                Some(id) => format!("needs the variable {id}, by which server {server} knows its players"),
            };
            notes.push((line, "commands.online", problem));
        }
    }
    notes.into_iter()
}

/// Several units of an item whose commands run as if one were bought.
fn uncounted(item: &ItemFile, is_cumulative: bool) -> Option<Note> {
    let in_time = item.limit.iter().flat_map(|limit| [&limit.per_user, &limit.total]);
    let limits = [&item.most, &item.user_limit, &item.global_limit].into_iter().chain(in_time);
    let is_single = limits.flatten().any(|limit| **limit == 1);
    if is_single || is_cumulative || item.subscription.is_some() || item.expires_after.is_some() {
        return None;
    }
    let mut bought = item.commands.iter().filter(|command| command.on == CommandEvent::Bought);
    let counts = |command: &CommandFile| {
        let text = CommandText::parse(&command.run);
        command.per_unit || text.is_ok_and(|text| text.placeholders().any(|value| value == Placeholder::Count))
    };
    let first = bought.clone().next()?;
    let problem =
        "runs once for any number of units: write {count}, or per_unit: true on the command, or most: 1 on the item";
    (!bought.any(counts)).then(|| (first.run.line, "commands", problem.to_owned()))
}

fn forgotten(item: &ItemFile, of_store: &[CommandFile], has_any: bool) -> Vec<Note> {
    let mut notes = Vec::new();
    let runs = |event: CommandEvent| item.commands.iter().chain(of_store).any(|command| command.on == event);
    let is_bundle = !item.bundle.is_empty() || item.choose.is_some();
    if has_any && item.commands.is_empty() && !is_bundle {
        let problem = "are missing: the item is on sale, and nothing is delivered for it";
        notes.push((item.id.line, "commands", problem.to_owned()));
    }
    let bought = item.commands.iter().find(|command| command.on == CommandEvent::Bought);
    if let Some(bought) = bought.filter(|_| !runs(CommandEvent::Refunded)) {
        let problem = "a refund takes nothing back: add a command with on: refunded";
        notes.push((bought.run.line, "commands", problem.to_owned()));
    }
    if let Some(bought) = bought.filter(|_| item.subscription.is_some() && !runs(CommandEvent::Expired)) {
        let problem = "a subscription's buyer keeps this after its end: add a command with on: expired";
        notes.push((bought.run.line, "commands", problem.to_owned()));
    }
    if let Some(written) = item.expires_after.as_ref().filter(|_| !runs(CommandEvent::Expired)) {
        let problem = "it can be bought again then, and nothing is taken away: add a command with on: expired";
        notes.push((written.line, "expires_after", problem.to_owned()));
    }
    let seconds = |written: &Option<At<String>>| written.as_ref().and_then(|it| duration::seconds(it).ok());
    if let Some(end) = seconds(&item.expires_after).filter(|_| runs(CommandEvent::Expired)) {
        let bought = item.commands.iter().filter(|command| command.on == CommandEvent::Bought);
        for late in bought.filter(|command| seconds(&command.delay).is_some_and(|delay| end <= delay)) {
            let problem = "the item has ended by then, and it does not run: make it shorter than expires_after";
            notes.push((late.run.line, "commands.delay", problem.to_owned()));
        }
    }
    notes
}
