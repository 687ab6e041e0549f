//! Findings of the checks of `doctor`, and how they are printed.

use crate::answer::{BAD, GOOD, WARN, paint};
use crate::error::Failure;
use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    check: &'static str,
    pub(super) state: State,
    said: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Ok,
    Note,
    Bad,
}

impl Finding {
    pub(super) fn ok(check: &'static str, said: impl Into<String>) -> Self {
        Self { check, state: State::Ok, said: said.into(), next: None }
    }

    pub(super) fn note(check: &'static str, said: impl Into<String>, next: impl Into<String>) -> Self {
        Self { check, state: State::Note, said: said.into(), next: Some(next.into()) }
    }

    pub(super) fn bad(check: &'static str, said: impl Into<String>, next: impl Into<String>) -> Self {
        Self { check, state: State::Bad, said: said.into(), next: Some(next.into()) }
    }

    pub(super) fn failed(check: &'static str, failure: Failure) -> Self {
        Self::bad(check, failure.what, failure.next)
    }

    pub(super) fn line(&self) -> String {
        let (style, word) = match self.state {
            State::Ok => (GOOD, "ok  "),
            State::Note => (WARN, "note"),
            State::Bad => (BAD, "bad "),
        };
        let next = self.next.as_ref().map(|next| format!(" → {next}")).unwrap_or_default();
        format!("{} {}: {}{next}", paint(style, word), self.check, self.said)
    }
}
