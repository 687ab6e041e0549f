//! The texts that take an order back: what its lines hold as long as it is paid and lasts.

use super::making::value_of_order;
use crate::model::{CommandEvent, FrozenCommands, ItemId, LastingText, OrderLine, ServerId, UserId};
use crate::rules::command_text::Placeholder;
use crate::rules::delivery::frozen::{Expanded, fill_unchecked, when_taken_back};
use crate::shop::orders::StoredOrder;
use crate::table::keys::{self, Key};
use sha2::{Digest as _, Sha256};

/// How many hexadecimal digits name a text.
const DIGITS: usize = 32;

/// A text that takes from an account, on a server, what a line of the order gives.
pub(super) struct Text<'a> {
    pub(super) name: LastingText,
    pub(super) key: Key,
    /// The first command of the line with this text.
    pub(super) entry: Expanded<'a>,
    /// Its place among the commands of the payment, if it runs when the item ends.
    pub(super) end: Option<usize>,
}

/// An item of an account, with what was chosen, and the texts that run when it ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) key: Key,
    pub(super) item: ItemId,
    /// The first line of the order with it.
    pub(super) line: u16,
    pub(super) texts: Vec<(ServerId, String)>,
}

impl Text<'_> {
    /// The text among those that run when an item ends.
    pub(super) fn on_server(&self) -> (ServerId, String) {
        (self.entry.server, self.name.text.clone())
    }
}

/// The account and the name of the text of a command that takes something back; `None` if it is of its order alone, or
/// there is no account. A player who is renamed has the same texts.
pub(super) fn name_of(stored: &StoredOrder, frozen: &FrozenCommands, entry: &Expanded<'_>) -> Option<LastingText> {
    let account = line_of(stored, entry.line.line)?.beneficiary(stored.order.player())?;
    let text = fill_unchecked(entry.template, |placeholder| match placeholder {
        Placeholder::Player => "\0player".to_owned(),
        Placeholder::Buyer => format!("\0buyer {}", stored.order.owner.map_or(0, UserId::get)),
        other => value_of_order(stored, frozen, other, entry),
    });
    let text = text.filter(|_| !entry.is_of_purchase())?;
    Some(LastingText { account, text: hash(text.as_bytes()), also: Vec::new() })
}

/// The texts of an order that is paid, the commands of whose payment are `all`: each once for every line. The same order
/// has the same ones at any time.
pub(super) fn texts<'a>(stored: &StoredOrder, frozen: &'a FrozenCommands, all: &[Expanded<'a>]) -> Vec<Text<'a>> {
    let is_end = |entry: &Expanded<'_>| entry.template.on == CommandEvent::Expired;
    let ends = all.iter().copied().enumerate().filter(|(_, entry)| is_end(entry));
    let backs = when_taken_back(frozen, &stored.order.lines, false);
    let entries = ends.map(|(place, entry)| (Some(place), entry)).chain(backs.into_iter().map(|entry| (None, entry)));
    let mut texts: Vec<Text<'_>> = Vec::new();
    for (end, entry) in entries {
        let Some(name) = name_of(stored, frozen, &entry) else { continue };
        let key = keys::held(name.account, entry.server, &name.text);
        if !texts.iter().any(|text| text.key == key && text.entry.line.line == entry.line.line) {
            texts.push(Text { name, key, entry, end });
        }
    }
    texts
}

/// The items of an order with the texts that run when they end; of an item that does not end, none.
pub(super) fn ends(stored: &StoredOrder, frozen: &FrozenCommands, texts: &[Text<'_>]) -> Vec<Ends> {
    let mut all: Vec<Ends> = Vec::new();
    for own in &frozen.lines {
        let Some(line) = line_of(stored, own.line) else { continue };
        let Some(account) = line.beneficiary(stored.order.player()) else { continue };
        let key = keys::item_ends(account, own.item, &choice(line));
        let place = all.iter().position(|ends| ends.key == key).unwrap_or_else(|| {
            all.push(Ends { key, item: own.item, line: own.line, texts: Vec::new() });
            all.len() - 1
        });
        let of_line = texts.iter().filter(|text| text.end.is_some() && text.entry.line.line == own.line);
        all[place].texts.extend(of_line.map(Text::on_server));
    }
    for ends in &mut all {
        ends.texts.sort_unstable();
        ends.texts.dedup();
    }
    all
}

fn line_of(stored: &StoredOrder, line: u16) -> Option<&OrderLine> {
    stored.order.lines.get(usize::from(line))
}

/// A hash of what the buyer chose with a line: another choice is another thing, which ends by itself.
fn choice(line: &OrderLine) -> String {
    let mut text = String::new();
    if let Some(chosen) = &line.chosen {
        text.extend(chosen.server.map(|server| format!("{server}")));
        let mut variables: Vec<(u64, &str)> =
            chosen.variables.iter().map(|variable| (variable.id, variable.value.as_str())).collect();
        variables.sort_unstable();
        text.extend(variables.into_iter().map(|(id, value)| format!("\0{id}\0{value}")));
    }
    hash(text.as_bytes())
}

fn hash(text: &[u8]) -> String {
    let mut hash = hex::encode(Sha256::digest(text));
    hash.truncate(DIGITS);
    hash
}
