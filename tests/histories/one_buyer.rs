//! One buyer, eight instances of the functions, and everything that writes, while calls to the database fail.

use super::bench::Bench;
use super::ops::some_plan;
use super::run::{Outcome, run};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// How often a smaller history is tried before it counts as one that does not fail.
const TRIES: usize = 2;
/// For how many milliseconds a smaller history that fails is looked for.
const SHRINKING: u32 = 20_000;

/// A number from the environment.
pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}")))
}

/// How many histories are run, and the seed.
pub fn wanted(usual: u32) -> (u32, u64) {
    let seed = number("HISTORIES_SEED").unwrap_or_else(|| RandomState::new().build_hasher().finish());
    (number("HISTORIES").map_or(usual, |count| u32::try_from(count).unwrap()), seed)
}

/// A runner of this many cases, the same ones for the same seed.
pub fn runner(cases: u32, seed: u64) -> TestRunner {
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 12,
        max_shrink_time: SHRINKING,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

#[test]
fn every_history_of_one_buyer_is_one_that_the_model_allows() {
    let (cases, seed) = wanted(8);
    let began = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(8).enable_all().build().unwrap();
    let bench = Arc::new(runtime.block_on(Bench::open()));
    let (buyers, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let total = Mutex::new(Outcome::default());
    let result = runner(cases, seed).run(&(some_plan(), any::<u64>()), |(plan, faults)| {
        // Clients meet by chance: a smaller history may need more than one try to fail again.
        let tries = if has_failed.load(Ordering::SeqCst) { TRIES } else { 1 };
        for _ in 0..tries {
            let buyer = buyers.fetch_add(1, Ordering::SeqCst);
            match runtime.block_on(run(&bench, buyer, plan.clone(), faults)) {
                Ok(outcome) => total.lock().unwrap().add(outcome),
                Err(text) => {
                    has_failed.store(true, Ordering::SeqCst);
                    return Err(TestCaseError::fail(text));
                }
            }
        }
        Ok(())
    });
    let (total, count) = (*total.lock().unwrap(), buyers.load(Ordering::SeqCst));
    let Outcome { operations, unknown, orders, undecided } = total;
    let text = format!(
        "{count} histories of one buyer, {operations} operations, {unknown} without a response, {orders} orders, {undecided} \
         undecided; {}; {:.1?}",
        bench.count_faults(),
        began.elapsed()
    );
    writeln!(std::io::stderr(), "{text}").unwrap();
    if let Err(error) = result {
        panic!("HISTORIES_SEED={seed}\n{error}");
    }
    assert!(orders > 0 && undecided * 20 <= count, "{text}");
}

impl Outcome {
    const fn add(&mut self, other: Self) {
        self.operations += other.operations;
        self.unknown += other.unknown;
        self.orders += other.orders;
        self.undecided += other.undecided;
    }
}
