//! Warnings about what commands are filled with: whose name, which spaces, how many bytes.

use super::catalog::Category;
use super::site::Site;
use crate::command_size::{LONGEST_BY_RCON, Store, largest, servers_of};
use crate::fault::Report;
use crate::files::{CategoryFile, CommandFile, StoreFiles};
use shared::model::{CommandEvent, CommandTemplate, Item, ServerId, Variable, VariableKind};
use shared::rules::command_text::{CommandText, Placeholder};
use std::collections::BTreeMap;

/// Commands that punish a player, without the plugin's name in front.
const PUNISHMENTS: [&str; 16] = [
    "ban",
    "banid",
    "banip",
    "ban-ip",
    "ipban",
    "tempban",
    "tempbanip",
    "kick",
    "mute",
    "tempmute",
    "ipmute",
    "jail",
    "tempjail",
    "warn",
    "blacklist",
    "punish",
];

/// Warns of commands whose values are probably not what their owner means.
pub(super) fn check(files: &StoreFiles, categories: &[Category], site: &Site, report: &mut Report) {
    let items = Category::items_of(categories);
    let mut on_sale: Vec<&Item> = Vec::new();
    for source in &files.categories {
        report.enter(&source.path);
        for (prefix, category) in source.content.visible() {
            for (file, item) in active(category, &items) {
                let at = format!("{prefix}items[{}].", item.id);
                for command in file {
                    warn(command, &at, &[item], site, report);
                }
                on_sale.push(item);
            }
        }
    }
    report.enter(&files.store.path);
    for command in &files.store.content.commands {
        warn(command, "", &on_sale, site, report);
    }
    check_ids(&on_sale, files, site, report);
}

fn active<'a>(
    category: &'a CategoryFile,
    items: &BTreeMap<u64, &'a Item>,
) -> impl Iterator<Item = (&'a [CommandFile], &'a Item)> {
    let on_sale = category.items.iter().filter(|item| item.active);
    on_sale.filter_map(|file| Some((file.commands.as_slice(), *items.get(&file.id.value)?)))
}

/// Warns of a command that runs for any of these items.
fn warn(command: &CommandFile, at: &str, items: &[&Item], site: &Site, report: &mut Report) {
    let Ok(text) = CommandText::parse(&command.run) else { return };
    let template = CommandTemplate {
        run: command.run.value.clone(),
        servers: command.servers.iter().map(|id| ServerId::new(**id)).collect(),
        ..CommandTemplate::default()
    };
    let problems =
        [punished(command, &text, items), unquoted(&template, &text, items, site), too_large(&template, items, site)];
    for problem in problems.into_iter().flatten() {
        report.warn(command.run.line, format!("{at}commands.run"), problem);
    }
}

/// A dispute or a refund is the buyer's doing, not that of the player who was given something.
fn punished(command: &CommandFile, text: &CommandText, items: &[&Item]) -> Option<String> {
    let is_end = matches!(command.on, CommandEvent::ChargedBack | CommandEvent::Refunded);
    let word = command.run.split_whitespace().next()?.trim_start_matches('/').to_lowercase();
    let name = word.rsplit([':', '.']).next().unwrap_or_default();
    let names_recipient = text.placeholders().any(|placeholder| placeholder == Placeholder::Player);
    let is_wrong = is_end && PUNISHMENTS.contains(&name) && names_recipient && items.iter().any(|item| item.gifting);
    is_wrong.then(|| {
        let right = command.run.replace("{player}", "{buyer}");
        format!("{{player}} of a gift is who received it; the one who paid is {{buyer}}: write {right}")
    })
}

/// A text with a space cancels the command, unless the space is in quotes that the console reads.
fn unquoted(template: &CommandTemplate, text: &CommandText, items: &[&Item], site: &Site) -> Option<String> {
    let delivery = &site.config.delivery;
    for item in items {
        let is_text = |id: u64| item.variables.iter().any(|variable| variable.id == id && variable.is_text());
        let without = servers_of(template, item, delivery).find(|server| !delivery.quotes.contains(&server.id));
        for slot in text.slots() {
            let Placeholder::Variable(id) = slot.placeholder else { continue };
            if !is_text(id) || slot.is_quoted() && without.is_none() {
                continue;
            }
            let quotes = if slot.is_quoted() { String::new() } else { format!("write \"{}\" and ", slot.placeholder) };
            let server = without.map_or_else(String::new, |server| {
                format!("set quotes: true on server {} if its console reads quotes", server.id)
            });
            let cure = format!("{quotes}{server}");
            return Some(format!(
                "{} can have spaces, at which a console splits: a text with one cancels the command; {}, or use kind: word",
                slot.placeholder,
                cure.trim_end_matches(" and ")
            ));
        }
    }
    None
}

fn too_large(template: &CommandTemplate, items: &[&Item], site: &Site) -> Option<String> {
    let store = Store {
        delivery: &site.config.delivery,
        currency: &site.settings.system_currency.name,
        digits: site.config.digits,
    };
    let (bytes, item) =
        items.iter().map(|item| (largest(template, item, store), item)).max_by_key(|(bytes, _)| *bytes)?;
    (bytes > LONGEST_BY_RCON).then(|| {
        format!(
            "has up to {bytes} bytes when it is filled with the longest values, for item {}; by RCON at most {LONGEST_BY_RCON} reach a \
             Minecraft server: shorten it, or make two commands of it",
            item.id
        )
    })
}

/// Warns of ids that buyers may mistype: what no player has is paid for, and waits for ever.
fn check_ids(items: &[&Item], files: &StoreFiles, site: &Site, report: &mut Report) {
    for server in &files.store.content.servers {
        let free = site.config.delivery.free_names.iter().find(|free| free.server.get() == *server.id);
        let Some(id) = free.and_then(|free| free.variable) else { continue };
        let is_loose = |variable: &Variable| {
            let is_any = !matches!(variable.kind, VariableKind::SteamId | VariableKind::Uuid | VariableKind::Word);
            variable.id == id && is_any && variable.options.is_empty()
        };
        let all = CommandTemplate::default();
        let is_sent =
            |item: &&&Item| servers_of(&all, item, &site.config.delivery).any(|sent| sent.id.get() == *server.id);
        if let Some(item) = items.iter().filter(is_sent).find(|item| item.variables.iter().any(is_loose)) {
            let problem = format!(
                "takes any number or text for an id, also one that no player has: give variable {id} of item {} kind: steam_id, \
                 uuid or word",
                item.id
            );
            let line = server.players.id.as_ref().and_then(|written| written.line);
            report.warn(line, format!("servers[{}].players.id", *server.id), problem);
        }
    }
}
