//! What a command answers with: a text for people and the same as JSON for scripts.

use crate::error::Exit;
use anstyle::{AnsiColor, Style};
use serde_json::Value;
use std::process::ExitCode;

/// Headings and names.
pub const STRONG: Style = Style::new().bold();
/// What is well.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What needs a look.
pub const WARN: Style = AnsiColor::Yellow.on_default();
/// What is wrong.
pub const BAD: Style = AnsiColor::Red.on_default();

/// A text in a style.
#[must_use]
pub fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// A command's answer.
#[derive(Debug, Clone)]
pub struct Answer {
    text: String,
    json: Value,
    exit: Option<Exit>,
}

impl Answer {
    /// An answer: lines for people, and the same as JSON.
    #[must_use]
    pub fn new(text: impl Into<String>, json: Value) -> Self {
        Self { text: text.into(), json, exit: None }
    }

    /// An answer that is not good news: the command did its work and found something.
    #[must_use]
    pub const fn with_exit(mut self, exit: Exit) -> Self {
        self.exit = Some(exit);
        self
    }

    /// The text for people.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The JSON for scripts.
    #[must_use]
    pub const fn json(&self) -> &Value {
        &self.json
    }

    /// What is printed on standard output: one line of JSON, or the text.
    #[must_use]
    pub fn print(&self, json: bool) -> String {
        let mut text = if json { self.json.to_string() } else { self.text.clone() };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    /// Why this answer is not good news, where it is not.
    #[must_use]
    pub const fn trouble(&self) -> Option<Exit> {
        self.exit
    }

    /// The exit code.
    #[must_use]
    pub fn exit(&self) -> ExitCode {
        self.exit.map_or(ExitCode::SUCCESS, Exit::code)
    }
}

/// Rows as aligned columns below their headings; the last column is not padded.
#[must_use]
pub fn columns(headings: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(headings.get(column).map(|heading| heading.chars().count())).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}", width = *width));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut text = paint(STRONG, &line(&mut headings.iter().copied()));
    for row in rows {
        text.push('\n');
        text.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    text
}
