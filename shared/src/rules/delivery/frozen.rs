//! The commands of an order: frozen when it is created, expanded and filled when they are queued.

use crate::model::{
    CommandEvent, CommandTemplate, FreeNames, FrozenCommand, FrozenCommands, FrozenLine, Item, OrderLine, PaymentType,
    PublishedItem, Server, ServerId, StoreDelivery,
};
use crate::rules::command_servers::{of_line, servers};
use crate::rules::command_text::{CommandText, LONGEST_FILLED, Placeholder, Slot};
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
            let place = place_of(&mut frozen.templates, template);
            if let (Ok(template), false) = (u16::try_from(place), servers.is_empty()) {
                commands.push(FrozenCommand { template, servers });
            }
        }
        if !commands.is_empty() {
            let (item, name) = (published.item.id, published.item.name.clone());
            let expires_after = published.delivery.expires_after;
            let renews = published.item.is_subscription;
            let texts = texts_of(&published.item);
            frozen.lines.push(FrozenLine { line, item, name, expires_after, renews, texts, commands });
        }
    }
    let is_named = |free: &&FreeNames| names.contains_key(&free.server);
    frozen.free_names = store.free_names.iter().filter(is_named).copied().collect();
    frozen.quotes = store.quotes.iter().filter(|server| names.contains_key(server)).copied().collect();
    frozen.servers = names.into_values().collect();
    (!frozen.lines.is_empty()).then_some(frozen)
}

/// The commands of an order after those of some of its lines on a server are as they are published `today`. Everything else,
/// and how long a line lasts, stays as it was bought.
pub fn replaced(
    bought: &FrozenCommands,
    today: &FrozenCommands,
    (server, lines): (ServerId, &[u16]),
    order: &[OrderLine],
) -> FrozenCommands {
    let mut next = bought.clone();
    for line in next.lines.iter_mut().filter(|line| lines.contains(&line.line)) {
        line.commands.iter_mut().for_each(|command| command.servers.retain(|other| *other != server));
        line.commands.retain(|command| !command.servers.is_empty());
    }
    for own in today.lines.iter().filter(|own| lines.contains(&own.line)) {
        let mut commands = Vec::new();
        for command in own.commands.iter().filter(|command| command.servers.contains(&server)) {
            let template = today.templates.get(usize::from(command.template));
            let place = template.and_then(|template| u16::try_from(place_of(&mut next.templates, template)).ok());
            commands.extend(place.map(|template| FrozenCommand { template, servers: vec![server] }));
        }
        if let Some(line) = next.lines.iter_mut().find(|line| line.line == own.line) {
            line.commands.extend(commands);
            line.texts.extend(&own.texts);
        } else if let Some(line) = order.get(usize::from(own.line)) {
            // It had no commands when it was bought.
            let renews = line.payment_type == PaymentType::Subscription;
            next.lines.push(FrozenLine { expires_after: line.lasts, renews, commands, ..own.clone() });
        }
    }
    if let Some(known) = today.servers.iter().find(|other| other.id == server) {
        next.servers.retain(|other| other.id != server);
        next.servers.push(known.clone());
        next.free_names.retain(|other| other.server != server);
        next.free_names.extend(today.free_names.iter().filter(|other| other.server == server));
        next.quotes.retain(|other| *other != server);
        next.quotes.extend(today.quotes.iter().filter(|other| **other == server));
    }
    next
}

/// The place of a template among those that lines share.
fn place_of(templates: &mut Vec<CommandTemplate>, template: &CommandTemplate) -> usize {
    templates.iter().position(|other| other == template).unwrap_or_else(|| {
        templates.push(template.clone());
        templates.len() - 1
    })
}

