//! Commands that run, and do not do what was meant.

use super::Listed;
use crate::fault::Report;
use crate::files::{CommandFile, StoreFile};
use shared::model::CommandEvent;
use shared::rules::command_text::{CommandText, Placeholder};
use std::collections::BTreeSet;

/// The words that other programs put between their own marks for the player.
const PLAYER_WORDS: [&str; 9] =
    ["player", "player_name", "playername", "username", "user", "name", "buyer", "target", "uuid"];
/// How other programs mark what they replace.
const MARKS: [(&str, &str); 5] = [("%", "%"), ("<", ">"), ("{{", "}}"), ("${", "}"), ("[", "]")];

pub(super) fn check(listed: &Listed<'_>, store: &StoreFile, report: &mut Report) {
    let commands = &listed.item.commands;
    for (place, command) in commands.iter().enumerate() {
        if let Some(foreign) = foreign_placeholder(&command.run) {
            let problem = format!("`{foreign}` is sent as it is: the player is {{player}} here");
            listed.warn(command.run.line, "commands.run", problem, report);
        }
        if commands.iter().take(place).any(|other| same(other, command)) {
            let problem = "is the same as a command before it, and runs as often as it is written";
            listed.warn(command.run.line, "commands.run", problem, report);
        }
    }
    let placeholders: Vec<Placeholder> = commands.iter().flat_map(placeholders).collect();
    no_player(listed, report);
    let named_by_servers = store.servers.iter().filter_map(|server| server.players.id.as_ref());
    let ids: BTreeSet<u64> = named_by_servers.filter_map(|id| variable(CommandText::only(id)?)).collect();
    let used: BTreeSet<u64> = placeholders.into_iter().filter_map(variable).chain(ids).collect();
    for unused in listed.item.variables.iter().filter(|_| !commands.is_empty()).filter(|one| !used.contains(&*one.id)) {
        let name = format!("variables[{}]", *unused.id);
        let problem = format!("is asked of every buyer, and no command uses it: write {{var:{}}} in one", *unused.id);
        listed.warn(unused.id.line, &name, problem, report);
    }
}

fn variable(placeholder: Placeholder) -> Option<u64> {
    if let Placeholder::Variable(id) = placeholder { Some(id) } else { None }
}

fn placeholders(command: &CommandFile) -> Vec<Placeholder> {
    CommandText::parse(&command.run).map(|text| text.placeholders().collect()).unwrap_or_default()
}

fn same(one: &CommandFile, other: &CommandFile) -> bool {
    (one.run.value.trim(), one.on, &one.servers, &one.delay)
        == (other.run.value.trim(), other.on, &other.servers, &other.delay)
}

/// Warns of an item whose purchase runs commands that are the same whoever buys it.
fn no_player(listed: &Listed<'_>, report: &mut Report) {
    let bought = || listed.item.commands.iter().filter(|command| command.on == CommandEvent::Bought);
    let names_person = |placeholder: Placeholder| {
        matches!(
            placeholder,
            Placeholder::Player
                | Placeholder::Buyer
                | Placeholder::Variable(_)
                | Placeholder::ChatId
                | Placeholder::Order
        )
    };
    let Some(first) = bought().next().filter(|_| !bought().flat_map(placeholders).any(names_person)) else { return };
    if bought().all(|command| foreign_placeholder(&command.run).is_none()) {
        let problem =
            "names no player: it does the same whoever bought the item; write {player} where the name belongs";
        listed.warn(first.run.line, "commands.run", problem, report);
    }
}

/// The first text that another program would replace by the player.
fn foreign_placeholder(run: &str) -> Option<String> {
    let lower = run.to_lowercase();
    let marked = MARKS.iter().find_map(|(before, after)| {
        PLAYER_WORDS.iter().map(|word| format!("{before}{word}{after}")).find(|text| lower.contains(text.as_str()))
    });
    let bare = || {
        PLAYER_WORDS.iter().map(|word| format!("${word}")).find(|text| {
            lower
                .split(|letter: char| !(letter.is_alphanumeric() || letter == '$' || letter == '_'))
                .any(|part| part == text)
        })
    };
    marked.or_else(bare)
}
