//! Faults that tests and the page can order.

use http::StatusCode;
use std::time::Duration;

/// The way in which a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    Status(u16),
    /// The response breaks off in the middle.
    Cut,
    Silence,
    Slow(Duration),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// Whether the request has its effect nevertheless.
    pub after_effect: bool,
    /// The beginning of the path that it is for, such as `/v1/refunds`; empty for any.
    pub path: String,
    /// Whether it happens to every such request from now on.
    pub lasts: bool,
}

impl Fault {
    /// A fault of the next request, which has no effect.
    pub const fn before(kind: FaultKind) -> Self {
        Self { kind, after_effect: false, path: String::new(), lasts: false }
    }

    /// A fault of the next request, which has its effect: only the response is lost.
    pub const fn after(kind: FaultKind) -> Self {
        Self { kind, after_effect: true, path: String::new(), lasts: false }
    }

    /// The same fault for the next request whose path begins so.
    #[must_use]
    pub fn on(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// The same fault for every such request from now on.
    #[must_use]
    pub fn for_ever(self) -> Self {
        Self { lasts: true, ..self }
    }

    /// Reads `429`, `cut`, `silence`, or a number of milliseconds such as `slow-500`; with `after-` before it for a fault
    /// after the effect.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (text, after_effect) = text.strip_prefix("after-").map_or((text, false), |rest| (rest, true));
        let kind = match text {
            "cut" => FaultKind::Cut,
            "silence" => FaultKind::Silence,
            _ => match text.strip_prefix("slow-") {
                Some(millis) => FaultKind::Slow(Duration::from_millis(millis.parse().ok()?)),
                None => FaultKind::Status(text.parse().ok().filter(|status| (400..600).contains(status))?),
            },
        };
        Some(Self { kind, after_effect, path: String::new(), lasts: false })
    }

    /// The status, if it is an error with one.
    pub(super) fn status(&self) -> Option<StatusCode> {
        match self.kind {
            FaultKind::Status(status) => StatusCode::from_u16(status).ok(),
            _ => None,
        }
    }
}

/// The faults that are still to happen.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub(super) fn push(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    /// The first fault for a path; it happens once, unless it lasts.
    pub(super) fn take(&mut self, path: &str) -> Option<Fault> {
        let place = self.0.iter().position(|fault| path.starts_with(&fault.path))?;
        if self.0.get(place)?.lasts { self.0.get(place).cloned() } else { Some(self.0.remove(place)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_read_from_a_word() {
        assert_eq!(Fault::parse("429"), Some(Fault::before(FaultKind::Status(429))));
        assert_eq!(Fault::parse("after-cut"), Some(Fault::after(FaultKind::Cut)));
        assert_eq!(Fault::parse("slow-20"), Some(Fault::before(FaultKind::Slow(Duration::from_millis(20)))));
        for text in ["", "200", "slow-", "slow-x", "after-", "99999"] {
            assert_eq!(Fault::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_fault_happens_once_at_its_path() {
        let mut faults = Faults::default();
        faults.push(Fault::before(FaultKind::Cut).on("/v1/refunds"));
        assert_eq!(faults.take("/v1/events"), None);
        assert!(faults.take("/v1/refunds").is_some());
        assert_eq!(faults.take("/v1/refunds"), None);
        faults.push(Fault::before(FaultKind::Cut).on("/v1/refunds").for_ever());
        assert!(faults.take("/v1/refunds").is_some() && faults.take("/v1/refunds").is_some());
    }
}
