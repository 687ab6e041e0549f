//! Runs a target.

use crate::error::FuzzError;
use crate::random::Random;
use crate::target::{Outcome, Target};
use harness::repository;
use indicatif::{ProgressBar, ProgressStyle};
use shared::fault;
use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A target stops after so many inputs that broke a rule.
const ENOUGH: usize = 10;
/// The longest that an input may take. Parsers take microseconds, requests milliseconds.
const SLOW: Duration = Duration::from_secs(10);

/// Which inputs are tried.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// The seed of all inputs.
    pub seed: u64,
    /// The number of the first.
    pub from: u64,
    /// How many.
    pub inputs: u64,
    /// When to stop earlier.
    pub time: Option<Duration>,
}

/// The result of a run.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The target.
    pub target: &'static str,
    /// The inputs that were tried.
    pub tried: u64,
    /// Those of them that were valid.
    pub accepted: u64,
    /// How long it took.
    pub took: Duration,
    /// The rules that were broken.
    pub found: Vec<Finding>,
}

/// An input that broke a rule.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Its number.
    pub number: u64,
    /// The rule.
    pub problem: String,
    /// The file with the input.
    pub file: PathBuf,
}

thread_local! {
    /// Whether this thread runs the code under test.
    static IS_TRYING: Cell<bool> = const { Cell::new(false) };
    /// The place of the last panic of this thread.
    static PANICKED: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Notes where the code under test panics instead of printing it: many events are refused by a panic of Lambda's runtime.
pub fn note_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        PANICKED.with_borrow_mut(|noted| *noted = place);
        if !IS_TRYING.get() {
            print(panic);
        }
    }));
}

/// Tries the inputs of a range.
///
/// # Errors
/// [`FuzzError`] if the target cannot be set up, or an input cannot be written.
pub fn run<T: Target>(range: Range) -> Result<Summary, FuzzError> {
    let mut target = T::start()?;
    // Inputs of a round depend on those before them.
    let from = range.from - range.from % T::ROUND;
    let (begun, progress) = (Instant::now(), progress(T::NAME, range.from + range.inputs - from));
    let mut summary = Summary { target: T::NAME, tried: 0, accepted: 0, took: Duration::ZERO, found: Vec::new() };
    for number in from..range.from + range.inputs {
        if range.time.is_some_and(|time| begun.elapsed() >= time) || summary.found.len() == ENOUGH {
            break;
        }
        if T::ROUND > 1 && number > from && number.is_multiple_of(T::ROUND) {
            target.restart()?;
        }
        let input = target.input(&mut Random::of(range.seed, T::NAME, number));
        summary.tried += 1;
        match tried(&mut target, &input) {
            Ok(Outcome::Accepted) => summary.accepted += 1,
            Ok(Outcome::Refused) => {}
            Err(problem) => {
                let file = write::<T>(range.seed, number, &problem, &input)?;
                summary.found.push(Finding { number, problem, file });
            }
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    summary.took = begun.elapsed();
    Ok(summary)
}

/// Tries an input. A panic and a long wait break a rule, too.
fn tried<T: Target>(target: &mut T, input: &T::Input) -> Result<Outcome, String> {
    let begun = Instant::now();
    IS_TRYING.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(|| target.check(input)));
    IS_TRYING.set(false);
    let outcome = outcome.unwrap_or_else(|panic| {
        let place = PANICKED.with_borrow(String::clone);
        Err(format!("panicked at {place}: {}", fault::panic_text(&*panic)))
    })?;
    let took = begun.elapsed();
    if took > SLOW { Err(format!("it took {took:?}")) } else { Ok(outcome) }
}

/// Writes an input that broke a rule.
fn write<T: Target>(seed: u64, number: u64, problem: &str, input: &impl Debug) -> Result<PathBuf, FuzzError> {
    let folder = repository().join("target/fuzz");
    let file = folder.join(format!("{}-{seed}-{number}.txt", T::NAME));
    let again = format!("cargo run --profile prove -p fuzz -- {} --seed {seed} --from {number} --inputs 1", T::NAME);
    let failed =
        |error: std::io::Error| FuzzError::File { path: file.display().to_string(), problem: error.to_string() };
    std::fs::create_dir_all(&folder).map_err(failed)?;
    std::fs::write(&file, format!("{problem}\n\n{input:#?}\n\n{again}\n")).map_err(failed)?;
    Ok(file)
}

fn progress(name: &'static str, inputs: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:14} {pos:>9}/{len} {per_sec} {wide_bar} {eta}");
    let bar = ProgressBar::new(inputs).with_message(name);
    style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style))
}
