//! The output of a command: a text for people and the same facts as JSON for scripts.

use crate::error::{Exit, Failure};
use anstyle::{AnsiColor, Style};
use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;
use std::process::ExitCode;

/// An answer: a text for people, and the facts that it is made of as JSON.
#[derive(Debug, Clone)]
pub struct Printed {
    text: String,
    json: Value,
    exit: Option<Exit>,
}

/// The outcome of a command.
pub type Outcome = Result<Printed, Failure>;

/// Facts as JSON; it fails only for maps whose keys are not strings.
pub fn value(facts: &impl Serialize) -> Value {
    serde_json::to_value(facts).unwrap_or_default()
}

impl Printed {
    pub fn new(text: impl Into<String>, facts: &impl Serialize) -> Self {
        Self { text: text.into(), json: value(facts), exit: None }
    }

    /// The same with an exit code: the command did its work and found something.
    #[must_use]
    pub const fn with_exit(mut self, exit: Exit) -> Self {
        self.exit = Some(exit);
        self
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub const fn json(&self) -> &Value {
        &self.json
    }

    /// The standard output: one line of JSON, or the text.
    pub fn print(&self, json: bool) -> String {
        let mut text = if json { self.json.to_string() } else { self.text.clone() };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    /// The finding, if the exit code is not 0.
    pub const fn trouble(&self) -> Option<Exit> {
        self.exit
    }

    pub fn exit(&self) -> ExitCode {
        self.exit.map_or(ExitCode::SUCCESS, Exit::code)
    }
}

/// A second since 1970 as people and scripts read it, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub i64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_second(self.0) {
            Ok(at) => at.fmt(f),
            Err(_) => self.0.fmt(f),
        }
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// Colours. They are removed if standard output is not a terminal.
pub const STRONG: Style = Style::new().bold();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const WARN: Style = AnsiColor::Yellow.on_default();
pub const BAD: Style = AnsiColor::Red.on_default();

pub fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// A sentence after `ok`, for what was done.
macro_rules! ok {
    ($($said:tt)*) => {
        format!("{} {}", $crate::answer::paint($crate::answer::GOOD, "ok"), format_args!($($said)*))
    };
}

/// A sentence after `note`, for what is worth knowing.
macro_rules! note {
    ($($said:tt)*) => {
        format!("{} {}", $crate::answer::paint($crate::answer::WARN, "note"), format_args!($($said)*))
    };
}

/// A sentence after `warning`, for what looks wrong.
macro_rules! warning {
    ($($said:tt)*) => {
        format!("{} {}", $crate::answer::paint($crate::answer::WARN, "warning"), format_args!($($said)*))
    };
}

/// Facts that one command prints, as a struct of their own: `facts! { code, active: on }`.
macro_rules! facts {
    ($($(#[$attribute:meta])* $name:ident $(: $value:expr)?),* $(,)?) => {{
        #[derive(serde::Serialize)]
        struct Facts<$($name),*> {
            $($(#[$attribute])* $name: $name),*
        }
        Facts { $($name $(: $value)?),* }
    }};
}

pub(crate) use {facts, note, ok, warning};

/// The width of a terminal that no one has made wider, in characters.
const WIDTH: u16 = 80;

/// Rows as aligned columns below their headings, without a frame.
pub fn columns<const N: usize>(headings: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    laid_out(Table::new(), headings, rows)
}

/// The same, with long values on several lines so that the whole fits into a terminal.
pub fn narrow_columns<const N: usize>(headings: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    laid_out(table, headings, rows)
}

/// A line broken between words so that it fits into a terminal; what follows is indented. What is in backticks stays whole.
pub fn wrapped(line: &str) -> String {
    let seen = |text: &str| anstream::adapter::strip_str(text).to_string().chars().count();
    let indent = line.len() - line.trim_start().len();
    let mut words: Vec<String> = Vec::new();
    for word in line.trim_start().split(' ') {
        match words.last_mut() {
            Some(last) if last.matches('`').count() % 2 == 1 => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    let mut lines = vec![" ".repeat(indent) + words.first().map(String::as_str).unwrap_or_default()];
    for word in words.iter().skip(1) {
        let fits = lines.last().is_some_and(|last| seen(last) + 1 + seen(word) <= usize::from(WIDTH));
        match lines.last_mut() {
            Some(last) if fits => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(" ".repeat(indent + 2) + word),
        }
    }
    lines.join("\n")
}

fn laid_out<const N: usize>(
    mut table: Table,
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    table.set_header(headings).add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let text = table.load_style(NOTHING).trim_fmt();
    let (heading, rows) = text.split_once('\n').unwrap_or((&text, ""));
    format!("{}\n{rows}", paint(STRONG, heading)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain<const N: usize>(headings: [&str; N], rows: &[[&str; N]]) -> String {
        let rows = rows.iter().map(|row| row.map(str::to_owned));
        anstream::adapter::strip_str(&columns(headings, rows)).to_string()
    }

    #[test]
    fn columns_are_aligned_by_what_is_seen_and_have_neither_frame_nor_trailing_spaces() {
        let text = plain(["ID", "NAME", ""], &[["1", "焔", "x"], ["1000", "", ""], ["7", "Thornwick", "a b"]]);
        assert_eq!(text, "ID    NAME\n1     焔         x\n1000\n7     Thornwick  a b");
    }

    #[test]
    fn a_long_line_is_broken_between_words() {
        let words = "  ".to_owned() + &["word"; 20].join(" ");
        let lines: Vec<String> = wrapped(&words).lines().map(str::to_owned).collect();
        assert_eq!(lines, ["  ".to_owned() + &["word"; 15].join(" "), "    ".to_owned() + &["word"; 5].join(" ")]);
        assert_eq!(wrapped("short"), "short");
        let command = ["word"; 15].join(" ") + " `storectl order refund`";
        assert_eq!(wrapped(&command).lines().next_back(), Some("  `storectl order refund`"));
    }

    #[test]
    fn long_values_are_broken_so_that_the_table_fits() {
        let rows = [["1".to_owned(), ["a long name"; 15].join(" "), "2.00".to_owned()]];
        let text = anstream::adapter::strip_str(&narrow_columns(["ID", "NAME", "TOTAL"], rows)).to_string();
        assert!(text.lines().count() > 2 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_table_without_rows_is_its_headings() {
        assert_eq!(plain(["ID", "NAME"], &[]), "ID  NAME");
    }
}
