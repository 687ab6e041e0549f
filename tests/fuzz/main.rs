//! Mutated inputs for every parser of untrusted input, and for the functions with a real table. Each target has rules
//! for its output, not only "does not panic" (infra/docs/decisions.md, "Fuzzing without coverage").
//!
//! `PROPTEST_CASES` is the number of inputs for each target (default 128; parsers that call nothing get ten times as many),
//! `PROPTEST_RNG_SEED` the seed of a run to repeat. An input that breaks a rule is made as short as possible and printed.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot continue has failed")]
#![expect(clippy::print_stdout, reason = "the figures of a long run, with --nocapture")]

mod events;
mod files;
mod mutate;
mod requests;
mod responses;
mod texts;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Whether an input was valid; an error is a rule that was broken.
type Outcome = Result<bool, TestCaseError>;

/// The longest that an input may take. Parsers take microseconds, requests milliseconds.
const SLOW: Duration = Duration::from_secs(10);
/// How many inputs a target gets unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 128;
/// For parsers that call nothing: how many times as many inputs.
const PARSER: u32 = 10;

/// Tries inputs, `times` as many as `PROPTEST_CASES` says. Some must be valid and some not: otherwise nothing is tested.
fn tries<S: Strategy>(target: &str, times: u32, inputs: S, check: impl Fn(S::Value) -> Outcome) {
    let config = Config { failure_persistence: None, ..Config::default() };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { CASES };
    let cases = cases.saturating_mul(times);
    let (begun, tried, valid) = (Instant::now(), Cell::new(0_u32), Cell::new(0_u32));
    let checked = |input| {
        let begun = Instant::now();
        let is_valid = check(input)?;
        prop_assert!(begun.elapsed() < SLOW, "it took {:?}", begun.elapsed());
        tried.set(tried.get() + 1);
        valid.set(valid.get() + u32::from(is_valid));
        Ok(())
    };
    if let Err(broken) = TestRunner::new(Config { cases, ..config }).run(&inputs, checked) {
        panic!("{target}: {broken}");
    }
    let (tried, valid) = (tried.get(), valid.get());
    println!("figures: {target} {tried} inputs, {valid} valid, {:.1} s, 0 found", begun.elapsed().as_secs_f32());
    assert!(0 < valid && valid < tried, "{target}: {valid} of {tried} inputs are valid");
}

#[test]
#[should_panic(expected = "the rule of nines")]
fn an_input_that_breaks_a_rule_is_reported() {
    tries("broken", 1, 0..1_000_u32, |number| {
        prop_assert!(number < 9, "the rule of nines");
        Ok(number < 5)
    });
}

#[test]
#[should_panic(expected = "0 of")]
fn a_target_that_refuses_everything_is_reported() {
    tries("refused", 1, any::<u8>(), |_| Ok(false));
}
