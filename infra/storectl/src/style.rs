//! Colours of the terminal, which are removed if there is none.

use anstyle::{AnsiColor, Style};

/// Headings and names.
pub const STRONG: Style = Style::new().bold();
/// What is right.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What needs a look.
pub const WARN: Style = AnsiColor::Yellow.on_default();
/// What is wrong.
pub const BAD: Style = AnsiColor::Red.on_default();

#[must_use]
pub fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
