//! Which strings a place in a command is within: JSON and its like, as `tellraw` and item data have them, or a console's quotes.
//!
//! Only what is surely a string counts: one that is closed, and whose quote is where a value can begin.

use std::borrow::Cow;

/// The strings around a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Around {
    /// Double quotes of a console, outside of any JSON.
    quotes: bool,
    /// A string of JSON.
    json: bool,
    /// A string in single quotes, which item data have, possibly around JSON.
    single: bool,
}

impl Around {
    pub(super) const fn is_quoted(self) -> bool {
        self.quotes || self.json || self.single
    }

    /// A value as it is written there: first for the inner string, then for the one around it.
    pub(super) fn escaped(self, value: &str) -> Cow<'_, str> {
        let mut text = Cow::Borrowed(value);
        if self.json {
            text = json(&text).into();
        }
        if self.single {
            text = text.replace('\\', r"\\").replace('\'', r"\'").into();
        }
        text
    }
}

/// The inside of a JSON string. A value has no control characters; one would be left out.
fn json(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for letter in value.chars().filter(|letter| !letter.is_control()) {
        if matches!(letter, '"' | '\\') {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

/// A string that is open.
struct Open {
    quote: char,
    /// Whether it is within brackets, as the strings of JSON are.
    is_data: bool,
    /// The first placeholder that is within it.
    first: usize,
    /// The brackets that were open before it.
    depth: usize,
}

/// Reads a command from left to right.
#[derive(Default)]
pub(super) struct Scan {
    /// Open brackets in what is being read: the command, or the inside of a string in single quotes.
    depth: usize,
    /// The last character, and the last one that is not a space.
    last: Option<char>,
    last_sign: Option<char>,
    is_escaped: bool,
    open: Vec<Open>,
    found: Vec<Around>,
}

impl Scan {
    /// The next piece of plain text.
    pub(super) fn text(&mut self, text: &str) {
        for letter in text.chars() {
            self.letter(letter);
        }
    }

    /// A placeholder, whose value is an ordinary text.
    pub(super) fn value(&mut self) {
        self.found.push(Around::default());
        self.is_escaped = false;
        (self.last, self.last_sign) = (Some('x'), Some('x'));
    }

    /// What is around each placeholder. A string that was not closed is none, and without the bracket that closes it nothing is JSON.
    pub(super) fn finish(self) -> Vec<Around> {
        let is_whole = self.depth == 0 && self.open.iter().all(|open| open.depth == 0);
        let whole =
            |around: Around| Around { json: around.json && is_whole, single: around.single && is_whole, ..around };
        self.found.into_iter().map(whole).collect()
    }

    fn letter(&mut self, letter: char) {
        if std::mem::take(&mut self.is_escaped) {
            // Whatever it is, it is part of the string.
        } else if self.open.last().is_some_and(|open| open.quote == letter) {
            self.close();
        } else if letter == '\\' && !self.open.is_empty() {
            self.is_escaped = true;
        } else if self.open.last().is_none_or(|open| open.quote == '\'') {
            self.structure(letter);
        }
        self.last = Some(letter);
        if !letter.is_whitespace() {
            self.last_sign = Some(letter);
        }
    }

    /// A character outside of strings, or within single quotes, which can have JSON in them.
    fn structure(&mut self, letter: char) {
        match letter {
            '{' | '[' => self.depth += 1,
            '}' | ']' => self.depth = self.depth.saturating_sub(1),
            '"' if self.depth > 0 && self.begins_a_value() => self.begin(letter, true),
            '\'' if self.depth > 0 && self.open.is_empty() && self.begins_a_value() => self.begin(letter, true),
            '"' if self.depth == 0 && self.open.is_empty() && self.begins_a_word() => self.begin(letter, false),
            _ => {}
        }
    }

    fn begins_a_value(&self) -> bool {
        self.last_sign.is_some_and(|sign| "{[:=,!(".contains(sign))
    }

    fn begins_a_word(&self) -> bool {
        self.last.is_none_or(|letter| letter.is_whitespace() || "=:,".contains(letter))
    }

    fn begin(&mut self, quote: char, is_data: bool) {
        self.open.push(Open { quote, is_data, first: self.found.len(), depth: self.depth });
        if quote == '\'' {
            self.depth = 0;
        }
    }

    fn close(&mut self) {
        let Some(Open { quote, is_data, first, depth }) = self.open.pop() else { return };
        self.depth = depth;
        for around in self.found.iter_mut().skip(first) {
            match (quote, is_data) {
                ('\'', _) => around.single = true,
                (_, true) => around.json = true,
                (_, false) => around.quotes = true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::command_text::{CommandText, Placeholder, Slot};

    /// The command as a console gets it for an item of this name.
    fn filled(text: &str, item: &str) -> String {
        let value = |placeholder| if placeholder == Placeholder::Item { item } else { "Pebble" };
        CommandText::parse(text).unwrap().fill(value)
    }

    #[test]
    fn a_value_within_a_string_of_json_is_escaped() {
        const NAME: &str = r#"The "Big" Pack \ Bob's"#;
        for (text, expected) in [
            (r#"tellraw @a {{"text":"{item}"}"#, r#"tellraw @a {"text":"The \"Big\" Pack \\ Bob's"}"#),
            (
                r#"tellraw @a ["",{{"text": "a \" {item} ","color":"red"},{{"text":"{player}"}]"#,
                r#"tellraw @a ["",{"text": "a \" The \"Big\" Pack \\ Bob's ","color":"red"},{"text":"Pebble"}]"#,
            ),
            (
                r#"give {player} stick[custom_name='{{"text":"{item}"}'] 1"#,
                r#"give Pebble stick[custom_name='{"text":"The \\"Big\\" Pack \\\\ Bob\'s"}'] 1"#,
            ),
            (
                r"give {player} stick{{display:{{Name:'{item}'}} 1",
                r#"give Pebble stick{display:{Name:'The "Big" Pack \\ Bob\'s'}} 1"#,
            ),
            (r#"tellraw @a[name="{item}"] x"#, r#"tellraw @a[name="The \"Big\" Pack \\ Bob's"] x"#),
        ] {
            assert_eq!(filled(text, NAME), expected);
        }
    }

    #[test]
    fn whatever_the_value_the_json_has_it() {
        for name in ["Herald's Horn", r#"The "Big" Pack"#, r"C:\", r#"\""#, "Ünder 💎", "{player}", "'"] {
            let command = filled(r#"tellraw @a {{"text":"» {item}","extra":["{player}"]}"#, name);
            let json: serde_json::Value = serde_json::from_str(command.strip_prefix("tellraw @a ").unwrap()).unwrap();
            assert_eq!(json, serde_json::json!({ "text": format!("» {name}"), "extra": ["Pebble"] }));
        }
    }

    #[test]
    fn a_value_outside_of_json_is_left_unchanged() {
        const NAME: &str = r#"a"b'c\d"#;
        for text in [
            "say {item}",
            r#"say "{item}""#,
            "say [Shop] {item}",
            "say [Bob's] {item}",
            "say [Bob's shop] it's {item}",
            r#"say [5" pipes] {item} 5""#,
            r#"say {{"text":"{item}"#,
            r#"say {{"text":"a"} {item}"#,
            r"say [x='{item}",
            r#"say [ "{item}""#,
            "say {{a: {item}}",
            r#"lp user {player} meta set prefix "{item}""#,
            "say '{item}'",
        ] {
            let expected = text.replace("{{", "\u{1}").replace("{item}", NAME).replace("{player}", "Pebble");
            assert_eq!(filled(text, NAME), expected.replace('\u{1}', "{"), "{text}");
        }
    }

    #[test]
    fn a_placeholder_is_in_quotes_only_between_two_of_them() {
        for (text, expected) in [
            ("kick {player} {item}", vec![false, false]),
            (r#"kick "{player}" {item}"#, vec![true, false]),
            (r#"kick "{player} {item}" x"#, vec![true, true]),
            (r#""{item}""#, vec![true]),
            (r#"a name="{item}" b"#, vec![true]),
            (r#"a "x" {item} "y""#, vec![false]),
            (r#"a "{item}"#, vec![false]),
            (r#"a "\"{item}"#, vec![false]),
            (r#"a5" {item} 6" "#, vec![false]),
            (r#"a "b" "{item}""#, vec![true]),
            ("a '{item}'", vec![false]),
            (r#"tellraw @a {{"text":"{item}"}"#, vec![true]),
        ] {
            let quoted: Vec<bool> = CommandText::parse(text).unwrap().slots().map(Slot::is_quoted).collect();
            assert_eq!(quoted, expected, "{text}");
        }
    }
}
