//! The measurements: the latency of every request, and every error.

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many errors are kept with their text.
const SHOWN: usize = 20;

/// The measurements of a run.
#[derive(Debug, Default)]
pub struct Record(Mutex<Measured>);

#[derive(Debug, Default)]
struct Measured {
    /// Microseconds, by kind of call.
    latencies: BTreeMap<&'static str, Vec<u32>>,
    errors: u64,
    shown: Vec<String>,
}

/// The latencies of some requests, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Latency {
    /// How many requests.
    pub requests: usize,
    /// Half of them took no longer.
    pub p50: u32,
    /// 95 of 100 took no longer.
    pub p95: u32,
    /// 99 of 100 took no longer.
    pub p99: u32,
    /// The longest.
    pub max: u32,
}

impl Latency {
    fn of(mut micros: Vec<u32>) -> Self {
        micros.sort_unstable();
        let at = |hundredths: usize| {
            let rank = (micros.len() * hundredths).div_ceil(100).max(1);
            micros.get(rank - 1).copied().unwrap_or_default()
        };
        Self { requests: micros.len(), p50: at(50), p95: at(95), p99: at(99), max: at(100) }
    }
}

impl Record {
    fn measured(&self) -> MutexGuard<'_, Measured> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request that took so long from its scheduled start.
    pub fn took(&self, kind: &'static str, time: Duration) {
        let micros = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        self.measured().latencies.entry(kind).or_default().push(micros);
    }

    /// Notes an error.
    pub fn failed(&self, kind: &str, reason: &str) {
        let mut measured = self.measured();
        measured.errors += 1;
        if measured.shown.len() < SHOWN {
            measured.shown.push(format!("{kind}: {reason}"));
        }
    }

    /// How many requests and errors there are so far.
    pub fn counts(&self) -> (usize, u64) {
        let measured = self.measured();
        (measured.latencies.values().map(Vec::len).sum(), measured.errors)
    }

    /// The number of errors, and the text of the first.
    pub fn errors(&self) -> (u64, Vec<String>) {
        let measured = self.measured();
        (measured.errors, measured.shown.clone())
    }

    /// The latencies of all requests.
    pub fn all(&self) -> Latency {
        Latency::of(self.measured().latencies.values().flatten().copied().collect())
    }

    /// The latencies by kind of call.
    pub fn by_kind(&self) -> BTreeMap<&'static str, Latency> {
        let measured = self.measured();
        measured.latencies.iter().map(|(kind, micros)| (*kind, Latency::of(micros.clone()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_latencies() {
        let latency = Latency::of((1..=200).rev().collect());
        assert_eq!(latency, Latency { requests: 200, p50: 100, p95: 190, p99: 198, max: 200 });
        assert_eq!(Latency::of(vec![7]), Latency { requests: 1, p50: 7, p95: 7, p99: 7, max: 7 });
        assert_eq!(Latency::of(Vec::new()).max, 0);
    }

    #[test]
    fn every_error_counts_and_the_first_are_shown() {
        let record = Record::default();
        record.took("cart/get", Duration::from_millis(2));
        for number in 0..30 {
            record.failed("cart/get", &number.to_string());
        }
        let (errors, shown) = record.errors();
        assert_eq!((errors, shown.len(), shown[0].as_str()), (30, SHOWN, "cart/get: 0"));
        assert_eq!(record.counts(), (1, 30));
        assert_eq!(record.by_kind()["cart/get"], record.all());
    }
}
