//! Findings of the checks of `doctor`, and how they are printed.

use crate::answer::{BAD, GOOD, WARN, paint};
use crate::error::Failure;
use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) state: State,
    said: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Whether it is well because it was repaired just now.
    #[serde(skip)]
    is_repaired: bool,
}

/// The states of a check, those that need a person first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// A fault.
    Bad,
    /// Something waits for a person.
    Todo,
    /// Worth knowing; nothing has to be done.
    Note,
    Ok,
}

impl State {
    /// Whether it needs a person.
    pub(super) const fn is_open(self) -> bool {
        matches!(self, Self::Bad | Self::Todo)
    }
}

impl Finding {
    pub(super) fn ok(check: &'static str, said: impl Into<String>) -> Self {
        Self { check, state: State::Ok, said: said.into(), next: None, is_repaired: false }
    }

    /// Something was repaired and is well now.
    pub(super) fn repaired(check: &'static str, said: impl Into<String>) -> Self {
        Self { is_repaired: true, ..Self::ok(check, said) }
    }

    pub(super) fn note(check: &'static str, said: impl Into<String>, next: impl Into<String>) -> Self {
        Self { state: State::Note, next: Some(next.into()), ..Self::ok(check, said) }
    }

    pub(super) fn todo(check: &'static str, said: impl Into<String>, next: impl Into<String>) -> Self {
        Self { state: State::Todo, ..Self::note(check, said, next) }
    }

    pub(super) fn bad(check: &'static str, said: impl Into<String>, next: impl Into<String>) -> Self {
        Self { state: State::Bad, ..Self::note(check, said, next) }
    }

    pub(super) fn failed(check: &'static str, failure: Failure) -> Self {
        Self::bad(check, failure.what, failure.next)
    }

    fn line(&self) -> String {
        let (style, word) = match self.state {
            State::Bad => (BAD, "bad "),
            State::Todo => (WARN, "todo"),
            State::Note => (WARN, "note"),
            State::Ok => (GOOD, "ok  "),
        };
        let next = self.next.as_ref().map(|next| format!(" → {next}")).unwrap_or_default();
        format!("{} {}: {}{next}", paint(style, word), self.check, self.said)
    }
}

/// Sorted findings as lines: a line for each that is not simply well, and one for all others; with `all`, one for each.
pub(super) fn lines(findings: &[Finding], all: bool) -> Vec<String> {
    let is_told = |finding: &&Finding| all || finding.state != State::Ok || finding.is_repaired;
    let mut lines: Vec<String> = findings.iter().filter(is_told).map(Finding::line).collect();
    let well: Vec<&str> = findings.iter().filter(|finding| !is_told(finding)).map(|finding| finding.check).collect();
    if !well.is_empty() {
        let what = if lines.is_empty() { "all is well" } else { "the rest is well" };
        lines.push(format!("{} {what}: {}", paint(GOOD, "ok  "), well.join(", ")));
    }
    lines
}

/// Some things, for a finding.
pub(super) fn named<T: ToString>(things: impl ExactSizeIterator<Item = T>) -> String {
    /// How many are named.
    const NAMED: usize = 10;
    let more = if things.len() > NAMED { ", …" } else { "" };
    let named: Vec<String> = things.take(NAMED).map(|thing| thing.to_string()).collect();
    format!("{}{more}", named.join(", "))
}
