//! The output of a command: a text for people and the same as JSON for scripts.

use crate::error::Exit;
use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use serde_json::Value;
use std::process::ExitCode;

pub use crate::paint::{BAD, GOOD, STRONG, WARN, paint};

#[derive(Debug, Clone)]
pub struct Answer {
    text: String,
    json: Value,
    exit: Option<Exit>,
}

impl Answer {
    /// Lines for people, and the same as JSON.
    pub fn new(text: impl Into<String>, json: Value) -> Self {
        Self { text: text.into(), json, exit: None }
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

/// The width of a terminal that nobody has made wider, in characters.
const WIDTH: u16 = 80;

/// Rows as aligned columns below their headings, without a frame.
pub fn columns(headings: &[&str], rows: &[Vec<String>]) -> String {
    laid_out(Table::new(), headings, rows)
}

/// The same, with long values on several lines so that the whole fits into a terminal.
pub fn narrow_columns(headings: &[&str], rows: &[Vec<String>]) -> String {
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

fn laid_out(mut table: Table, headings: &[&str], rows: &[Vec<String>]) -> String {
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

    fn plain(headings: &[&str], rows: &[&[&str]]) -> String {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect();
        anstream::adapter::strip_str(&columns(headings, &rows)).to_string()
    }

    #[test]
    fn columns_are_aligned_by_what_is_seen_and_have_neither_frame_nor_trailing_spaces() {
        let text = plain(&["ID", "NAME", ""], &[&["1", "焔", "x"], &["1000", "", ""], &["7", "Thornwick", "a b"]]);
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
        let rows = [vec!["1".to_owned(), ["a long name"; 15].join(" "), "2.00".to_owned()]];
        let text = anstream::adapter::strip_str(&narrow_columns(&["ID", "NAME", "TOTAL"], &rows)).to_string();
        assert!(text.lines().count() > 2 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_table_without_rows_is_its_headings() {
        assert_eq!(plain(&["ID", "NAME"], &[]), "ID  NAME");
    }
}
