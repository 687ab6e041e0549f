//! The text of a command: plain text and placeholders, which are filled once (rules.md, "Delivery").
//!
//! `{player}` and its like are placeholders, `{{` is a brace, and a closing brace outside of a placeholder is itself. What
//! is filled in is never read again: a value with braces is left unchanged.

mod quotes;

use quotes::{Around, Scan};
use std::fmt;

/// The most placeholders of a command: filled with 255 characters each, it is not longer than [`LONGEST_FILLED`].
pub const MOST_PLACEHOLDERS: usize = 25;
/// The most bytes of a command that is filled. A transaction takes 4 MB, and has up to a hundred of them.
pub const LONGEST_FILLED: usize = 32 * 1_024;

/// A value that a command names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Placeholder {
    /// The player that receives the line: the buyer, or the recipient of a gift.
    Player,
    /// The player that bought it.
    Buyer,
    /// The name of the item.
    Item,
    /// The units of the line.
    Count,
    /// The price of the line, in major units.
    Price,
    /// The code of the order's currency.
    Currency,
    /// The id of the order that buyers use.
    Order,
    /// The name of the server that the command runs on.
    Server,
    /// The id of the buyer's linked chat account; empty without one.
    ChatId,
    /// The value that was chosen for the item's variable with this id.
    Variable(u64),
}

impl Placeholder {
    /// Every placeholder without an id, by the name between the braces.
    pub const NAMED: [(&'static str, Self); 9] = [
        ("player", Self::Player),
        ("buyer", Self::Buyer),
        ("item", Self::Item),
        ("count", Self::Count),
        ("price", Self::Price),
        ("currency", Self::Currency),
        ("order", Self::Order),
        ("server", Self::Server),
        ("chat_id", Self::ChatId),
    ];

    fn parse(name: &str) -> Option<Self> {
        if let Some(id) = name.strip_prefix("var:") {
            return id.parse().ok().filter(|number: &u64| number.to_string() == id).map(Self::Variable);
        }
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, placeholder)| *placeholder)
    }
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Variable(id) = self {
            return write!(f, "{{var:{id}}}");
        }
        let name = Self::NAMED.iter().find(|(_, known)| known == self).map_or("", |(name, _)| name);
        write!(f, "{{{name}}}")
    }
}

/// The reason for which a text is not a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandTextError {
    #[error("is empty; write the command that the console runs")]
    Blank,
    /// A control character, such as the end of a line.
    #[error("must be one line without control characters; write each command as an entry of its own")]
    NotOneLine,
    #[error("{{{0}}} is not a placeholder; there are {names}; write {{{{ for a brace", names = Names)]
    Unknown(String),
    #[error("the brace before `{0}` is not closed; write {{{{ for a brace")]
    Unclosed(String),
}

/// The placeholders in an error's text.
struct Names;

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Placeholder::NAMED.iter().try_for_each(|(_, known)| write!(f, "{known}, "))?;
        f.write_str("{var:ID}")
    }
}

/// A placeholder where a command has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    pub placeholder: Placeholder,
    around: Around,
}

impl Slot {
    /// Whether it is in quotes, between which a console that reads quotes takes spaces as part of a word.
    pub const fn is_quoted(self) -> bool {
        self.around.is_quoted()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Slot(Slot),
}

/// A part of a text with words in braces.
pub(super) enum Part<'a> {
    Text(&'a str),
    Word(&'a str),
    /// What follows a brace that is not closed.
    Unclosed(&'a str),
}

/// The parts of a text; `{{` is a brace.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        found.push(Part::Text(before));
        let (part, after) = match after.strip_prefix('{') {
            Some(after) => (Part::Text("{"), after),
            None => {
                after.split_once('}').map_or((Part::Unclosed(after), ""), |(word, after)| (Part::Word(word), after))
            }
        };
        found.push(part);
        rest = after;
    }
    found.push(Part::Text(rest));
    found
}

/// A command with its placeholders, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandText(Vec<Piece>);

impl CommandText {
    /// Parses a command as its owner writes it.
    pub fn parse(text: &str) -> Result<Self, CommandTextError> {
        if text.trim().is_empty() {
            return Err(CommandTextError::Blank);
        }
        if text.chars().any(|letter| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}')) {
            return Err(CommandTextError::NotOneLine);
        }
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut scan = Scan::default();
        for part in parts(text) {
            let name = match part {
                Part::Text(text) => {
                    plain.push_str(text);
                    continue;
                }
                Part::Unclosed(after) => return Err(CommandTextError::Unclosed(after.chars().take(20).collect())),
                Part::Word(name) => name,
            };
            let placeholder = Placeholder::parse(name).ok_or_else(|| CommandTextError::Unknown(name.to_owned()))?;
            if !plain.is_empty() {
                scan.text(&plain);
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            scan.value();
            pieces.push(Piece::Slot(Slot { placeholder, around: Around::default() }));
        }
        if !plain.is_empty() {
            scan.text(&plain);
            pieces.push(Piece::Text(plain));
        }
        let slots = pieces.iter_mut().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Slot(slot) => Some(slot),
        });
        for (slot, around) in slots.zip(scan.finish()) {
            slot.around = around;
        }
        Ok(Self(pieces))
    }

    /// The placeholder that is all of a text.
    pub fn only(text: &str) -> Option<Placeholder> {
        text.strip_prefix('{')?.strip_suffix('}').and_then(Placeholder::parse)
    }

    /// The placeholders where they are, in the order of the text.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Slot(slot) => Some(*slot),
        })
    }

    /// The placeholders, in the order of the text.
    pub fn placeholders(&self) -> impl Iterator<Item = Placeholder> {
        self.slots().map(|slot| slot.placeholder)
    }

    /// The command with every placeholder replaced by its value, escaped if it is within a string of JSON. Values are not parsed.
    pub fn fill<V: AsRef<str>>(&self, value: impl Fn(Placeholder) -> V) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Slot(slot) => text.push_str(&slot.around.escaped(value(slot.placeholder).as_ref())),
            }
        }
        text
    }
}

