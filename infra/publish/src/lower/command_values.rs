//! What commands are filled with: warnings of whose name, which spaces and how many bytes, and the size of commands when they are
//! filled. Owners see short placeholders, game servers get long values.

use super::catalog::Category;
use super::site::Site;
use crate::compile::Compiled;
use crate::fault::Report;
use crate::files::{CategoryFile, CommandFile, StoreFiles};
use shared::model::{
    CommandEvent, CommandTemplate, Item, Line, Money, PlayerName, Server, ServerId, StoreDelivery, Variable,
    VariableKind,
};
use shared::money::CurrencyFormat;
use shared::rules::command_text::{CommandText, Placeholder};
use shared::rules::variable;
use std::collections::{BTreeMap, BTreeSet};

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

/// The most bytes of a command that a Minecraft server takes by RCON. Of a longer one it closes the connection.
pub const LONGEST_BY_RCON: usize = 1_413;
/// The characters of an order's id that this service makes.
const ORDER_ID: usize = 16;
/// The most characters of a chat platform's account.
const CHAT_ID: usize = 64;

/// What the values of a store's commands depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Store<'a> {
    pub delivery: &'a StoreDelivery,
    pub currency: &'a str,
    pub digits: u8,
}

/// The most bytes of a command for an item, with the longest values. 0 if its text is not a command.
pub(crate) fn largest(template: &CommandTemplate, item: &Item, store: Store<'_>) -> usize {
    let Ok(text) = CommandText::parse(&template.run) else { return 0 };
    text.fill(|placeholder| longest(placeholder, template, item, store)).len()
}

fn longest(placeholder: Placeholder, template: &CommandTemplate, item: &Item, store: Store<'_>) -> String {
    let any = |length: usize| "x".repeat(length);
    match placeholder {
        Placeholder::Player | Placeholder::Buyer => any(PlayerName::LONGEST),
        Placeholder::Item => item.name.clone(),
        Placeholder::Count => Line::MAX_COUNT.to_string(),
        Placeholder::Price => CurrencyFormat::new(store.digits).money(Money::LARGEST).to_string(),
        Placeholder::Currency => store.currency.to_owned(),
        Placeholder::Order => any(ORDER_ID),
        Placeholder::Server => {
            let runs = servers_of(template, item, store.delivery);
            let names = runs.map(|server| server.name.clone());
            names.max_by_key(String::len).unwrap_or_default()
        }
        Placeholder::ChatId => any(CHAT_ID),
        Placeholder::Variable(id) => {
            let known = item.variables.iter().find(|variable| variable.id == id);
            let chosen = known.and_then(|variable| variable.options.iter().max_by_key(|option| option.len()));
            chosen.cloned().unwrap_or_else(|| any(known.map_or(0, variable::longest)))
        }
    }
}

/// The servers on which a command can run for an item.
pub(crate) fn servers_of<'a>(
    template: &CommandTemplate,
    item: &'a Item,
    delivery: &'a StoreDelivery,
) -> impl Iterator<Item = &'a Server> {
    let all = if item.servers.is_empty() { &delivery.servers } else { &item.servers };
    let limited: BTreeSet<ServerId> = template.servers.iter().copied().collect();
    all.iter().filter(move |server| limited.is_empty() || limited.contains(&server.id))
}

/// The texts of a store's commands that can be too long for RCON.
pub(crate) fn long_commands(store: &Compiled) -> BTreeSet<&str> {
    let values = Store {
        delivery: &store.config.delivery,
        currency: &store.settings.system_currency.name,
        digits: store.config.digits,
    };
    let on_sale = store.items.iter().filter(|published| published.item.active);
    let all = on_sale.flat_map(|published| {
        let commands = published.delivery.commands.iter().chain(&store.config.delivery.commands);
        commands.map(move |template| (template, &published.item))
    });
    let long = all.filter(|(template, item)| largest(template, item, values) > LONGEST_BY_RCON);
    long.map(|(template, _)| template.run.as_str()).collect()
}
