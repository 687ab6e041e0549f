//! The output of a command: a text for people and the same as JSON for scripts.

use crate::error::Exit;
use comfy_table::Table;
use comfy_table::presets::NOTHING;
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

/// Rows as aligned columns below their headings, without a frame.
pub fn columns(headings: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
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
    fn a_table_without_rows_is_its_headings() {
        assert_eq!(plain(&["ID", "NAME"], &[]), "ID  NAME");
    }
}