/// The variables for which buyers enter a text that can have spaces.
fn texts_of(item: &Item) -> Vec<u64> {
    let texts = item.variables.iter().filter(|variable| variable.is_text());
    texts.map(|variable| variable.id).collect()
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

/// Whether a console reads a name as nothing else: it has letters, digits, spaces and `_.,*+!-`, and at least one letter or digit. A
/// `;`, a quote or an `@` could make another command of it, and a `*` alone is everybody. Players choose the names of some logins freely.
pub fn is_plain(name: &str) -> bool {
    name.chars().all(|letter| letter.is_alphanumeric() || " _.,*+!-".contains(letter))
        && name.chars().any(char::is_alphanumeric)
}

/// The text of a command with its values, whatever they are; `None` if it is too long. Names a text, and never reaches a console.
pub fn fill_unchecked(template: &CommandTemplate, value: impl Fn(Placeholder) -> String) -> Option<String> {
    let filled = CommandText::parse(&template.run).map_or_else(|_| template.run.clone(), |text| text.fill(value));
    (filled.len() <= LONGEST_FILLED).then_some(filled)
}

/// The text of a command with its values. `None` if it is too long, or if a console could read more than the values in it: of a name that is
/// not plain, and of a name or a buyer's text with a space, at which a console splits, unless it stands in quotes and the server
/// reads them. Publishing has parsed the text: one that does not parse is left unchanged.
pub fn fill(command: &Expanded<'_>, frozen: &FrozenCommands, value: impl Fn(Placeholder) -> String) -> Option<String> {
    let run = &command.template.run;
    let Ok(text) = CommandText::parse(run) else { return Some(run.clone()).filter(|run| run.len() <= LONGEST_FILLED) };
    let reads_quotes = frozen.quotes.contains(&command.server);
    let is_safe = |slot: Slot| {
        let is_name = match slot.placeholder {
            Placeholder::Player | Placeholder::Buyer => true,
            Placeholder::Variable(id) if command.line.texts.contains(&id) => false,
            _ => return true,
        };
        let value = value(slot.placeholder);
        (!is_name || is_plain(&value)) && (!value.contains(' ') || reads_quotes && slot.is_quoted())
    };
    let filled = text.slots().all(is_safe).then(|| text.fill(&value))?;
    (filled.len() <= LONGEST_FILLED).then_some(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ItemId;

    /// The command on a server that reads quotes, and on one that does not.
    fn on_both(run: &str, name: &str, text: &str) -> [Option<String>; 2] {
        let (quoting, other) = (ServerId::new(1), ServerId::new(2));
        let frozen = FrozenCommands { quotes: vec![quoting], ..FrozenCommands::default() };
        let template = CommandTemplate { run: run.to_owned(), ..CommandTemplate::default() };
        let line = FrozenLine {
            line: 0,
            item: ItemId::new(1),
            name: "Big Pack".to_owned(),
            expires_after: None,
            renews: false,
            texts: vec![7],
            commands: Vec::new(),
        };
        let value = |placeholder| match placeholder {
            Placeholder::Variable(7) => text.to_owned(),
            Placeholder::Variable(_) => "Midnight blue".to_owned(),
            Placeholder::Item => line.name.clone(),
            _ => name.to_owned(),
        };
        [quoting, other].map(|server| fill(&Expanded { line: &line, template: &template, server }, &frozen, value))
    }

    #[test]
    fn a_name_or_a_text_with_a_space_runs_only_in_quotes_that_the_server_reads() {
        let cancelled = [None, None];
        let same = |text: &str| [Some(text.to_owned()), Some(text.to_owned())];
        let quoting = |text: &str| [Some(text.to_owned()), None];
        for (run, name, text, expected) in [
            ("eco give {player} 100", "Notch 99999", "", cancelled.clone()),
            ("eco give \"{player}\" 100", "Notch 99999", "", quoting("eco give \"Notch 99999\" 100")),
            ("eco give \"{player} 100", "Notch 99999", "", cancelled.clone()),
            ("lp user {buyer} parent add vip", "Alex parent add admin", "", cancelled.clone()),
            ("plates set {player} {var:7}", "Alex", "mind the step", cancelled.clone()),
            ("plates set {player} \"{var:7}\"", "Alex", "mind the step", quoting("plates set Alex \"mind the step\"")),
            ("plates set {player} {var:7}", "Alex", "step", same("plates set Alex step")),
            // The owner's own texts.
            ("say {item} in {var:8} for {player}", "Alex", "", same("say Big Pack in Midnight blue for Alex")),
        ] {
            assert_eq!(on_both(run, name, text), expected, "{run} {name} {text}");
        }
    }

    #[test]
    fn a_name_needs_a_letter_or_digit_and_has_no_sign_that_a_console_reads() {
        for name in ["*", "**", "._-", " ", "", "@a", "a;b", "a\"b", "a\\b", "~", "a\u{202e}b"] {
            assert_eq!(on_both("eco give \"{player}\" 100", name, ""), [None, None], "{name:?}");
        }
        for name in ["*Quartz", ".Psychic_Clover", "+Alex", "!Alex", "Ünder", "7", "a-b"] {
            assert!(on_both("eco give {player} 100", name, "").iter().all(Option::is_some), "{name:?}");
        }
    }
}
