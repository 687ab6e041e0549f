//! The size of commands when they are filled: owners see short placeholders, game servers get long values.

use crate::compile::Compiled;
use shared::model::{CommandTemplate, Item, Line, Money, PlayerName, Server, ServerId, StoreDelivery};
use shared::money::CurrencyFormat;
use shared::rules::command_text::{CommandText, Placeholder};
use shared::rules::variable;
use std::collections::BTreeSet;

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
