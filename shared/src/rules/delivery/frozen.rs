//! The commands of an order: frozen when it is created, expanded and filled when they are queued.

use crate::model::{
    CommandEvent, CommandTemplate, FreeNames, FrozenCommand, FrozenCommands, FrozenLine, OrderLine, PublishedItem,
    Server, ServerId, StoreDelivery,
};
use crate::rules::command_servers::{of_line, servers};
use crate::rules::command_text::{CommandText, LONGEST_FILLED, Placeholder};
use std::collections::BTreeMap;

/// A line of an order, as far as it decides which commands it makes: its place, its item and the selected server.
pub type LineToFreeze<'a> = (u16, &'a PublishedItem, Option<ServerId>);

/// The commands of lines as they are published now; `None` if there are none.
pub fn freeze<'a>(lines: impl Iterator<Item = LineToFreeze<'a>>, store: &StoreDelivery) -> Option<FrozenCommands> {
    let mut frozen = FrozenCommands::default();
    let mut names: BTreeMap<ServerId, Server> = BTreeMap::new();
    for (line, published, selected) in lines {
        let mut commands: Vec<FrozenCommand> = Vec::new();
        for template in of_line(published, store) {
            let servers = servers(template, &published.item, selected, store);
            let known = store.servers.iter().chain(&published.item.servers);
            names.extend(known.filter(|server| servers.contains(&server.id)).map(|server| (server.id, server.clone())));
            let place = frozen.templates.iter().position(|other| other == template).unwrap_or_else(|| {
                frozen.templates.push(template.clone());
                frozen.templates.len() - 1
            });
            if let (Ok(template), false) = (u16::try_from(place), servers.is_empty()) {
                commands.push(FrozenCommand { template, servers });
            }
        }
        if !commands.is_empty() {
            let (item, name) = (published.item.id, published.item.name.clone());
            let expires_after = published.delivery.expires_after;
            let renews = published.item.is_subscription;
            frozen.lines.push(FrozenLine { line, item, name, expires_after, renews, commands });
        }
    }
    let is_named = |free: &&FreeNames| names.contains_key(&free.server);
    frozen.free_names = store.free_names.iter().filter(is_named).copied().collect();
    frozen.servers = names.into_values().collect();
    (!frozen.lines.is_empty()).then_some(frozen)
}

/// A command of a line on a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expanded<'a> {
    pub line: &'a FrozenLine,
    pub template: &'a CommandTemplate,
    pub server: ServerId,
}

impl Expanded<'_> {
    /// Whether the text depends on the purchase, so that it is of its order alone.
    #[must_use]
    pub fn is_of_purchase(&self) -> bool {
        is_of_purchase(self.template)
    }
}

/// Whether a command's text depends on the purchase: on its units, its price or its order.
pub fn is_of_purchase(template: &CommandTemplate) -> bool {
    let names = [Placeholder::Count, Placeholder::Price, Placeholder::Order];
    let text = CommandText::parse(&template.run);
    template.per_unit || text.is_ok_and(|text| text.placeholders().any(|placeholder| names.contains(&placeholder)))
}

/// The commands that are queued when an order with these lines is paid: first what expires, by line and server, then
/// those of `given`, a purchase or a renewal, in its order.
pub fn when_paid<'a>(frozen: &'a FrozenCommands, lines: &[OrderLine], given: CommandEvent) -> Vec<Expanded<'a>> {
    let mut all: Vec<Expanded<'_>> = on(frozen, lines, CommandEvent::Expired);
    all.retain(|expanded| expanded.line.expires());
    all.sort_by_key(|expanded| (expanded.line.line, expanded.server));
    all.extend(on(frozen, lines, given));
    all
}

/// The commands that take an order with these lines back after a refund or a dispute. A line without commands for a dispute
/// has those for a refund.
pub fn when_taken_back<'a>(frozen: &'a FrozenCommands, lines: &[OrderLine], is_dispute: bool) -> Vec<Expanded<'a>> {
    let disputed = on(frozen, lines, CommandEvent::ChargedBack);
    let has_own = |expanded: &Expanded<'_>| disputed.iter().any(|own| own.line.line == expanded.line.line);
    let mut refunded = on(frozen, lines, CommandEvent::Refunded);
    if is_dispute {
        refunded.retain(|expanded| !has_own(expanded));
        refunded.extend(disputed);
    }
    refunded
}

fn on<'a>(frozen: &'a FrozenCommands, lines: &[OrderLine], event: CommandEvent) -> Vec<Expanded<'a>> {
    let mut all = Vec::new();
    for line in &frozen.lines {
        let units = lines.get(usize::from(line.line)).map_or(1, |line| line.count);
        if units == 0 {
            continue;
        }
        for command in &line.commands {
            let template = frozen.templates.get(usize::from(command.template));
            let Some(template) = template.filter(|template| template.on == event) else { continue };
            let times = if template.per_unit { usize::try_from(units).unwrap_or(usize::MAX) } else { 1 };
            for server in &command.servers {
                all.extend(std::iter::repeat_n(Expanded { line, template, server: *server }, times));
            }
        }
    }
    all
}

/// Whether a console reads a name as nothing else: it has letters, digits, spaces and `_.,*-`. A `;`, a quote or an `@` could make another
/// command of it. Players choose the names of some logins freely.
pub fn is_plain(name: &str) -> bool {
    name.chars().all(|letter| letter.is_alphanumeric() || " _.,*-".contains(letter))
}

/// The command's text with its values; `None` if it is too long. Publishing has parsed it: one that does not parse is left
/// unchanged.
pub fn fill(template: &CommandTemplate, value: impl Fn(Placeholder) -> String) -> Option<String> {
    let filled = CommandText::parse(&template.run).map_or_else(|_| template.run.clone(), |text| text.fill(value));
    (filled.len() <= LONGEST_FILLED).then_some(filled)
}
