//! The summary of a run.

use crate::record::{Latency, Record};
use crate::stage::Usage;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;
use std::time::Duration;

/// A promise of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Promise {
    /// The promise, with the numbers.
    pub text: String,
    /// Whether it was kept.
    pub is_kept: bool,
}

/// The summary of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    run: &'static str,
    seconds: u64,
    facts: BTreeMap<&'static str, u64>,
    all: Latency,
    by_kind: BTreeMap<&'static str, Latency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    functions: Option<[Usage; 2]>,
    errors: u64,
    first_errors: Vec<String>,
    promises: Vec<Promise>,
}

impl Summary {
    /// The summary of what was recorded.
    pub fn new(run: &'static str, record: &Record, lasts: Duration) -> Self {
        let (errors, first_errors) = record.errors();
        let no_errors = Promise { text: format!("no errors: {errors}"), is_kept: errors == 0 };
        Self {
            run,
            seconds: lasts.as_secs(),
            facts: BTreeMap::new(),
            all: record.all(),
            by_kind: record.by_kind(),
            functions: None,
            errors,
            first_errors,
            promises: vec![no_errors],
        }
    }

    /// With what the functions' process used after a sixth of the run, and at the end.
    #[must_use]
    pub fn with_usage(self, first: Usage, last: Usage) -> Self {
        Self { functions: Some([first, last]), ..self }
    }

    /// With a number.
    #[must_use]
    pub fn fact(mut self, name: &'static str, number: u64) -> Self {
        self.facts.insert(name, number);
        self
    }

    /// With a promise.
    #[must_use]
    pub fn promise(mut self, promise: Promise) -> Self {
        self.promises.push(promise);
        self
    }

    /// Whether every promise was kept.
    pub fn is_kept(&self) -> bool {
        self.promises.iter().all(|promise| promise.is_kept)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, {} s", self.run, self.seconds)?;
        for (name, number) in &self.facts {
            writeln!(f, "  {}: {number}", name.replace('_', " "))?;
        }
        writeln!(
            f,
            "\n{:<28}{:>9}{:>9}{:>9}{:>9}{:>9}",
            "call (milliseconds)", "requests", "p50", "p95", "p99", "max"
        )?;
        let rows = self.by_kind.iter().map(|(kind, latency)| (*kind, latency)).chain([("all", &self.all)]);
        for (kind, Latency { requests, p50, p95, p99, max }) in rows {
            let [p50, p95, p99, max] = [p50, p95, p99, max].map(|micros| millis(*micros));
            writeln!(f, "{kind:<28}{requests:>9}{p50:>9}{p95:>9}{p99:>9}{max:>9}")?;
        }
        for error in &self.first_errors {
            writeln!(f, "error: {error}")?;
        }
        writeln!(f)?;
        for Promise { text, is_kept } in &self.promises {
            writeln!(f, "{} {text}", if *is_kept { "kept  " } else { "BROKEN" })?;
        }
        let Latency { requests, p50, p95, p99, max } = self.all;
        let [p50, p95, p99, max] = [p50, p95, p99, max].map(millis);
        // `infra/scripts/prove` keeps this line.
        writeln!(f, "figures: {requests} requests, p50 {p50} ms, p95 {p95} ms, p99 {p99} ms, max {max} ms")
    }
}

/// Microseconds as milliseconds with one digit.
fn millis(micros: u32) -> String {
    format!("{}.{}", micros / 1_000, micros / 100 % 10)
}

/// Prints a line of progress.
pub fn progress(line: &str) {
    // Standard error may be closed.
    _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_or_a_broken_promise_fails_the_run() {
        let record = Record::default();
        record.took("cart/get", Duration::from_millis(3));
        let good = Summary::new("mixed", &record, Duration::from_mins(1));
        assert!(good.is_kept() && good.to_string().contains("kept   no errors: 0"), "{good}");
        let broken = good.promise(Promise { text: "500 sold: 501".to_owned(), is_kept: false });
        assert!(!broken.is_kept() && broken.to_string().contains("BROKEN 500 sold: 501"));
        assert_eq!((millis(12_349), millis(99)), ("12.3".to_owned(), "0.0".to_owned()));
        record.failed("cart/get", "500");
        assert!(!Summary::new("mixed", &record, Duration::from_mins(1)).is_kept());
    }
}