impl fmt::Display for CommandText {
    /// The text that parses to this command.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Text(plain) => f.write_str(&plain.replace('{', "{{")),
            Piece::Slot(slot) => slot.placeholder.fmt(f),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(text: &str) -> String {
        CommandText::parse(text).unwrap().fill(|placeholder| match placeholder {
            Placeholder::Player => "Pebble".to_owned(),
            Placeholder::Count => "3".to_owned(),
            Placeholder::Variable(id) => format!("<{id}>"),
            other => format!("[{other}]"),
        })
    }

    #[test]
    fn placeholders_are_filled() {
        assert_eq!(filled("give {player} diamond {count}"), "give Pebble diamond 3");
        assert_eq!(filled("{player}{player}"), "PebblePebble");
        assert_eq!(filled("say {var:1} and {var:22}"), "say <1> and <22>");
        assert_eq!(filled("list"), "list");
        for (name, placeholder) in Placeholder::NAMED {
            let found: Vec<_> = CommandText::parse(&format!("a {{{name}}} b")).unwrap().placeholders().collect();
            assert_eq!(found, [placeholder]);
        }
    }

    #[test]
    fn two_braces_are_one() {
        assert_eq!(filled("give {player} stone{{Damage:3}"), "give Pebble stone{Damage:3}");
        assert_eq!(filled("tellraw @a {{\"text\":\"{player}\"}"), "tellraw @a {\"text\":\"Pebble\"}");
        assert_eq!(filled("{{player}"), "{player}");
        assert_eq!(filled("{{{player}}"), "{Pebble}");
        assert_eq!(filled("a } b }} {{{{ c"), "a } b }} {{ c");
    }

    #[test]
    fn an_error_names_the_placeholder() {
        let error = |text: &str| CommandText::parse(text).unwrap_err();
        for name in ["username", "Player", " player", "", "var", "var:", "var:01", "var:-1", "var:x", "Damage:3"] {
            assert_eq!(error(&format!("give {{{name}}}")), CommandTextError::Unknown(name.to_owned()), "{name}");
        }
        assert_eq!(error("say {player"), CommandTextError::Unclosed("player".to_owned()));
        assert_eq!(error("say {"), CommandTextError::Unclosed(String::new()));
        for text in ["", " ", "\t"] {
            assert_eq!(error(text), CommandTextError::Blank);
        }
        for text in ["say a\nsay b", "say a\r", "say \u{7}", "say \u{2028}b"] {
            assert_eq!(error(text), CommandTextError::NotOneLine);
        }
        assert_eq!(
            error("say {name}").to_string(),
            "{name} is not a placeholder; there are {player}, {buyer}, {item}, {count}, {price}, {currency}, {order}, \
             {server}, {chat_id}, {var:ID}; write {{ for a brace"
        );
        assert_eq!(error("say {name").to_string(), "the brace before `name` is not closed; write {{ for a brace");
    }

    proptest! {
        #[test]
        fn no_filled_value_is_parsed_again(values in prop::collection::vec("[{}a-z:0-9 ]{0,12}", 10)) {
            let names = Placeholder::NAMED.map(|(_, placeholder)| placeholder);
            let all: Vec<Placeholder> = names.into_iter().chain([Placeholder::Variable(7)]).collect();
            let text = all.iter().fold(String::new(), |text, placeholder| text + &format!("<{placeholder}>"));
            let value = |wanted: Placeholder| {
                let place = all.iter().position(|known| *known == wanted).unwrap();
                values[place].clone()
            };
            let expected = values.iter().fold(String::new(), |text, value| text + "<" + value + ">");
            prop_assert_eq!(CommandText::parse(&text).unwrap().fill(value), expected);
        }

        #[test]
        fn any_text_can_be_written_with_its_braces_doubled(text in "[{}a-z/:\" ]{0,40}[a-z]") {
            let command = CommandText::parse(&text.replace('{', "{{")).unwrap();
            prop_assert_eq!(command.placeholders().count(), 0);
            prop_assert_eq!(command.fill(|_| "?"), text);
        }

        #[test]
        fn what_is_printed_parses_back(text in "([a-z {]|\\{\\{|\\{player\\}|\\{var:[1-9]\\}|\\})*") {
            if let Ok(command) = CommandText::parse(&text) {
                prop_assert_eq!(CommandText::parse(&command.to_string()), Ok(command.clone()));
                prop_assert_eq!(command.to_string(), text);
            }
        }
    }
}
